//! Counts the parts of each message before it is decoded: a part that takes two bytes on the wire takes a hundred in memory.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::Frame;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, StdError, http};
use tonic::transport::Channel;

/// The most fields that a message of etcd's may have, keys or changes above all. A page has no more than 10,000 keys. Changes come in messages of
/// about `--max-request-bytes` (server/etcdserver/api/v3rpc/watch.go, `sendFragments`), 1.5 MiB unless it is raised, and take 40 bytes or more.
const MOST_PARTS: u32 = 500_000;
/// What the call fails with.
pub(super) const TOO_MANY: &str = "a message has more parts than any of etcd's";

#[derive(Clone)]
pub(super) struct CountedChannel(pub Channel);

impl Service<http::Request<Body>> for CountedChannel {
    type Response = http::Response<Body>;
    type Error = StdError;
    type Future = BoxFuture<'static, Result<Self::Response, StdError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        self.0.poll_ready(cx).map_err(StdError::from)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let counter = Counter { is_nested: request.uri().path().ends_with("/RangeStream"), ..Counter::default() };
        let call = self.0.call(request);
        Box::pin(async move { Ok(call.await?.map(|body| Body::new(CountedBody { body, counter }))) })
    }
}

struct CountedBody {
    body: Body,
    counter: Counter,
}

impl http_body::Body for CountedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
            && !self.counter.count(data)
        {
            return Poll::Ready(Some(Err(Status::out_of_range(TOO_MANY))));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// Where in a call's answer the counting is: gRPC's frames of protobuf messages, which come in pieces of any size.
#[derive(Debug, Default)]
struct Counter {
    /// Whether the fields of number 1 hold the message that counts; in that, they are its header.
    is_nested: bool,
    /// The bytes of gRPC's frame header that were read, and the message's length as far as it was.
    header: (u8, u32),
    /// The bytes of the message that are left.
    left: u64,
    parts: u32,
    at: MessagePlace,
    /// The number that is being read, and its bits so far.
    number: (u64, u32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MessagePlace {
    /// Before a field, or within its tag.
    #[default]
    Tag,
    /// Within a field's number, which does not matter.
    Number,
    Length {
        /// Whether its content counts by itself.
        is_message: bool,
    },
    /// The number of bytes before the next field.
    Content(u64),
}

impl Counter {
    /// Counts what is in the next bytes; returns whether they may be decoded.
    fn count(&mut self, mut data: &[u8]) -> bool {
        /// A byte that says whether the message is compressed, and the length in four.
        const GRPC_HEADER_BYTES: u8 = 5;
        while let [byte, rest @ ..] = data {
            if self.left == 0 {
                self.header = (self.header.0 + 1, self.header.1 << 8 | u32::from(*byte));
                if self.header.0 == GRPC_HEADER_BYTES {
                    (self.left, self.parts, self.at, self.number) = (self.header.1.into(), 0, MessagePlace::Tag, (0, 0));
                    self.header = (0, 0);
                }
                data = rest;
                continue;
            }
            let taken = match self.at {
                MessagePlace::Content(length) => length.min(self.left).min(data.len() as u64),
                _ => 1,
            };
            if !self.step(*byte, taken) {
                return false;
            }
            self.left -= taken;
            data = &data[taken as usize..];
        }
        true
    }

    /// Goes on by a byte, or by this many of a field's content.
    fn step(&mut self, byte: u8, taken: u64) -> bool {
        if let MessagePlace::Content(length) = self.at {
            self.at = if length == taken { MessagePlace::Tag } else { MessagePlace::Content(length - taken) };
            return true;
        }
        let (number, bits) = self.number;
        if bits > 63 {
            return false;
        }
        self.number = (number | u64::from(byte & 0x7f) << bits, bits + 7);
        if byte & 0x80 != 0 {
            return true;
        }
        let number = std::mem::take(&mut self.number).0;
        self.at = match self.at {
            MessagePlace::Tag => {
                self.parts += 1;
                match number & 7 {
                    0 => MessagePlace::Number,
                    1 => MessagePlace::Content(8),
                    2 => MessagePlace::Length { is_message: self.is_nested && number >> 3 == 1 },
                    5 => MessagePlace::Content(4),
                    // Groups, which no message of etcd's has.
                    _ => return false,
                }
            }
            MessagePlace::Length { is_message: false } if number > 0 => MessagePlace::Content(number),
            MessagePlace::Length { .. } | MessagePlace::Number | MessagePlace::Content(_) => MessagePlace::Tag,
        };
        self.parts <= MOST_PARTS
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::proto::etcdserverpb::{RangeResponse, RangeStreamResponse, ResponseHeader};
    use crate::proto::mvccpb::KeyValue;

    fn framed(message: &impl Message) -> Vec<u8> {
        let message = message.encode_to_vec();
        [&[0][..], &(message.len() as u32).to_be_bytes(), &message].concat()
    }

    fn range(keys: usize) -> RangeResponse {
        let header = Some(ResponseHeader { revision: i64::MAX, ..ResponseHeader::default() });
        let kvs = vec![KeyValue { value: vec![b'v'; keys % 1000].into(), ..KeyValue::default() }; keys];
        RangeResponse { header, kvs, more: true, count: -1 }
    }

    #[test]
    fn messages_pass_in_pieces_of_any_size() {
        let two = [framed(&range(0)), framed(&range(700))].concat();
        for size in [1, 2, 3, 7, 4096, two.len()] {
            let mut counter = Counter::default();
            assert!(two.chunks(size).all(|piece| counter.count(piece)), "{size}");
            assert_eq!((counter.left, counter.at, counter.header.0, counter.parts), (0, MessagePlace::Tag, 0, 703), "{size}");
        }
    }

    #[test]
    fn a_message_of_many_small_parts_is_refused_however_it_comes() {
        let many = RangeResponse { kvs: vec![KeyValue::default(); 500_001], ..RangeResponse::default() };
        let passes = |counter: Counter, bytes: &[u8]| {
            let mut counter = counter;
            bytes.chunks(1 << 14).all(|piece| counter.count(piece))
        };
        assert!(!passes(Counter::default(), &framed(&many)));
        let nested = framed(&RangeStreamResponse { range_response: Some(many) });
        assert!(!passes(Counter { is_nested: true, ..Counter::default() }, &nested));
        // A group, which would hide what is in it, and a number without end.
        assert!(!passes(Counter::default(), &[0, 0, 0, 0, 2, 0x0b, 0x0c]));
        assert!(!passes(Counter::default(), &[&[0, 0, 0, 0, 20][..], &[0xff; 20]].concat()));
    }
}
