//! The nodes among which a scheduler chooses.

use std::sync::Arc;

use ketcd_scheduler::Judgement;

/// The nodes that the scheduler may choose: the one it was nominated to, the only one that fits, or those with the most points.
pub(super) fn best(judgement: &Judgement) -> Vec<Arc<str>> {
    if judgement.whole_pod.is_some() {
        return Vec::new();
    }
    match (&judgement.nominated, &judgement.scores) {
        (Some(node), _) => vec![node.clone()],
        (None, Some(scores)) => scores.best().cloned().collect(),
        (None, None) => judgement.nodes.iter().filter(|node| node.fits()).map(|node| node.name.clone()).collect(),
    }
}
