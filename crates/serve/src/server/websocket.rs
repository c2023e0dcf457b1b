//! Watches by WebSocket, as browsers and some clients (fabric8) open them: each frame of the watch is a message.
//!
//! Sources: RFC 6455; apiserver v0.36 `pkg/endpoints/handlers/watch.go` for messages. Of what clients send only pings and the end count, so no message
//! of theirs is put together.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::StreamExt;
use hyper_util::rt::TokioIo;
use tokio::io::{self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use super::newcomers::Client;
use crate::request::Handshake;
use crate::wire::{Encoding, Result, WatchResponse};

/// Bytes of one frame of a client's at most.
const RECEIVED: u64 = 1 << 16;

/// Makes messages of the response of a watch; any other stays as it is. The connection keeps its client's place, and ends when the client reads nothing for
/// longer than `unread`.
///
/// # Errors
/// The handshake is not one of RFC 6455.
pub(super) fn answer(handshake: Handshake, response: Response, client: &Arc<Client>, unread: Duration) -> Result<Response> {
    let Some(&WatchResponse(encoding)) = response.extensions().get() else { return Ok(response) };
    let (upgrade, switching) = handshake.accepted()?;
    let client = Arc::clone(client);
    tokio::spawn(async move {
        if let Ok(stream) = upgrade.await {
            // A connection that breaks concerns its client alone.
            let _ = carry(TokioIo::new(stream), response.into_body(), encoding == Encoding::Protobuf, unread).await;
        }
        drop(client);
    });
    Ok(switching)
}

/// What a frame is (RFC 6455, 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Opcode {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// Why the server ends a connection (RFC 6455, 7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
enum Reason {
    Normal = 1000,
    ProtocolError = 1002,
    TooBig = 1009,
}

/// Sends a watch until it ends or the client goes.
async fn carry(stream: impl AsyncRead + AsyncWrite, body: Body, is_protobuf: bool, unread: Duration) -> io::Result<()> {
    let (reader, writer) = io::split(stream);
    let mut writer = Writer { stream: writer, unread };
    let (pings, mut pinged) = mpsc::channel(1);
    let mut received = std::pin::pin!(receive(reader, pings));
    let mut pieces = body.into_data_stream();
    let reason = loop {
        tokio::select! {
            piece = pieces.next() => match piece {
                Some(piece) => {
                    let frames = Frame::of_watch(piece.map_err(io::Error::other)?, is_protobuf);
                    for Frame { opcode, payload } in frames {
                        writer.send(opcode, &payload).await?;
                    }
                }
                None => break Reason::Normal,
            },
            Some(payload) = pinged.recv() => writer.send(Opcode::Pong, &payload).await?,
            ended = &mut received => break ended?,
        }
    };
    writer.send(Opcode::Close, &(reason as u16).to_be_bytes()).await?;
    writer.stream.shutdown().await
}

/// Writes frames to a client that may read nothing for a while.
struct Writer<S> {
    stream: S,
    unread: Duration,
}

impl<S: AsyncWrite + Unpin> Writer<S> {
    async fn send(&mut self, opcode: Opcode, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(payload.len() + 10);
        // The first is the last of its message.
        frame.push(0x80 | opcode as u8);
        match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
            (Ok(length @ ..=125), _) => frame.push(length),
            (_, Ok(length)) => {
                frame.push(126);
                frame.extend(length.to_be_bytes());
            }
            _ => {
                frame.push(127);
                frame.extend((payload.len() as u64).to_be_bytes());
            }
        }
        frame.extend(payload);
        let sent = async {
            self.stream.write_all(&frame).await?;
            self.stream.flush().await
        };
        tokio::time::timeout(self.unread, sent).await?
    }
}

/// Reads frames until the client closes, or sends what it may not. The payload of each ping goes to `pings`.
async fn receive(mut reader: impl AsyncRead + Unpin, pings: mpsc::Sender<Vec<u8>>) -> io::Result<Reason> {
    loop {
        let [first, second] = [reader.read_u8().await?, reader.read_u8().await?];
        let (is_final, reserved, opcode) = (first & 0x80 != 0, first & 0x70, first & 0x0f);
        let is_control = opcode & 8 != 0;
        let length = match second & 0x7f {
            126 => u64::from(reader.read_u16().await?),
            127 => reader.read_u64().await?,
            length => u64::from(length),
        };
        let is_known = matches!(opcode, 0..=2 | 8..=10) && reserved == 0;
        // A client masks all that it sends.
        if second & 0x80 == 0 || !is_known || is_control && (length > 125 || !is_final) {
            return Ok(Reason::ProtocolError);
        }
        if length > RECEIVED {
            return Ok(Reason::TooBig);
        }
        let mut mask = [0; 4];
        reader.read_exact(&mut mask).await?;
        let mut payload = Vec::new();
        if (&mut reader).take(length).read_to_end(&mut payload).await? as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if opcode == Opcode::Close as u8 {
            return Ok(Reason::Normal);
        }
        if opcode == Opcode::Ping as u8 {
            payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
            // One that the client does not read is answered later or never: only the last must be (RFC 6455, 5.5.3).
            let _ = pings.try_send(payload);
        }
    }
}

