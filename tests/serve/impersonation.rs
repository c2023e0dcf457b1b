//! What others than the holder of the token may do: by the roles and bindings of the moment looked at, never by guessing.

use serde_json::{Value, json};

use crate::kubectl;
use crate::server::Server;

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";

/// The group `devs` and the ServiceAccount `default` of `web` can read there since revision 1509.
const BINDING_REVISION: i64 = 1509;

fn post(server: &Server, path: &str, headers: &[(&str, &str)], review: &Value) -> (u16, Value) {
    let headers: Vec<(&str, &str)> = [("content-type", "application/json")].into_iter().chain(headers.iter().copied()).collect();
    let (code, text) = server.send("POST", path, &headers, &review.to_string());
    (code, serde_json::from_str(&text).unwrap())
}

fn about(user: &str, groups: &[&str], verb: &str, resource: &str, namespace: &str) -> Value {
    let attributes = json!({"verb": verb, "resource": resource, "namespace": namespace});
    json!({"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
        "spec": {"user": user, "groups": groups, "resourceAttributes": attributes}})
}

const REVIEWS_PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

#[track_caller]
fn check(server: &Server, moment: &str, review: &Value, wanted: (bool, &str)) {
    let (code, answer) = post(server, &format!("{moment}{REVIEWS_PATH}"), &[], review);
    assert_eq!(code, 201, "{answer}");
    let status = &answer["status"];
    assert_eq!((&status["allowed"], status["reason"].as_str().unwrap_or_default()), (&json!(wanted.0), wanted.1), "{review}");
}

#[test]
fn reviews_about_others_follow_the_stored_roles_of_the_moment() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let account = "system:serviceaccount:web:default";
    let by_group = "RBAC: allowed by RoleBinding \"viewers/web\" of ClusterRole \"view\" to Group \"devs\"";
    let by_account = "RBAC: allowed by RoleBinding \"viewers/web\" of ClusterRole \"view\" to ServiceAccount \"default/web\"";
    check(&server, "", &about("dave", &["devs"], "list", "pods", "web"), (true, by_group));
    check(&server, "", &about(account, &[], "get", "configmaps", "web"), (true, by_account));
    check(&server, "", &about(account, &[], "get", "secrets", "web"), (false, ""));
    check(&server, "", &about(account, &[], "get", "pods", "lab"), (false, ""));
    check(&server, "", &about(account, &[], "list", "pods", ""), (false, ""));
    check(&server, "", &about("nobody", &["system:authenticated"], "get", "pods", "web"), (false, ""));
    check(&server, "", &about("ketcd", &["system:authenticated"], "get", "pods", "web"), (false, ""));
    check(&server, "", &about("root", &["system:masters"], "delete", "nodes", ""), (true, ""));
    check(&server, &format!("/rev/{BINDING_REVISION}"), &about("dave", &["devs"], "list", "pods", "web"), (true, by_group));
    check(&server, &format!("/rev/{}", BINDING_REVISION - 1), &about("dave", &["devs"], "list", "pods", "web"), (false, ""));
}

#[test]
fn what_etcd_does_not_hold_is_named() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let review = about("system:node:node1", &["system:nodes", "system:authenticated"], "get", "secrets", "web");
    let (_, answer) = post(&server, REVIEWS_PATH, &[], &review);
    assert_eq!(answer["status"]["allowed"], false);
    assert!(answer["status"]["evaluationError"].as_str().unwrap().contains("Node authorizer"), "{answer}");
    // Before the API server had made its roles there are none.
    let (_, answer) = post(&server, &format!("/rev/2{REVIEWS_PATH}"), &[], &review);
    assert!(answer["status"]["evaluationError"].as_str().unwrap().contains("no ClusterRoleBindings"), "{answer}");
}

#[test]
fn reviews_that_ask_nothing_are_invalid() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let pods = json!({"verb": "get", "resource": "pods", "namespace": "web"});
    for (path, spec) in [
        (REVIEWS_PATH, json!({"resourceAttributes": pods})),
        (REVIEWS_PATH, json!({"user": "jo"})),
        (REVIEWS_PATH, json!({"user": "jo", "resourceAttributes": pods, "nonResourceAttributes": {"verb": "get", "path": "/"}})),
        ("/apis/authorization.k8s.io/v1/namespaces/lab/localsubjectaccessreviews", json!({"user": "jo", "resourceAttributes": pods})),
    ] {
        let (code, status) = post(&server, path, &[], &json!({"spec": spec}));
        assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{spec}");
    }
    let local = "/apis/authorization.k8s.io/v1/namespaces/web/localsubjectaccessreviews";
    let (code, answer) = post(&server, local, &[], &json!({"spec": {"groups": ["devs"], "resourceAttributes": pods}}));
    assert_eq!((code, &answer["status"]["allowed"]), (201, &json!(true)), "{answer}");
}

