//! One evaluation of an attempt: on the state as it is, with the pods that were assumed, compared with what was recorded.

use std::sync::Arc;

use crate::cluster::{CachedObject, ObjectKey, PodInfo, UndoLog};
use crate::explanation::{Agreement, AssumedPod, Attempt, AttemptOutcome, UnseenEnd};
use crate::framework::{Cycle, Judgement};
use crate::groups::{self, KnownMembers};
use crate::plugins::image_locality;
use crate::{GroupScope, Profile};

use super::Replay;
use super::agreement::agreement;
use super::assumed::{Neighbours, is_written_for};
use super::event_only::is_cut_from;

/// A judgement compared with what was recorded.
#[derive(Clone)]
pub(crate) struct EvaluatedAttempt {
    pub judgement: Judgement,
    pub agreement: Agreement,
    pub same_message: bool,
    /// Whether the recorded outcome follows exactly.
    pub follows: bool,
    /// The scope imposed by the cycle of the pod's group.
    pub scope: Option<GroupScope>,
    /// Pods that were assumed, those of its group that were tried before it among them, and their claims.
    pub before: Vec<(ObjectKey, CachedObject)>,
    /// Pods that were assumed, without those of its group.
    pub assumed: Vec<AssumedPod>,
    /// The neighbour that was taken as decided about on the other side of the attempt than its writes say.
    pub turned: Option<TurnedNeighbour>,
    /// The judgement of this state alone, where `judgement` is marked with what another order would change.
    pub certain: Option<Box<Judgement>>,
    /// Ends of pods that the attempt may not have seen, and on which something depends.
    pub unseen_ends: Vec<UnseenEnd>,
}

/// A neighbour on the other side of the attempt than its writes say, because the recorded outcome follows only so.
#[derive(Clone)]
pub(crate) struct TurnedNeighbour {
    /// Its number.
    pub at: usize,
    /// Whether it is counted.
    pub counted: bool,
    /// The nodes whose verdict or scores depend on it.
    pub nodes: Vec<Arc<str>>,
}

impl EvaluatedAttempt {
    /// The judgement of the state evaluated, without marks.
    pub(crate) fn certain(&self) -> &Judgement {
        self.certain.as_deref().unwrap_or(&self.judgement)
    }
}

impl Replay {
    /// Evaluates a pod on the state as it is, which is as of `revision`, with the pods that were assumed.
    pub(crate) fn evaluate(&mut self, attempt: &Attempt, pod: &Arc<PodInfo>, revision: i64, neighbours: &Neighbours) -> EvaluatedAttempt {
        if self.scheduler.profiles[0].rules.image_counts_at_snapshot {
            self.images.look(&mut self.state, revision);
        }
        let mut log = UndoLog::new(self);
        let replay = &mut *log;
        let mut before = neighbours.assume(&mut replay.state, revision);
        let assumed = before.iter().filter_map(|(_, stored)| match stored {
            CachedObject::Pod(pod) => {
                Some(AssumedPod { pod: pod.full_name(), node: pod.node_name.clone()?, written: neighbours.written(pod) })
            }
            _ => None,
        });
        let assumed = assumed.collect();
        before.extend(replay.assumed_writes(&before, revision));
        let known = replay.known_members(attempt, pod, revision, neighbours);
        let (profile, _) = replay.scheduler.profile_for(pod);
        let (of_group, unread) = replay
            .state
            .encounters()
            .collect(|| groups::evaluate(pod, &mut replay.state, profile, &known, attempt.recorded_message.as_deref()));
        let (mut judgement, scope) = match of_group {
            Some(evaluation) => {
                before.extend(evaluation.assumed);
                (evaluation.judgement, Some(evaluation.scope))
            }
            None => (Cycle::new(pod, &replay.state, profile).evaluate(), None),
        };
        judgement.unread.extend(unread);
        replay.doubt_images(pod, profile, &mut judgement, revision);
        let agreement = agreement(attempt, &judgement);
        let is = |ours: &str| {
            attempt
                .recorded_message
                .as_ref()
                .is_none_or(|recorded| **recorded == *ours || attempt.event_only && is_cut_from(recorded, ours))
        };
        // Several messages are possible: use the recorded one.
        if let Some(at) = judgement.equal_messages.iter().position(|ours| is(ours)).filter(|_| attempt.recorded_message.is_some()) {
            let first = judgement.message.replace(judgement.equal_messages.remove(at));
            judgement.equal_messages.extend(first);
        }
        let same_message = attempt.recorded_message.is_none() || judgement.message.as_deref().is_some_and(is);
        let follows = match attempt.outcome {
            AttemptOutcome::Scheduled => agreement != Agreement::Disagrees,
            _ => agreement == Agreement::Agrees && same_message,
        };
        EvaluatedAttempt {
            judgement,
            agreement,
            same_message,
            follows,
            scope,
            before,
            assumed,
            turned: None,
            certain: None,
            unseen_ends: Vec::new(),
        }
    }

