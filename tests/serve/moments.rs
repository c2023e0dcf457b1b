//! Other moments than the newest: by the flags, by the path, by the context.

use serde_json::json;

use crate::server::Server;

#[test]
fn the_moment_asked_for_is_what_every_request_sees() {
    let server = Server::start("k136-story/snapshot.db.zst", &["--rev", "1700"]);
    let newest = Server::start("k136-story/snapshot.db.zst", &[]);
    for path in ["/api/v1/pods", "/apis", "/apis/example.com/v1/gadgets", "/api/v1/namespaces/web/events"] {
        assert_eq!(server.get(path), newest.get(&format!("/rev/1700{path}")), "{path}");
        assert_eq!(server.get(&format!("/newest{path}")), newest.get(path), "{path}");
    }
    let (code, status) = server.get("/api/v1/pods?resourceVersion=1800");
    assert_eq!((code, &status["message"]), (504, &json!("Timeout: Too large resource version: 1800, current: 1700")));
}

#[test]
fn a_path_can_name_a_time() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    let at = Server::start("k136-story/snapshot.db.zst", &["--at", "2026-11-21T00:20:00Z"]);
    assert_eq!(server.found("/at/2026-11-21T00:20:00Z/api/v1/pods"), at.found("/api/v1/pods"));
    for path in ["/at/yesterday-ish/api/v1/pods", "/at/1999-01-01T00:00:00Z/api/v1/pods", "/rev/99999/api/v1/pods", "/rev/x/api"] {
        assert_eq!(server.get(path).0, 400, "{path}");
    }
}

#[test]
fn a_moment_that_was_compacted_is_gone() {
    let server = Server::start("k136-story/compacted.db.zst", &[]);
    for path in ["/rev/1000/api/v1/pods", "/at/2026-11-21T00:15:00Z/api/v1/pods"] {
        let (code, status) = server.get(path);
        assert_eq!((code, &status["reason"]), (410, &json!("Expired")), "{path}: {status}");
    }
    assert_eq!(server.get("/at/2026-11-21T00:20:00Z/api/v1/pods").0, 200);
}

#[test]
fn definitions_are_those_of_the_moment() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    assert_eq!(server.get("/apis/example.com/v1/gadgets").0, 200);
    assert_eq!(server.get("/rev/300/apis/example.com/v1/gadgets").0, 404);
}
