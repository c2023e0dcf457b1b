//! Assistants over HTTP: who may ask, both lifecycles, and what is left at the end.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::STORY;
use super::client::meta;
use crate::ketcd::ketcd;
use crate::server::capture;

struct Listening {
    process: Child,
    folder: PathBuf,
    url: String,
    token: String,
    agent: Agent,
}

impl Listening {
    fn start() -> Self {
        let mut command = ketcd();
        command.arg("-f").arg(capture(STORY)).args(["mcp", "--listen", "127.0.0.1:0"]);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("Ctrl-C ends it") {
            assert!(said.read_line(&mut text).unwrap() > 0, "it does not serve: {text}");
        }
        let file = text.split("token of this run: ").nth(1).unwrap().split(';').next().unwrap();
        let folder = PathBuf::from(file).parent().unwrap().to_owned();
        let client: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let server = &client["mcpServers"]["ketcd"];
        let pem = std::fs::read(folder.join("ca.crt")).unwrap();
        let certificate = Certificate::from_pem(&pem).unwrap().to_owned();
        let tls = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(vec![certificate]))).build();
        // A connection that waits without having shown the token is closed after a while.
        let agent = Agent::config_builder().tls_config(tls).http_status_as_error(false).max_idle_connections(0).build().into();
        let token = server["headers"]["Authorization"].as_str().unwrap().to_owned();
        Self { process, folder, url: server["url"].as_str().unwrap().to_owned(), token, agent }
    }

    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(&self.url);
        request = request.header("content-type", "application/json").header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = self.agent.run(request.body(body.to_owned()).unwrap()).unwrap();
        (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
    }

    /// Sends a request of this method with these headers, and returns its result.
    #[track_caller]
    fn request(&self, headers: &[(&str, &str)], method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let headers: Vec<(&str, &str)> = [("authorization", &*self.token)].into_iter().chain(headers.iter().copied()).collect();
        let (code, text) = self.send("POST", &headers, &body);
        assert_eq!(code, 200, "{method}: {text}");
        let json = text.lines().find_map(|line| line.strip_prefix("data: ").filter(|data| data.starts_with('{'))).unwrap_or(&text);
        serde_json::from_str::<Value>(json).unwrap_or_else(|error| panic!("{error}: {text}"))["result"].clone()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn only_who_has_the_token_may_ask() {
    let server = Listening::start();
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&server.folder).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "others can read the token: {mode:o}");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    for token in ["", "Bearer", "Bearer x", "Basic eDp5"] {
        assert_eq!(server.send("POST", &[("authorization", token)], &body).0, 401, "{token}");
    }
    let token = ("authorization", &*server.token);
    assert_eq!(server.send("POST", &[token, ("host", "evil.example")], &body).0, 403);
    assert_eq!(server.send("POST", &[token, ("origin", "https://evil.example")], &body).0, 403);
    // Who is refused is told so, however much is sent.
    let large = "x".repeat(1 << 20);
    assert_eq!(server.send("POST", &[token], &large).0, 413);
    assert_eq!(server.send("POST", &[("authorization", "Bearer x")], &large).0, 401);
}

#[test]
fn both_lifecycles_are_served_and_nothing_is_kept() {
    let mut server = Listening::start();
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let told = server.request(&[], "initialize", &client);
    assert!(told["instructions"].as_str().unwrap().contains("triage first"), "{told}");
    let older = [("mcp-protocol-version", "2025-06-18")];
    let call = json!({"name": "get", "arguments": {"address": "pod/web/crasher", "at": 1651}});
    let told = server.request(&older, "tools/call", &call);
    assert!(told["content"][1]["text"].as_str().unwrap().contains("crasher"), "{told}");
    let newer = |method| [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    let found = server.request(&newer("server/discover"), "server/discover", &json!({"_meta": meta()}));
    assert!(found["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    let tools = server.request(&newer("tools/list"), "tools/list", &json!({"_meta": meta()}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 9);
    assert!(Command::new("kill").arg(server.process.id().to_string()).status().unwrap().success());
    assert_eq!(server.process.wait().unwrap().code(), Some(0));
    assert!(!server.folder.exists());
}
