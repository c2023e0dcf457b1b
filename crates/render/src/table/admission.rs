//! The API server's own machinery: admission, aggregation, flow control, storage versions.

use ketcd_kube::condition;
use serde_json::Value;

use super::fields::{at, count, first_three, int, list, name, scalar, selector, text, text_or};
use super::{Cells, Printer, TableView};

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    let (columns, cells): (&str, Cells) = match (group, kind) {
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
            ("NAME|WEBHOOKS|AGE", |object, view| vec![name(object), count(object, "webhooks"), view.age(object)])
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => ("NAME|VALIDATIONS|PARAMKIND|AGE", |object, view| {
            vec![name(object), count(object, "spec.validations"), param_kind(object), view.age(object)]
        }),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => ("NAME|MUTATIONS|PARAMKIND|AGE", |object, view| {
            vec![name(object), count(object, "spec.mutations"), param_kind(object), view.age(object)]
        }),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding") => {
            ("NAME|POLICYNAME|PARAMREF|AGE", |object, view| {
                vec![name(object), text(object, "spec.policyName").to_owned(), param_ref(object), view.age(object)]
            })
        }
        ("apiregistration.k8s.io", "APIService") => ("NAME|SERVICE|AVAILABLE|AGE", api_service),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => {
            ("NAME|PRIORITYLEVEL|MATCHINGPRECEDENCE|DISTINGUISHERMETHOD|AGE|MISSINGPL", flow_schema)
        }
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            ("NAME|TYPE|NOMINALCONCURRENCYSHARES|QUEUES|HANDSIZE|QUEUELENGTHLIMIT|AGE", priority_level)
        }
        ("internal.apiserver.k8s.io", "StorageVersion") => ("NAME|COMMONENCODINGVERSION|STORAGEVERSIONS|AGE", storage_version),
        ("storagemigration.k8s.io", "StorageVersionMigration") => ("NAME|RESOURCE|STATUS", migration),
        _ => return None,
    };
    Some(Printer { columns, cells })
}

fn param_kind(object: &Value) -> String {
    at(object, "spec.paramKind").map_or("<unset>".to_owned(), |kind| format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")))
}

fn param_ref(object: &Value) -> String {
    let Some(parameter) = at(object, "spec.paramRef") else { return "<unset>".to_owned() };
    match (text(parameter, "namespace"), text(parameter, "name")) {
        (_, "") => at(parameter, "selector").map_or("<unset>".to_owned(), |own| selector(Some(own))),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

fn api_service(object: &Value, view: TableView) -> Vec<String> {
    let service = at(object, "spec.service")
        .map_or("Local".to_owned(), |service| format!("{}/{}", text(service, "namespace"), text(service, "name")));
    let available = condition(object, "Available").map_or("Unknown".to_owned(), |condition| {
        match (text(condition, "status"), text(condition, "reason")) {
            (status, reason) if status != "True" && !reason.is_empty() => format!("{status} ({reason})"),
            (status, _) => status.to_owned(),
        }
    });
    vec![name(object), service, available, view.age(object)]
}

fn flow_schema(object: &Value, view: TableView) -> Vec<String> {
    vec![
        name(object),
        text(object, "spec.priorityLevelConfiguration.name").to_owned(),
        int(object, "spec.matchingPrecedence").to_string(),
        text_or(object, "spec.distinguisherMethod.type", "<none>"),
        view.age(object),
        condition(object, "Dangling").map_or("?".to_owned(), |condition| text(condition, "status").to_owned()),
    ]
}

fn priority_level(object: &Value, view: TableView) -> Vec<String> {
    let number = |path: &str| at(object, path).map_or("<none>".to_owned(), scalar);
    let is_limited = at(object, "spec.limited").is_some();
    // v1beta1 and v1beta2 called them assured; unset means 30.
    let shares = ["spec.limited.nominalConcurrencyShares", "spec.limited.assuredConcurrencyShares"];
    let shares = shares.iter().find_map(|path| at(object, path)).map_or(if is_limited { "30" } else { "<none>" }.to_owned(), scalar);
    let queuing = |field: &str| number(&format!("spec.limited.limitResponse.queuing.{field}"));
    let kind = text(object, "spec.type").to_owned();
    vec![name(object), kind, shares, queuing("queues"), queuing("handSize"), queuing("queueLengthLimit"), view.age(object)]
}

fn storage_version(object: &Value, view: TableView) -> Vec<String> {
    let common = at(object, "status.commonEncodingVersion").map_or("<unset>".to_owned(), scalar);
    let version = |server: &Value| format!("{}={}", text(server, "apiServerID"), text(server, "encodingVersion"));
    let versions: Vec<String> = list(object, "status.storageVersions").iter().map(version).collect();
    vec![name(object), common, first_three(&versions), view.age(object)]
}

fn migration(object: &Value, _: TableView) -> Vec<String> {
    let resource = &object["spec"]["resource"];
    let group = text(resource, "group");
    let resource = if group.is_empty() { text(resource, "resource").to_owned() } else { format!("{}.{group}", text(resource, "resource")) };
    let reached = list(object, "status.conditions").iter().filter(|condition| text(condition, "status") == "True");
    let status = reached.map(|condition| text(condition, "type")).rfind(|kind| matches!(*kind, "Running" | "Failed" | "Succeeded"));
    vec![name(object), resource, status.unwrap_or("Unknown").to_owned()]
}
