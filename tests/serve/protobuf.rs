//! Protobuf: what is sent decodes to what is sent as JSON.

use std::io::Read;

use ketcd_kube::{Body, Decoder, Release};
use serde_json::{Value, json};

use crate::server::Server;

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";
const PROTOBUF_TYPE: &str = "application/vnd.kubernetes.protobuf";

fn decode(bytes: &[u8]) -> Value {
    match Decoder::for_stored_values().with_release(Release(36)).showing_secrets(true).decode(b"", bytes, 0).body {
        Body::Object(object) => object.into_value(),
        Body::Opaque(opaque) => panic!("{}: {:?}", opaque.reason, bytes.get(..80)),
    }
}

/// An object whose envelope says `v1`, with one that says `meta.k8s.io/v1`.
fn of_meta(bytes: &[u8]) -> Vec<u8> {
    assert_eq!(bytes[..5], *b"k8s\0\n");
    assert_eq!(bytes[6..10], *b"\n\x02v1");
    [b"k8s\0\n", &[bytes[5] + 12][..], b"\n\x0emeta.k8s.io/v1", &bytes[10..]].concat()
}

/// Every collection that has protobuf, in every version, as a list and one by one.
#[test]
fn lists_are_those_in_json() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let mut compared = 0;
    for root in server.found("/").get("paths").and_then(Value::as_array).unwrap() {
        let root = root.as_str().unwrap();
        if !root.starts_with("/api") || root.contains("example.com") {
            continue;
        }
        let found = server.found(root);
        for resource in found.get("resources").and_then(Value::as_array).into_iter().flatten() {
            let plural = resource["name"].as_str().unwrap();
            if plural.contains('/') || !resource["verbs"].as_array().unwrap().contains(&json!("watch")) {
                continue;
            }
            let path = format!("{root}/{plural}");
            let (code, media_type, bytes) = server.bytes(&path, PROTOBUF_TYPE);
            assert_eq!((code, media_type.as_str()), (200, PROTOBUF_TYPE), "{path}");
            let mut wanted = server.found(&path);
            // A list without items is null once it went over the wire.
            if wanted["items"] == json!([]) {
                wanted["items"] = Value::Null;
            }
            // Nor does protobuf say of what kind the objects within an object are.
            let claims = wanted["items"].as_array_mut().into_iter().flatten();
            for claim in claims.filter_map(|item| item.pointer_mut("/spec/volumeClaimTemplates")?.as_array_mut()).flatten() {
                claim.as_object_mut().unwrap().retain(|name, _| name != "kind" && name != "apiVersion");
            }
            assert_eq!(decode(&bytes), wanted, "{path}");
            compared += wanted["items"].as_array().map_or(0, Vec::len);
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn an_object_is_the_one_in_json() {
    let server = Server::start(STORY_CAPTURE, &[]);
    for path in
        ["/api/v1/nodes/node1", "/api/v1/namespaces/web/secrets/db-password", "/apis/apps/v1/namespaces/web/deployments/tomcat/scale"]
    {
        let (code, media_type, bytes) = server.bytes(path, &format!("{PROTOBUF_TYPE}, */*"));
        assert_eq!((code, media_type.as_str()), (200, PROTOBUF_TYPE), "{path}");
        assert_eq!(decode(&bytes), server.found(path), "{path}");
    }
}

#[test]
fn pages_and_selectors_are_those_in_json() {
    let server = Server::start(STORY_CAPTURE, &[]);
    for path in ["/api/v1/pods?limit=3", "/api/v1/pods?labelSelector=app", "/apis/events.k8s.io/v1/events?limit=5"] {
        let (_, _, bytes) = server.bytes(path, PROTOBUF_TYPE);
        assert_eq!(decode(&bytes), server.found(path), "{path}");
    }
}

#[test]
fn metadata_of_custom_resources_has_protobuf_and_they_have_none() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let gadgets = server.found("/apis").get("groups").and_then(Value::as_array).unwrap().clone();
    let group = gadgets.iter().map(|group| group["name"].as_str().unwrap()).find(|name| name.contains("example.com")).unwrap();
    let path = format!("/apis/{group}/v1/gadgets");
    let accept = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let (code, _, bytes) = server.bytes(&path, &format!("{PROTOBUF_TYPE};{accept}"));
    assert_eq!(code, 200);
    let mut wanted = server.get_as(&path, &format!("application/json;{accept}")).1;
    // Items of a list do not say what they are.
    for item in wanted["items"].as_array_mut().unwrap() {
        item.as_object_mut().unwrap().retain(|name, _| name == "metadata");
    }
    wanted["metadata"].as_object_mut().unwrap().remove("continue");
    assert_eq!(decode(&bytes), wanted);
    let (code, media_type, bytes) = server.bytes(&path, PROTOBUF_TYPE);
    assert_eq!((code, media_type.as_str()), (406, PROTOBUF_TYPE));
    let types = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf\x22\x0dNotAcceptable";
    assert!(bytes.starts_with(b"k8s\0") && String::from_utf8_lossy(&bytes).contains(types), "{}", String::from_utf8_lossy(&bytes));
    let (code, media_type, _) = server.bytes(&path, &format!("{PROTOBUF_TYPE}, */*"));
    assert_eq!((code, media_type.as_str()), (200, "application/json"));
}

/// A typed client that takes protobuf alone asks for these too.
#[test]
fn discovery_is_that_in_json_and_the_version_is_json() {
    let server = Server::start(STORY_CAPTURE, &[]);
    for path in ["/api", "/apis", "/apis/apps", "/api/v1", "/apis/apps/v1", "/apis/example.com/v1"] {
        let (code, media_type, bytes) = server.bytes(path, PROTOBUF_TYPE);
        assert_eq!((code, media_type.as_str()), (200, PROTOBUF_TYPE), "{path}");
        let mut wanted = server.found(path);
        // The decoder knows these kinds, which every group serves, by the group they are defined in.
        wanted["apiVersion"] = json!("meta.k8s.io/v1");
        assert_eq!(decode(&of_meta(&bytes)), wanted, "{path}");
    }
    for path in ["/version", "/"] {
        let (code, media_type, bytes) = server.bytes(path, PROTOBUF_TYPE);
        assert_eq!((code, media_type.as_str()), (200, "application/json"), "{path}");
        assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), server.found(path), "{path}");
    }
}

