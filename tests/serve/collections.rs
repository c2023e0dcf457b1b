//! Lists: pages, selectors, revisions, and what is said where one is too old.

use serde_json::{Value, json};

use crate::server::{Server, name};

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";

/// All pages of a list.
fn pages(server: &Server, path: &str, limit: usize) -> Vec<Value> {
    let (mut all, mut token) = (Vec::new(), String::new());
    let total = server.items(path).len();
    loop {
        let page = server.found(&format!("{path}?limit={limit}&continue={token}"));
        let items = page["items"].as_array().unwrap();
        all.extend(items.iter().cloned());
        let Some(next) = page["metadata"]["continue"].as_str().filter(|next| !next.is_empty()) else { break };
        assert_eq!(items.len(), limit);
        assert_eq!(page["metadata"]["remainingItemCount"], json!(total - all.len()), "{path}");
        next.clone_into(&mut token);
    }
    all
}

#[test]
fn pages_together_are_the_list() {
    let server = Server::start(STORY_CAPTURE, &[]);
    for path in
        ["/api/v1/pods", "/api/v1/namespaces/lab/pods", "/apis/example.com/v1/gadgets", "/apis/rbac.authorization.k8s.io/v1/clusterroles"]
    {
        for limit in [1, 7, 53, 500] {
            assert_eq!(pages(&server, path, limit), server.items(path), "{path} {limit}");
        }
    }
}

#[test]
fn selectors_pick_what_matches() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let all = server.items("/api/v1/pods");
    let check = |query: &str, wanted: &dyn Fn(&Value) -> bool| {
        let names = |items: &[Value]| items.iter().map(name).collect::<Vec<_>>();
        let wanted: Vec<Value> = all.iter().filter(|pod| wanted(pod)).cloned().collect();
        assert!(!wanted.is_empty() && wanted.len() < all.len(), "{query} shows nothing");
        assert_eq!(names(&server.items(&format!("/api/v1/pods?{query}"))), names(&wanted), "{query}");
        let paged = server.found(&format!("/api/v1/pods?{query}&limit=2"));
        assert!(paged["metadata"].get("remainingItemCount").is_none() && paged["items"].as_array().unwrap().len() <= 2);
    };
    check("labelSelector=app", &|pod| pod["metadata"]["labels"].get("app").is_some());
    check("labelSelector=app%20in%20(tomcat,wide)", &|pod| matches!(pod["metadata"]["labels"]["app"].as_str(), Some("tomcat" | "wide")));
    check("fieldSelector=spec.nodeName%3Dnode1", &|pod| pod["spec"]["nodeName"] == "node1");
    check("fieldSelector=status.phase!%3DRunning,spec.nodeName!%3D", &|pod| {
        pod["status"]["phase"] != "Running" && pod["spec"].get("nodeName").is_some()
    });
    check("fieldSelector=metadata.namespace%3Dlab", &|pod| pod["metadata"]["namespace"] == "lab");
    check("fieldSelector=metadata.name%3Ddb-0", &|pod| pod["metadata"]["name"] == "db-0");
}

#[test]
fn a_list_can_be_of_another_revision() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let old = server.found("/api/v1/pods?resourceVersion=1700&resourceVersionMatch=Exact");
    assert_eq!(old["metadata"]["resourceVersion"], "1700");
    assert_ne!(old["items"], server.found("/api/v1/pods")["items"]);
    assert_eq!(old, server.found("/rev/1700/api/v1/pods"));
    // What is not older than a revision is the moment looked at.
    assert_eq!(server.found("/api/v1/pods?resourceVersion=1700&resourceVersionMatch=NotOlderThan"), server.found("/api/v1/pods"));
    let (code, status) = server.get("/api/v1/pods?resourceVersion=99999");
    assert_eq!((code, &status["details"]["causes"][0]["reason"]), (504, &json!("ResourceVersionTooLarge")));
    let (code, status) = server.get("/api/v1/pods?resourceVersionMatch=Exact");
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{status}");
}

#[test]
fn what_was_compacted_is_gone() {
    let server = Server::start("k136-story/compacted.db.zst", &[]);
    let (code, status) = server.get("/api/v1/pods?resourceVersion=100&resourceVersionMatch=Exact");
    assert_eq!(
        (code, &status["reason"], &status["message"]),
        (410, &json!("Expired"), &json!("The resourceVersion for the provided list is too old."))
    );
    assert_eq!(server.get("/rev/100/api/v1/pods").0, 410);
    let token = base64::Engine::encode(
        &base64::engine::general_purpose::URL_SAFE_NO_PAD,
        json!({"v": "meta.k8s.io/v1", "rv": 100, "start": "web/"}).to_string(),
    );
    let bad = server.get(&format!("/api/v1/pods?limit=2&continue={token}"));
    assert_eq!(bad.0, 400, "{}", bad.1);
    let token = base64::Engine::encode(
        &base64::engine::general_purpose::URL_SAFE_NO_PAD,
        json!({"v": "meta.k8s.io/v1", "rv": 100, "start": "web/a\0"}).to_string(),
    );
    let (code, status) = server.get(&format!("/api/v1/pods?limit=2&continue={token}"));
    assert_eq!(code, 410);
    assert!(
        status["message"].as_str().unwrap().starts_with("The provided continue parameter is too old to display a consistent list result.")
    );
    // With the token of the error the rest of the list comes from the newest revision.
    let next = status["metadata"]["continue"].as_str().unwrap();
    let rest = server.items(&format!("/api/v1/pods?continue={next}"));
    let wanted: Vec<Value> = server.items("/api/v1/pods").into_iter().filter(|pod| name(pod).as_str() > "web/a").collect();
    assert_eq!(rest, wanted);
}

#[test]
fn lists_in_yaml_are_those_in_json_and_sent_while_they_are_read() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let schemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
    for (path, shape) in [
        ("/api/v1/pods", ""),
        ("/api/v1/pods?limit=3", ""),
        ("/apis/example.com/v1/gadgets", ""),
        ("/api/v1/namespaces/nowhere/pods", ""),
        ("/api/v1/events", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
        ("/api/v1/pods", ";as=Table;g=meta.k8s.io;v=v1"),
        ("/api/v1/pods?limit=3", ";as=Table;g=meta.k8s.io;v=v1"),
        ("/api/v1/pods?limit=1000000&includeObject=Object", ";as=Table;g=meta.k8s.io;v=v1"),
        ("/apis/example.com/v1/gadgets?limit=1", ";as=Table;g=meta.k8s.io;v=v1"),
        ("/api/v1/namespaces/nowhere/pods?limit=3", ";as=Table;g=meta.k8s.io;v=v1"),
        ("/rev/1700/api/v1/pods?limit=7", ";as=Table;g=meta.k8s.io;v=v1beta1"),
        (&format!("{schemas}?limit=4"), ";as=Table;g=meta.k8s.io;v=v1"),
        (schemas, ";as=Table;g=meta.k8s.io;v=v1"),
    ] {
        let wanted = server.get_as(path, &format!("application/json{shape}")).1;
        let (length, text) = server.text(path, &format!("application/yaml{shape}"));
        assert_eq!(length, None, "{path}{shape} was held until all of it was there");
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), wanted, "{path}{shape}");
        // Upstream sorts the members. What a page of rows says of the next one is known only after them.
        let is_page = shape.contains("Table") && path.contains("limit");
        let members: Vec<&str> =
            text.lines().filter(|line| !line.starts_with([' ', '-'])).map(|line| line.split(':').next().unwrap()).collect();
        assert!(is_page && members.last() == Some(&"metadata") || members.is_sorted(), "{path}{shape}: {members:?}");
    }
}
