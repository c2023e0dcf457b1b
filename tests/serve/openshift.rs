//! OpenShift's objects, below /openshift.io, and Kubernetes' own, below /kubernetes.io, of one etcd.

use ketcd_testing::written::Written;
use serde_json::json;

use crate::server::Server;

#[test]
fn both_prefixes_are_served_with_credentials_masked() {
    let mut written = Written::default();
    for (key, object) in [
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
    ] {
        written.put(key, object.to_string());
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), written.finish()).unwrap();
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
