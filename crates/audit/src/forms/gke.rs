//! Google Cloud Logging: an `AuditLog` in `protoPayload` (cloud.google.com/kubernetes-engine/docs/how-to/audit-logging), whose members are Google's.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Record;
use super::event::{Event, ObjectRef, Status, User, record_of};
use crate::names::Names;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow)]
    proto_payload: Payload<'a>,
    #[serde(borrow)]
    insert_id: Cow<'a, str>,
    #[serde(borrow)]
    operation: Option<Operation<'a>>,
    timestamp: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Operation<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    first: bool,
    last: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Payload<'a> {
    #[serde(borrow)]
    service_name: Cow<'a, str>,
    #[serde(borrow)]
    method_name: Cow<'a, str>,
    #[serde(borrow)]
    resource_name: Cow<'a, str>,
    #[serde(borrow)]
    authentication_info: Authentication<'a>,
    #[serde(borrow)]
    request_metadata: Caller<'a>,
    status: Option<RpcStatus>,
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Authentication<'a> {
    #[serde(borrow)]
    principal_email: Cow<'a, str>,
    #[serde(borrow)]
    principal_subject: Cow<'a, str>,
    /// Whom the principal asked to act as.
    #[serde(borrow)]
    authority_selector: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Caller<'a> {
    #[serde(borrow)]
    caller_ip: Cow<'a, str>,
    #[serde(borrow)]
    caller_supplied_user_agent: Cow<'a, str>,
}

/// A status of gRPC: 0 is success.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RpcStatus {
    code: i32,
}

/// Reads an entry of the log.
pub(super) fn read(record: &[u8], names: &mut Names) -> Record {
    let entry: Entry<'_> = match serde_json::from_slice(record) {
        Ok(entry) => entry,
        Err(error) => return Record::Unknown(format!("is not an entry of Google's audit log: {error}")),
    };
    let payload = &entry.proto_payload;
    if payload.service_name != "k8s.io" && !payload.method_name.starts_with("io.k8s.") {
        return Record::Other;
    }
    // A request that continues has an entry when it begins and one when it ends.
    if entry.operation.as_ref().is_some_and(|operation| operation.first && !operation.last) {
        return Record::Other;
    }
    let Some(verb) = payload.method_name.rsplit('.').next().filter(|verb| !verb.is_empty()) else {
        return Record::Unknown("has no method".to_owned());
    };
    let who = &payload.authentication_info;
    let principal = if who.principal_email.is_empty() { &who.principal_subject } else { &who.principal_email };
    let acted_as = (!who.authority_selector.is_empty()).then(|| User { username: who.authority_selector.clone() });
    let audit_id = entry.operation.as_ref().map_or(&entry.insert_id, |operation| &operation.id);
    let has_answer = payload.response.is_some();
    record_of(
        &Event {
            audit_id: audit_id.clone(),
            level: Cow::Borrowed(if has_answer { "RequestResponse" } else { "Request" }),
            stage: Cow::Borrowed("ResponseComplete"),
            verb: Cow::Borrowed(verb),
            user: User { username: principal.clone() },
            impersonated_user: acted_as,
            source_ips: Some(vec![payload.request_metadata.caller_ip.clone()]),
            user_agent: payload.request_metadata.caller_supplied_user_agent.clone(),
            object_ref: Some(reference(&payload.resource_name)),
            response_status: Some(Status { code: http_status(payload.status.as_ref()), ..Status::default() }),
            request_object: payload.request,
            response_object: payload.response,
            stage_timestamp: entry.timestamp,
            ..Event::default()
        },
        names,
    )
}

/// The HTTP status that a status of gRPC stands for; 0 where it succeeded.
fn http_status(status: Option<&RpcStatus>) -> u16 {
    match status.map_or(0, |status| status.code) {
        0 => 0,
        3 => 400,
        5 => 404,
        6 | 10 => 409,
        7 => 403,
        8 => 429,
        16 => 401,
        // A status of HTTP where Google passes one on.
        code @ 100..=599 => u16::try_from(code).unwrap_or(500),
        _ => 500,
    }
}

/// What a name such as `apps/v1/namespaces/shop/deployments/web/scale` refers to; the core group is called `core`.
fn reference(name: &str) -> ObjectRef<'_> {
    let mut parts = name.split('/');
    let group = parts.next().filter(|group| *group != "core").unwrap_or_default();
    let version = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let at = |place: usize| Cow::Borrowed(rest.get(place).copied().unwrap_or_default());
    // Below a namespace there are objects; its own subresources are few.
    let is_within = rest.first() == Some(&"namespaces") && rest.len() > 2 && !matches!(rest[2], "status" | "finalize");
    let (namespace, from) = if is_within { (at(1), 2) } else { (Cow::default(), 0) };
    ObjectRef {
        api_group: Cow::Borrowed(group),
        api_version: Cow::Borrowed(version),
        namespace,
        resource: at(from),
        name: at(from + 1),
        subresource: at(from + 2),
        ..ObjectRef::default()
    }
}

#[cfg(test)]
mod tests {
    use super::reference;

    #[test]
    fn names_of_resources_are_taken_apart() {
        for (name, wanted) in [
            ("core/v1/namespaces/shop/pods/web-0/binding", ["", "shop", "pods", "web-0", "binding"]),
            ("apps/v1/namespaces/shop/deployments", ["apps", "shop", "deployments", "", ""]),
            ("core/v1/namespaces/shop", ["", "", "namespaces", "shop", ""]),
            ("core/v1/namespaces/shop/finalize", ["", "", "namespaces", "shop", "finalize"]),
            ("core/v1/nodes/n1/status", ["", "", "nodes", "n1", "status"]),
            ("rbac.authorization.k8s.io/v1/clusterroles/admin", ["rbac.authorization.k8s.io", "", "clusterroles", "admin", ""]),
        ] {
            let found = reference(name);
            assert_eq!(found.api_version, "v1");
            assert_eq!([&*found.api_group, &*found.namespace, &*found.resource, &*found.name, &*found.subresource], wanted);
        }
    }
}
