//! Objects: equal to those that the recorded API server returned, in every version it served them in; masked where they are secret.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use serde_json::{Value, json};

use crate::server::{Server, capture, name};

/// What the API server returned, by path.
fn dump(folder: &str) -> BTreeMap<String, Vec<Value>> {
    let file = zstd::Decoder::new(File::open(capture(folder).join("apidump.jsonl.zst")).unwrap()).unwrap();
    let mut lists = BTreeMap::<String, Vec<Value>>::new();
    for line in serde_json::Deserializer::from_reader(file).into_iter::<Value>() {
        let line = line.unwrap();
        let version = line["gv"].as_str().unwrap();
        let root = if version.contains('/') { "apis" } else { "api" };
        let path = format!("/{root}/{version}/{}", line["resource"].as_str().unwrap());
        lists.entry(path).or_default().push(line["object"].clone());
    }
    lists
}

/// Lists every collection of the dump and returns how many objects were equal. `refused` names the paths that are answered with this code instead.
fn check(folder: &str, refused: &[(&str, u16)]) -> usize {
    let server = Server::start(&format!("{folder}/snapshot.db.zst"), &["--show-secrets"]);
    let (mut equal, mut not_served) = (0, BTreeSet::new());
    for (path, wanted) in dump(folder) {
        let (code, list) = server.get(&path);
        if code != 200 {
            not_served.insert((path, code));
            continue;
        }
        let mut found: BTreeMap<String, Value> = list["items"].as_array().unwrap().iter().map(|item| (name(item), item.clone())).collect();
        for object in wanted {
            let mut own = found.remove(&name(&object)).unwrap_or_else(|| panic!("{path}: no {}", name(&object)));
            if !path.contains("example.com") {
                assert_eq!(list["kind"], format!("{}List", object["kind"].as_str().unwrap()), "{path}");
                own["apiVersion"] = object["apiVersion"].clone();
                own["kind"] = object["kind"].clone();
            }
            // The server renewed its own lease while it was dumped.
            if own["spec"]["renewTime"] == object["spec"]["renewTime"] {
                assert_eq!(own, object, "{path}");
                equal += 1;
            }
        }
        assert!(found.is_empty(), "{path}: more than the API server returned: {:?}", found.keys());
    }
    let refused: BTreeSet<(String, u16)> = refused.iter().map(|(path, code)| ((*path).to_owned(), *code)).collect();
    assert_eq!(not_served, refused, "{folder}");
    equal
}

#[test]
fn every_object_is_the_api_servers_in_every_version() {
    assert_eq!(check("k136-story", &[("/api/v1/componentstatuses", 405)]), 1589);
    assert!(check("k137-story", &[("/api/v1/componentstatuses", 405)]) > 1500);
    assert!(check("k120-story", &[("/api/v1/componentstatuses", 405)]) > 900);
}

#[test]
fn one_object_is_as_in_its_list() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    for (collection, kind, one) in [
        ("/api/v1/namespaces/web/pods", "Pod", "/api/v1/namespaces/web/pods"),
        ("/apis/apps/v1/deployments", "Deployment", ""),
        ("/apis/events.k8s.io/v1/namespaces/web/events", "Event", "/apis/events.k8s.io/v1/namespaces/web/events"),
        ("/api/v1/nodes", "Node", "/api/v1/nodes"),
    ] {
        for mut item in server.items(collection).into_iter().take(5) {
            let namespace = item["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
            let prefix = if one.is_empty() { format!("/apis/apps/v1/namespaces/{namespace}/deployments") } else { one.to_owned() };
            let own = server.found(&format!("{prefix}/{}", item["metadata"]["name"].as_str().unwrap()));
            assert_eq!(own["kind"], kind);
            item["kind"] = own["kind"].clone();
            item["apiVersion"] = own["apiVersion"].clone();
            assert_eq!(own, item);
        }
    }
    let status = server.found("/apis/apps/v1/namespaces/web/deployments/tomcat/status");
    assert_eq!(status, server.found("/apis/apps/v1/namespaces/web/deployments/tomcat"));
    let scale = server.found("/apis/apps/v1/namespaces/web/deployments/tomcat/scale");
    assert_eq!(
        (&scale["kind"], &scale["apiVersion"], &scale["status"]["selector"]),
        (&json!("Scale"), &json!("autoscaling/v1"), &json!("app=tomcat"))
    );
    assert_eq!(scale["spec"]["replicas"], status["spec"]["replicas"]);
}

#[test]
fn secrets_are_masked_so_that_clients_can_decode_them() {
    let path = "/api/v1/namespaces/web/secrets/db-password";
    let masked = Server::start("k136-story/snapshot.db.zst", &[]).found(path);
    let shown = Server::start("k136-story/snapshot.db.zst", &["--show-secrets"]).found(path);
    let bytes = |secret: &Value| {
        let text = secret["data"]["password"].as_str().unwrap().to_owned();
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).unwrap()
    };
    assert_eq!(bytes(&masked), b"***");
    assert_ne!(bytes(&shown), b"***");
    assert_eq!(masked["metadata"]["uid"], shown["metadata"]["uid"]);
}

/// What cannot be decoded is there, with the reason; alone it is an error.
#[test]
fn what_cannot_be_decoded_is_named() {
    let server = Server::start("k136-encrypted/snapshot.db.zst", &[]);
    let mut secrets = server.items("/api/v1/secrets");
    secrets.retain(|secret| secret["metadata"]["annotations"].get("ketcd/undecoded").is_some());
    assert!(!secrets.is_empty());
    for secret in &secrets {
        let reason = secret["metadata"]["annotations"]["ketcd/undecoded"].as_str().unwrap();
        assert!(reason.contains("encrypt") || reason.contains("key"), "{reason}");
        assert_eq!(secret.as_object().unwrap().keys().collect::<Vec<_>>(), ["metadata"]);
    }
    let place = name(&secrets[0]);
    let (namespace, own) = place.split_once('/').unwrap();
    let (code, status) = server.get(&format!("/api/v1/namespaces/{namespace}/secrets/{own}"));
    assert_eq!((code, &status["reason"]), (500, &json!("InternalError")), "{status}");
}

#[test]
fn what_is_not_there_has_upstreams_words() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    for (path, code, message) in [
        ("/api/v1/namespaces/web/pods/nobody", 404, "pods \"nobody\" not found"),
        ("/apis/apps/v1/namespaces/web/deployments/nobody", 404, "deployments.apps \"nobody\" not found"),
        ("/api/v1/pods?fieldSelector=spec.color%3Dred", 400, "field label not supported: spec.color"),
        ("/api/v1/pods?labelSelector=a%3Db%3Dc", 400, "found '=', expected: ',' or 'end of string'"),
        ("/api/v1/nothings", 404, "the server could not find the requested resource"),
        ("/api/v1/namespaces/web/nodes", 404, "the server could not find the requested resource"),
    ] {
        let (found, status) = server.get(path);
        assert_eq!((found, status["message"].as_str().unwrap(), &status["kind"]), (code, message, &json!("Status")), "{path}");
    }
    let (code, _) = server.get_as("/api/v1/pods", "text/html");
    assert_eq!(code, 406);
}
