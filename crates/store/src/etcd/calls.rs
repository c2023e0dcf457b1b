//! The calls of etcd's API that are ever made, over a member's channel: with a token where a user is given, and only while the member knows a leader
//! where that is asked for.

use std::sync::Arc;

use futures_util::stream;
use prost::Message;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Sender, channel};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::AsciiMetadataValue;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::config::{EtcdConfig, LARGEST_MESSAGE};
use super::parts::CountedChannel;
use crate::proto::etcdserverpb::watch_request::RequestUnion;
use crate::proto::etcdserverpb::{
    AuthenticateRequest, AuthenticateResponse, HashKvRequest, HashKvResponse, RangeRequest, RangeResponse, RangeStreamResponse,
    StatusRequest, StatusResponse, WatchCreateRequest, WatchProgressRequest, WatchRequest, WatchResponse,
};

/// None of these writes, and no other call is made of an etcd.
const RANGE_METHOD: &str = "/etcdserverpb.KV/Range";
const RANGE_STREAM: &str = "/etcdserverpb.KV/RangeStream";
const WATCH_METHOD: &str = "/etcdserverpb.Watch/Watch";
const STATUS_METHOD: &str = "/etcdserverpb.Maintenance/Status";
const HASH_KV: &str = "/etcdserverpb.Maintenance/HashKV";
const AUTHENTICATE_METHOD: &str = "/etcdserverpb.Auth/Authenticate";

/// How many requests of a watch's stream may wait to be sent.
const MAX_WAITING_REQUESTS: usize = 100;

type Token = AsciiMetadataValue;

#[derive(Clone)]
pub(super) struct Client {
    channel: CountedChannel,
    /// Whether a member that knows no leader is to refuse (client/v3/ctx.go, `WithRequireLeader`).
    requires_leader: bool,
    login: Option<Arc<Login>>,
}

struct Login {
    config: Arc<EtcdConfig>,
    token: Mutex<Token>,
}

impl Client {
    /// Logs in where a user is given.
    pub(super) async fn open(channel: CountedChannel, config: &Arc<EtcdConfig>, requires_leader: bool) -> Result<Self, Status> {
        let mut client = Self { channel, requires_leader, login: None };
        if config.user.is_some() {
            match client.authenticate(config).await {
                Ok(token) => client.login = Some(Arc::new(Login { config: Arc::clone(config), token: Mutex::new(token) })),
                // As etcdctl does: giving a user is not an error if etcd requires none.
                Err(status) if status.message().contains("authentication is not enabled") => {}
                Err(status) => return Err(status),
            }
        }
        Ok(client)
    }

    pub(super) async fn range(&self, asked: RangeRequest) -> Result<RangeResponse, Status> {
        self.unary(RANGE_METHOD, asked).await
    }

    /// Reads a range in parts: since etcd 3.7.
    pub(super) async fn range_stream(&self, asked: RangeRequest) -> Result<Streaming<RangeStreamResponse>, Status> {
        let open = |token| {
            let request = self.request(asked.clone(), token);
            async move {
                let codec = ProstCodec::<RangeRequest, RangeStreamResponse>::default();
                Ok(self.ready().await?.server_streaming(request, PathAndQuery::from_static(RANGE_STREAM), codec).await?.into_inner())
            }
        };
        self.with_token(open).await
    }

    pub(super) async fn watch(&self, asked: WatchCreateRequest) -> Result<WatchStream, Status> {
        let open = |token| {
            let (requests, mut waiting) = channel(MAX_WAITING_REQUESTS);
            // It is empty, and its other end is here.
            let _ = requests.try_send(WatchRequest { request_union: Some(RequestUnion::CreateRequest(asked.clone())) });
            let request = self.request(stream::poll_fn(move |context| waiting.poll_recv(context)), token);
            async move {
                let codec = ProstCodec::<WatchRequest, WatchResponse>::default();
                let answers = self.ready().await?.streaming(request, PathAndQuery::from_static(WATCH_METHOD), codec).await?.into_inner();
                Ok(WatchStream { requests, answers })
            }
        };
        self.with_token(open).await
    }

    /// Asks a member for its status.
    pub(super) async fn status(&self) -> Result<StatusResponse, Status> {
        self.unary(STATUS_METHOD, StatusRequest {}).await
    }

    /// Asks for the hash of the history up to a revision.
    pub(super) async fn hash_kv(&self, revision: i64) -> Result<HashKvResponse, Status> {
        self.unary(HASH_KV, HashKvRequest { revision }).await
    }

    async fn authenticate(&self, config: &EtcdConfig) -> Result<Token, Status> {
        let password = config.password.as_ref().map_or("", |password| password.reveal());
        let asked = AuthenticateRequest { name: config.user.clone().unwrap_or_default(), password: password.to_owned() };
        let answer: AuthenticateResponse = self.ask(AUTHENTICATE_METHOD, self.request(asked, None)).await?;
        answer.token.parse::<Token>().map_err(|error| Status::from_error(Box::new(error)))
    }

    async fn unary<Q, A>(&self, method: &'static str, asked: Q) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        self.with_token(|token| self.ask(method, self.request(asked.clone(), token))).await
    }

    async fn ask<Q, A>(&self, method: &'static str, request: Request<Q>) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let answer = self.ready().await?.unary(request, PathAndQuery::from_static(method), ProstCodec::<Q, A>::default()).await?;
        Ok(answer.into_inner())
    }

    /// Makes a call; makes it once more with a new token where the member no longer knows this one.
    async fn with_token<T, F>(&self, call: impl Fn(Option<Token>) -> F) -> Result<T, Status>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let Some(login) = &self.login else { return call(None).await };
        let token = login.token.lock().await.clone();
        match call(Some(token.clone())).await {
            Err(status) if is_token_refused(&status) => {
                let mut known = login.token.lock().await;
                // Another call may have renewed it meanwhile.
                if *known == token {
                    *known = self.authenticate(&login.config).await?;
                }
                let token = known.clone();
                drop(known);
                call(Some(token)).await
            }
            answered => answered,
        }
    }

    fn request<T>(&self, asked: T, token: Option<Token>) -> Request<T> {
        let mut request = Request::new(asked);
        if let Some(token) = token {
            request.metadata_mut().insert("token", token);
        }
        if self.requires_leader {
            request.metadata_mut().insert("hasleader", AsciiMetadataValue::from_static("true"));
        }
        request
    }

    async fn ready(&self) -> Result<Grpc<CountedChannel>, Status> {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(LARGEST_MESSAGE);
        grpc.ready().await.map_err(|error| Status::unknown(format!("Service was not ready: {error}")))?;
        Ok(grpc)
    }
}

/// Whether a token has expired, or is of a member that was started again (api/v3rpc/rpctypes/error.go, `ErrInvalidAuthToken`).
fn is_token_refused(status: &Status) -> bool {
    match status.code() {
        Code::Unauthenticated => true,
        Code::Unknown => status.message() == "etcdserver: invalid auth token",
        _ => false,
    }
}

pub(super) struct WatchStream {
    requests: Sender<WatchRequest>,
    answers: Streaming<WatchResponse>,
}

impl WatchStream {
    /// The next answer; `None` where the stream ended.
    pub(super) async fn message(&mut self) -> Result<Option<WatchResponse>, Status> {
        self.answers.message().await
    }

    /// Asks how far the watch has come. Where the request cannot be sent the stream is about to say why.
    pub(super) async fn request_progress(&mut self) {
        let _ = self.requests.send(WatchRequest { request_union: Some(RequestUnion::ProgressRequest(WatchProgressRequest {})) }).await;
    }
}
