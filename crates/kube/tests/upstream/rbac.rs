//! Verdicts of role-based access control equal those of upstream's authorizer, which made `testdata/rbac`; and what they say where something is missing.

use ketcd_kube::rbac::{Action, Policy, PolicyKind, ResourceAction, User};
use ketcd_testing::testdata;
use serde_json::{Value, json};

fn lines() -> Vec<Value> {
    let text = testdata::read("rbac/k136-story.ndjson.zst");
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

fn add(policy: &mut Policy, object: &Value) {
    let kind = PolicyKind::ALL.into_iter().find(|kind| object["kind"] == kind.name()).unwrap();
    policy.add(kind, &text(&object["metadata"], "namespace"), &text(&object["metadata"], "name"), object);
}

fn user(question: &Value) -> User {
    let groups = question["groups"].as_array().into_iter().flatten().map(|group| group.as_str().unwrap().to_owned());
    User { name: text(question, "user"), groups: groups.collect() }
}

fn action(question: &Value) -> Action {
    let field = |name| text(question, name);
    if question.get("path").is_some() {
        return Action::Path { verb: field("verb"), path: field("path") };
    }
    Action::Resource(ResourceAction {
        verb: field("verb"),
        group: field("group"),
        resource: field("resource"),
        subresource: field("subresource"),
        namespace: field("namespace"),
        name: field("name"),
    })
}

#[test]
fn verdicts_are_those_of_upstream() {
    let mut policy = Policy::default();
    let (mut asked, mut allowed) = (0, 0);
    for line in lines() {
        if line.get("kind").is_some() {
            add(&mut policy, &line);
            continue;
        }
        let decision = policy.decide(&user(&line), &action(&line));
        assert_eq!((decision.is_allowed, &decision.reason), (line["allowed"] == true, &text(&line, "reason")), "{line}");
        asked += 1;
        allowed += usize::from(decision.is_allowed);
    }
    assert!(asked > 1000 && allowed > 500, "{allowed} of {asked}");
}

fn binding(role_kind: &str, role: &str) -> Value {
    json!({"kind": "RoleBinding", "metadata": {"namespace": "web", "name": role}, "roleRef": {"kind": role_kind, "name": role},
        "subjects": [{"kind": "User", "name": "jo"}]})
}

fn asks(name: &str, groups: &[&str]) -> Value {
    json!({"user": name, "groups": groups, "verb": "get", "resource": "secrets", "namespace": "web"})
}

#[test]
fn a_role_that_is_missing_is_named() {
    let mut policy = Policy::default();
    add(&mut policy, &binding("ClusterRole", "gone"));
    let decision = policy.decide(&user(&asks("jo", &[])), &action(&asks("jo", &[])));
    assert_eq!((decision.is_allowed, decision.reason.as_str()), (false, "RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found"));
    add(&mut policy, &binding("Role", "lost"));
    add(&mut policy, &binding("Other", "odd"));
    let decision = policy.decide(&user(&asks("jo", &[])), &action(&asks("jo", &[])));
    let wanted = "RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, role.rbac.authorization.k8s.io \"lost\" not found, \
                  unsupported role reference kind: \"Other\"]";
    assert_eq!(decision.reason, wanted);
}

#[test]
fn what_cannot_be_read_is_a_doubt_and_never_a_right() {
    let mut policy = Policy::default();
    let doubts = |policy: &Policy, name: &str, groups: &[&str]| {
        let decision = policy.decide(&user(&asks(name, groups)), &action(&asks(name, groups)));
        assert!(!decision.is_allowed, "{decision:?}");
        decision.doubts.join("; ")
    };
    assert_eq!(doubts(&policy, "jo", &[]), "no ClusterRoleBindings and no RoleBindings are stored");
    add(&mut policy, &binding("Role", "reader"));
    policy.add_unread(PolicyKind::Role, "web", "reader", "cut off");
    policy.add_unread(PolicyKind::Role, "shop", "other", "cut off");
    assert_eq!(doubts(&policy, "jo", &[]), "Role \"web/reader\" cannot be read: cut off");
    // A server could not read it either; with a list of names that is none it would else allow all names.
    let odd = json!({"kind": "ClusterRole", "metadata": {"name": "odd"},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": "db"}]});
    add(&mut policy, &odd);
    add(&mut policy, &binding("ClusterRole", "odd"));
    assert!(doubts(&policy, "jo", &[]).contains("ClusterRole \"odd\" cannot be read: "));
    assert!(doubts(&policy, "system:node:n1", &["system:nodes"]).starts_with("the Node authorizer"));
    assert!(!doubts(&policy, "system:node:n1", &[]).contains("Node authorizer"));
}

#[test]
fn masters_are_allowed_everything() {
    let decision = Policy::default().decide(&user(&asks("root", &["system:masters"])), &action(&asks("root", &[])));
    assert!(decision.is_allowed && decision.doubts.is_empty());
}
