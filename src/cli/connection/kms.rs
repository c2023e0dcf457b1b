//! KMS v2 plugins: the data keys of sealed values are opened by the plugin that sealed them, through its own unix socket.
//!
//! Only Status and Decrypt are ever called. Source: Kubernetes v1.36, `staging/src/k8s.io/kms/apis/v2/api.proto`.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use prost::Message;
use tonic::client::Grpc;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;
use zeroize::Zeroizing;

use crate::cli::system::sockets::{self, Stream};
use ketcd_kube::encryption::{EncryptionConfig, KeyService, Provider, Scheme, Wrapped};

/// How long a plugin may take whose configuration does not say so, as the API server has it.
const DEFAULT_KMS_TIMEOUT: Duration = Duration::from_secs(3);

/// The plugins a configuration names, and their sockets.
pub(in crate::cli) struct Plugins {
    by_name: HashMap<String, Plugin>,
    /// Plugins that did not answer once are not asked again.
    silent: Mutex<HashMap<String, String>>,
    requests: AtomicU64,
}

/// Where a plugin is, and how long it may take.
struct Plugin {
    endpoint: String,
    timeout: Duration,
}

impl Plugins {
    /// The KMS v2 plugins of `config`; none is asked before a value needs it.
    pub(in crate::cli) fn new(config: &EncryptionConfig) -> Self {
        let v2 = config.providers().filter(|provider| provider.scheme == Scheme::KmsV2);
        let plugin =
            |provider: &Provider| Plugin { endpoint: provider.endpoint.clone(), timeout: provider.timeout.unwrap_or(DEFAULT_KMS_TIMEOUT) };
        let by_name = v2.map(|provider| (provider.name.clone(), plugin(provider))).collect();
        Self { by_name, silent: Mutex::default(), requests: AtomicU64::new(1) }
    }

    fn call<Q, A>(&self, provider: &str, method: &'static str, question: Q) -> Result<A, String>
    where
        Q: Message + 'static,
        A: Message + Default + Send + 'static,
    {
        let Plugin { endpoint, timeout } = self.by_name.get(provider).ok_or("the encryption config names no such plugin")?;
        if let Some(why) = self.silent.lock().unwrap_or_else(PoisonError::into_inner).get(provider) {
            return Err(why.clone());
        }
        // Decoding is synchronous and may run anywhere, so the call has a thread and a runtime of its own.
        let answer = std::thread::scope(|scope| {
            let call = || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| KmsFailure::Silent(error.to_string()))?;
                let asked = async { tokio::time::timeout(*timeout, ask(endpoint, method, question)).await };
                runtime.block_on(asked).unwrap_or_else(|_| Err(KmsFailure::Silent(format!("no answer within {timeout:?}"))))
            };
            scope.spawn(call).join().unwrap_or_else(|_| Err(KmsFailure::Silent("its answer could not be read".to_owned())))
        });
        answer.map_err(|failure| match failure {
            KmsFailure::Refused(why) => format!("the plugin refuses: {why}"),
            KmsFailure::Silent(why) => {
                let why = format!("the plugin does not answer at {endpoint}: {why}");
                self.silent.lock().unwrap_or_else(PoisonError::into_inner).insert(provider.to_owned(), why.clone());
                why
            }
        })
    }
}

impl KeyService for Plugins {
    fn unwrap(&self, key: &Wrapped) -> Result<Zeroizing<Vec<u8>>, String> {
        let request = DecryptRequest {
            ciphertext: key.ciphertext.clone(),
            uid: format!("ketcd-{}-{}", std::process::id(), self.requests.fetch_add(1, Ordering::Relaxed)),
            key_id: key.key_id.clone(),
            annotations: key.annotations.iter().cloned().collect(),
        };
        let answer: DecryptResponse = self.call(&key.provider, "/v2.KeyManagementService/Decrypt", request)?;
        Ok(Zeroizing::new(answer.plaintext))
    }

    fn current_key_id(&self, provider: &str) -> Option<String> {
        let answer: StatusResponse = self.call(provider, "/v2.KeyManagementService/Status", StatusRequest {}).ok()?;
        Some(answer.key_id).filter(|id| !id.is_empty())
    }
}

/// Why there is no answer.
enum KmsFailure {
    Refused(String),
    /// Nobody spoke.
    Silent(String),
}

async fn ask<Q, A>(endpoint: &str, method: &'static str, question: Q) -> Result<A, KmsFailure>
where
    Q: Message + 'static,
    A: Message + Default + Send + 'static,
{
    let silent = |error: &dyn std::fmt::Display| KmsFailure::Silent(error.to_string());
    let stream = sockets::connect(endpoint).await.map_err(|error| silent(&error))?;
    // The address is never looked at: the connection is made.
    let channel =
        Endpoint::from_static("http://kms").connect_with_connector(Connected(Some(stream))).await.map_err(|error| silent(&error))?;
    let mut client: Grpc<Channel> = Grpc::new(channel);
    client.ready().await.map_err(|error| silent(&error))?;
    let answer = client.unary(tonic::Request::new(question), PathAndQuery::from_static(method), ProstCodec::<Q, A>::default()).await;
    answer.map(tonic::Response::into_inner).map_err(|status| KmsFailure::Refused(status.message().to_owned()))
}

/// Hands out a connection that is already made.
struct Connected(Option<Stream>);

impl Service<Uri> for Connected {
    type Response = TokioIo<Stream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let stream = self.0.take().map(TokioIo::new).ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected));
        Box::pin(std::future::ready(stream))
    }
}

#[derive(Clone, PartialEq, Message)]
struct StatusRequest {}

#[derive(Clone, PartialEq, Message)]
struct StatusResponse {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(string, tag = "2")]
    healthz: String,
    #[prost(string, tag = "3")]
    key_id: String,
}

#[derive(Clone, PartialEq, Message)]
struct DecryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    uid: String,
    #[prost(string, tag = "3")]
    key_id: String,
    #[prost(map = "string, bytes", tag = "4")]
    annotations: HashMap<String, Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct DecryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    plaintext: Vec<u8>,
}
