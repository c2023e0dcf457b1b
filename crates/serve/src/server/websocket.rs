//! Watches by WebSocket, as browsers and some clients (fabric8) open them: each frame of the watch is a message.
//!
//! Sources: RFC 6455; apiserver v0.36 `pkg/endpoints/handlers/watch.go` for messages. Of what clients send only pings and the end count.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::{SinkExt, StreamExt};
use hyper_util::rt::TokioIo;
use tokio::io::{self, AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::newcomers::Client;
use crate::request::Handshake;
use crate::wire::{Encoding, Result, WatchResponse};

/// The longest message of a client's.
const MAX_RECEIVED_BYTES: usize = 1 << 16;

/// What is read of a connection at once: clients send little.
const READ_BYTES: usize = 1 << 12;

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

/// Sends a watch until it ends or the client goes. Each write waits for the client, no longer than `unread`: nothing piles up.
async fn carry(stream: impl AsyncRead + AsyncWrite + Unpin, body: Body, is_protobuf: bool, unread: Duration) -> io::Result<()> {
    let limits = WebSocketConfig::default().max_message_size(Some(MAX_RECEIVED_BYTES)).max_frame_size(Some(MAX_RECEIVED_BYTES));
    let config = limits.read_buffer_size(READ_BYTES).write_buffer_size(0);
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let mut pieces = body.into_data_stream();
    let code = loop {
        tokio::select! {
            piece = pieces.next() => match piece {
                Some(piece) => {
                    for message in messages(piece.map_err(io::Error::other)?, is_protobuf) {
                        timeout(unread, socket.send(message?)).await?.map_err(io::Error::other)?;
                    }
                }
                None => break Some(CloseCode::Normal),
            },
            received = socket.next() => match received {
                // Its pong is queued: it goes out before more is read.
                Some(Ok(Message::Ping(_))) => timeout(unread, socket.flush()).await?.map_err(io::Error::other)?,
                Some(Ok(Message::Close(_))) | None => break None,
                Some(Ok(_)) => {}
                Some(Err(Error::Capacity(_))) => break Some(CloseCode::Size),
                Some(Err(Error::Protocol(_) | Error::Utf8(_))) => break Some(CloseCode::Protocol),
                Some(Err(error)) => return Err(io::Error::other(error)),
            },
        }
    };
    let last = async {
        match code {
            Some(code) => socket.close(Some(CloseFrame { code, reason: Utf8Bytes::default() })).await,
            // The answer to the client's own end is queued.
            None => socket.flush().await,
        }
    };
    // A client that broke off hears of no end.
    let _ = timeout(unread, last).await?;
    socket.get_mut().shutdown().await
}

/// The messages of whole frames of a watch: lines of JSON, or messages of protobuf, whose length stands before them.
fn messages(mut frames: Bytes, is_protobuf: bool) -> impl Iterator<Item = io::Result<Message>> {
    std::iter::from_fn(move || {
        if is_protobuf {
            let length = u32::from_be_bytes(*frames.first_chunk()?) as usize;
            if frames.len() - 4 < length {
                return None;
            }
            return Some(Ok(Message::Binary(frames.split_to(4 + length).slice(4..))));
        }
        let end = memchr::memchr(b'\n', &frames)?;
        Some(Utf8Bytes::try_from(frames.split_to(end + 1)).map(Message::Text).map_err(io::Error::other))
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn each_frame_is_a_message() {
        let of = |frames: &'static [u8], is_protobuf| messages(Bytes::from_static(frames), is_protobuf).map(io::Result::unwrap);
        assert_eq!(of(b"{\"a\":1}\n{}\n", false).collect::<Vec<_>>(), [Message::text("{\"a\":1}\n"), Message::text("{}\n")]);
        let of_protobuf: Vec<_> = of(b"\0\0\0\x02ab\0\0\0\0\0\0\0\x01c", true).collect();
        assert_eq!(of_protobuf, [b"ab".as_slice(), b"", b"c"].map(|payload| Message::Binary(Bytes::from_static(payload))));
        assert_eq!(of(b"\0\0\0\x09ab", true).count(), 0);
    }

    /// What a client reads of a watch without an event, to which it sends some bytes before it breaks off.
    async fn heard(sent: &[u8]) -> Vec<u8> {
        let (server, mut client) = io::duplex(1 << 10);
        let watch = Body::from_stream(futures_util::stream::pending::<io::Result<Bytes>>());
        let carried = tokio::spawn(carry(server, watch, false, Duration::MAX));
        client.write_all(sent).await.unwrap();
        client.shutdown().await.unwrap();
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).await.unwrap();
        carried.await.unwrap().unwrap();
        heard
    }

    #[tokio::test]
    async fn clients_ping_and_close() {
        let ping = b"\x89\x82\x01\x02\x03\x04ij";
        let text = b"\x81\xfe\x00\x7e\0\0\0\0".iter().copied().chain([b'x'; 126]);
        let closed: Vec<u8> = text.chain(*ping).chain(*b"\x88\x80\0\0\0\0").collect();
        assert_eq!(heard(&closed).await, b"\x8a\x02hh\x88\x00");
        assert_eq!(heard(b"\x88\x82\0\0\0\0\x03\xe8").await, b"\x88\x02\x03\xe8");
        // It breaks off.
        for end in 0..closed.len() {
            assert!(!heard(&closed[..end]).await.contains(&0x88), "{end}");
        }
    }

    #[tokio::test]
    async fn what_clients_may_not_send_is_the_end() {
        let long_ping: Vec<u8> = b"\x89\xfe\x00\x7e\0\0\0\0".iter().copied().chain([b'x'; 126]).collect();
        for (bytes, code) in [
            (&b"\x89\x00"[..], 1002_u16),
            (&long_ping[..], 1002),
            (b"\x09\x80\0\0\0\0", 1002),
            (b"\xc1\x80\0\0\0\0", 1002),
            (b"\x83\x80\0\0\0\0", 1002),
            (b"\x81\x81\0\0\0\0\xff", 1002),
            (b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 1009),
            (b"\x82\xff\0\0\0\0\0\x01\0\x01\0\0\0\0", 1009),
        ] {
            assert_eq!(heard(bytes).await, [&[0x88, 2][..], &code.to_be_bytes()].concat(), "{bytes:x?}");
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
