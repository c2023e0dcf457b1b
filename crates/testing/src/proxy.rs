//! A hand on the wire: passes each call on to a real etcd, and lets a test act between two of them.

use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use prost::Message;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::fake_etcd::{Call, FakeEtcd, Messages, RangeRequest, Raw};

/// A call that is about to be passed on.
pub struct Passing {
    /// How many calls have come with it, of whatever method.
    pub number: usize,
    /// `Range`, `Watch`, …
    pub method: String,
    /// How many calls of this method have come with it.
    pub of_method: usize,
    /// The first message of the request.
    pub request: Vec<u8>,
}

impl Passing {
    /// The range that is asked for, if it is one.
    pub fn range(&self) -> Option<RangeRequest> {
        (self.method == "Range").then(|| RangeRequest::decode(&self.request[..]).unwrap())
    }

    /// Whether it asks for a page of a listing after the first: these name its revision.
    pub fn is_later_page(&self) -> bool {
        self.range().is_some_and(|asked| asked.limit > 0 && asked.revision > 0)
    }
}

/// A server in front of a real etcd, as long as this lives.
pub struct Proxy {
    server: FakeEtcd,
    methods: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a server that waits for `before` to end, however long that takes, before it passes a call on to `etcd`, an endpoint in plain text.
    pub fn start(etcd: String, before: impl Fn(Passing) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        let methods: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, before, channel) = (Arc::clone(&methods), Arc::new(before), OnceLock::new());
        let server = FakeEtcd::start(move |call| {
            // The server's runtime is to drive it.
            let channel: &Channel = channel.get_or_init(|| Endpoint::from_shared(etcd.clone()).unwrap().connect_lazy());
            let passing = note(&seen, &call);
            let (before, channel) = (Arc::clone(&before), channel.clone());
            stream::once(async move {
                before(passing).await;
                pass_on(channel, call).await.unwrap_or_else(|status| stream::iter([Err(status)]).boxed())
            })
            .flatten()
            .boxed()
        });
        Self { server, methods }
    }

    /// A server that only counts.
    pub fn counting(etcd: String) -> Self {
        Self::start(etcd, |_| Box::pin(std::future::ready(())))
    }

    /// Its URL.
    pub fn endpoint(&self) -> &str {
        &self.server.endpoint
    }

    /// The methods of all calls that have come, in order.
    pub fn methods(&self) -> Vec<String> {
        self.methods.lock().unwrap().clone()
    }
}

/// Notes a call and counts it.
fn note(methods: &Mutex<Vec<String>>, call: &Call) -> Passing {
    let mut methods = methods.lock().unwrap();
    methods.push(call.method.clone());
    let of_method = methods.iter().filter(|method| **method == call.method).count();
    Passing { number: methods.len(), method: call.method.clone(), of_method, request: call.request.clone() }
}

async fn pass_on(channel: Channel, call: Call) -> Result<Messages, Status> {
    let service = match call.method.as_str() {
        "Range" | "RangeStream" => "KV",
        "Watch" => "Watch",
        "Authenticate" => "Auth",
        _ => "Maintenance",
    };
    let path = PathAndQuery::try_from(format!("/etcdserverpb.{service}/{}", call.method)).unwrap();
    let more = call.more.filter_map(|message| std::future::ready(message.ok()));
    let requests = stream::iter([call.request]).chain(more);
    let mut etcd = Grpc::new(channel).max_decoding_message_size(usize::MAX);
    etcd.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    Ok(etcd.streaming(Request::new(requests), path, Raw).await?.into_inner().boxed())
}
