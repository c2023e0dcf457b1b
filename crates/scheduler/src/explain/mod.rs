//! Explains an attempt: puts its evaluation, the evidence, the remedies and the caveats together.

use std::sync::Arc;

use crate::cluster::{ObjectKey, PodInfo, UndoLog, WatchedKind};
use crate::devices::{self, RecordedDevices};
use crate::explanation::{
    Agreement, Attempt, AttemptOutcome, Caveat, DecidedBy, Depth, Evidence, Explanation, Help, NeighbourDoubt, StateSeen,
};
use crate::framework::{Cycle, DeviceCheck, Fact};
use crate::plugins::dynamic_resources::allocated_devices;
use crate::plugins::named_nodes;
use crate::preemption::{kept, victims};
use crate::remedies::help;
use crate::replay::agreement::{may_be_next_best, rests_on_doubt};
use crate::replay::evaluate::EvaluatedAttempt;
use crate::replay::{Replay, attempt};

mod caveats;
mod comparisons;
#[cfg(test)]
mod tests;

use caveats::Circumstances;

impl Replay {
    /// Explains an attempt that the last change showed.
    pub fn explain(&mut self, attempt: Attempt) -> Explanation {
        let begun = attempt.queued;
        let neighbours = self.settled_neighbours(&attempt);
        let mut undone = UndoLog::new(self);
        let ((evaluation, evaluated, found), doubts) = undone.evaluated(&attempt, &neighbours);
        let mut explanation = undone.explained(attempt.clone(), evaluation, &doubts, evaluated, found);
        drop(undone);
        self.skip(&attempt);
        explanation.preempted = self.preempted(&attempt, begun);
        let since = self.journal.iter().filter(|(revision, _)| *revision > begun && *revision <= attempt.revision);
        let since = since.map(|(revision, change)| (*revision, change));
        explanation.recorded_devices = devices::recorded(&attempt.pod, attempt.node.as_deref(), since, &explanation.devices);
        let there = |evidence: &&mut Evidence| evidence.plugin == "DynamicResources" && Some(&evidence.node) == attempt.node.as_ref();
        if let Some(compared) = explanation.evidence.iter_mut().find(there) {
            compared.facts.extend(explanation.recorded_devices.iter().map(recorded));
        }
        explanation
    }

    /// Explains a pod that waits, on the state as it is.
    pub fn explain_waiting(&mut self, pod: &Arc<PodInfo>, revision: i64) -> Explanation {
        let gated = self.scheduler.profile_for(pod).0.waits_at_gates(pod);
        let attempt = attempt::waiting(pod, gated, revision);
        let neighbours = self.neighbours(&attempt);
        let evaluation = self.evaluate(&attempt, pod, revision, &neighbours);
        self.explained(attempt, evaluation, &[], revision, None)
    }

    /// Explains a bound pod whose binding can no longer be read: on the state as it is, as if the pod were to be scheduled now.
    pub fn explain_bound(&mut self, pod: &Arc<PodInfo>, revision: i64) -> Explanation {
        let mut replay = UndoLog::new(self);
        let key = ObjectKey { kind: WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() };
        replay.state.set(&key, None);
        let unbound = Arc::new(PodInfo { node_name: None, nominated_node_name: None, ..(**pod).clone() });
        let attempt = Attempt {
            pod: unbound.clone(),
            outcome: AttemptOutcome::Scheduled,
            node: pod.node_name.clone(),
            revision,
            recorded_message: None,
            at_once: false,
            event_only: false,
            queued: revision,
            nominated_before: None,
        };
        let neighbours = replay.neighbours(&attempt);
        let mut evaluation = replay.evaluate(&attempt, &unbound, revision, &neighbours);
        evaluation.agreement = Agreement::Unverifiable;
        let mut explanation = replay.explained(attempt, evaluation, &[], revision, None);
        explanation.decided_by = DecidedBy::without_attempt(pod, replay.complete);
        explanation.caveats.insert(0, Caveat::NoAttempt(explanation.decided_by));
        explanation
    }

