//! An etcd that a test plays: a server on loopback whose answers the test makes, honest ones from a small store and others from these.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use etcd_client::proto::{PbEvent, PbKeyValue, PbRangeResponse, PbResponseHeader, PbStatusResponse, PbWatchResponse};
use futures_util::stream::{self, BoxStream, StreamExt};
use prost::Message;
use prost::bytes::{Buf, BufMut};
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService, StreamingService};
use tonic::{Request, Response, Status, Streaming};

/// What a call is answered with: messages as they are on the wire.
pub type Messages = BoxStream<'static, Result<Vec<u8>, Status>>;

/// A call.
pub struct Call {
    /// `Range`, `Watch`, …
    pub method: String,
    /// The first message of the request; a watch alone has more.
    pub request: Vec<u8>,
    /// The messages after it.
    pub more: Streaming<Vec<u8>>,
}

type Answer = Arc<dyn Fn(Call) -> Messages + Send + Sync>;

/// A server that runs as long as this lives.
pub struct FakeEtcd {
    /// Its URL.
    pub endpoint: String,
    runtime: Option<tokio::runtime::Runtime>,
}

impl FakeEtcd {
    /// Starts a server that answers each call with what `answer` says.
    pub fn start(answer: impl Fn(Call) -> Messages + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let answer: Answer = Arc::new(answer);
        let services = tonic::transport::Server::builder()
            .add_service(Kv(Arc::clone(&answer)))
            .add_service(Watch(Arc::clone(&answer)))
            .add_service(Maintenance(Arc::clone(&answer)))
            .add_service(Auth(answer));
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let incoming =
                stream::unfold(listener, |listener| async move { Some((listener.accept().await.map(|(stream, _)| stream), listener)) });
            services.serve_with_incoming(incoming).await
        });
        Self { endpoint, runtime: Some(runtime) }
    }
}

impl Drop for FakeEtcd {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// One message.
pub fn one(message: &impl Message) -> Messages {
    several(vec![message.encode_to_vec()])
}

/// Messages, after which the call ends.
pub fn several(messages: Vec<Vec<u8>>) -> Messages {
    stream::iter(messages.into_iter().map(Ok)).boxed()
}

/// A refusal.
pub fn refusal(status: Status) -> Messages {
    stream::iter([Err(status)]).boxed()
}

macro_rules! services {
    ($($name:ident $path:literal)*) => {
        $(#[derive(Clone)]
        struct $name(Answer);

        impl NamedService for $name {
            const NAME: &'static str = $path;
        }

        impl Service<http::Request<Body>> for $name {
            type Response = http::Response<Body>;
            type Error = Infallible;
            type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

            fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: http::Request<Body>) -> Self::Future {
                let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
                let answers = Answers { method, answer: Arc::clone(&self.0) };
                Box::pin(async move { Ok(Grpc::new(Raw).streaming(answers, request).await) })
            }
        })*
    };
}

services! {
    Kv "etcdserverpb.KV"
    Watch "etcdserverpb.Watch"
    Maintenance "etcdserverpb.Maintenance"
    Auth "etcdserverpb.Auth"
}

/// One call's answer. On the wire a call with one answer is a stream of one message.
struct Answers {
    method: String,
    answer: Answer,
}

impl StreamingService<Vec<u8>> for Answers {
    type Response = Vec<u8>;
    type ResponseStream = Messages;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Messages>, Status>> + Send>>;

    fn call(&mut self, request: Request<Streaming<Vec<u8>>>) -> Self::Future {
        let (method, answer) = (std::mem::take(&mut self.method), Arc::clone(&self.answer));
        Box::pin(async move {
            let mut more = request.into_inner();
            let request = more.message().await?.unwrap_or_default();
            Ok(Response::new(answer(Call { method, request, more })))
        })
    }
}

/// Messages as bytes.
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut message = vec![0; buffer.remaining()];
        buffer.copy_to_slice(&mut message);
        Ok(Some(message))
    }
}

/// `etcdserverpb.RangeRequest`, as far as it is looked at.
#[derive(Clone, PartialEq, Message)]
pub struct RangeRequest {
    /// The first key.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// The key after the last; empty for one key, `\0` for all from the first on.
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
    /// How many entries at most; 0 for all.
    #[prost(int64, tag = "3")]
    pub limit: i64,
    /// The revision; 0 for the newest.
    #[prost(int64, tag = "4")]
    pub revision: i64,
    /// Whether values are left out.
    #[prost(bool, tag = "8")]
    pub keys_only: bool,
    /// Whether only the number of entries is wanted.
    #[prost(bool, tag = "9")]
    pub count_only: bool,
}

