//! Pods that were bound twice.
//!
//! Source: a binding is refused where the pod has a node (kubernetes v1.37, `pkg/registry/core/pod/storage/storage.go`, `setPodNodeAndMetadata`), and
//! updates may not change `spec.nodeName` (`pkg/apis/core/validation/validation.go`, `ValidatePodUpdate`).

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};

/// Looks at the nodes of pods.
pub(super) struct Binding;

impl Rule for Binding {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, found: &mut Found) {
        if change.own_kind().is_none_or(|kind| kind.kind != "Pod") {
            return;
        }
        let Some((object, earlier)) = change.object().zip(change.earlier()) else { return };
        let Some(before) = earlier.stored.object.as_ref().filter(|before| !before.node.is_empty()) else { return };
        if object.node != before.node {
            let node = if object.node.is_empty() { "no node" } else { &object.node };
            let fact = format!("bound to {} at revision {}, then to {node}", before.node, earlier.version.mod_revision);
            found.add(Evidence::new(change.revision(), change.key(), Weight::High, "the pod's node changed").because(fact));
        }
    }
}
