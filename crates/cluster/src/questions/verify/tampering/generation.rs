//! Generations that go back, or stand still while the spec changed.
//!
//! Source: the strategies of kinds that count generations (kubernetes v1.37, `pkg/registry/*/*/strategy.go`, `PrepareForUpdate`; apiextensions-apiserver
//! v0.37, `pkg/registry/customresource/strategy.go`) add one wherever the spec changed after defaulting. Exempt are:
//!
//! - kinds that do not count, and releases in which a kind did not yet: [`COUNTING_KINDS`];
//! - the binding of a pod, which writes `spec.nodeName` past the strategy (`pkg/registry/core/pod/storage/storage.go`, `setPodNodeAndMetadata`);
//! - fields that only one of the two versions has: defaults, dropped gates and pruning enter with the next write by anybody
//!   (`pkg/registry/core/service/storage/storage.go`, `defaultOnRead`; CRD defaults), so that only a value which became another one counts;
//! - another stored version of the API, and custom resources that a webhook converts: what is lost on the way to the stored version and back is no change of
//!   the version that was asked for (apiextensions-apiserver v0.37, `pkg/apiserver/conversion/webhook_converter.go`);
//! - quantities that are written otherwise and are equal (apimachinery v0.37, `pkg/api/equality/semantic.go`);
//! - `masterleases` and `peerserverleases`, which count to force a write and are not objects of a kind (`pkg/controlplane/reconcilers/lease.go`).

use std::collections::HashSet;

use ketcd_kube::{Kind, Quantity, Release};
use serde_json::Value;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};
use super::wire::spec;

/// Kinds that count a generation whenever their spec changes: resource, group, and the first release that is known to do so.
const COUNTING_KINDS: [(&str, &str, u16); 13] = [
    ("replicationcontrollers", "", 8),
    ("deployments", "apps", 8),
    ("daemonsets", "apps", 8),
    ("replicasets", "apps", 8),
    ("statefulsets", "apps", 8),
    ("networkpolicies", "networking.k8s.io", 8),
    ("ingresses", "networking.k8s.io", 8),
    ("poddisruptionbudgets", "policy", 8),
    ("flowschemas", "flowcontrol.apiserver.k8s.io", 18),
    ("prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io", 18),
    ("jobs", "batch", 22),
    ("cronjobs", "batch", 22),
    ("pods", "", 33),
];

/// The first release that counts the generations of all custom resources (apiextensions-apiserver 1.11).
const CUSTOM_SINCE: u16 = 11;

/// Members of a custom resource whose changes do not count, or may not.
const NOT_COUNTED: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Looks at generations.
#[derive(Default)]
pub(super) struct Generation {
    /// Custom resources that a webhook converts.
    converted: HashSet<String>,
    /// What was found of custom resources, with the resource.
    custom: Vec<(String, Evidence)>,
}

impl Rule for Generation {
    fn see(&mut self, change: &Change<'_>, facts: &TamperingFacts<'_>, found: &mut Found) {
        self.define(change, facts);
        let (Some(kind), Some(object), Some(earlier)) = (change.resource(), change.object(), change.earlier()) else { return };
        let Some(before) = &earlier.stored.object else { return };
        let (revision, key) = (change.revision(), change.key());
        if object.generation < before.generation {
            let fact = format!("from {} back to {}", before.generation, object.generation);
            found.add(Evidence::new(revision, key, Weight::High, "the generation goes back").because(fact));
        } else if object.generation > 0
            && object.generation == before.generation
            && object.api_version == before.api_version
            && counts(kind, facts.release)
            && let Some(fact) = changed_spec(change, facts)
        {
            let says = "the spec changed and the generation, which API servers raise with it, did not";
            let evidence = Evidence::new(revision, key, Weight::High, says).because(fact);
            match kind.is_custom() {
                true => self.custom.push((kind.resource(), evidence)),
                false => found.add(evidence),
            }
        }
    }

    fn finish(&mut self, _: &TamperingFacts<'_>, found: &mut Found) {
        let Self { converted, custom } = self;
        custom.drain(..).filter(|(resource, _)| !converted.contains(resource)).for_each(|(_, evidence)| found.add(evidence));
    }
}

impl Generation {
    /// Notes the resource of a definition with a webhook.
    fn define(&mut self, change: &Change<'_>, facts: &TamperingFacts<'_>) {
        let Some(path) = change.path().filter(|_| change.own_kind().is_some_and(|kind| kind.kind == "CustomResourceDefinition")) else {
            return;
        };
        let definition = facts.reader.whole(change.key(), &change.version.value);
        if definition.is_some_and(|definition| definition["spec"]["conversion"]["strategy"] == "Webhook") {
            self.converted.insert(path.name.to_string());
        }
    }
}

