//! Clients that mean no good, or know no better, and many at once: they are refused, and others are served meanwhile.

use std::thread;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::server::Server;

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";

#[test]
fn heads_have_an_end() {
    let server = Server::start(STORY_CAPTURE, &[]);
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

fn open_many() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// 1,000 watches stay open beside each other, and a read is answered meanwhile.
#[test]
fn a_thousand_watches_are_open_at_once() {
    const WATCH_COUNT: usize = 1_000;
    const THREAD_COUNT: usize = 8;
    open_many();
    let mut server = Server::start(STORY_CAPTURE, &[]);
    let open = || server.watch("/api/v1/pods?watch=true&resourceVersion=3190&allowWatchBookmarks=true", "application/json");
    let open_some = || (0..WATCH_COUNT / THREAD_COUNT).map(|_| open()).collect::<Vec<_>>();
    let watches: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREAD_COUNT).map(|_| scope.spawn(open_some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(server.items("/api/v1/namespaces").len(), 6);
    for mut watch in watches {
        assert_eq!(watch.next().unwrap()["type"], "BOOKMARK");
    }
    assert!(server.runs());
}

/// Whatever a client asks, it is told what is wrong with it: no answer is a failure of the server.
#[test]
fn made_up_requests_are_answered() {
    let server = Server::start(STORY_CAPTURE, &[]);
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