    /// Makes the state hold the volumes and devices of assumed pods that were written after `revision`; returns them.
    fn assumed_writes(&mut self, pods: &[(ObjectKey, CachedObject)], revision: i64) -> Vec<(ObjectKey, CachedObject)> {
        let pods = pods.iter().filter_map(|(_, stored)| if let CachedObject::Pod(pod) = stored { Some(pod) } else { None });
        let pods: Vec<_> = pods.filter(|pod| pod.is_on_node() && (pod.spec.has_volumes || !pod.spec.resource_claims.is_empty())).collect();
        let later = if pods.is_empty() { i64::MAX } else { revision };
        let changes = self.changes_within(later, i64::MAX).map(|(_, change)| change);
        let own = changes.filter(|change| pods.iter().any(|pod| is_written_for(change, pod, &self.state)));
        let written: Vec<_> = own.filter_map(|change| Some((change.key.clone(), change.after.clone()?))).collect();
        for (key, stored) in &written {
            self.state.set(key, Some(stored.clone()));
        }
        written
    }

    /// Returns the nodes that this pod, and other pods of groups in its namespace, were bound to after `revision`, in the history that was read, and
    /// where the neighbours say that pods of its group are tried.
    fn known_members(&self, attempt: &Attempt, pod: &PodInfo, revision: i64, neighbours: &Neighbours) -> KnownMembers {
        if pod.spec.pod_group.is_none() {
            return KnownMembers::default();
        }
        let later = self.journal.iter().rev().take_while(|(at, _)| *at > revision);
        let bound = later.filter_map(|(_, change)| match &change.after {
            Some(CachedObject::Pod(other)) if other.spec.pod_group.is_some() && other.namespace == pod.namespace => {
                Some((other.key(), other.node_name.clone()?))
            }
            _ => None,
        });
        let mut known = neighbours.known_members();
        known.nodes.extend(bound.chain(attempt.node.clone().map(|node| (pod.key(), node))));
        known
    }

    /// Marks the scores of ImageLocality that depend on uncertain counts.
    fn doubt_images(&self, pod: &PodInfo, profile: &Profile, judgement: &mut Judgement, revision: i64) {
        let Some(scores) = &mut judgement.scores else { return };
        let Some(score) = scores.plugins.iter_mut().find(|score| score.plugin == "ImageLocality") else { return };
        let images = image_locality::images(&pod.spec, &profile.rules);
        let is_in_doubt = |id| match profile.rules.image_counts_at_snapshot {
            true => self.images.is_in_doubt(id, &images, &self.state, revision),
            false => self.images.is_under_way(id, &images, &self.state, revision),
        };
        let doubtful = |name: &str| self.state.id_of(name).is_some_and(is_in_doubt);
        score.doubtful = (0..scores.nodes.len()).filter(|at| doubtful(&scores.nodes[*at])).collect();
    }
}
