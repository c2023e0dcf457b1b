//! Clients that mean no good, or know no better: they are refused or wait, and others are served meanwhile.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::server::Server;

const STORY: &str = "k136-story/snapshot.db.zst";

#[test]
fn heads_have_an_end() {
    let server = Server::start(STORY, &[]);
    // A URL that no parser takes does not leave this client; one that is as long as it may be leaves no room for more.
    let (long, more) = (format!("/api/v1/pods?labelSelector={}", "x".repeat(60_000)), "x".repeat(20_000));
    assert_eq!(server.send("GET", &long, &[], "").0, 400);
    // Whoever still writes when the answer comes sees the connection end.
    assert!(matches!(server.code(&long, &[("x-long", &more)]), None | Some(431)));
    assert!(matches!(server.code("/api/v1/pods", &[("x-long", &more.repeat(5))]), None | Some(431)));
    // A review may be long, but not without end.
    let body = format!("{{\"spec\": \"{}\"}}", "x".repeat(300_000));
    let (code, text) =
        server.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &[("content-type", "application/json")], &body);
    assert_eq!(code, 413, "{text}");
    assert_eq!(server.get("/version").0, 200);
}

/// Connections that say nothing, or too little, are closed; those that never show the token too.
#[test]
fn half_open_connections_end_and_hinder_nobody() {
    let server = Server::start(STORY, &[]);
    let mut silent: Vec<TcpStream> = (0..300).map(|_| server.connect()).collect();
    silent.iter_mut().skip(100).for_each(|stream| stream.write_all(b"\x16\x03\x01").unwrap());
    let begun = Instant::now();
    assert_eq!(server.get("/version").0, 200);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    for mut stream in silent {
        // Zero bytes, or a reset: it is over.
        let _ = stream.read(&mut [0; 64]);
    }
    assert!(begun.elapsed() < Duration::from_secs(45), "{:?}", begun.elapsed());
}

fn open_many() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Connections that never show the token take no room from those that do, however many there are and however far they go.
#[test]
fn strangers_do_not_crowd_out_clients() {
    const CROWD: usize = 6_000;
    open_many();
    let server = Server::start(STORY, &[]);
    let crowd = |many: usize, each: &dyn Fn() -> TcpStream| -> Vec<TcpStream> {
        let crowd: Vec<TcpStream> = (0..many).map(|_| each()).collect();
        let begun = Instant::now();
        assert_eq!(server.get("/version").0, 200);
        // They may stay for 10 s, and it did not have to wait for that.
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
        crowd
    };
    let silent = crowd(CROWD, &|| server.connect());
    // The first of them made room.
    assert!(matches!((&silent[0]).read(&mut [0; 64]), Ok(0) | Err(_)));
    let begun = |text: &'static [u8]| {
        let mut stream = server.connect();
        let _ = stream.write_all(text);
        stream
    };
    let begun = crowd(1_500, &|| begun(b"\x16\x03\x01"));
    let asking = crowd(1_100, &|| {
        let mut stream = server.connect_tls();
        let _ = stream.write_all(b"GET /version HTTP/1.1\r\nHost: a\r\n");
        stream.sock
    });
    drop((silent, begun, asking));
}

/// 1,000 watches stay open beside each other, and a read is answered meanwhile.
#[test]
fn a_thousand_watches_are_open_at_once() {
    const WATCHES: usize = 1_000;
    open_many();
    let mut server = Server::start(STORY, &[]);
    let (open, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    thread::scope(|scope| {
        for _ in 0..WATCHES {
            let (server, open, ended) = (&server, Arc::clone(&open), Arc::clone(&ended));
            thread::Builder::new()
                .stack_size(512 << 10)
                .spawn_scoped(scope, move || {
                    let frames = server.watch("/api/v1/pods?watch=true&resourceVersion=3189&timeoutSeconds=20");
                    open.fetch_add(1, Ordering::Relaxed);
                    frames.for_each(drop);
                    ended.fetch_add(1, Ordering::Relaxed);
                })
                .unwrap();
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        while open.load(Ordering::Relaxed) < WATCHES {
            assert!(Instant::now() < deadline, "only {} watches were opened", open.load(Ordering::Relaxed));
            thread::sleep(Duration::from_millis(20));
        }
        let begun = Instant::now();
        assert_eq!(server.items("/api/v1/namespaces").len(), 6);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    });
    assert_eq!(ended.load(Ordering::Relaxed), WATCHES);
    assert!(server.runs());
}

/// Clients that ask for much and take nothing lose their answers, not the others'.
#[test]
fn clients_that_do_not_read_hinder_nobody() {
    let server = Server::start(STORY, &[]);
    let open = || server.watch("/api/v1/events?watch=true&resourceVersion=1&timeoutSeconds=60");
    let held: Vec<_> = (0..450).map(|_| open()).collect();
    let begun = Instant::now();
    assert_eq!(server.get("/api/v1/pods").0, 200);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(held);
}

/// Whatever a client asks, it is told what is wrong with it: no answer is a failure of the server.
#[test]
fn made_up_requests_are_answered() {
    let server = Server::start(STORY, &[]);
    let word = prop_oneof![
        "[a-zA-Z]{1,8}",
        "[%&=;,!()~\\.\\-_a-z0-9]{0,24}",
        Just("metadata.name".to_owned()),
        Just("app in (a,b),!c".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("-1".to_owned()),
        Just("%F0%9F".to_owned()),
    ];
    let name = prop_oneof![
        Just("labelSelector"),
        Just("fieldSelector"),
        Just("limit"),
        Just("continue"),
        Just("resourceVersion"),
        Just("resourceVersionMatch"),
        Just("timeoutSeconds"),
        Just("sendInitialEvents"),
        Just("allowWatchBookmarks"),
        Just("includeObject"),
        Just("pretty"),
    ];
    let path = prop_oneof![
        Just("/api/v1/pods".to_owned()),
        Just("/apis/apps/v1/namespaces/web/deployments".to_owned()),
        Just("/apis/example.com/v1/gadgets".to_owned()),
        Just("/openapi/v3/api/v1".to_owned()),
        "/(rev|at|newest|api|apis|v1|watch|namespaces|pods|[a-z0-9:\\.\\-]{1,9})(/[a-z0-9:%\\.\\-]{1,9}){0,6}",
    ];
    let accept = prop_oneof![
        Just("application/json".to_owned()),
        Just("application/yaml".to_owned()),
        Just("application/vnd.kubernetes.protobuf".to_owned()),
        Just("application/json;as=Table;v=v1;g=meta.k8s.io".to_owned()),
        Just("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io".to_owned()),
        "[a-z/;=,\\*q0-9\\.]{0,40}",
    ];
    let query = proptest::collection::vec((name, word), 0..4);
    let mut runner = TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() });
    let run = runner.run(&(path, query, accept), |(path, query, accept)| {
        let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let url = format!("{path}?{}", query.join("&"));
        // What is no URL does not leave the client.
        let Ok(url) = url.parse::<ureq::http::Uri>() else { return Ok(()) };
        let (code, _, body) = server.bytes(&url.to_string(), &accept);
        prop_assert!(code < 500 || code == 504, "{code} {url} {accept}: {}", String::from_utf8_lossy(&body));
        Ok(())
    });
    run.unwrap();
    assert_eq!(server.get("/version").0, 200);
}
