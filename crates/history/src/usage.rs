//! What fills etcd, and who writes so much: sums over keys and writes, what an object leaves behind, and which field makes it large.

use std::collections::HashMap;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

use ketcd_kube::{Object, condition};

/// Sums over some keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Keys that are there.
    pub keys: u64,
    /// Bytes of their values.
    pub live_bytes: u64,
    /// How often a value was written in the span.
    pub writes: u64,
    /// Bytes of the values written.
    pub written_bytes: u64,
    /// How often a key was deleted.
    pub deletions: u64,
    /// Updates that were compared with what they replaced.
    pub compared: u64,
    /// Those of them that changed nothing but timestamps and managedFields.
    pub idle: u64,
}

impl Sum {
    /// Revisions, as every write and every deletion is one change of one.
    pub fn changes(&self) -> u64 {
        self.writes + self.deletions
    }

    /// Adds a sum.
    pub fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.live_bytes += other.live_bytes;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
        self.deletions += other.deletions;
        self.compared += other.compared;
        self.idle += other.idle;
    }
}

/// Sums by key, from which the sums of kinds and namespaces are made.
#[derive(Default)]
pub struct Usage {
    keys: HashMap<Bytes, Sum>,
}

impl Usage {
    /// Adds a key that is there.
    pub fn live(&mut self, key: &Bytes, bytes: u64) {
        let sum = self.keys.entry(key.clone()).or_default();
        sum.keys += 1;
        sum.live_bytes += bytes;
    }

    /// Returns whether a key is there, was written or deleted.
    pub fn holds(&self, key: &[u8]) -> bool {
        self.keys.contains_key(key)
    }

    /// Adds writes of a key.
    pub fn written(&mut self, key: &Bytes, writes: u64, bytes: u64) {
        let sum = self.keys.entry(key.clone()).or_default();
        sum.writes += writes;
        sum.written_bytes += bytes;
    }

    /// Adds a deletion of a key.
    pub fn deleted(&mut self, key: &Bytes) {
        self.keys.entry(key.clone()).or_default().deletions += 1;
    }

    /// Adds that a write was compared with what it replaced.
    pub fn compared(&mut self, key: &Bytes, is_idle: bool) {
        let sum = self.keys.entry(key.clone()).or_default();
        sum.compared += 1;
        sum.idle += u64::from(is_idle);
    }

    /// All keys with their sums, in no order.
    pub fn keys(&self) -> impl Iterator<Item = (&Bytes, &Sum)> {
        self.keys.iter()
    }

    /// The sum of all.
    pub fn total(&self) -> Sum {
        self.keys.values().fold(Sum::default(), |mut total, sum| {
            total.add(*sum);
            total
        })
    }

    /// Returns sums by what `of` says of a key, the most changes first, of equals the largest.
    pub fn by<K: std::hash::Hash + Eq + Ord>(&self, of: impl Fn(&[u8]) -> Option<K>) -> Vec<(K, Sum)> {
        let mut sums: HashMap<K, Sum> = HashMap::new();
        for (key, sum) in &self.keys {
            if let Some(of) = of(key) {
                sums.entry(of).or_default().add(*sum);
            }
        }
        let mut sums: Vec<(K, Sum)> = sums.into_iter().collect();
        sums.sort_by(|a, b| most(&b.1).cmp(&most(&a.1)).then_with(|| a.0.cmp(&b.0)));
        sums
    }

    /// Returns the `most` keys with the most changes, of equals those that wrote most.
    pub fn busiest(&self, count: usize) -> Vec<(Bytes, Sum)> {
        let mut keys: Vec<(&Bytes, &Sum)> = self.keys.iter().filter(|(_, sum)| sum.changes() > 1).collect();
        keys.sort_by(|a, b| most(b.1).cmp(&most(a.1)).then_with(|| a.0.cmp(b.0)));
        keys.into_iter().take(count).map(|(key, sum)| (key.clone(), *sum)).collect()
    }
}

