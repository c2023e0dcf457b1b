//! OpenShift's objects, below /openshift.io, and Kubernetes' own, below /kubernetes.io, of one etcd.

use ketcd_testing::written::Written;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::server::{Server, name};

/// A database of these objects.
fn database(objects: &[(&str, Value)]) -> NamedTempFile {
    let mut written = Written::default();
    for (key, object) in objects {
        written.put(key, object.to_string());
    }
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), written.finish()).unwrap();
    file
}

#[test]
fn both_prefixes_are_served_with_credentials_masked() {
    let file = database(&[
        ("/kubernetes.io/namespaces/default", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})),
        (
            "/kubernetes.io/configmaps/shop/plain",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain", "namespace": "shop"}}),
        ),
        (
            "/openshift.io/routes/shop/web",
            json!({"apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"host": "web.example.com", "to": {"kind": "Service", "name": "web"}, "tls": {"termination": "edge", "key": "s3cr3t"}}}),
        ),
        (
            "/openshift.io/oauth/clients/console",
            json!({"apiVersion": "oauth.openshift.io/v1", "kind": "OAuthClient", "metadata": {"name": "console"}, "secret": "s3cr3t"}),
        ),
    ]);
    let server = Server::start(file.path().to_str().unwrap(), &[]);
    let (code, maps) = server.get("/api/v1/namespaces/shop/configmaps");
    assert_eq!((code, &maps["items"][0]["metadata"]["name"]), (200, &json!("plain")));
    let (code, route) = server.get("/apis/route.openshift.io/v1/namespaces/shop/routes/web");
    assert_eq!((code, &route["spec"]["host"], &route["spec"]["tls"]["key"]), (200, &json!("web.example.com"), &json!("***")));
    let (code, routes) = server.get("/apis/route.openshift.io/v1/routes");
    assert_eq!((code, &routes["items"][0]["spec"]["tls"]["key"]), (200, &json!("***")));
    let (code, client) = server.get("/apis/oauth.openshift.io/v1/oauthclients/console");
    assert_eq!((code, &client["secret"]), (200, &json!("***")));
    let shown = Server::start(file.path().to_str().unwrap(), &["--show-secrets"]);
    assert_eq!(shown.get("/apis/oauth.openshift.io/v1/oauthclients/console").1["secret"], "s3cr3t");
}

/// By creation, as the rows of the API server's own table are.
#[test]
fn the_rows_of_builds_are_sorted_by_their_creation() {
    let build = |name: &str, day: u8| {
        let metadata = json!({"name": name, "namespace": "shop", "creationTimestamp": format!("2026-01-0{day}T00:00:00Z")});
        json!({"apiVersion": "build.openshift.io/v1", "kind": "Build", "metadata": metadata})
    };
    let file = database(&[
        ("/kubernetes.io/namespaces/default", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})),
        ("/openshift.io/builds/shop/a", build("a", 3)),
        ("/openshift.io/builds/shop/b", build("b", 1)),
        ("/openshift.io/builds/shop/c", build("c", 2)),
        ("/openshift.io/builds/shop/d", build("d", 1)),
    ]);
    let server = Server::start(file.path().to_str().unwrap(), &[]);
    let builds = "/apis/build.openshift.io/v1/builds";
    let (code, table) = server.get_as(builds, "application/json;as=Table;g=meta.k8s.io;v=v1");
    let names: Vec<&str> = table["rows"].as_array().unwrap().iter().map(|row| row["cells"][0].as_str().unwrap()).collect();
    assert_eq!((code, names), (200, vec!["b", "d", "c", "a"]), "{table}");
    assert_eq!(server.items(builds).iter().map(name).collect::<Vec<_>>(), ["shop/a", "shop/b", "shop/c", "shop/d"]);
}
