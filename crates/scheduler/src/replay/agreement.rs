//! Whether the recorded outcome follows from the rules.

use crate::explanation::{Agreement, Attempt, AttemptOutcome};
use crate::framework::{GroupOutcome, Judgement, NodeJudgement, Scores, WholePod};

/// Compares the recorded outcome with a judgement.
pub(crate) fn agreement(attempt: &Attempt, judgement: &Judgement) -> Agreement {
    let known = || judgement.nodes.iter().filter(|node| node.fits()).all(|node| node.unknown().is_none());
    match attempt.outcome {
        // The judgement depends on objects that cannot be read.
        _ if !judgement.unread.is_empty() => Agreement::Unverifiable,
        AttemptOutcome::Pending => Agreement::Unverifiable,
        AttemptOutcome::Gated if matches!(judgement.whole_pod, Some(WholePod::Gated { .. })) => Agreement::Agrees,
        AttemptOutcome::Gated => Agreement::Disagrees,
        AttemptOutcome::Scheduled | AttemptOutcome::Unschedulable if judgement.group.is_some() => by_group(attempt, judgement, known()),
        // A pod that waits for its group is rejected when Permit times out.
        AttemptOutcome::Unschedulable if judgement.permit.is_some() => match attempt.recorded_message.as_deref().is_some_and(is_timeout) {
            true => Agreement::Agrees,
            false => Agreement::Unverifiable,
        },
        AttemptOutcome::Unschedulable => match judgement.whole_pod.is_none() && judgement.nodes.iter().any(NodeJudgement::fits) {
            false => Agreement::Agrees,
            true if known() => Agreement::Disagrees,
            true => Agreement::Unverifiable,
        },
        AttemptOutcome::Scheduled => scheduled(attempt, judgement, known()),
    }
}

/// Whether uncertain scores may have ranked the recorded node above the best by the other scores.
pub(crate) fn rests_on_doubt(attempt: &Attempt, judgement: &Judgement) -> bool {
    let (Some(node), Some(scores)) = (&attempt.node, &judgement.scores) else { return false };
    let decides = |at: usize| scores.nodes[at] == *node || scores.best().any(|best| *best == scores.nodes[at]);
    scores.nodes.contains(node) && scores.plugins.iter().flat_map(|score| &score.doubtful).any(|at| decides(*at))
}

/// Whether the recorded node fits and may have been reused for a pod with the same signature (OpportunisticBatching).
pub(crate) fn may_be_next_best(attempt: &Attempt, judgement: &Judgement) -> bool {
    let (Some(node), Some(scores)) = (&attempt.node, &judgement.scores) else { return false };
    judgement.batched && scores.nodes.contains(node)
}

/// Whether it is the message for a pod whose Permit timed out (`framework/runtime/waiting_pods_map.go`, `schedule_one.go` bindingCycle).
fn is_timeout(message: &str) -> bool {
    message.starts_with("0/1 nodes are available: 1 rejected due to timeout after waiting ")
        && message.contains(" at plugin GangScheduling")
}

/// Compares the recorded outcome with the cycle of the pod's group. Where pods before it may have got other nodes, nothing is certain.
fn by_group(attempt: &Attempt, judgement: &Judgement, known: bool) -> Agreement {
    let Some(group) = &judgement.group else { return Agreement::Unverifiable };
    let refused = judgement.message.is_some();
    let agreement = match attempt.outcome {
        AttemptOutcome::Scheduled if refused => Agreement::Disagrees,
        AttemptOutcome::Scheduled => scheduled(attempt, judgement, known),
        _ if refused => Agreement::Agrees,
        _ => Agreement::Disagrees,
    };
    let timeout = attempt.recorded_message.as_deref().is_some_and(is_timeout);
    let certain = group.is_certain(&attempt.pod.key()) && !timeout;
    if agreement == Agreement::Disagrees && !certain || group.outcome == GroupOutcome::Unknown {
        Agreement::Unverifiable
    } else {
        agreement
    }
}

fn scheduled(attempt: &Attempt, judgement: &Judgement, known: bool) -> Agreement {
    let Some(node) = &attempt.node else { return Agreement::Unverifiable };
    let fits = judgement.nodes.iter().any(|evaluated| evaluated.name == *node && evaluated.fits());
    if fits && judgement.sample.unseen() > 0 && matches!(judgement.whole_pod, Some(WholePod::Error(_))) {
        // The scheduler may have stopped before it evaluated the node that ends the attempt.
        return Agreement::Unverifiable;
    }
    if !fits || judgement.whole_pod.is_some() {
        return Agreement::Disagrees;
    }
    if !known {
        return Agreement::Unverifiable;
    }
    if let Some(nominated) = &judgement.nominated {
        return if nominated == node { Agreement::Agrees } else { Agreement::Disagrees };
    }
    let Some(scores) = &judgement.scores else { return Agreement::Agrees };
    if !scores.unknown.is_empty() {
        return Agreement::Unverifiable;
    }
    let best: Vec<_> = scores.best().collect();
    match (best.contains(&node), best.len()) {
        (true, 1) => Agreement::Agrees,
        (true, _) => Agreement::Tie,
        (false, _) if could_win_unseen(scores, node, judgement.sample.unseen()) => Agreement::Unverifiable,
        (false, _) => Agreement::Disagrees,
    }
}

/// Whether the better nodes may all be among those the scheduler did not evaluate, or whether other evaluated nodes may have changed the scores.
fn could_win_unseen(scores: &Scores, node: &str, unseen: usize) -> bool {
    let own = scores.nodes.iter().position(|name| **name == *node).map(|at| scores.totals[at]);
    let better = scores.totals.iter().filter(|total| Some(**total) > own).count();
    unseen > 0 && (better <= unseen || scores.plugins.iter().any(|score| score.sampled))
}
