//! What requests did to objects, and the versions of objects that their bodies hold: for a log that has no etcd next to it.
//!
//! Sources: k8s.io/apiserver `pkg/registry/generic/registry/store.go` (what `delete` and an update that removes the last finalizer answer),
//! `pkg/endpoints/handlers/delete.go`.

use serde_json::Value;

use crate::request::{Level, Request, Verb, revision};

/// What a request did to one object, or showed of it.
#[derive(Clone, Debug)]
pub struct RequestEffect {
    /// The namespace; empty if there is none.
    pub namespace: Box<str>,
    /// The name; empty for a collection.
    pub name: Box<str>,
    /// The revision of the object after it; for a deletion, the deletion's own revision. `None` if the log does not say.
    pub revision: Option<i64>,
    /// What was done.
    pub made: Made,
}

/// What was done to an object.
#[derive(Clone, Debug)]
pub enum Made {
    /// A read showed the object as it was at the revision.
    Shown(Value),
    /// The object was answered as it is from the revision on.
    Object(Value),
    /// The object was sent, and the answer is not in the log. The subresource is the target's.
    Sent(Value),
    /// A patch was sent, and the answer is not in the log.
    Patched(Value),
    /// A pod was put on its node: the `Binding`.
    Bound(Value),
    /// The replicas were set through `scale`.
    Scaled(i64),
    /// The object was removed.
    Deleted,
    /// All objects of a collection were deleted, and the log does not name them.
    CollectionDeleted,
    /// The object was changed, and the log does not say how: by its policy, or because no answer shows it.
    Hidden {
        /// Whether the policy leaves out the body that would show it.
        by_policy: bool,
    },
}

/// Returns what a request that keeps its bodies did, object by object.
#[must_use]
pub fn effects(request: &Request) -> Vec<RequestEffect> {
    let bodies = request.bodies.as_deref();
    let parsed = |body: Option<&str>| serde_json::from_str::<Value>(body?).ok().map(without_type);
    let answered = parsed(bodies.and_then(|bodies| bodies.answered.as_deref()));
    if !request.may_change() {
        let is_read = matches!(request.verb, Verb::Get | Verb::List) && request.succeeded();
        return answered.filter(|_| is_read).map(shown).unwrap_or_default();
    }
    let sent = || parsed(bodies.and_then(|bodies| bodies.sent.as_deref()));
    let of_target = |(made, revision): (Made, Option<i64>)| {
        let (namespace, name) = ((*request.target.namespace).into(), request.target.name.clone());
        vec![RequestEffect { namespace, name, revision, made }]
    };
    match (request.verb, &*request.target.subresource) {
        (Verb::Create, "binding") => of_target((sent().map_or(hidden(request), Made::Bound), None)),
        (Verb::Create, "eviction") => of_target((Made::Hidden { by_policy: false }, None)),
        (Verb::DeleteCollection, _) => collection(request, answered),
        (Verb::Delete, _) => of_target(deleted(request, answered)),
        _ => of_target(written(request, answered, sent)),
    }
}

fn hidden(request: &Request) -> Made {
    Made::Hidden {
        by_policy: request.level < Level::RequestResponse || request.bodies.as_ref().is_none_or(|bodies| bodies.answered.is_none()),
    }
}

/// Google's log adds the type of a message to its members.
fn without_type(mut body: Value) -> Value {
    if let Some(members) = body.as_object_mut() {
        members.remove("@type");
    }
    body
}

fn revision_of(object: &Value) -> Option<i64> {
    revision(object["metadata"]["resourceVersion"].as_str()?)
}

/// The objects that a read was answered with.
fn shown(answered: Value) -> Vec<RequestEffect> {
    let text = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or_default().into();
    let one = |object: Value| {
        let revision = Some(revision_of(&object)?);
        Some(RequestEffect { namespace: text(&object, "namespace"), name: text(&object, "name"), revision, made: Made::Shown(object) })
    };
    items(answered).into_iter().filter_map(one).collect()
}