#[test]
fn failures_are_statuses() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let (code, media_type, bytes) = server.bytes("/api/v1/namespaces/web/pods/nobody", PROTOBUF_TYPE);
    assert_eq!((code, media_type.as_str()), (404, PROTOBUF_TYPE));
    let wanted = b"k8s\0\n\x0c\n\x02v1\x12\x06Status\x12G\n\x08\n\0\x12\0\x1a\0\x12\x07Failure";
    assert_eq!(bytes[..18], wanted[..18], "{}", String::from_utf8_lossy(&bytes));
    assert!(String::from_utf8_lossy(&bytes).contains("pods \"nobody\" not found"));
    let (code, media_type, bytes) = server.bytes("/api/v1/namespaces/web/pods/nobody", "application/yaml");
    assert_eq!((code, media_type.as_str()), (404, "application/yaml"));
    assert!(String::from_utf8_lossy(&bytes).contains("\nmessage: pods \"nobody\" not found\n"), "{}", String::from_utf8_lossy(&bytes));
    let (code, _, bytes) = server.bytes("/api/v1/pods?watch=true", "application/yaml");
    let types =
        "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    assert!(code == 406 && String::from_utf8_lossy(&bytes).contains(types), "{}", String::from_utf8_lossy(&bytes));
}

/// The frames of a watch are those in JSON: four bytes of length, then the event, in whose object an envelope is.
#[test]
fn watches_are_those_in_json() {
    let server = Server::start(STORY_CAPTURE, &[]);
    for collection in ["/api/v1/namespaces/web/pods", "/apis/apps/v1/deployments"] {
        let path = format!(
            "{collection}?watch=true&resourceVersion=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        );
        // The second bookmark says that nothing more happens.
        let (mut wanted, mut bookmarks) = (Vec::new(), 0);
        for frame in server.watch(&path, "application/json") {
            bookmarks += usize::from(frame["type"] == "BOOKMARK");
            wanted.push(frame);
            if bookmarks == 2 {
                break;
            }
        }
        let (code, media_type, mut body) = server.body(&path, PROTOBUF_TYPE);
        assert_eq!((code, media_type.as_str()), (200, "application/vnd.kubernetes.protobuf;stream=watch"));
        let mut found = Vec::new();
        while found.len() < wanted.len() {
            let mut length = [0; 4];
            body.read_exact(&mut length).unwrap();
            let mut frame = vec![0; u32::from_be_bytes(length) as usize];
            body.read_exact(&mut frame).unwrap();
            let kind = String::from_utf8(frame[2..2 + usize::from(frame[1])].to_vec()).unwrap();
            let envelope = frame.windows(4).position(|window| window == b"k8s\0").unwrap();
            let mut object = decode(&frame[envelope..]);
            // A bookmark has metadata alone, and in protobuf the zero values of everything.
            if kind == "BOOKMARK" {
                object.as_object_mut().unwrap().retain(|name, _| matches!(name.as_str(), "kind" | "apiVersion" | "metadata"));
                object["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
            }
            found.push(json!({"type": kind, "object": object}));
        }
        assert!(found.len() > 2, "{collection}");
        assert_eq!(found, wanted, "{collection}");
    }
}