#[test]
fn impersonated_users_read_what_they_could_read() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let ask = |path: &str, headers: &[(&str, &str)]| -> (u16, Value) {
        let (code, text) = server.send("GET", path, headers, "");
        (code, serde_json::from_str(&text).unwrap_or_default())
    };
    let nobody = [("impersonate-user", "nobody")];
    let (code, status) = ask("/api/v1/namespaces/lab/pods", &nobody);
    let wanted = "pods is forbidden: User \"nobody\" cannot list resource \"pods\" in API group \"\" in the namespace \"lab\"";
    assert_eq!((code, &status["reason"], &status["message"]), (403, &json!("Forbidden"), &json!(wanted)));
    assert_eq!(status["details"], json!({"kind": "pods"}));
    let (_, status) = ask("/apis/apps/v1/deployments?watch=true", &nobody);
    let wanted =
        "deployments.apps is forbidden: User \"nobody\" cannot watch resource \"deployments\" in API group \"apps\" at the cluster scope";
    assert_eq!(status["message"], wanted);
    // Whoever is known may look at what there is, and no more.
    for (path, code) in [("/apis", 200), ("/version", 200), ("/healthz", 200), ("/openapi/v3", 200), ("/", 403), ("/metrics", 403)] {
        assert_eq!(ask(path, &nobody).0, code, "{path}");
    }
    let account = [("impersonate-user", "system:serviceaccount:web:default")];
    for (path, code) in [
        ("/api/v1/namespaces/web/pods", 200),
        ("/api/v1/namespaces/web/pods/db-0", 200),
        ("/api/v1/namespaces/web/secrets", 403),
        ("/api/v1/namespaces/web", 200),
        ("/api/v1/namespaces/lab", 403),
        ("/api/v1/pods", 403),
        ("/rev/1508/api/v1/namespaces/web/pods", 403),
        ("/api/v1/namespaces/web/nonsense", 403),
    ] {
        assert_eq!(ask(path, &account).0, code, "{path}");
    }
    let dev = [("impersonate-user", "dave"), ("impersonate-group", "ops"), ("impersonate-group", "devs")];
    assert_eq!(ask("/apis/apps/v1/namespaces/web/deployments", &dev).0, 200);
    assert_eq!(ask("/api/v1/pods", &[("impersonate-user", "root"), ("impersonate-group", "system:masters")]).0, 200);
    assert_eq!(ask("/api/v1/pods", &[("impersonate-group", "system:masters")]).0, 400);
    let (code, _) = server.send("DELETE", "/api/v1/namespaces/web/pods/db-0", &account, "");
    assert_eq!(code, 403);
}

#[test]
fn impersonated_users_learn_who_they_are_and_what_they_may_do() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let (user, uid, extra) = (("impersonate-user", "dave"), ("impersonate-uid", "7"), ("impersonate-extra-team", "red"));
    let (code, answer) = post(&server, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &[user, uid, extra], &json!({}));
    let wanted = json!({"username": "dave", "groups": ["system:authenticated"], "uid": "7", "extra": {"team": ["red"]}});
    assert_eq!((code, &answer["status"]["userInfo"]), (201, &wanted));
    let groups = ("impersonate-group", "devs");
    let rules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let (_, answer) = post(&server, rules, &[user, groups], &json!({"spec": {"namespace": "web"}}));
    let has = |resource: &str| {
        answer["status"]["resourceRules"].as_array().unwrap().iter().any(|rule| rule["resources"].to_string().contains(resource))
    };
    assert!(has("\"configmaps\"") && !has("\"secrets\"") && answer["status"]["incomplete"] == false, "{answer}");
    assert_eq!(post(&server, rules, &[user], &json!({"spec": {}})).0, 400);
    // Who is not known may not even ask.
    let (code, _) = post(&server, REVIEWS_PATH, &[user], &about("jo", &[], "get", "pods", ""));
    assert_eq!(code, 403);
}

#[test]
fn kubectl_asks_for_others() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let text = |arguments: &[&str]| {
        let output = kubectl::run(&server, arguments);
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let account = "--as=system:serviceaccount:web:default";
    let (code, answer, warning) = text(&["auth", "can-i", "get", "secrets", "-n", "kube-system", account]);
    assert_eq!((code, answer.trim()), (Some(1), "no"));
    assert!(warning.contains("RBAC roles and bindings of revision 3190"), "{warning}");
    assert_eq!(text(&["auth", "can-i", "list", "pods", "-n", "web", account]).1.trim(), "yes");
    let (code, _, refusal) = text(&["get", "pods", "-n", "lab", "--as=nobody"]);
    assert!(code == Some(1) && refusal.contains("(Forbidden): pods is forbidden: User \"nobody\""), "{refusal}");
    assert!(text(&["get", "pods", "-n", "web", "-o", "name", account]).1.contains("pod/db-0"));
    let (_, who, _) = text(&["auth", "whoami", "--as=nobody", "-o", "jsonpath={.status.userInfo.username}"]);
    assert_eq!(who, "nobody");
}