fn most(sum: &Sum) -> (u64, u64, u64) {
    (sum.changes(), sum.written_bytes, sum.live_bytes)
}

/// Why an object is only what a controller left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Remains {
    /// A pod, a job or a custom resource that has come to its end.
    Ended,
    /// A ReplicaSet of an earlier rollout, scaled to nothing.
    Superseded,
    /// An object whose owners are all gone: the garbage collector deletes it.
    OwnerGone,
    /// What Helm stored of an earlier revision of a release.
    SupersededRelease,
}

impl Remains {
    /// The word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "Ended",
            Self::Superseded => "Superseded",
            Self::OwnerGone => "OwnerGone",
            Self::SupersededRelease => "SupersededRelease",
        }
    }
}

/// Returns why an object is only left behind; `None` if it appears to be in use.
pub fn remains(object: &Value) -> Option<Remains> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let is_over = |kind: &str| condition(object, kind).is_some_and(|found| found["status"] == "True");
    match object["kind"].as_str()? {
        "Pod" => matches!(status["phase"].as_str(), Some("Succeeded" | "Failed")).then_some(Remains::Ended),
        "Job" => (is_over("Complete") || is_over("Failed")).then_some(Remains::Ended),
        "ReplicaSet" => {
            let owned = object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
            (owned && spec["replicas"] == 0 && status["replicas"].as_i64().unwrap_or(0) == 0).then_some(Remains::Superseded)
        }
        // As Tekton's runs and Argo's workflows do.
        _ => (status["completionTime"].is_string() || status["finishedAt"].is_string()).then_some(Remains::Ended),
    }
}

/// Returns the name of the Helm release of which this Secret or ConfigMap stores a superseded revision. Labels and type say so (Helm 3,
/// pkg/storage/driver; Helm 2's Tiller wrote the labels in capitals), the data are not looked at.
pub fn superseded_release(object: &Value) -> Option<&str> {
    let label = |name: &str| object["metadata"]["labels"][name].as_str();
    let is_of_helm = label("owner") == Some("helm") && (object["kind"] != "Secret" || object["type"] == "helm.sh/release.v1");
    match (label("OWNER"), label("STATUS")) {
        (Some("TILLER"), Some("SUPERSEDED")) => label("NAME"),
        _ if is_of_helm && label("status") == Some("superseded") => label("name"),
        _ => None,
    }
}

/// Whether a version says nothing that the one before it did not: all that differs are timestamps, managedFields
/// and the numbers that the API server counts versions by. Masked values are compared too.
pub fn is_idle(before: &Object, after: &Object) -> bool {
    let has_other_secrets =
        before.masked_places().count() != after.masked_places().count() || before.masked_changes(after).next().is_some();
    !has_other_secrets && says_the_same(Place::Root, before, after)
}

/// Where in an object a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Metadata,
    Below,
}

fn says_the_same(at: Place, before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let counts = |name: &str| at != Place::Metadata || !matches!(name, "generation" | "managedFields" | "resourceVersion");
            let inner = |name: &str| if at == Place::Root && name == "metadata" { Place::Metadata } else { Place::Below };
            before.keys().filter(|name| counts(name)).count() == after.keys().filter(|name| counts(name)).count()
                && before
                    .iter()
                    .filter(|(name, _)| counts(name))
                    .all(|(name, member)| after.get(name).is_some_and(|other| says_the_same(inner(name), member, other)))
        }
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len() && before.iter().zip(after).all(|(before, after)| says_the_same(Place::Below, before, after))
        }
        (Value::String(before), Value::String(after)) => {
            before == after || is_time(before) && is_time(after) || holds_the_same(before, after)
        }
        _ => before == after,
    }
}

fn is_time(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && text.parse::<Timestamp>().is_ok()
}

