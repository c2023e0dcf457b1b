//! CheckNodeLabelPresence: labels a node must have, or must not have; only a Policy enables it.
//! Source: `algorithm/predicates/predicates.go` `NodeLabelChecker`, `framework/plugins/nodelabel` (1.17).

use std::sync::Arc;

use crate::Cycle;
use crate::legacy::reason::PreparedPredicate;
use crate::legacy::reason::Reason;

/// CheckNodeLabelPresence. Each label comes with whether it must be there.
pub(super) fn check_node_label_presence<'a>(_cycle: &'a Cycle<'a>, labels: Vec<(Arc<str>, bool)>) -> PreparedPredicate<'a> {
    Box::new(move |candidate| {
        let violated = labels.iter().any(|(label, presence)| candidate.labels.has(label) != *presence);
        Ok(if violated { vec![Reason::NodeLabelPresenceViolated] } else { Vec::new() })
    })
}