/// What is sent as one message.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    opcode: Opcode,
    payload: Bytes,
}

impl Frame {
    /// The messages of whole frames of a watch: lines of JSON, or messages of protobuf, whose length stands before them.
    fn of_watch(mut frames: Bytes, is_protobuf: bool) -> impl Iterator<Item = Self> {
        std::iter::from_fn(move || {
            if is_protobuf {
                let length = u32::from_be_bytes(*frames.first_chunk()?) as usize;
                if frames.len() - 4 < length {
                    return None;
                }
                return Some(Self { opcode: Opcode::Binary, payload: frames.split_to(4 + length).slice(4..) });
            }
            let end = memchr::memchr(b'\n', &frames)?;
            Some(Self { opcode: Opcode::Text, payload: frames.split_to(end + 1) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_is_a_message() {
        let frame = |opcode, payload: &'static [u8]| Frame { opcode, payload: Bytes::from_static(payload) };
        let of_json: Vec<Frame> = Frame::of_watch(Bytes::from_static(b"{\"a\":1}\n{}\n"), false).collect();
        assert_eq!(of_json, [frame(Opcode::Text, b"{\"a\":1}\n"), frame(Opcode::Text, b"{}\n")]);
        let of_protobuf: Vec<Frame> = Frame::of_watch(Bytes::from_static(b"\0\0\0\x02ab\0\0\0\0\0\0\0\x01c"), true).collect();
        assert_eq!(of_protobuf, [b"ab".as_slice(), b"", b"c"].map(|payload| frame(Opcode::Binary, payload)));
        assert_eq!(Frame::of_watch(Bytes::from_static(b"\0\0\0\x09ab"), true).count(), 0);
    }

    async fn received(bytes: &[u8]) -> (io::Result<Reason>, Vec<Vec<u8>>) {
        let (pings, mut pinged) = mpsc::channel(1);
        let ended = receive(bytes, pings).await;
        (ended, std::iter::from_fn(|| pinged.try_recv().ok()).collect())
    }

    #[tokio::test]
    async fn clients_ping_and_close() {
        let ping = b"\x89\x82\x01\x02\x03\x04ij";
        let text = b"\x01\xfe\x00\x7e\0\0\0\0".iter().copied().chain([b'x'; 126]);
        let closed: Vec<u8> = text.chain(*ping).chain(*b"\x88\x80\0\0\0\0").collect();
        let (ended, pings) = received(&closed).await;
        assert_eq!((ended.unwrap(), pings), (Reason::Normal, vec![b"hh".to_vec()]));
        // It breaks off.
        for end in 0..closed.len() {
            assert!(received(&closed[..end]).await.0.is_err(), "{end}");
        }
    }

    #[tokio::test]
    async fn what_clients_may_not_send_is_the_end() {
        for (bytes, wanted) in [
            (&b"\x89\x00"[..], Reason::ProtocolError),
            (b"\x89\xfe\x00\x7e", Reason::ProtocolError),
            (b"\x09\x80\0\0\0\0", Reason::ProtocolError),
            (b"\xc1\x80\0\0\0\0", Reason::ProtocolError),
            (b"\x83\x80\0\0\0\0", Reason::ProtocolError),
            (b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff", Reason::TooBig),
            (b"\x82\xff\0\0\0\0\0\x01\0\x01", Reason::TooBig),
        ] {
            assert_eq!(received(bytes).await.0.unwrap(), wanted, "{bytes:x?}");
        }
    }

    /// A watch of two frames, with a client that pings, then reads to the end.
    #[tokio::test]
    async fn a_watch_is_carried_to_its_end() {
        let (server, mut client) = io::duplex(1 << 10);
        let (pieces, body) = mpsc::channel::<io::Result<Bytes>>(1);
        let body = Body::from_stream(futures_util::stream::unfold(body, async |mut body| Some((body.recv().await?, body))));
        let carried = tokio::spawn(carry(server, body, false, Duration::MAX));
        client.write_all(b"\x89\x81\0\0\0\0p").await.unwrap();
        let mut pong = [0; 3];
        client.read_exact(&mut pong).await.unwrap();
        assert_eq!(&pong, b"\x8a\x01p");
        pieces.send(Ok(format!("{{}}\n{}\n", "x".repeat(300)).into())).await.unwrap();
        drop(pieces);
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        let wanted = [b"\x81\x03{}\n\x81\x7e\x01\x2d", "x".repeat(300).as_bytes(), b"\n\x88\x02\x03\xe8"].concat();
        assert_eq!(rest, wanted);
        carried.await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_loses_its_connection() {
        let (server, client) = io::duplex(1 << 10);
        let body = Body::from_stream(futures_util::stream::repeat_with(|| Ok::<_, io::Error>(Bytes::from_static(b"{}\n"))));
        let (begun, unread) = (tokio::time::Instant::now(), Duration::from_secs(30));
        let ended = carry(server, body, false, unread).await;
        assert_eq!((ended.unwrap_err().kind(), begun.elapsed()), (io::ErrorKind::TimedOut, unread));
        drop(client);
    }
}