/// Whether both texts are JSON objects that say the same, as annotations of leader elections are.
fn holds_the_same(before: &str, after: &str) -> bool {
    let object = |text: &str| text.starts_with('{').then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    object(before).zip(object(after)).is_some_and(|(before, after)| says_the_same(Place::Below, &before, &after))
}

/// The field that makes an object large.
#[derive(Clone, Debug, PartialEq)]
pub struct LargestField {
    /// Its dotted path.
    pub path: String,
    /// Its bytes as JSON.
    pub bytes: usize,
    /// The bytes of the whole object as JSON.
    pub of: usize,
}

/// Returns the field that makes an object large: from the top down always the largest member, as long as that holds at least half of what it is in.
/// It does not look into managedFields. `None` where there is no field.
pub fn largest_field(object: &Value) -> Option<LargestField> {
    let of = size(object);
    let (mut path, mut at, mut bytes) = largest_member(object)?;
    while let Some((step, member, member_bytes)) = largest_member(at).filter(|(_, _, member)| member * 2 >= bytes) {
        if path == MANAGED_FIELDS {
            break;
        }
        path.push_str(&step);
        (at, bytes) = (member, member_bytes);
    }
    let path = path.strip_prefix('.').unwrap_or(&path).to_owned();
    Some(LargestField { path, bytes, of })
}

const MANAGED_FIELDS: &str = ".metadata.managedFields";

/// The largest member with its step of a path, `.name` or `[0]`.
fn largest_member(value: &Value) -> Option<(String, &Value, usize)> {
    match value {
        Value::Object(members) => {
            let (name, member, bytes) =
                members.iter().map(|(name, member)| (name, member, size(member))).max_by_key(|(.., bytes)| *bytes)?;
            Some((format!(".{name}"), member, bytes))
        }
        Value::Array(items) => {
            let (place, item, bytes) =
                items.iter().enumerate().map(|(place, item)| (place, item, size(item))).max_by_key(|(.., bytes)| *bytes)?;
            Some((format!("[{place}]"), item, bytes))
        }
        _ => None,
    }
}

