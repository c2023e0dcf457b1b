//! The KMS v2 plugin of a recorded cluster, played by the test on a real socket: `ketcd` opens what it sealed, and asks only to decrypt.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use aes_gcm::aead::Aead;
use aes_gcm::{Aes256Gcm, KeyInit};
use serde_json::Value;
use tokio::net::UnixListener;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

const ENCRYPTED_CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/captures/k136-encrypted");

#[derive(Clone, PartialEq, prost::Message)]
struct DecryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    uid: String,
    #[prost(string, tag = "3")]
    key_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    plaintext: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusRequest {}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusResponse {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(string, tag = "2")]
    healthz: String,
    #[prost(string, tag = "3")]
    key_id: String,
}

/// AES-256-GCM under one key; what was asked is written down.
#[derive(Clone, Default)]
struct Plugin {
    asked: Arc<Mutex<Vec<String>>>,
}

impl NamedService for Plugin {
    const NAME: &'static str = "v2.KeyManagementService";
}

impl Service<http::Request<Body>> for Plugin {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let plugin = self.clone();
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        self.asked.lock().unwrap().push(method.clone());
        Box::pin(async move {
            Ok(match method.as_str() {
                "Decrypt" => Grpc::new(ProstCodec::default()).unary(Decrypt, request).await,
                "Status" => Grpc::new(ProstCodec::default()).unary(plugin, request).await,
                other => panic!("{other} was asked for"),
            })
        })
    }
}

impl UnaryService<StatusRequest> for Plugin {
    type Response = StatusResponse;
    type Future = Ready<Result<Response<StatusResponse>, Status>>;

    fn call(&mut self, _request: Request<StatusRequest>) -> Self::Future {
        ready(Ok(Response::new(StatusResponse { version: "v2".to_owned(), healthz: "ok".to_owned(), key_id: "lab-key-2".to_owned() })))
    }
}

struct Decrypt;

impl UnaryService<DecryptRequest> for Decrypt {
    type Response = DecryptResponse;
    type Future = Ready<Result<Response<DecryptResponse>, Status>>;

    fn call(&mut self, request: Request<DecryptRequest>) -> Self::Future {
        let secret: Vec<u8> = (0..32).collect();
        let DecryptRequest { ciphertext, uid, key_id } = request.into_inner();
        assert!(!uid.is_empty() && key_id.starts_with("lab-key-"));
        let (nonce, sealed) = ciphertext.split_at(12);
        let plain = Aes256Gcm::new_from_slice(&secret).unwrap().decrypt(nonce.into(), sealed);
        ready(plain.map(|plaintext| Response::new(DecryptResponse { plaintext })).map_err(|_| Status::invalid_argument("not mine")))
    }
}

/// Starts the plugin on `listener` for as long as the runtime lives.
fn serve(runtime: &tokio::runtime::Runtime, listener: UnixListener) -> Plugin {
    let plugin = Plugin::default();
    let incoming = async_stream::stream! {
        loop {
            yield listener.accept().await.map(|(stream, _)| stream);
        }
    };
    runtime.spawn(tonic::transport::Server::builder().add_service(plugin.clone()).serve_with_incoming(incoming));
    plugin
}

/// The recorded cluster's configuration with the plugin at another endpoint, which may take so long.
fn config(endpoint: &str, timeout: &str) -> String {
    let config = std::fs::read_to_string(format!("{ENCRYPTED_CAPTURE}/encryption-config.yaml")).unwrap();
    let known = r#"endpoint: "unix:///@lab-kms.sock", timeout: 3s"#;
    assert!(config.contains(known), "{config}");
    config.replace(known, &format!("endpoint: \"{endpoint}\", timeout: {timeout}"))
}

fn audit(config: &str) -> (Value, Option<i32>) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, config.as_bytes()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_ketcd"))
        .args(["-f", &format!("{ENCRYPTED_CAPTURE}/snapshot.db.zst"), "encryption", "-o", "json", "--encryption-config"])
        .arg(file.path())
        .output()
        .unwrap();
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (document, output.status.code())
}

/// Key id, values, opened and promise of each row of Secrets under KMS.
fn kms_rows(document: &Value) -> Vec<(String, i64, i64, String)> {
    let rows = document["encryption"].as_array().unwrap().iter().filter(|row| row["provider"] == "kms v2");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.map(|row| (text(&row["keyId"]), row["values"].as_i64().unwrap(), row["opened"].as_i64().unwrap(), text(&row["promise"]))).collect()
}

#[test]
fn a_plugin_that_answers_opens_what_it_sealed() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("kms.sock");
    let config = config(&format!("unix://{}", socket.display()), "24h");
    let rows = |opened, old: &str, new: &str| {
        vec![("lab-key-1".to_owned(), 4, opened, old.to_owned()), ("lab-key-2".to_owned(), 4, opened, new.to_owned())]
    };

    let (document, code) = audit(&config);
    assert_eq!(kms_rows(&document), rows(0, "unknown", "unknown"), "nobody listens yet");
    assert_eq!(code, Some(1));
    assert!(document.to_string().contains("the plugin does not answer at unix://"));

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let plugin = runtime.block_on(async { serve(&runtime, UnixListener::bind(&socket).unwrap()) });
    let (document, _) = audit(&config);
    assert_eq!(kms_rows(&document), rows(4, "otherKey", "kept"));
    let mut asked = plugin.asked.lock().unwrap().clone();
    asked.sort();
    assert_eq!(asked, ["Decrypt", "Decrypt", "Status"], "each data key once");
}

#[test]
fn a_plugin_that_never_answers_is_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("kms.sock");
    let _deaf = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let (document, code) = audit(&config(&format!("unix://{}", socket.display()), "1ms"));
    assert!(kms_rows(&document).iter().all(|(_, _, opened, _)| *opened == 0));
    let said = format!("the plugin does not answer at unix://{}: no answer within 1ms", socket.display());
    assert!(code == Some(1) && document.to_string().contains(&said), "{document}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_plugin_in_the_abstract_namespace_is_found() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener as StdListener};
    let name = format!("ketcd-test-{}", std::process::id());
    let listener = StdListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    listener.set_nonblocking(true).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async { serve(&runtime, UnixListener::from_std(listener).unwrap()) });
    let (document, _) = audit(&config(&format!("unix:///@{name}"), "24h"));
    assert!(kms_rows(&document).iter().all(|(_, values, opened, _)| values == opened));
}
