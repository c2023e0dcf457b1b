//! Contents that changed while nobody's entry in `managedFields` did.
//!
//! Source: an update that changes a field gives its manager's entry the time of the write (apimachinery v0.37, `pkg/util/managedfields/internal/`
//! `fieldmanager.go` and `managedfieldsupdater.go`). Exempt are:
//!
//! - API servers up to 1.24, where the time of an entry stays while its fields are the same, whatever becomes of their values (kubernetes#110058), also those
//!   that wrote before an upgrade, which the Leases of that time show;
//! - objects without managers: clusters before 1.18, and entries reset by `[{}]`;
//! - all but the kinds and members of [`MANAGED`]: bindings, evictions, deletions and what registries allocate leave no entry (kubernetes v1.37,
//!   `pkg/registry/core/pod/storage/{storage,eviction}.go`, `pkg/registry/core/service/storage/alloc.go`), nor do updates of objects that cannot be typed,
//!   as lists have one key twice (Nodes with two addresses of a kind, before 1.29: apimachinery v0.37, `pkg/util/managedfields/fieldmanager.go`,
//!   `UpdateNoErrors`);
//! - resources that webhooks or policies change at updates: managers are computed before admission (apiserver v0.37, `pkg/endpoints/handlers/update.go`);
//! - writes within [`SETTLED_SECONDS`] of the newest entry, whose times are whole seconds of the clock of any API server;
//! - defaults and pruning, as of generations: only a value that became another one counts, or one of `data` that came, or went and has its manager still. What
//!   no manager owns goes without an entry, and after a reset by `[{}]` nobody owns anything (structured-merge-diff v6, `merge/update.go`);
//! - managers that changed while the content did not: tools rewrite them lawfully (client-go v0.37, `util/csaupgrade/upgrade.go`; `capmanagers.go`).

use std::collections::HashSet;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

use ketcd_store::Revision;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::generation::changed;
use super::rule::{Rule, TamperingFacts};
use super::wire;

/// Resources with the members that change with an entry alone.
const MANAGED: [(&str, &str, &[&str]); 15] = [
    ("secrets", "", &["data"]),
    ("configmaps", "", &["data", "binaryData"]),
    ("services", "", &["spec"]),
    ("persistentvolumes", "", &["spec"]),
    ("persistentvolumeclaims", "", &["spec"]),
    ("resourcequotas", "", &["spec"]),
    ("limitranges", "", &["spec"]),
    ("endpoints", "", &["subsets"]),
    ("leases", "coordination.k8s.io", &["spec"]),
    ("roles", "rbac.authorization.k8s.io", &["rules"]),
    ("clusterroles", "rbac.authorization.k8s.io", &["rules"]),
    ("rolebindings", "rbac.authorization.k8s.io", &["subjects"]),
    ("clusterrolebindings", "rbac.authorization.k8s.io", &["subjects"]),
    ("endpointslices", "discovery.k8s.io", &["endpoints"]),
    ("validatingwebhookconfigurations", "admissionregistration.k8s.io", &["webhooks"]),
];

/// Members that hold what users write and nothing else, so that one more or less counts too.
const WHOLLY_WRITTEN: [&str; 5] = ["data", "binaryData", "rules", "subjects", "webhooks"];

/// Seconds after the newest entry from which a write is not one of its own.
const SETTLED_SECONDS: f64 = 60.0;

/// The first release whose API servers renew the time of an entry whose values change and whose fields do not.
const TIMED_SINCE: u16 = 25;

/// What is renewed all the time.
const LEASES: &str = "leases";

/// How many renewals that left the time as it was show an API server of an earlier release.
const MIN_RENEWALS: usize = 3;

/// Kinds that change what is written: kind, the list of rules, and what a rule's resources are called.
const CHANGING_KINDS: [(&str, &str); 2] =
    [("mutatingwebhookconfigurations", "/webhooks"), ("mutatingadmissionpolicies", "/spec/matchConstraints/resourceRules")];

/// A content that changed, and when a manager wrote last.
struct Unmanaged {
    revision: Revision,
    key: Bytes,
    resource: String,
    newest: Timestamp,
    fact: String,
}