/// Whether API servers of a release raise the generation of a kind with its spec.
fn counts(kind: &Kind, release: Release) -> bool {
    if kind.is_custom() {
        return release.0 >= CUSTOM_SINCE;
    }
    COUNTING_KINDS.iter().any(|(plural, group, first)| kind.plural == *plural && kind.group == *group && release.0 >= *first)
}

/// The first member of the spec whose value became another one, in words.
fn changed_spec(change: &Change<'_>, facts: &TamperingFacts<'_>) -> Option<String> {
    let before = change.value_before()?;
    let is_same = spec(&before).is_some_and(|before| Some(before) == spec(&change.version.value));
    if is_same || before == change.version.value {
        return None;
    }
    let (before, now) = (facts.reader.whole(change.key(), &before)?, facts.reader.whole(change.key(), &change.version.value)?);
    let is_custom = change.resource().is_some_and(|kind| kind.is_custom());
    changed(&before["spec"], &now["spec"], "spec").or_else(|| changed_content(&before, &now).filter(|_| is_custom))
}

/// The same of the other members of a custom resource, all of which count but the status, which may have a subresource of its own.
fn changed_content(before: &Value, now: &Value) -> Option<String> {
    let members = before.as_object()?.iter().filter(|(name, _)| !NOT_COUNTED.contains(&name.as_str()));
    members.into_iter().find_map(|(name, before)| changed(before, now.get(name)?, name))
}

/// The first value below `path` that both have and that differs, in words.
pub(super) fn changed(before: &Value, now: &Value, path: &str) -> Option<String> {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            before.iter().find_map(|(name, value)| changed(value, now.get(name)?, &format!("{path}.{name}")))
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            before.iter().zip(now).enumerate().find_map(|(place, (before, now))| changed(before, now, &format!("{path}[{place}]")))
        }
        (Value::Null | Value::Object(_) | Value::Array(_), _) | (_, Value::Null | Value::Object(_) | Value::Array(_)) => None,
        (before, now) if is_equal(before, now) => None,
        _ => Some(format!("{path} became another value")),
    }
}

/// Whether two values are equal for API servers, which compare quantities by what they mean.
fn is_equal(before: &Value, now: &Value) -> bool {
    match (before, now) {
        (Value::Number(before), Value::Number(now)) => before == now || before.as_f64() == now.as_f64(),
        (Value::String(before), Value::String(now)) if before != now => {
            before.parse::<Quantity>().ok().zip(now.parse::<Quantity>().ok()).is_some_and(|(before, now)| before == now)
        }
        (before, now) => before == now,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use ketcd_kube::Kinds;

    use super::*;

    #[test]
    fn a_value_that_became_another_one_counts() {
        let changed = |before: Value, now: Value| changed(&before, &now, "spec");
        let image = |image: &str| json!({"template": {"spec": {"containers": [{"name": "c", "image": image}]}}});
        assert_eq!(changed(image("a"), image("b")).unwrap(), "spec.template.spec.containers[0].image became another value");
        assert_eq!(changed(image("a"), image("a")), None);
        assert!(changed(json!({"replicas": 1}), json!({"replicas": 2})).is_some());
    }

    #[test]
    fn what_only_one_has_does_not_count() {
        let changed = |before: Value, now: Value| changed(&before, &now, "spec");
        assert_eq!(changed(json!({}), json!({"nodeName": "n1"})), None, "a binding");
        assert_eq!(changed(json!({"old": true}), json!({"new": true})), None, "dropped and defaulted");
        assert_eq!(changed(json!({"a": [1]}), json!({"a": [1, 2]})), None);
        assert_eq!(changed(json!({"a": null}), json!({"a": 1})), None);
    }

    #[test]
    fn custom_resources_may_have_no_spec() {
        let object =
            |size: u8, phase: &str| json!({"metadata": {"labels": {"a": phase}}, "content": {"size": size}, "status": {"phase": phase}});
        assert!(changed_content(&object(1, "a"), &object(2, "a")).is_some());
        assert_eq!(changed_content(&object(1, "a"), &object(1, "b")), None);
    }

    #[test]
    fn equal_quantities_do_not_count() {
        let changed = |before: &str, now: &str| changed(&json!({ "cpu": before }), &json!({ "cpu": now }), "spec");
        assert_eq!(changed("1000m", "1"), None);
        assert_eq!(changed("1024Mi", "1Gi"), None);
        assert!(changed("1", "2").is_some());
    }

    #[test]
    fn kinds_count_from_their_release_on() {
        let kinds = Kinds::builtin();
        let counts = |word: &str, minor: u16| counts(kinds.find(word).unwrap(), Release(minor));
        assert!(counts("deployments", 20) && counts("pods", 33));
        assert!(!counts("pods", 32) && !counts("services", 37) && !counts("configmaps", 37) && !counts("nodes", 37));
    }
}
