//! Finds the state an attempt saw by going back from the outcome: the newest state from which the recorded outcome follows.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::agreement::agreement;
use super::own_writes::{before_own_writes, first_own_write};
use super::{assumed, attempt};
use crate::cluster::unreadable;
use crate::cluster::{CachedObject, ObjectChange, ObjectKey, PodInfo, PodKey, UndoLog, WatchedKind};
use crate::explanation::{Agreement, Attempt, AttemptOutcome, StateSeen};
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
    /// Pods of its group that were tried before it, as assumed, and their claims.
    pub before: Vec<(ObjectKey, CachedObject)>,
}

/// A judgement, the revision of its state, and how that state was found, where it is not simply the revision before.
pub(crate) type ChosenState = (EvaluatedAttempt, i64, Option<StateSeen>);

/// An attempt whose state is to be found.
struct SoughtState<'a> {
    attempt: &'a Attempt,
    /// The pod without the node that this attempt nominated.
    pod: Arc<PodInfo>,
    /// The revision it began after: the pod's creation or its last refusal.
    begun: i64,
    /// The objects it wrote itself, each as it was before.
    own: Vec<(ObjectKey, Option<CachedObject>)>,
}

impl Replay {
    /// Evaluates on the revision before the outcome, without the attempt's own writes; where the outcome does not follow, on earlier revisions,
    /// newest first.
    /// `end`: the number of journal entries before the outcome.
    pub(crate) fn look_back(&mut self, attempt: &Attempt, begun: i64, first: &Arc<PodInfo>, end: usize) -> ChosenState {
        let since: Vec<(i64, &ObjectChange)> =
            self.journal.iter().take(end).filter(|(revision, _)| *revision > begun).map(|(revision, change)| (*revision, change)).collect();
        let nominated = self.nominated_by(attempt);
        let own = before_own_writes(&attempt.pod, nominated.as_deref(), since.iter().map(|(_, change)| *change), &self.state);
        let began_writing = first_own_write(attempt, nominated.as_deref(), &since, &self.state);
        // A node that the scheduler nominated only because it was about to bind the pod there is its own write too.
        let pod = Arc::new(PodInfo { nominated_node_name: first.nominated_node_name.clone(), ..(*attempt.pod).clone() });
        let changed = !own.is_empty() || pod.nominated_node_name != attempt.pod.nominated_node_name;
        let sought = SoughtState { attempt, pod, begun, own };
        began_writing
            .and_then(|revision| self.before_it_wrote(&sought, revision - 1, end))
            .unwrap_or_else(|| self.newest_it_follows_from(&sought, changed, end))
    }

    /// Evaluates on revision `limit`, after which the attempt began to write: it cannot have seen later changes.
    fn before_it_wrote(&mut self, sought: &SoughtState, limit: i64, end: usize) -> Option<ChosenState> {
        let mut early = UndoLog::new(self);
        let end = early.undo_after(limit, end);
        let turn = SoughtState { pod: sought.pod.clone(), own: Vec::new(), ..*sought };
        let found = early.at_its_turn(&turn, limit, end).or_else(|| {
            let evaluation = early.evaluate(sought.attempt, &sought.pod, limit);
            evaluation.follows.then_some((evaluation, limit, Some(StateSeen::BeforeOwnWrites)))
        });
        if found.is_some() {
            early.keep();
        }
        found
    }

