//! Whether a change of a node took it away from a pod that finds no node: labels that the pod selects, taints, a cordon, its removal.

use std::collections::BTreeSet;

use ketcd_history::{AttributedChange, ChangeKind};
use ketcd_scheduler::suitability;
use serde_json::Value;

/// What of a node a pod depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aspect {
    Labels,
    Taints,
    Cordon,
}

/// Remembers, from the newest change backwards, which aspects of which nodes are settled: what happened before does not matter any more.
#[derive(Default)]
pub(super) struct Settled(BTreeSet<(String, Aspect)>);

impl Settled {
    /// Whether a change took a node away from a pod of this spec for good. Changes come newest first.
    pub(super) fn is_harm(&mut self, change: &AttributedChange, spec: &Value) -> bool {
        let change = &change.change;
        let Some(name) = change.object().and_then(|node| node["metadata"]["name"].as_str()) else { return false };
        if change.kind == ChangeKind::Deleted {
            return [Aspect::Labels, Aspect::Taints, Aspect::Cordon].into_iter().all(|aspect| self.0.insert((name.to_owned(), aspect)));
        }
        let (Some(before), Some(after)) = (change.before.object(), change.after.object()) else { return false };
        if before["spec"] == after["spec"] && before["metadata"]["labels"] == after["metadata"]["labels"] {
            return false;
        }
        // Whether a node suits is not known where an object cannot be read.
        let (Ok(was), Ok(is)) = (suitability(spec, before), suitability(spec, after)) else { return false };
        let aspects =
            [(Aspect::Labels, was.labels, is.labels), (Aspect::Taints, was.taints, is.taints), (Aspect::Cordon, was.cordon, is.cordon)];
        let mut is_harm = false;
        for (aspect, was, is) in aspects {
            if was != is {
                is_harm |= self.0.insert((name.to_owned(), aspect)) && was;
            }
        }
        is_harm
    }
}
