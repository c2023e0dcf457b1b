//! An API server that a test plays: answers by path, and what was asked.

use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::kubeconfig::{Access, Kubeconfig};

/// What is answered to a request.
pub(crate) enum MockAnswer {
    /// A status, headers and a body.
    Whole(u16, &'static str, String),
    /// The lines of a watch, which stays open.
    Open(String),
    /// A document after which the connection ends, without a word of it before.
    Last(String),
    /// The head of a document of which a byte comes every second.
    Slow,
    /// Nothing, on a connection that stays open.
    Never,
    /// The connection ends instead.
    Lost,
}

impl MockAnswer {
    pub(crate) fn json(body: impl Into<String>) -> Self {
        Self::Whole(200, "", body.into())
    }

    pub(crate) fn status(code: u16, message: &str) -> Self {
        Self::Whole(code, "", format!(r#"{{"kind":"Status","code":{code},"message":"{message}"}}"#))
    }
}

/// A server that runs until its runtime ends, on connections in memory: where time is paused, it passes as soon as nobody has anything to do.
pub(crate) struct Mock {
    listener: UnboundedSender<DuplexStream>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Mock {
    /// Answers each path, query included, with what `answer` says; its second argument counts the requests for that path, from 0.
    pub(crate) fn start(answer: impl Fn(&str, usize) -> MockAnswer + Send + Sync + 'static) -> Self {
        let (listener, mut accepted) = unbounded_channel();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answer, log) = (Arc::new(answer), Arc::clone(&asked));
        tokio::spawn(async move {
            while let Some(stream) = accepted.recv().await {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                tokio::spawn(async move { serve(stream, &*answer, &log).await });
            }
        });
        Self { listener, asked }
    }

    /// The request lines that came, without the version.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn access(&self) -> Access {
        let text = "current-context: mock\ncontexts: [{name: mock, context: {cluster: c, user: u}}]\n\
            clusters: [{name: c, cluster: {server: 'http://mock'}}]\nusers: [{name: u, user: {token: abc}}]\n";
        let access = Access::of(&Kubeconfig::parse(text, Path::new("/")).unwrap(), None).unwrap();
        Access { listener: Some(self.listener.clone()), ..access }
    }
}

async fn serve(mut stream: DuplexStream, answer: &(impl Fn(&str, usize) -> MockAnswer + ?Sized), log: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    loop {
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
        assert!(text.contains("authorization: Bearer abc"), "{text}");
        let line = text.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
        let count = log.lock().unwrap().iter().filter(|known| **known == line).count();
        log.lock().unwrap().push(line.clone());
        match answer(line.split(' ').nth(1).unwrap(), count) {
            MockAnswer::Whole(code, headers, body) => {
                let text = format!("HTTP/1.1 {code} x\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len());
                stream.write_all(text.as_bytes()).await.unwrap();
            }
            MockAnswer::Open(lines) => {
                stream.write_all(format!("HTTP/1.1 200 x\r\nconnection: close\r\n\r\n{lines}").as_bytes()).await.unwrap();
                std::future::pending::<()>().await;
            }
            MockAnswer::Last(body) => {
                let text = format!("HTTP/1.1 200 x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                stream.write_all(text.as_bytes()).await.unwrap();
                return;
            }
            MockAnswer::Slow => {
                stream.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 1000000\r\n\r\n").await.unwrap();
                while stream.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
                return;
            }
            MockAnswer::Never => std::future::pending().await,
            MockAnswer::Lost => return,
        }
    }
}

/// The documents of a server whose resources are pods, Secrets and Leases.
pub(crate) fn discovery(path: &str) -> Option<MockAnswer> {
    let resource = |name: &str, kind: &str| {
        format!(r#"{{"name":"{name}","singularName":"","namespaced":true,"kind":"{kind}","verbs":["list","watch"]}}"#)
    };
    Some(MockAnswer::json(match path {
        "/api" => r#"{"kind":"APIVersions","versions":["v1"]}"#.to_owned(),
        "/apis" => r#"{"kind":"APIGroupList","groups":[{"name":"coordination.k8s.io","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]}]}"#.to_owned(),
        "/api/v1" => format!(r#"{{"resources":[{},{}]}}"#, resource("pods", "Pod"), resource("secrets", "Secret")),
        "/apis/coordination.k8s.io/v1" => format!(r#"{{"resources":[{}]}}"#, resource("leases", "Lease")),
        _ => return None,
    }))
}
