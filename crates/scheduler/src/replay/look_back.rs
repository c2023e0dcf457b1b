//! Finds the state an attempt saw by going back from the outcome: the newest state from which the recorded outcome follows.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::agreement::agreement;
use super::assumed::{Neighbours, is_written_for};
use super::own_writes::before_own_writes;
use super::place::{is_of, matters};
use crate::cluster::unreadable;
use crate::cluster::{CachedObject, ObjectChange, ObjectKey, PodInfo, PodKey, UndoLog};
use crate::explanation::{Agreement, AssumedPod, Attempt, AttemptOutcome, StateSeen};
use crate::framework::{Cycle, Judgement};
use crate::plugins::image_locality;
use crate::{Profile, Scope, groups};

use super::Replay;
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
    pub scope: Option<Scope>,
    /// Pods that were assumed, those of its group that were tried before it among them, and their claims.
    pub before: Vec<(ObjectKey, CachedObject)>,
    /// Pods that were assumed, without those of its group.
    pub assumed: Vec<AssumedPod>,
    /// The neighbours that were taken as decided about on the other side of the attempt than their writes say.
    pub turned: Vec<usize>,
}

/// A judgement, the revision of its state, and how that state was found, where it is not simply the revision before.
pub(crate) type ChosenState = (EvaluatedAttempt, i64, Option<StateSeen>);

/// An attempt whose state is to be found.
struct SoughtState<'a> {
    attempt: &'a Attempt,
    /// The pod without the node that this attempt nominated.
    pod: Arc<PodInfo>,
    /// The decisions near it.
    neighbours: &'a Neighbours,
    /// The objects it wrote itself, each as it was before.
    own: Vec<(ObjectKey, Option<CachedObject>)>,
}

impl Replay {
    /// Evaluates on the newest state that the attempt can have seen, without its own writes; where the outcome does not follow, with neighbours on
    /// the other side of it, then on earlier revisions, newest first.
    /// `end`: the number of journal entries before the outcome.
    pub(crate) fn look_back(&mut self, attempt: &Attempt, neighbours: &Neighbours, end: usize) -> ChosenState {
        let since = self.changes_within(attempt.queued, attempt.revision - 1).map(|(_, change)| change);
        let nominated = self.nominated_by(attempt);
        let own = before_own_writes(&attempt.pod, nominated.as_deref(), since, &self.state);
        // A node that the scheduler nominated only because it was about to bind the pod there is its own write too.
        let pod = Arc::new(PodInfo { nominated_node_name: attempt.nominated_before.clone(), ..(*attempt.pod).clone() });
        let changed = !own.is_empty() || pod.nominated_node_name != attempt.pod.nominated_node_name;
        let sought = SoughtState { attempt, pod, neighbours, own };
        let limited = neighbours.limit < attempt.revision;
        let early = if limited { self.before_limit(&sought, end) } else { None };
        early.unwrap_or_else(|| self.newest_it_follows_from(&sought, changed, end))
    }

    /// Evaluates on the revision before the limit: the attempt cannot have seen later changes.
    fn before_limit(&mut self, sought: &SoughtState, end: usize) -> Option<ChosenState> {
        let limit = sought.neighbours.limit - 1;
        let mut early = UndoLog::new(self);
        let end = early.undo_after(limit, end);
        let turn = SoughtState { pod: sought.pod.clone(), own: Vec::new(), ..*sought };
        let seen = if sought.neighbours.wrote { StateSeen::BeforeOwnWrites } else { StateSeen::BeforeLaterPods };
        let found = early.at_its_turn(&turn, end).or_else(|| {
            let evaluation = early.evaluate(sought.attempt, &sought.pod, limit, sought.neighbours, &[]);
            evaluation.follows.then_some((evaluation, limit, Some(seen)))
        });
        let found = found.or_else(|| early.turned(sought, limit));
        if found.is_some() {
            early.keep();
        }
        found
    }

