//! A server on a recorded cluster, and a client of it.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;
use tempfile::TempDir;
use ureq::Agent;
use ureq::http::{HeaderMap, Request};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::ketcd::ketcd;

/// A file of a recorded cluster.
pub(crate) fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name)
}

/// A server that ends with it.
pub(crate) struct Server {
    process: Child,
    /// What it says, which nobody reads once it serves.
    _said: BufReader<ChildStderr>,
    folder: TempDir,
    agent: Agent,
    address: String,
    token: String,
    tls: Arc<ClientConfig>,
}

impl Server {
    /// Serves a file of a recorded cluster, with flags before the command.
    pub(crate) fn start(file: &str, flags: &[&str]) -> Self {
        Self::start_with(file, flags, &[])
    }

    /// Serves a file of a recorded cluster, with flags before and after the command.
    pub(crate) fn start_with(file: &str, flags: &[&str], of_serve: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let mut command = ketcd();
        command.arg("-f").arg(capture(file)).args(flags).arg("serve").args(of_serve).arg("--kubeconfig").arg(&kubeconfig);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("Ctrl-C ends it") {
            assert!(said.read_line(&mut text).unwrap() > 0, "it does not serve: {text}");
        }
        let config: Value = serde_saphyr::from_str(&std::fs::read_to_string(&kubeconfig).unwrap()).unwrap();
        let cluster = &config["clusters"][0]["cluster"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let pem = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text(&cluster["certificate-authority-data"])).unwrap();
        let certificate = Certificate::from_pem(&pem).unwrap().to_owned();
        let tls = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(vec![certificate]))).build();
        let agent = Agent::config_builder().tls_config(tls).http_status_as_error(false).build().into();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let tls = Arc::new(tls.with_root_certificates(roots).with_no_client_auth());
        Self {
            process,
            _said: said,
            folder,
            agent,
            address: text(&cluster["server"]),
            token: text(&config["users"][0]["user"]["token"]),
            tls,
        }
    }

    /// `HOST:PORT`.
    pub(crate) fn host(&self) -> &str {
        self.address.strip_prefix("https://").unwrap()
    }

    /// The token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Its process.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// A connection by TLS.
    pub(crate) fn connect_tls(&self) -> StreamOwned<ClientConnection, TcpStream> {
        let name = self.host().rsplit_once(':').unwrap().0.to_owned();
        StreamOwned::new(
            ClientConnection::new(Arc::clone(&self.tls), name.try_into().unwrap()).unwrap(),
            TcpStream::connect(self.host()).unwrap(),
        )
    }

    /// A folder of its own, where its kubeconfig is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Opens a watch in this media type and reads its frames as they come.
    pub(crate) fn watch(&self, path: &str, accept: &str) -> impl Iterator<Item = Value> + use<> {
        let request = self.agent.get(format!("{}{path}", self.address)).header("accept", accept);
        let response = request.header("authorization", format!("Bearer {}", self.token)).call().unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
        let lines = BufReader::new(response.into_body().into_reader()).lines();
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
    }

    /// The frames of a watch up to the bookmark that says that nothing more happens.
    pub(crate) fn changes(&self, path: &str, accept: &str) -> Vec<Value> {
        let frames = self.watch(&format!("{path}&allowWatchBookmarks=true"), accept);
        frames.take_while(|frame| frame["type"] != "BOOKMARK").collect()
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// `https://HOST:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request with these headers; the token is among them, unless they have an authorization.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.address));
        if !headers.iter().any(|(name, _)| *name == "authorization") {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let config = self.agent.configure_request(request.body(body.to_owned()).unwrap()).allow_non_standard_methods(true).build();
        let mut response = self.agent.run(config).unwrap();
        (response.status().as_u16(), response.body_mut().with_config().limit(1 << 30).read_to_string().unwrap())
    }

    /// The code of the answer to a read with these headers; `None` where the connection is cut.
    pub(crate) fn code(&self, path: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let mut request = self.agent.get(format!("{}{path}", self.address)).header("authorization", format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.call().ok().map(|response| response.status().as_u16())
    }

    /// The headers of the answer to a read with these headers.
    pub(crate) fn headers(&self, path: &str, headers: &[(&str, &str)]) -> HeaderMap {
        let mut request = self.agent.get(format!("{}{path}", self.address)).header("authorization", format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.call().unwrap().headers().clone()
    }

    /// What is at a path in this media type: its code, its own media type, its bytes as they come.
    pub(crate) fn body(&self, path: &str, accept: &str) -> (u16, String, impl Read + use<>) {
        let request = self.agent.get(format!("{}{path}", self.address)).header("accept", accept);
        let response = request.header("authorization", format!("Bearer {}", self.token)).call().unwrap();
        let media_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        (response.status().as_u16(), media_type, response.into_body().into_reader())
    }

    /// The same with all of its bytes.
    pub(crate) fn bytes(&self, path: &str, accept: &str) -> (u16, String, Vec<u8>) {
        let (code, media_type, mut body) = self.body(path, accept);
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes).unwrap();
        (code, media_type, bytes)
    }

    /// The text at a path in this media type, with its length where the answer tells it at once.
    pub(crate) fn text(&self, path: &str, accept: &str) -> (Option<u64>, String) {
        let request = self.agent.get(format!("{}{path}", self.address)).header("accept", accept);
        let mut response = request.header("authorization", format!("Bearer {}", self.token)).call().unwrap();
        let length = response.headers().get("content-length").map(|length| length.to_str().unwrap().parse().unwrap());
        (length, response.body_mut().with_config().limit(1 << 30).read_to_string().unwrap())
    }

    /// The document at a path, with its code.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.get_as(path, "application/json")
    }

    /// The document at a path in this media type.
    pub(crate) fn get_as(&self, path: &str, accept: &str) -> (u16, Value) {
        let (code, text) = self.send("GET", path, &[("accept", accept)], "");
        (code, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}")))
    }

    /// The document at a path that is there.
    #[track_caller]
    pub(crate) fn found(&self, path: &str) -> Value {
        let (code, document) = self.get(path);
        assert_eq!(code, 200, "{path}: {document}");
        document
    }

    /// The items of a list.
    #[track_caller]
    pub(crate) fn items(&self, path: &str) -> Vec<Value> {
        self.found(path)["items"].as_array().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `namespace/name` of an object.
pub(crate) fn name(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!("{}/{}", metadata["namespace"].as_str().unwrap_or_default(), metadata["name"].as_str().unwrap_or_default())
}
