//! Contents that changed while nobody's entry in `managedFields` did.
//!
//! Source: an update that changes a field gives its manager's entry the time of the write (apimachinery v0.37, `pkg/util/managedfields/internal/`
//! `fieldmanager.go` and `managedfieldsupdater.go`). Exempt are:
//!
//! - objects without managers: clusters before 1.18, and entries reset by `[{}]`;
//! - all but a few kinds that hold nothing except what users write ([`WRITTEN_BY_USERS`]): bindings, evictions, deletions and what registries allocate leave no
//!   entry (kubernetes v1.37, `pkg/registry/core/pod/storage/{storage,eviction}.go`, `pkg/registry/core/service/storage/alloc.go`);
//! - resources that webhooks or policies change at updates: managers are computed before admission (apiserver v0.37, `pkg/endpoints/handlers/update.go`);
//! - writes within [`SETTLED_SECONDS`] of the newest entry, whose times are whole seconds of the clock of any API server;
//! - defaults and pruning, as of generations: only a value that became another one counts, or a member of `data` that came or went;
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
use super::rule::{Facts, Rule};

/// Resources with the member that holds their content.
const WRITTEN_BY_USERS: [(&str, &str, &[&str]); 5] = [
    ("secrets", "", &["data"]),
    ("configmaps", "", &["data", "binaryData"]),
    ("roles", "rbac.authorization.k8s.io", &["rules"]),
    ("rolebindings", "rbac.authorization.k8s.io", &["subjects"]),
    ("clusterrolebindings", "rbac.authorization.k8s.io", &["subjects"]),
];

/// Seconds after the newest entry from which a write is not one of its own.
const SETTLED_SECONDS: f64 = 60.0;

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
    fn see(&mut self, change: &Change<'_>, facts: &Facts<'_>, _: &mut Found) {
        let Some(kind) = change.own_kind() else { return };
        if let Some((_, rules)) = CHANGING_KINDS.iter().find(|(plural, _)| kind.plural == *plural) {
            if let Some(object) = facts.reader.whole(change.key(), &change.version.value) {
                self.admitted.extend(resources(&object, rules));
            }
            return;
        }
        let row = WRITTEN_BY_USERS.iter().find(|(plural, group, _)| kind.plural == *plural && kind.group == *group);
        let Some((resource, _, members)) = row else { return };
        if let Some((newest, fact)) = unmanaged(change, facts, members) {
            let (revision, key, resource) = (change.revision(), change.key().clone(), (*resource).to_owned());
            self.unmanaged.push(Unmanaged { revision, key, resource, newest, fact });
        }
    }

    fn finish(&mut self, facts: &Facts<'_>, found: &mut Found) {
        for Unmanaged { revision, key, resource, newest, fact } in self.unmanaged.drain(..) {
            if self.admitted.contains(&resource) || self.admitted.contains("*") {
                continue;
            }
            // What is newer than every time in the data is not older than the newest of them.
            let Some(dated) = facts.clock.date(revision).or_else(|| facts.clock.newest()) else { continue };
            let late = dated.time.duration_since(newest).as_secs_f64() - dated.error;
            if late >= SETTLED_SECONDS {
                let says = "the content changed and no manager's entry did";
                let since = format!("the newest entry in managedFields is {late:.0} s older than the write");
                found.add(Evidence::new(revision, &key, Weight::Medium, says).because(fact).because(since));
            }
        }
    }
}

/// The time of the newest manager and what changed, where the content changed and the managers did not.
fn unmanaged(change: &Change<'_>, facts: &Facts<'_>, members: &[&str]) -> Option<(Timestamp, String)> {
    let before = change.value_before()?;
    if before == change.version.value {
        return None;
    }
    let (before, now) = (facts.reader.whole(change.key(), &before)?, facts.reader.whole(change.key(), &change.version.value)?);
    let managers = |object: &Value| object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let written = managers(&now);
    if written.is_empty() || written != managers(&before) {
        return None;
    }
    let newest = written.iter().filter_map(|entry| entry["time"].as_str()?.parse::<Timestamp>().ok()).max()?;
    let fact = members.iter().find_map(|member| content_changed(&before[member], &now[member], member))?;
    Some((newest, fact))
}

/// What became of a member, in words.
fn content_changed(before: &Value, now: &Value, member: &str) -> Option<String> {
    if let Some(fact) = changed(before, now, member) {
        return Some(fact);
    }
    let lengths = |value: &Value| value.as_object().map(serde_json::Map::len).or_else(|| value.as_array().map(Vec::len)).unwrap_or(0);
    (lengths(before) != lengths(now)).then(|| format!("{member} has {} members, before {}", lengths(now), lengths(before)))
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

    #[test]
    fn contents_are_compared() {
        let changed = |before: Value, now: Value| content_changed(&before, &now, "data");
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