    fn explained(
        &mut self,
        attempt: Attempt,
        evaluation: EvaluatedAttempt,
        doubts: &[NeighbourDoubt],
        evaluated_revision: i64,
        found: Option<StateSeen>,
    ) -> Explanation {
        let mut log = UndoLog::new(self);
        let replay = &mut *log;
        let (profile, own_profile) = replay.scheduler.profile_for(&attempt.pod);
        let alike = if own_profile { Vec::new() } else { replay.decided_alike(&attempt) };
        let circumstances = Circumstances {
            scheduler: &replay.scheduler,
            profile,
            own_profile,
            state: &replay.state,
            attempt: &attempt,
            judgement: &evaluation.judgement,
            certain: evaluation.certain(),
            same_message: evaluation.same_message,
            assumed: &evaluation.assumed,
            neighbours: doubts,
            unseen_ends: &evaluation.unseen_ends,
            alike: &alike,
            untraced: replay.is_untraced(&attempt.pod),
            found,
            evaluated_revision,
            complete: replay.complete,
        };
        let mut caveats = caveats::caveats(&circumstances);
        let doubt = rests_on_doubt(&attempt, &evaluation.judgement) || may_be_next_best(&attempt, &evaluation.judgement);
        let in_doubt = evaluation.agreement == Agreement::Disagrees && doubt;
        let agreement = if own_profile && !in_doubt { evaluation.agreement } else { Agreement::Unverifiable };
        for (key, stored) in &evaluation.before {
            replay.state.set(key, Some(stored.clone()));
        }
        let certain = evaluation.certain();
        let evidence = replay.evidence(&attempt.pod, profile, certain);
        let devices = devices::chosen(&Cycle::new(&attempt.pod, &replay.state, profile), certain);
        let sought = replay.remedies && matches!(attempt.outcome, AttemptOutcome::Unschedulable | AttemptOutcome::Pending);
        let mut preemption = Vec::new();
        if sought && certain.preemption_helps {
            let cycle = Cycle { scope: evaluation.scope.as_ref(), ..Cycle::new(&attempt.pod, &replay.state, profile) };
            preemption = victims::candidates(&cycle, certain);
            caveats.extend(caveats::unseen_candidates(kept(&cycle, certain), preemption.len()));
        }
        caveats.extend(caveats::equal_victims(&preemption));
        caveats.extend(caveats::budgets_in_any_order(&preemption));
        let only = match &replay.depth {
            Depth::Node(name) => Some(name.as_str()),
            Depth::Verdicts | Depth::Refusals => None,
        };
        let help = if sought { help(&attempt.pod, &mut replay.state, profile, certain, only) } else { Help::default() };
        Explanation {
            decided_by: DecidedBy::Scheduler,
            meant_for: meant_for(&attempt.pod),
            scheduler_name: attempt.pod.spec.scheduler_name.clone(),
            version: replay.scheduler.version.clone(),
            decided_release: replay.scheduler.decided_release(),
            attempt,
            evaluated_revision,
            judgement: evaluation.judgement,
            agreement,
            caveats,
            assumptions: caveats::assumptions(&replay.scheduler, profile),
            assumed: evaluation.assumed,
            evidence,
            help,
            preemption,
            preempted: Vec::new(),
            devices,
            recorded_devices: Vec::new(),
        }
    }
}

/// The devices a claim was recorded to get, as a fact of DynamicResources.
fn recorded(of: &RecordedDevices) -> Fact {
    let (claim, devices) = (of.devices.claim.clone(), allocated_devices(&of.devices.allocation));
    let check = DeviceCheck::Recorded { claim, devices, revision: of.revision, agrees: of.agrees };
    Fact::new(of.agrees != Some(false), check)
}

/// Returns the node that the pod's required node affinity names as the only one, as for pods of a DaemonSet since 1.12.
fn meant_for(pod: &PodInfo) -> Option<Arc<str>> {
    let names = named_nodes(&pod.spec)?;
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none())
}