/// `etcdserverpb.WatchRequest`, as far as it is looked at.
#[derive(Clone, PartialEq, Message)]
pub struct WatchRequest {
    /// What to watch, in the first message.
    #[prost(message, optional, tag = "1")]
    pub create: Option<WatchCreateRequest>,
}

/// `etcdserverpb.WatchCreateRequest`, as far as it is looked at.
#[derive(Clone, PartialEq, Message)]
pub struct WatchCreateRequest {
    /// The first key.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// The key after the last; empty for one key, `\0` for all from the first on.
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
    /// The first revision; 0 for the next.
    #[prost(int64, tag = "3")]
    pub start_revision: i64,
}

/// The header of an answer at a revision.
pub fn header(revision: i64) -> Option<PbResponseHeader> {
    Some(PbResponseHeader { cluster_id: 1, member_id: 1, revision, raft_term: 2 })
}

/// What an honest etcd holds: keys that were each written once, the first at revision 2.
#[derive(Clone, Debug, Default)]
pub struct Store(Vec<PbKeyValue>);

impl Store {
    /// A store of these keys and values.
    pub fn new(entries: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let version = |(place, (key, value)): (usize, (String, Vec<u8>))| {
            let revision = place as i64 + 2;
            PbKeyValue { key: key.into_bytes(), value, create_revision: revision, mod_revision: revision, version: 1, lease: 0 }
        };
        Self(entries.into_iter().enumerate().map(version).collect())
    }

    /// The newest revision.
    pub fn revision(&self) -> i64 {
        self.0.len() as i64 + 1
    }

    /// Answers a range.
    pub fn range(&self, asked: &RangeRequest) -> PbRangeResponse {
        let at = if asked.revision > 0 { asked.revision } else { self.revision() };
        let mut kvs: Vec<PbKeyValue> = self.within(&asked.key, &asked.range_end).filter(|kv| kv.mod_revision <= at).cloned().collect();
        kvs.sort_by(|one, other| one.key.cmp(&other.key));
        let (count, limit) = (kvs.len(), if asked.limit > 0 { asked.limit as usize } else { kvs.len() });
        kvs.truncate(if asked.count_only { 0 } else { limit });
        if asked.keys_only {
            kvs.iter_mut().for_each(|kv| kv.value.clear());
        }
        PbRangeResponse { header: header(self.revision()), more: !asked.count_only && count > kvs.len(), kvs, count: count as i64 }
    }

    /// The confirmation of a watch, and its changes, each in an answer of its own.
    pub fn watch(&self, asked: &WatchCreateRequest) -> Vec<PbWatchResponse> {
        let answer = |revision| PbWatchResponse { header: header(revision), ..PbWatchResponse::default() };
        let changes = self.within(&asked.key, &asked.range_end).filter(|kv| kv.mod_revision >= asked.start_revision.max(1));
        let changes = changes.map(|kv| PbWatchResponse { events: vec![put(kv.clone())], ..answer(self.revision()) });
        [PbWatchResponse { created: true, ..answer(self.revision()) }].into_iter().chain(changes).collect()
    }

    /// What the only member says of itself.
    pub fn status(&self) -> PbStatusResponse {
        let (db_size, raft) = (32 << 10, 10);
        PbStatusResponse {
            header: header(self.revision()),
            version: "3.5.21".to_owned(),
            db_size,
            db_size_in_use: db_size,
            leader: 1,
            raft_index: raft,
            raft_term: 2,
            raft_applied_index: raft,
            ..PbStatusResponse::default()
        }
    }

    fn within<'s>(&'s self, key: &'s [u8], end: &'s [u8]) -> impl Iterator<Item = &'s PbKeyValue> {
        self.0.iter().filter(move |kv| match end {
            [] => kv.key == key,
            [0] => kv.key.as_slice() >= key,
            end => kv.key.as_slice() >= key && kv.key.as_slice() < end,
        })
    }
}

/// The change that wrote a version.
pub fn put(version: PbKeyValue) -> PbEvent {
    PbEvent { r#type: 0, kv: Some(version), prev_kv: None }
}
