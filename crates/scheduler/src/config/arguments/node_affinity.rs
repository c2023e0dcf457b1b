//! Arguments of NodeAffinity. Upstream: `component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go`, `apimachinery/pkg/labels/selector.go`.

use crate::Arguments;
use crate::api::core;
use crate::cluster::{Interner, NodeAffinityTerms};

use crate::config::context::Context;
use crate::validation::{Document, node_selector_term};

/// Reads and validates `addedAffinity`.
pub(super) fn read(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let added = args.field("addedAffinity");
    if added.is_absent() || !context.rules().takes_added_affinity() {
        return Vec::new();
    }
    if let Ok(affinity) = serde_json::from_value::<core::NodeAffinity>(added.value().clone()) {
        arguments.added_affinity = Some(NodeAffinityTerms::compile(&affinity, &mut Interner::default()));
    }
    let required = added.field("requiredDuringSchedulingIgnoredDuringExecution").field("nodeSelectorTerms");
    let preferred = added.field("preferredDuringSchedulingIgnoredDuringExecution");
    let mut wrong: Vec<String> =
        required.elements().iter().flat_map(|term| node_selector_term(term, term.path(), context.release)).collect();
    for term in preferred.elements().iter().filter(|term| term.field("weight").whole().unwrap_or(0) != 0) {
        // The path of a preference omits its field.
        wrong.extend(node_selector_term(&term.field("preference"), term.path(), context.release));
    }
    wrong
}