/// The bytes of a value as compact JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.iter().map(|(name, member)| name.len() + 4 + size(member)).sum::<usize>().max(1),
        Value::Array(items) => 1 + items.iter().map(|item| 1 + size(item)).sum::<usize>().max(1),
        Value::String(text) => text.len() + 2,
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sums_are_of_keys_and_those_of_kinds_of_these() {
        let mut usage = Usage::default();
        let (a, b) = (Bytes::from_static(b"/pods/x/a"), Bytes::from_static(b"/pods/y/b"));
        usage.live(&a, 100);
        usage.written(&a, 1, 90);
        usage.written(&a, 1, 100);
        usage.compared(&a, true);
        usage.written(&b, 1, 40);
        usage.deleted(&b);
        let all = usage.by(|_| Some("pods"));
        let sum = Sum { keys: 1, live_bytes: 100, writes: 3, written_bytes: 230, deletions: 1, compared: 1, idle: 1 };
        assert_eq!(all, [("pods", sum)]);
        assert_eq!((usage.total(), sum.changes()), (sum, 4));
        assert_eq!(usage.busiest(1)[0].0, a);
    }

    #[test]
    fn the_largest_field_of_the_largest_makes_it_large() {
        let check = |object: Value, path: &str| assert_eq!(largest_field(&object).unwrap().path, path, "{object}");
        let object = json!({"metadata": {"name": "a"}, "data": {"small": "x", "large": "y".repeat(500)}});
        let found = largest_field(&object).unwrap();
        assert_eq!((found.path.as_str(), found.bytes, found.of), ("data.large", 502, object.to_string().len()));
        check(json!({"data": {"a": "x".repeat(50), "b": "y".repeat(50), "c": "z".repeat(50)}}), "data");
        let third = "x".repeat(300);
        check(
            json!({"metadata": {"managedFields": [third]}, "spec": {"a": "y".repeat(250)}, "status": "z".repeat(280)}),
            "metadata.managedFields",
        );
        check(
            json!({"spec": {"containers": [{"env": [{"value": "x".repeat(90)}, {"value": "y".repeat(90)}, "z"]}]}}),
            "spec.containers[0].env",
        );
        assert_eq!(largest_field(&json!({})), None);
    }

    #[test]
    fn timestamps_and_managed_fields_are_nothing_new() {
        let lease = |time: &str, holder: &str| {
            let leader = json!({"holder": holder, "renewTime": time}).to_string();
            json!({"metadata": {"name": "a", "managedFields": [{"time": time}], "resourceVersion": time, "generation": time.len(), "annotations": {"leader": leader}},
                   "spec": {"renewTime": time, "holderIdentity": holder}})
        };
        let check = |before: Value, after: Value, wanted: bool| {
            assert_eq!(is_idle(&before.clone().into(), &after.clone().into()), wanted, "{before} {after}")
        };
        let (first, second) = ("2026-11-20T22:00:05Z", "2026-11-20T22:00:07.250000Z");
        check(lease(first, "x"), lease(second, "x"), true);
        check(lease(first, "x"), lease(second, "y"), false);
        check(json!({"metadata": {}}), json!({"metadata": {"managedFields": []}}), true);
        check(json!({"status": {"managedFields": 1}}), json!({"status": {}}), false);
        check(json!({"count": 1}), json!({"count": 2}), false);
        check(json!({"items": [first]}), json!({"items": [first, second]}), false);
        check(json!({"version": "1.20"}), json!({"version": "1.21"}), false);
    }

    #[test]
    fn what_is_left_behind() {
        let check = |object: Value, wanted: Option<Remains>| assert_eq!(remains(&object), wanted, "{object}");
        check(json!({"kind": "Pod", "status": {"phase": "Succeeded"}}), Some(Remains::Ended));
        check(json!({"kind": "Pod", "status": {"phase": "Running"}}), None);
        check(json!({"kind": "Job", "status": {"conditions": [{"type": "Complete", "status": "True"}]}}), Some(Remains::Ended));
        check(json!({"kind": "TaskRun", "status": {"completionTime": "2026-11-20T22:00:00Z"}}), Some(Remains::Ended));
        let set = |owners: Value| json!({"kind": "ReplicaSet", "metadata": {"ownerReferences": owners}, "spec": {"replicas": 0}, "status": {"replicas": 0}});
        check(set(json!([{"kind": "Deployment"}])), Some(Remains::Superseded));
        check(set(json!([])), None);
    }

    #[test]
    fn superseded_releases_say_so_by_labels_and_type() {
        let check = |object: Value, wanted: Option<&str>| assert_eq!(superseded_release(&object), wanted, "{object}");
        let helm = |kind: &str, kind_of_data: &str, owner: &str, status: &str| {
            let labels = json!({"name": "shop", "owner": owner, "status": status, "version": "3"});
            json!({"kind": kind, "type": kind_of_data, "metadata": {"labels": labels}})
        };
        check(helm("Secret", "helm.sh/release.v1", "helm", "superseded"), Some("shop"));
        check(helm("ConfigMap", "", "helm", "superseded"), Some("shop"));
        check(helm("Secret", "helm.sh/release.v1", "helm", "deployed"), None);
        check(helm("Secret", "Opaque", "helm", "superseded"), None);
        check(helm("ConfigMap", "", "somebody", "superseded"), None);
        let tiller = |status: &str| {
            let labels = json!({"NAME": "shop", "OWNER": "TILLER", "STATUS": status, "VERSION": "3"});
            json!({"kind": "ConfigMap", "metadata": {"labels": labels}})
        };
        check(tiller("SUPERSEDED"), Some("shop"));
        check(tiller("DEPLOYED"), None);
    }
}