/// The objects of an answer: of a list its items, with the kind that the list says they have.
fn items(mut answered: Value) -> Vec<Value> {
    let Some(Value::Array(items)) = answered.get_mut("items").map(Value::take) else { return vec![answered] };
    let kind = answered["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
    let named = |mut item: Value| {
        if let (Some(members), Some(kind)) = (item.as_object_mut(), &kind) {
            members.entry("kind").or_insert_with(|| kind.as_str().into());
            members.entry("apiVersion").or_insert_with(|| answered["apiVersion"].clone());
        }
        item
    };
    items.into_iter().map(named).collect()
}

fn written(request: &Request, answered: Option<Value>, sent: impl Fn() -> Option<Value>) -> (Made, Option<i64>) {
    if let Some((object, revision)) = answered.and_then(|object| Some((revision_of(&object)?, object))).map(|(r, o)| (o, r)) {
        let changes_old = matches!(request.verb, Verb::Update | Verb::Patch);
        return match object["kind"].as_str() {
            Some("Scale") => (object["spec"]["replicas"].as_i64().map_or(hidden(request), Made::Scaled), Some(revision)),
            // It is answered as it was before the deletion.
            _ if changes_old && is_marked(&object) && !has_finalizers(&object) && grace(&object) == 0 => (Made::Deleted, None),
            _ => (Made::Object(object), Some(revision)),
        };
    }
    let made = match sent() {
        None => hidden(request),
        Some(body) if request.verb == Verb::Patch => Made::Patched(body),
        Some(body) if body["kind"] == "Scale" => body["spec"]["replicas"].as_i64().map_or(hidden(request), Made::Scaled),
        Some(body) => Made::Sent(body),
    };
    (made, None)
}

/// What the deletion of one object did: it is marked and stays while finalizers or a grace keep it, or it is removed at once.
fn deleted(request: &Request, answered: Option<Value>) -> (Made, Option<i64>) {
    match answered.filter(|answered| answered["kind"] != "Status") {
        _ if request.answers_status => (Made::Deleted, None),
        None => (hidden(request), None),
        Some(object) if is_marked(&object) && is_kept(&object) => {
            let revision = revision_of(&object);
            (if revision.is_some() { Made::Object(object) } else { hidden(request) }, revision)
        }
        Some(object) => (Made::Deleted, revision_of(&object)),
    }
}

/// What the deletion of a collection did. It is answered with the objects as they were before.
fn collection(request: &Request, answered: Option<Value>) -> Vec<RequestEffect> {
    let Some(answered) = answered.filter(|answered| answered["items"].is_array()) else {
        let made = if request.selects { Made::Hidden { by_policy: true } } else { Made::CollectionDeleted };
        return vec![RequestEffect { namespace: (*request.target.namespace).into(), name: "".into(), revision: None, made }];
    };
    let effect = |object: Value| {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().into();
        let made = if may_stay(&request.target.resource, &object) { Made::Hidden { by_policy: false } } else { Made::Deleted };
        RequestEffect { namespace: text("namespace"), name: text("name"), revision: None, made }
    };
    items(answered).into_iter().map(effect).collect()
}

/// Whether an object that is deleted may stay for a while: finalizers keep it, and a pod on a node is given its grace.
#[must_use]
pub fn may_stay(resource: &str, object: &Value) -> bool {
    let has_ended = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let has_grace = resource == "pods" && object["spec"]["nodeName"].is_string() && !has_ended;
    has_finalizers(object) || has_grace && object["spec"]["terminationGracePeriodSeconds"] != 0
}

fn is_marked(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn is_kept(object: &Value) -> bool {
    has_finalizers(object) || grace(object) > 0
}

fn grace(object: &Value) -> i64 {
    object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default()
}

fn has_finalizers(object: &Value) -> bool {
    let has = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    has(&object["metadata"]["finalizers"]) || object["kind"] == "Namespace" && has(&object["spec"]["finalizers"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Reader;

    /// What an event did, in words.
    fn did(verb: &str, resource: &str, answer: &Value, level: &str) -> Vec<String> {
        let event = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": level, "auditID": "a", "stage": "ResponseComplete", "verb": verb,
            "requestURI": "/x", "user": {"username": "u"}, "objectRef": {"resource": resource, "namespace": "shop", "name": "web"},
            "responseStatus": {"code": 200}, "responseObject": answer, "stageTimestamp": "2026-11-24T18:37:19Z"});
        let mut found = Vec::new();
        let (_, ended) = Reader::with_bodies().read(&mut event.to_string().as_bytes(), &mut |request| found.extend(effects(&request)));
        ended.unwrap();
        let word = |effect: &RequestEffect| match &effect.made {
            Made::Shown(_) => "shown",
            Made::Object(_) => "object",
            Made::Deleted => "deleted",
            Made::Scaled(_) => "scaled",
            Made::CollectionDeleted => "collection",
            Made::Hidden { by_policy: true } => "left out",
            Made::Hidden { by_policy: false } => "not shown",
            other => panic!("{other:?}"),
        };
        found.iter().map(|effect| format!("{} {} {:?}", effect.name, word(effect), effect.revision)).collect()
    }

    #[test]
    fn deletions_are_told_from_marks() {
        let pod = |metadata: Value| {
            let mut metadata = metadata;
            metadata["name"] = "web".into();
            metadata["resourceVersion"] = "7".into();
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"nodeName": "n1"}})
        };
        let marked = json!({"deletionTimestamp": "2026-11-24T18:37:19Z", "deletionGracePeriodSeconds": 30});
        let ended = json!({"deletionTimestamp": "2026-11-24T18:37:19Z", "deletionGracePeriodSeconds": 0});
        let held = json!({"deletionTimestamp": "2026-11-24T18:37:19Z", "finalizers": ["a/b"]});
        for (verb, answer, wanted) in [
            ("delete", pod(marked.clone()), "web object Some(7)"),
            ("delete", pod(held.clone()), "web object Some(7)"),
            ("delete", pod(ended.clone()), "web deleted Some(7)"),
            ("delete", json!({"kind": "Status", "status": "Success"}), "web deleted None"),
            ("delete", Value::Null, "web left out None"),
            ("update", pod(ended), "web deleted None"),
            ("update", pod(held), "web object Some(7)"),
            ("patch", json!({"kind": "Scale", "metadata": {"resourceVersion": "8"}, "spec": {"replicas": 3}}), "web scaled Some(8)"),
            ("deletecollection", json!({"kind": "PodList", "items": [pod(marked)]}), "web not shown None"),
            ("deletecollection", Value::Null, " collection None"),
            ("get", pod(json!({})), "web shown Some(7)"),
            ("list", json!({"kind": "PodList", "apiVersion": "v1", "items": [pod(json!({}))]}), "web shown Some(7)"),
        ] {
            assert_eq!(did(verb, "pods", &answer, "RequestResponse"), [wanted], "{verb} {answer}");
        }
    }
}