    /// Evaluates with one neighbour at a time on the other side of the attempt, the nearest first, until the outcome follows.
    fn turned(&mut self, sought: &SoughtState, revision: i64) -> Option<ChosenState> {
        let open = sought.neighbours.open();
        let each = open.iter().map(|at| self.evaluate(sought.attempt, &sought.pod, revision, sought.neighbours, &[*at]));
        let evaluation = each.into_iter().find(|evaluation| evaluation.follows)?;
        Some((evaluation, revision, None))
    }

    /// Evaluates on the revision before the outcome with the attempt's own writes undone, then on earlier and earlier ones.
    fn newest_it_follows_from(&mut self, sought: &SoughtState, changed: bool, end: usize) -> ChosenState {
        let (attempt, neighbours) = (sought.attempt, sought.neighbours);
        let before = attempt.revision - 1;
        let plain = changed.then(|| self.evaluate(attempt, &attempt.pod.clone(), before, neighbours, &[]));
        for (key, stored) in &sought.own {
            self.state.set(key, stored.clone());
        }
        if let Some(chosen) = self.at_its_turn(sought, end) {
            return chosen;
        }
        let less = self.evaluate(attempt, &sought.pod, before, neighbours, &[]);
        if less.follows {
            return (less, before, changed.then_some(StateSeen::WithoutOwnWrites));
        }
        if let Some(chosen) = self.turned(sought, before) {
            return chosen;
        }
        let mut fallback = (less, before, changed.then_some(StateSeen::WithoutOwnWrites));
        let mut left = (50_000 / self.state.node_count().max(1)).clamp(8, 400);
        for at in (0..end).rev() {
            let (revision, change) = &self.journal[at];
            if *revision <= attempt.queued || left == 0 {
                break;
            }
            if sought.keeps(change) {
                continue;
            }
            let (evaluated, matters) = (revision - 1, matters(change));
            self.state.undo(change);
            if !matters || at > 0 && self.journal[at - 1].0 == evaluated + 1 {
                continue;
            }
            left -= 1;
            let chosen = (self.evaluate(attempt, &sought.pod, evaluated, neighbours, &[]), evaluated, Some(StateSeen::Earlier));
            if chosen.0.follows {
                return chosen;
            }
            fallback = better(fallback, chosen);
        }
        // A volume bound for the pod leaves it one node. An outcome that follows from this alone proves little, so it is tried last.
        match plain {
            Some(plain) if plain.follows => (plain, before, None),
            Some(plain) => better(fallback, (plain, before, None)),
            None => fallback,
        }
    }

    /// Evaluates on the state at the pod's turn. `None` where nothing was written since, or where the outcome does not follow; the state is then
    /// as it was.
    fn at_its_turn(&mut self, sought: &SoughtState, end: usize) -> Option<ChosenState> {
        let turn = self.turn(sought.attempt, sought.neighbours)?;
        let mut early = UndoLog::new(self);
        let Self { journal, state, .. } = &mut *early;
        for (_, change) in journal.iter().take(end).rev().take_while(|(revision, _)| *revision > turn) {
            if !sought.keeps(change) {
                state.undo(change);
            }
        }
        let evaluation = early.evaluate(sought.attempt, &sought.pod, turn, sought.neighbours, &[]);
        let evaluation = Some(evaluation).filter(|evaluation| evaluation.follows)?;
        early.keep();
        Some((evaluation, turn, Some(StateSeen::AtItsTurn)))
    }

    /// Returns the node an attempt nominated with its outcome, or had before.
    pub(crate) fn nominated_by(&self, attempt: &Attempt) -> Option<Arc<str>> {
        let outcome = self.changes_within(attempt.revision - 1, attempt.revision);
        let after = outcome.filter(|(_, change)| is_of(change, &attempt.pod)).find_map(|(_, change)| match &change.after {
            Some(CachedObject::Pod(pod)) => pod.nominated_node_name.clone(),
            _ => None,
        });
        after.or_else(|| attempt.pod.nominated_node_name.clone())
    }

