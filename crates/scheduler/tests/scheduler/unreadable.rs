//! Objects that are odd, and objects that cannot be read: the first are read as the API server reads them, the second leave unknown what is asked of them.

use serde_json::{Map, Value, json};

use ketcd_kube::Decoder;
use ketcd_kube::proto::kubernetes::{MESSAGES, ROOTS};
use ketcd_kube::proto::table::{Card, Message, Render, RootRow, Row, Type};
use ketcd_scheduler::cluster::{ClusterState, ObjectKey, ObjectReader, Unreadable, WatchedKind};
use ketcd_scheduler::{Agreement, Caveat, Gates, Release, Replay, Rules, Scheduler, UnreadObject, VersionEvidence, VersionFrom};

fn state() -> ClusterState {
    ClusterState::new(Rules::new(Release(36), &Gates::new(Release(36))).requests)
}

fn key(kind: WatchedKind) -> ObjectKey {
    ObjectKey { kind, namespace: "ns".into(), name: "a".into() }
}

/// Every version in which a watched kind was ever stored.
fn watched() -> impl Iterator<Item = (WatchedKind, &'static RootRow)> {
    WatchedKind::ALL.iter().flat_map(|kind| ROOTS.iter().filter(|root| root.kind == kind.name()).map(|root| (*kind, root)))
}

fn message(ty: Type) -> Option<&'static Message> {
    if let Type::Message(id) = ty { Some(&MESSAGES[usize::from(id.0)]) } else { None }
}

/// How an odd object is made: what stands for each of its members.
type Odd = fn(&Row, usize) -> Value;

fn object(root: &RootRow, odd: Odd) -> Value {
    let mut object = members(&MESSAGES[usize::from(root.message.0)], odd, 0);
    object["apiVersion"] = root.api_version.into();
    object["kind"] = root.kind.into();
    if object["metadata"].is_object() {
        object["metadata"]["name"] = "a".into();
        object["metadata"]["namespace"] = "ns".into();
    }
    object
}

fn members(message: &Message, odd: Odd, depth: usize) -> Value {
    let members: Map<String, Value> = message.rows.iter().map(|row| (row.name.to_owned(), odd(row, depth))).collect();
    members.into()
}

/// A message's members in their turn, or what `leaf` makes of anything else.
fn nested(row: &Row, depth: usize, odd: Odd, leaf: fn(&Row) -> Value) -> Value {
    match message(row.ty).filter(|message| message.render == Render::Struct && depth < 12) {
        Some(message) => members(message, odd, depth + 1),
        None => leaf(row),
    }
}

fn many(row: &Row, one: Value) -> Value {
    match row.card {
        Card::One => one,
        Card::List => json!([one]),
        Card::Map => json!({"k": one}),
    }
}

fn nulls(_: &Row, _: usize) -> Value {
    Value::Null
}

fn nulls_within(row: &Row, depth: usize) -> Value {
    many(row, nested(row, depth, nulls_within, |_| Value::Null))
}

fn null_elements(row: &Row, depth: usize) -> Value {
    match row.card {
        Card::One => nested(row, depth, null_elements, |_| Value::Null),
        Card::List => json!([null, null]),
        Card::Map => json!({"k": null, "l": null}),
    }
}

fn amounts_as_numbers(row: &Row, depth: usize) -> Value {
    let leaf = |row: &Row| match message(row.ty).map(|message| message.render) {
        Some(Render::Quantity) => json!(1.5),
        Some(Render::IntOrString) => json!(3),
        _ => Value::Null,
    };
    many(row, nested(row, depth, amounts_as_numbers, leaf))
}

fn unknown_members(row: &Row, depth: usize) -> Value {
    let mut value = many(row, nested(row, depth, unknown_members, |_| Value::Null));
    if let Some(members) = value.as_object_mut().filter(|_| row.card == Card::One) {
        members.insert("fromTheFuture".to_owned(), json!({"a": [1, null, {"b": 0.5}]}));
    }
    value
}

#[track_caller]
fn is_read(kind: WatchedKind, root: &RootRow, object: &Value) {
    let text = object.to_string();
    let mut state = state();
    state.apply(&key(kind), Some(text.as_bytes()), 1);
    let why: Vec<_> = state.problems().filter(|problem| problem.what.contains("cannot be read")).collect();
    assert!(!state.has_unreadable(), "{} {}: {why:?}\n{object:#}", root.api_version, root.kind);
    // As it is stored, in JSON.
    let decoder = Decoder::new();
    let stored = ketcd_scheduler::cluster::RawObject::Stored {
        reader: &ObjectReader::new(&decoder),
        key: b"/registry/x/ns/a",
        value: text.as_bytes(),
        mod_revision: 1,
    };
    state.apply(&key(kind), Some(stored), 2);
    let why: Vec<_> = state.problems().filter(|problem| problem.what.contains("cannot be read")).collect();
    assert!(!state.has_unreadable(), "{} {}, stored: {why:?}\n{object:#}", root.api_version, root.kind);
}