    /// Evaluates on the revision before the outcome with the attempt's own writes undone, then on earlier and earlier ones.
    fn newest_it_follows_from(&mut self, sought: &SoughtState, changed: bool, end: usize) -> ChosenState {
        let attempt = sought.attempt;
        let before = attempt.revision - 1;
        let plain = changed.then(|| self.evaluate(attempt, &attempt.pod.clone(), before));
        for (key, stored) in &sought.own {
            self.state.set(key, stored.clone());
        }
        if let Some(chosen) = self.at_its_turn(sought, before, end) {
            return chosen;
        }
        let less = self.evaluate(attempt, &sought.pod, before);
        if less.follows {
            return (less, before, changed.then_some(StateSeen::WithoutOwnWrites));
        }
        let mut fallback = (less, before, changed.then_some(StateSeen::WithoutOwnWrites));
        let mut left = (50_000 / self.state.node_count().max(1)).clamp(8, 400);
        for at in (0..end).rev() {
            let (revision, change) = &self.journal[at];
            if *revision <= sought.begun || left == 0 {
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
            let chosen = (self.evaluate(attempt, &sought.pod, evaluated), evaluated, Some(StateSeen::Earlier));
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

    /// Undoes every change after revision `limit`; returns the number of journal entries left.
    pub(crate) fn undo_after(&mut self, limit: i64, mut end: usize) -> usize {
        while end > 0 && self.journal[end - 1].0 > limit {
            end -= 1;
            self.state.undo(&self.journal[end].1);
        }
        end
    }

    /// Evaluates a new pod that was scheduled at once on the state at its turn: after its creation and after the pods attempted before it. The
    /// scheduler cannot have seen what others wrote later, while the outcome was on its way to etcd. `None` where there was no such write, or where
    /// the outcome does not follow; the state is then as it was.
    fn at_its_turn(&mut self, sought: &SoughtState, newest: i64, end: usize) -> Option<ChosenState> {
        let new = sought.attempt.pod.scheduled.is_none() && sought.attempt.at_once;
        let mut early = UndoLog::new(self);
        let Self { journal, state, .. } = &mut *early;
        let mut evaluated = newest;
        let mut disturbed = false;
        for (revision, change) in journal.iter().take(end).rev().take_while(|(revision, _)| new && *revision > sought.begun) {
            if decides(change) {
                break;
            }
            if sought.keeps(change) {
                continue;
            }
            state.undo(change);
            disturbed |= matters(change);
            evaluated = revision - 1;
        }
        let evaluation =
            disturbed.then(|| early.evaluate(sought.attempt, &sought.pod, evaluated)).filter(|evaluation| evaluation.follows)?;
        early.keep();
        Some((evaluation, evaluated, Some(StateSeen::AtItsTurn)))
    }

    /// Returns the node an attempt nominated with its outcome, or had before.
    pub(crate) fn nominated_by(&self, attempt: &Attempt) -> Option<Arc<str>> {
        let outcome = self.journal.iter().rev().take_while(|(revision, _)| *revision >= attempt.revision);
        let after = outcome.filter(|(_, change)| is_of(change, &attempt.pod)).find_map(|(_, change)| match &change.after {
            Some(CachedObject::Pod(pod)) => pod.nominated_node_name.clone(),
            _ => None,
        });
        after.or_else(|| attempt.pod.nominated_node_name.clone())
    }

    /// Evaluates a pod on the state as it is, which is as of `revision`.
    pub(crate) fn evaluate(&mut self, attempt: &Attempt, pod: &Arc<PodInfo>, revision: i64) -> EvaluatedAttempt {
        if self.scheduler.profiles[0].rules.image_counts_at_snapshot {
            self.images.look(&mut self.state, revision);
        }
        let mut log = UndoLog::new(self);
        let replay = &mut *log;
        for pod in assumed::pods(replay.waiting.iter().map(|(key, (since, _))| (key, *since)), pod, &replay.state) {
            let key = ObjectKey { kind: WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() };
            replay.state.set(&key, Some(CachedObject::Pod(pod)));
        }
        let known = replay.known_nodes(attempt, pod, revision);
        let (profile, _) = replay.scheduler.profile_for(pod);
        let (of_group, unread) =
            unreadable::collect(|| groups::evaluate(pod, &mut replay.state, profile, &known, attempt.recorded_message.as_deref()));
        let (mut judgement, scope, before) = match of_group {
            Some(evaluation) => (evaluation.judgement, Some(evaluation.scope), evaluation.assumed),
            None => (Cycle::new(pod, &replay.state, profile).evaluate(), None, Vec::new()),
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
        EvaluatedAttempt { judgement, agreement, same_message, follows, scope, before }
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

fn is_of(change: &ObjectChange, pod: &PodInfo) -> bool {
    change.key.kind == WatchedKind::Pod && change.key.namespace == pod.namespace && change.key.name == pod.name
}

/// Whether a change shows that the scheduler had gone on to another pod.
fn decides(change: &ObjectChange) -> bool {
    match (&change.before, &change.after) {
        (Some(CachedObject::Pod(before)), Some(CachedObject::Pod(after))) => attempt::attempt(Some(before), after, 0).is_some(),
        _ => false,
    }
}

/// Whether undoing a change can alter a judgement: pods that wait without a nomination cannot.
fn matters(change: &ObjectChange) -> bool {
    let counts = |stored: &Option<CachedObject>| match stored {
        Some(CachedObject::Pod(pod)) => pod.is_on_node() || pod.nominated_node_name.is_some(),
        Some(_) => true,
        None => false,
    };
    counts(&change.before) || counts(&change.after)
}
