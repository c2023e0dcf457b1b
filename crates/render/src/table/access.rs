//! Configuration, identities and what they may do.

use serde_json::Value;

use super::fields::{at, flag, joined, labels, list, name, text, text_or};
use super::{Cells, Printer, TableView, human_duration};

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    let (columns, cells): (&str, Cells) = match (group, kind) {
        ("", "Secret") => ("NAME|TYPE|DATA|AGE", |object, view| {
            vec![name(object), text_or(object, "type", "Opaque"), entries(object, &["data"]), view.age(object)]
        }),
        ("", "ConfigMap") => {
            ("NAME|DATA|AGE", |object, view| vec![name(object), entries(object, &["data", "binaryData"]), view.age(object)])
        }
        ("", "ServiceAccount") => ("NAME|AGE", |object, view| vec![name(object), view.age(object)]),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => ("NAME|ROLE|AGE|+USERS|+GROUPS|+SERVICEACCOUNTS", binding),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            ("NAME|AGE|SIGNERNAME|REQUESTOR|REQUESTEDDURATION|CONDITION", signing_request)
        }
        ("certificates.k8s.io", "ClusterTrustBundle") => {
            ("NAME|SIGNERNAME", |object, _| vec![name(object), text_or(object, "spec.signerName", "<none>")])
        }
        ("certificates.k8s.io", "PodCertificateRequest") => {
            ("NAME|PODNAME|SERVICEACCOUNTNAME|NODENAME|SIGNERNAME|STATE|UNVERIFIEDUSERANNOTATIONS", pod_certificate_request)
        }
        ("policy", "PodSecurityPolicy") => {
            ("NAME|PRIV|CAPS|SELINUX|RUNASUSER|FSGROUP|SUPGROUP|READONLYROOTFS|VOLUMES", pod_security_policy)
        }
        _ => return None,
    };
    Some(Printer { columns, cells })
}

fn entries(object: &Value, fields: &[&str]) -> String {
    let count = |field: &&str| at(object, field).and_then(Value::as_object).map_or(0, serde_json::Map::len);
    fields.iter().map(count).sum::<usize>().to_string()
}

fn binding(object: &Value, view: TableView) -> Vec<String> {
    let subjects = |kind: &str| -> String {
        let own = list(object, "subjects").iter().filter(|subject| text(subject, "kind") == kind);
        let shown = own.map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", text(subject, "namespace"), text(subject, "name")),
            _ => text(subject, "name").to_owned(),
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    let role = format!("{}/{}", text(object, "roleRef.kind"), text(object, "roleRef.name"));
    vec![name(object), role, view.age(object), subjects("User"), subjects("Group"), subjects("ServiceAccount")]
}

fn signing_request(object: &Value, view: TableView) -> Vec<String> {
    let has = |wanted: &str| list(object, "status.conditions").iter().any(|condition| text(condition, "type") == wanted);
    let mut condition = match () {
        () if has("Denied") => "Denied".to_owned(),
        () if has("Approved") => "Approved".to_owned(),
        () => "Pending".to_owned(),
    };
    if has("Failed") {
        condition += ",Failed";
    }
    if !text(object, "status.certificate").is_empty() {
        condition += ",Issued";
    }
    let seconds = at(object, "spec.expirationSeconds").and_then(Value::as_i64);
    let duration = seconds.map_or("<none>".to_owned(), |seconds| human_duration(jiff::SignedDuration::from_secs(seconds)));
    vec![
        name(object),
        view.age(object),
        text_or(object, "spec.signerName", "<none>"),
        text(object, "spec.username").to_owned(),
        duration,
        condition,
    ]
}

fn pod_certificate_request(object: &Value, _: TableView) -> Vec<String> {
    let ends = list(object, "status.conditions").iter().map(|condition| text(condition, "type"));
    let state = ends.rev().find(|end| matches!(*end, "Issued" | "Denied" | "Failed")).unwrap_or("Pending");
    let mut cells = vec![name(object)];
    cells.extend(["podName", "serviceAccountName", "nodeName", "signerName"].map(|field| text(&object["spec"], field).to_owned()));
    cells.extend([state.to_owned(), labels(at(object, "spec.unverifiedUserAnnotations"))]);
    cells
}

/// As kubectl up to 1.24 showed what 1.25 removed.
fn pod_security_policy(object: &Value, _: TableView) -> Vec<String> {
    let rule = |field: &str| text(&object["spec"][field], "rule").to_owned();
    vec![
        name(object),
        flag(object, "spec.privileged").to_string(),
        joined(object, "spec.allowedCapabilities"),
        rule("seLinux"),
        rule("runAsUser"),
        rule("fsGroup"),
        rule("supplementalGroups"),
        flag(object, "spec.readOnlyRootFilesystem").to_string(),
        joined(object, "spec.volumes"),
    ]
}