#[test]
fn whatever_the_api_server_reads_is_read() {
    let odd: [Odd; 5] = [nulls, nulls_within, null_elements, amounts_as_numbers, unknown_members];
    let mut read = 0;
    for (kind, root) in watched() {
        for odd in odd {
            is_read(kind, root, &object(root, odd));
            read += 1;
        }
        is_read(kind, root, &json!({"apiVersion": root.api_version, "kind": root.kind}));
    }
    assert!(read > 200, "{read}");
    let without: Vec<_> = WatchedKind::ALL.iter().filter(|kind| !watched().any(|(known, _)| known == **kind)).collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn timestamps_may_be_null_or_missing() {
    for time in [json!({"lastTransitionTime": null}), json!({})] {
        let mut condition = time;
        condition["type"] = "Ready".into();
        let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a", "creationTimestamp": null},
            "status": {"devices": [{"driver": "d", "pool": "p", "device": "x", "conditions": [condition]}]}});
        let mut state = state();
        state.apply(&key(WatchedKind::ResourceClaim), Some(claim.to_string().as_bytes()), 1);
        assert!(!state.has_unreadable(), "{claim}");
    }
}

/// An object in which text stands where an object, a list or a map must be.
fn broken(root: &RootRow) -> Value {
    object(root, |row, _| match (row.card, message(row.ty).map(|message| message.render)) {
        (Card::One, Some(Render::Struct)) | (Card::List | Card::Map, _) => "text".into(),
        _ => Value::Null,
    })
}

#[test]
fn an_object_that_cannot_be_read_is_kept_as_such() {
    for (kind, root) in watched() {
        let mut state = state();
        state.apply(&key(kind), Some(broken(root).to_string().as_bytes()), 1);
        assert!(state.has_unreadable(), "{} {}", root.api_version, root.kind);
        state.apply(&key(kind), None::<&[u8]>, 2);
        assert!(!state.has_unreadable(), "it was deleted");
    }
}

#[test]
fn of_a_pod_that_cannot_be_read_its_node_is_read_if_it_can_be() {
    let unreadable = |pod: Value| -> Unreadable {
        let mut state = state();
        state.apply(&key(WatchedKind::Pod), Some(pod.to_string().as_bytes()), 1);
        let found = state.unreadable_pods().next().unwrap();
        (**found).clone()
    };
    let placed = unreadable(json!({"spec": {"nodeName": "n1", "containers": "x"}}));
    assert!(placed.may_be_on("n1") && !placed.may_be_on("n2"));
    let waiting = unreadable(json!({"spec": {"containers": "x"}}));
    assert!(waiting.idle && !waiting.may_be_on("n1"));
    assert!(unreadable(json!({"spec": {"nodeName": "n1", "containers": "x"}, "status": {"phase": "Failed"}})).idle);
    assert!(unreadable(json!({"spec": "x"})).may_be_on("n1"));
    assert!(unreadable(json!({"spec": {"containers": "x"}, "status": {"nominatedNodeName": "n1"}})).may_be_on("n1"));
}

/// Replays a pod's way from its creation to a node, or to a refusal.
fn decided(objects: &[Value], refused: Option<&str>) -> (Agreement, Vec<Caveat>) {
    let version = VersionFrom { release: Release(34), patch: None, evidence: VersionEvidence::Given };
    let mut replay = Replay::new(Scheduler::with_defaults(version), true);
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}});
    for object in std::iter::once(&node).chain(objects) {
        replay.seed(&ObjectKey::of(object).unwrap(), object.to_string().as_bytes(), 1);
    }
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": "u"},
        "spec": {"containers": [{"name": "c"}], "schedulerName": "default-scheduler",
                 "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]}});
    let key = ObjectKey { kind: WatchedKind::Pod, namespace: "default".into(), name: "p".into() };
    assert!(replay.advance(&key, Some(pod.to_string().as_bytes()), 2).is_empty());
    match refused {
        None => pod["spec"]["nodeName"] = "n1".into(),
        Some(message) => {
            pod["status"] =
                json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]});
        }
    }
    let attempt = replay.advance(&key, Some(pod.to_string().as_bytes()), 3).pop().unwrap();
    let explanation = replay.explain(attempt);
    (explanation.agreement, explanation.caveats)
}

#[test]
fn a_decision_that_rests_on_what_cannot_be_read_cannot_be_verified() {
    let claim = |spec: Value| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x", "namespace": "default"}, "spec": spec});
    for refused in [None, Some("0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.")] {
        let (verdict, caveats) = decided(&[claim("text".into())], refused);
        assert_eq!(verdict, Agreement::Unverifiable, "{caveats:?}");
        let is_claim = |object: &UnreadObject| {
            matches!(object, UnreadObject::Problem(problem) if problem.object == "persistentvolumeclaims/default/x"
                && problem.what.starts_with("it cannot be read as a PersistentVolumeClaim: "))
        };
        let of_claim = |caveat: &Caveat| matches!(caveat, Caveat::Unread(objects) if objects.iter().any(is_claim));
        assert!(caveats.iter().any(of_claim), "{caveats:?}");
    }
    // Without a claim at all the pod is refused, and that it got a node disagrees.
    assert_eq!(decided(&[], None).0, Agreement::Disagrees);
}