/// Looks at contents and their managers.
#[derive(Default)]
pub(super) struct Managers {
    unmanaged: Vec<Unmanaged>,
    /// Resources that admission changes at updates; `*` for all.
    admitted: HashSet<String>,
}

impl Rule for Managers {
    fn see(&mut self, change: &Change<'_>, facts: &TamperingFacts<'_>, _: &mut Found) {
        let Some(kind) = change.own_kind() else { return };
        if let Some((_, rules)) = CHANGING_KINDS.iter().find(|(plural, _)| kind.plural == *plural) {
            if let Some(object) = facts.reader.whole(change.key(), &change.version.value) {
                self.admitted.extend(resources(&object, rules));
            }
            return;
        }
        let row = MANAGED.iter().find(|(plural, group, _)| kind.plural == *plural && kind.group == *group);
        let Some((resource, _, members)) = row else { return };
        if let Some((newest, fact)) = unmanaged(change, facts, members) {
            let (revision, key, resource) = (change.revision(), change.key().clone(), (*resource).to_owned());
            self.unmanaged.push(Unmanaged { revision, key, resource, newest, fact });
        }
    }

    fn finish(&mut self, facts: &TamperingFacts<'_>, found: &mut Found) {
        if facts.release.0 < TIMED_SINCE {
            return;
        }
        let mut late: Vec<(Unmanaged, f64)> = Vec::new();
        for change in self.unmanaged.drain(..).filter(|change| !self.admitted.contains(&change.resource) && !self.admitted.contains("*")) {
            // What is newer than every time in the data is not older than the newest of them.
            let Some(dated) = facts.clock.date(change.revision).or_else(|| facts.clock.newest()) else { continue };
            let seconds = dated.time.duration_since(change.newest).as_secs_f64() - dated.error;
            if seconds >= SETTLED_SECONDS {
                late.push((change, seconds));
            }
        }
        let old_until = untimed_until(late.iter().filter(|(change, _)| change.resource == LEASES).map(|(change, _)| change.revision));
        for (Unmanaged { revision, key, fact, .. }, late) in late.into_iter().filter(|(change, _)| Some(change.revision) > old_until) {
            let says = "the content changed and no manager's entry did";
            let since = format!("the newest entry in managedFields is {late:.0} s older than the write");
            found.add(Evidence::new(revision, &key, Weight::Medium, says).because(fact).because(since));
        }
    }
}

/// The last revision by an API server that leaves times as they are, which the renewals of Leases show.
fn untimed_until(renewals: impl Iterator<Item = Revision>) -> Option<Revision> {
    let renewals: Vec<Revision> = renewals.collect();
    (renewals.len() >= MIN_RENEWALS).then(|| renewals.into_iter().max()).flatten()
}

/// The time of the newest manager and what changed, where the content changed and the managers did not.
fn unmanaged(change: &Change<'_>, facts: &TamperingFacts<'_>, members: &[&str]) -> Option<(Timestamp, String)> {
    let before = change.value_before()?;
    let is_managed = || wire::managers(&before).zip(wire::managers(&change.version.value)).is_some_and(|(before, now)| before != now);
    if before == change.version.value || is_managed() {
        return None;
    }
    let (before, now) = (facts.reader.whole(change.key(), &before)?, facts.reader.whole(change.key(), &change.version.value)?);
    let managers = |object: &Value| object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let written = managers(&now);
    if written.is_empty() || written != managers(&before) {
        return None;
    }
    let newest = written.iter().filter_map(|entry| entry["time"].as_str()?.parse::<Timestamp>().ok()).max()?;
    let fact = members.iter().find_map(|member| content_changed((&before[member], &now[member]), member, &written))?;
    Some((newest, fact))
}

/// What became of a member, in words.
fn content_changed((before, now): (&Value, &Value), member: &str, managers: &[Value]) -> Option<String> {
    if let Some(fact) = changed(before, now, member) {
        return Some(fact);
    }
    if !WHOLLY_WRITTEN.contains(&member) {
        return None;
    }
    let lengths = |value: &Value| value.as_object().map(serde_json::Map::len).or_else(|| value.as_array().map(Vec::len)).unwrap_or(0);
    let is_lost = lengths(now) < lengths(before);
    let is_owned = || {
        let owned = |name: &str| managers.iter().any(|entry| owns(&entry["fieldsV1"], member, name));
        before.as_object().map_or_else(|| owned(""), |before| before.keys().any(|name| now.get(name).is_none() && owned(name)))
    };
    let counts = lengths(before) != lengths(now) && (!is_lost || is_owned());
    counts.then(|| format!("{member} has {} members, before {}", lengths(now), lengths(before)))
}