    /// Evaluates a pod on the state as it is, which is as of `revision`, with the pods that were assumed; `turned`: neighbours for which it is the
    /// other way round.
    pub(crate) fn evaluate(
        &mut self,
        attempt: &Attempt,
        pod: &Arc<PodInfo>,
        revision: i64,
        neighbours: &Neighbours,
        turned: &[usize],
    ) -> EvaluatedAttempt {
        if self.scheduler.profiles[0].rules.image_counts_at_snapshot {
            self.images.look(&mut self.state, revision);
        }
        let mut log = UndoLog::new(self);
        let replay = &mut *log;
        let mut before = neighbours.assume(&mut replay.state, revision, turned);
        let assumed = before.iter().filter_map(|(_, stored)| match stored {
            CachedObject::Pod(pod) => {
                Some(AssumedPod { pod: pod.full_name(), node: pod.node_name.clone()?, written: neighbours.written(pod) })
            }
            _ => None,
        });
        let assumed = assumed.collect();
        before.extend(replay.assumed_writes(&before, revision));
        let known = replay.known_nodes(attempt, pod, revision);
        let (profile, _) = replay.scheduler.profile_for(pod);
        let (of_group, unread) =
            unreadable::collect(|| groups::evaluate(pod, &mut replay.state, profile, &known, attempt.recorded_message.as_deref()));
        let (mut judgement, scope) = match of_group {
            Some(evaluation) => {
                before.extend(evaluation.assumed);
                (evaluation.judgement, Some(evaluation.scope))
            }
            None => (Cycle::new(pod, &replay.state, profile).evaluate(), None),
        };
        judgement.unread.extend(unread);
        if profile.rules.image_counts_at_snapshot {
            replay.doubt_images(pod, profile, &mut judgement, revision);
        }
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
        EvaluatedAttempt { judgement, agreement, same_message, follows, scope, before, assumed, turned: turned.to_vec() }
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

    /// Returns the nodes that this pod, and other pods of groups in its namespace, were bound to after `revision`, in the history that was read.
    fn known_nodes(&self, attempt: &Attempt, pod: &PodInfo, revision: i64) -> BTreeMap<PodKey, Arc<str>> {
        if pod.spec.pod_group.is_none() {
            return BTreeMap::new();
        }
        let later = self.journal.iter().rev().take_while(|(at, _)| *at > revision);
        let bound = later.filter_map(|(_, change)| match &change.after {
            Some(CachedObject::Pod(other)) if other.spec.pod_group.is_some() && other.namespace == pod.namespace => {
                Some((other.key(), other.node_name.clone()?))
            }
            _ => None,
        });
        bound.chain(attempt.node.clone().map(|node| (pod.key(), node))).collect()
    }

    /// Marks the scores of ImageLocality that depend on uncertain counts.
    fn doubt_images(&self, pod: &PodInfo, profile: &Profile, judgement: &mut Judgement, revision: i64) {
        let Some(scores) = &mut judgement.scores else { return };
        let Some(score) = scores.plugins.iter_mut().find(|score| score.plugin == "ImageLocality") else { return };
        let images = image_locality::images(&pod.spec, &profile.rules);
        let doubtful = |name: &str| self.state.id_of(name).is_some_and(|id| self.images.is_in_doubt(id, &images, &self.state, revision));
        score.doubtful = (0..scores.nodes.len()).filter(|at| doubtful(&scores.nodes[*at])).collect();
    }
}

impl SoughtState<'_> {
    /// Whether a change is not undone on the way back: the pod's own, and those undone already.
    fn keeps(&self, change: &ObjectChange) -> bool {
        is_of(change, &self.attempt.pod) || self.own.iter().any(|(key, _)| *key == change.key)
    }
}

/// Returns the first judgement that at least agrees with the outcome, else the first, where none shows it exactly.
fn better(known: ChosenState, other: ChosenState) -> ChosenState {
    if known.0.agreement != Agreement::Disagrees || other.0.agreement == Agreement::Disagrees { known } else { other }
}