/// Whether a manager's fields have a member, and what it holds under a name; the name is empty for the member itself.
fn owns(fields: &Value, member: &str, name: &str) -> bool {
    let fields = &fields[format!("f:{member}")];
    if name.is_empty() { fields.is_object() } else { fields.get(format!("f:{name}")).is_some() }
}

/// The resources that a configuration of admission changes at updates.
fn resources(object: &Value, rules: &str) -> Vec<String> {
    let lists = object.pointer(rules).and_then(Value::as_array).into_iter().flatten();
    let rules = lists.flat_map(|item| item["rules"].as_array().map_or_else(|| vec![item], |rules| rules.iter().collect()));
    let names = |rule: &Value, member: &str| -> Vec<String> {
        rule[member].as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let at_updates = rules.filter(|rule| names(rule, "operations").iter().any(|operation| operation == "UPDATE" || operation == "*"));
    at_updates.flat_map(|rule| names(rule, "resources")).map(|resource| if resource == "*/*" { "*".to_owned() } else { resource }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Recorded with 1.20: an upgraded store has its writes.
    #[test]
    fn old_api_servers_are_known_by_their_leases() {
        let until = |revisions: &[i64]| untimed_until(revisions.iter().copied().map(Revision));
        assert_eq!(until(&[7, 9, 8]), Some(Revision(9)));
        assert_eq!(until(&[7, 9]), None, "somebody's own");
    }

    #[test]
    fn what_went_counts_where_a_manager_has_it_still() {
        let changed =
            |fields: Value| content_changed((&json!({"a": "1", "b": "2"}), &json!({"a": "1"})), "data", &[json!({ "fieldsV1": fields })]);
        assert!(changed(json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}})).is_some());
        assert_eq!(changed(json!({"f:data": {"f:a": {}}})), None, "after a reset");
        let rules = |fields: Value| content_changed((&json!([{}]), &Value::Null), "rules", &[json!({ "fieldsV1": fields })]);
        assert!(rules(json!({"f:rules": {}})).is_some());
        assert_eq!(rules(json!({"f:metadata": {}})), None);
    }

    #[test]
    fn what_a_spec_gains_or_loses_does_not_count() {
        let changed = |before: Value, now: Value| content_changed((&before, &now), "spec", &[]);
        assert_eq!(changed(json!({"type": "ExternalName"}), json!({"type": "ExternalName", "clusterIP": "10.0.0.9"})), None, "allocated");
        assert!(changed(json!({"clusterIP": "10.0.0.8"}), json!({"clusterIP": "10.0.0.9"})).is_some());
    }

    #[test]
    fn contents_are_compared() {
        let changed = |before: Value, now: Value| content_changed((&before, &now), "data", &[]);
        assert!(changed(json!({"a": "1"}), json!({"a": "2"})).is_some());
        assert_eq!(changed(json!({"a": "1"}), json!({"a": "1", "b": "2"})).unwrap(), "data has 2 members, before 1");
        assert_eq!(changed(json!({"a": "1"}), json!({"a": "1"})), None);
        assert_eq!(changed(Value::Null, Value::Null), None);
    }

    #[test]
    fn admission_at_updates_is_known() {
        let webhook = |operation: &str| json!({"webhooks": [{"rules": [{"operations": [operation], "resources": ["configmaps", "*/*"]}]}]});
        assert_eq!(resources(&webhook("UPDATE"), "/webhooks"), ["configmaps", "*"]);
        assert!(resources(&webhook("CREATE"), "/webhooks").is_empty());
        let policy = json!({"spec": {"matchConstraints": {"resourceRules": [{"operations": ["*"], "resources": ["secrets"]}]}}});
        assert_eq!(resources(&policy, "/spec/matchConstraints/resourceRules"), ["secrets"]);
    }
}
