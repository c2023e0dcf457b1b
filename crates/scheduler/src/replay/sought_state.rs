//! Finds the state an attempt saw by going back from the outcome: the newest state from which the recorded outcome follows.

use std::sync::Arc;

use super::Replay;
use super::agreement::{may_be_next_best, rests_on_doubt};
use super::assumed::{Neighbours, Order};
use super::difference::differing;
use super::evaluate::{EvaluatedAttempt, TurnedNeighbour};
use super::own_writes::before_own_writes;
use super::place::{is_of, matters};
use crate::cluster::{CachedObject, ObjectChange, ObjectKey, PodInfo, UndoLog};
use crate::explanation::{Agreement, Attempt, StateSeen};

/// How many neighbours are tried on the other side of the attempt, at least, at most, and on all nodes together.
const NEIGHBOURS_TRIED: std::ops::RangeInclusive<usize> = 8..=24;
const TRIED_NODES: usize = 20_000;

/// A judgement, the revision of its state, and how that state was found, where it is not simply the revision before.
pub(crate) type ChosenState = (EvaluatedAttempt, i64, Option<StateSeen>);

/// An attempt whose state is to be found.
pub(crate) struct SoughtState<'a> {
    pub attempt: &'a Attempt,
    /// The pod without the node that this attempt nominated.
    pub pod: Arc<PodInfo>,
    /// The objects it wrote itself, each as it was before.
    own: Vec<(ObjectKey, Option<CachedObject>)>,
}

impl Replay {
    /// What is known of an attempt whose state is to be found. The state is as of the revision before the outcome.
    pub(crate) fn sought<'a>(&self, attempt: &'a Attempt) -> SoughtState<'a> {
        let since = self.changes_within(self.writes_after(attempt), attempt.revision - 1).map(|(_, change)| change);
        let nominated = self.nominated_by(attempt);
        let own = before_own_writes(&attempt.pod, nominated.as_deref(), since, &self.state);
        // A node that the scheduler nominated only because it was about to bind the pod there is its own write too.
        let pod = Arc::new(PodInfo { nominated_node_name: attempt.nominated_before.clone(), ..(*attempt.pod).clone() });
        SoughtState { attempt, pod, own }
    }

    /// Evaluates on the newest state that the attempt can have seen, without its own writes; where the outcome does not follow, with neighbours on
    /// the other side of it, then on earlier revisions, newest first.
    /// `end`: the number of journal entries before the outcome.
    pub(crate) fn look_back(&mut self, sought: &SoughtState, neighbours: &Neighbours, end: usize) -> ChosenState {
        let limited = neighbours.limit < sought.attempt.revision;
        let early = if limited { self.before_limit(sought, neighbours, end).ok() } else { None };
        early.unwrap_or_else(|| self.newest_it_follows_from(sought, neighbours, end))
    }

    /// Whether the recorded outcome may follow from a state that the neighbours allow. The state is as of the revision before the outcome.
    pub(crate) fn may_follow(&mut self, sought: &SoughtState, neighbours: &Neighbours, end: usize) -> bool {
        let limited = neighbours.limit < sought.attempt.revision;
        let found = if limited {
            self.before_limit(sought, neighbours, end)
        } else {
            self.without_own_writes(sought, neighbours, end).map_err(|fallback| Box::new(fallback.0))
        };
        let is_open = |evaluation: Box<EvaluatedAttempt>| {
            let (attempt, judgement) = (sought.attempt, &evaluation.judgement);
            evaluation.agreement == Agreement::Unverifiable || rests_on_doubt(attempt, judgement) || may_be_next_best(attempt, judgement)
        };
        found.map_or_else(is_open, |_| true)
    }

    /// Evaluates on the revision before the limit: the attempt cannot have seen later changes. An error is what does not follow; the state is then
    /// as it was.
    fn before_limit(&mut self, sought: &SoughtState, neighbours: &Neighbours, end: usize) -> Result<ChosenState, Box<EvaluatedAttempt>> {
        let limit = neighbours.limit - 1;
        let mut early = UndoLog::new(self);
        let end = early.undo_after(limit, end);
        let turn = SoughtState { pod: sought.pod.clone(), own: Vec::new(), ..*sought };
        let seen = if neighbours.wrote { StateSeen::BeforeOwnWrites } else { StateSeen::BeforeLaterPods };
        if let Some(found) = early.at_its_turn(&turn, neighbours, end) {
            early.keep();
            return Ok(found);
        }
        let evaluation = early.evaluate(sought.attempt, &sought.pod, limit, neighbours);
        if evaluation.follows {
            early.keep();
            return Ok((evaluation, limit, Some(seen)));
        }
        let turned = early.turned(&turn, neighbours, neighbours.open(), (&evaluation, limit));
        if turned.is_some() {
            early.keep();
        }
        turned.ok_or(Box::new(evaluation))
    }

    /// Evaluates with one neighbour at a time on the other side of the attempt until the outcome follows, which it does not from the evaluation
    /// `written`, as of its revision. The state stays as it was where it never does.
    fn turned(
        &mut self,
        sought: &SoughtState,
        neighbours: &Neighbours,
        tried: Vec<usize>,
        (written, revision): (&EvaluatedAttempt, i64),
    ) -> Option<ChosenState> {
        let tried = self.first_tried(tried);
        for at in tried {
            let counted = !neighbours.get(at).is_counted(revision);
            let mut other = UndoLog::new(self);
            let (mut evaluation, seen) = other.evaluate_turned(sought, neighbours, &[at], revision);
            if evaluation.follows {
                other.keep();
                let nodes = differing(&written.judgement, &evaluation.judgement);
                evaluation.turned = Some(TurnedNeighbour { at, counted, nodes });
                return Some((evaluation, seen, (seen < revision).then_some(StateSeen::BeforeLaterPods)));
            }
        }
        None
    }

    pub(super) fn first_tried(&self, mut neighbours: Vec<usize>) -> Vec<usize> {
        neighbours.truncate((TRIED_NODES / self.state.node_count().max(1)).clamp(*NEIGHBOURS_TRIED.start(), *NEIGHBOURS_TRIED.end()));
        neighbours
    }

    /// Evaluates with neighbours on the other side of the attempt than they are on in the state, which is as of `revision`. Without one that etcd shows
    /// by then, the state is that before its first write: a later one has seen the neighbour. Returns the revision of the state, too.
    pub(super) fn evaluate_turned(
        &mut self,
        sought: &SoughtState,
        neighbours: &Neighbours,
        turned: &[usize],
        revision: i64,
    ) -> (EvaluatedAttempt, i64) {
        let (mut ordered, mut earlier) = (neighbours.clone(), revision);
        for at in turned {
            let neighbour = neighbours.get(*at);
            let counted = neighbour.is_counted(revision);
            ordered.settle(*at, if counted { Order::After } else { Order::Before });
            if counted {
                earlier = earlier.min(neighbour.shown - 1);
            }
        }
        let from = self.journal.partition_point(|(at, _)| *at <= earlier);
        let to = self.journal.partition_point(|(at, _)| *at <= revision);
        let Self { journal, state, .. } = self;
        for (_, change) in journal.range(from..to).rev().filter(|(_, change)| !sought.keeps(change)) {
            state.undo(change);
        }
        (self.evaluate(sought.attempt, &sought.pod, earlier, &ordered), earlier)
    }

    /// Evaluates on the revision before the outcome with the attempt's own writes undone, then on earlier and earlier ones.
    fn newest_it_follows_from(&mut self, sought: &SoughtState, neighbours: &Neighbours, end: usize) -> ChosenState {
        let (attempt, before) = (sought.attempt, sought.attempt.revision - 1);
        let plain = sought.is_changed().then(|| self.evaluate(attempt, &attempt.pod.clone(), before, neighbours));
        let less = match self.without_own_writes(sought, neighbours, end) {
            Ok(chosen) => return chosen,
            Err(less) => *less,
        };
        let mut early = UndoLog::new(self);
        let fallback = match early.earlier(sought, neighbours, end, less.clone()) {
            Ok(chosen) => {
                early.keep();
                return chosen;
            }
            Err(fallback) => *fallback,
        };
        drop(early);
        if let Some(chosen) = self.turned(sought, neighbours, neighbours.far(), (&less.0, before)) {
            return chosen;
        }
        // A volume bound for the pod leaves it one node. An outcome that follows from this alone proves little, so it is tried last.
        match plain {
            Some(plain) if plain.follows => (plain, before, None),
            Some(plain) => better(fallback, (plain, before, None)),
            None => fallback,
        }
    }

    /// Evaluates on the revision before the outcome with the attempt's own writes undone: as the neighbours' writes say, then with one of them on the
    /// other side. An error is what does not follow.
    fn without_own_writes(&mut self, sought: &SoughtState, neighbours: &Neighbours, end: usize) -> Result<ChosenState, Box<ChosenState>> {
        let before = sought.attempt.revision - 1;
        for (key, stored) in &sought.own {
            self.state.set(key, stored.clone());
        }
        if let Some(chosen) = self.at_its_turn(sought, neighbours, end) {
            return Ok(chosen);
        }
        let seen = sought.is_changed().then_some(StateSeen::WithoutOwnWrites);
        let less = self.evaluate(sought.attempt, &sought.pod, before, neighbours);
        if less.follows {
            return Ok((less, before, seen));
        }
        self.turned(sought, neighbours, neighbours.open(), (&less, before)).ok_or_else(|| Box::new((less, before, seen)))
    }

    /// Evaluates on earlier and earlier revisions. An error is the best of what does not follow, `fallback` or one of these.
    fn earlier(
        &mut self,
        sought: &SoughtState,
        neighbours: &Neighbours,
        end: usize,
        mut fallback: ChosenState,
    ) -> Result<ChosenState, Box<ChosenState>> {
        let mut left = (50_000 / self.state.node_count().max(1)).clamp(8, 400);
        let begun = self.began_after(sought.attempt);
        for at in (0..end).rev() {
            let (revision, change) = &self.journal[at];
            if *revision <= begun || left == 0 {
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
            let evaluation = self.evaluate(sought.attempt, &sought.pod, evaluated, neighbours);
            let chosen = (evaluation, evaluated, Some(StateSeen::Earlier));
            if chosen.0.follows {
                return Ok(chosen);
            }
            fallback = better(fallback, chosen);
        }
        Err(Box::new(fallback))
    }

    /// Evaluates on the state at the pod's turn. `None` where nothing was written since, or where the outcome does not follow; the state is then
    /// as it was.
    fn at_its_turn(&mut self, sought: &SoughtState, neighbours: &Neighbours, end: usize) -> Option<ChosenState> {
        let turn = self.turn(sought.attempt, neighbours)?;
        let mut early = UndoLog::new(self);
        let Self { journal, state, .. } = &mut *early;
        for (_, change) in journal.iter().take(end).rev().take_while(|(revision, _)| *revision > turn) {
            if !sought.keeps(change) {
                state.undo(change);
            }
        }
        let evaluation = early.evaluate(sought.attempt, &sought.pod, turn, neighbours);
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
}

impl SoughtState<'_> {
    /// Whether the attempt wrote anything before its outcome.
    fn is_changed(&self) -> bool {
        !self.own.is_empty() || self.pod.nominated_node_name != self.attempt.pod.nominated_node_name
    }

    /// Whether a change is not undone on the way back: the pod's own, and those undone already.
    pub(super) fn keeps(&self, change: &ObjectChange) -> bool {
        is_of(change, &self.attempt.pod) || self.own.iter().any(|(key, _)| *key == change.key)
    }
}

/// Returns the first judgement that at least agrees with the outcome, else the first, where none shows it exactly.
fn better(known: ChosenState, other: ChosenState) -> ChosenState {
    if known.0.agreement != Agreement::Disagrees || other.0.agreement == Agreement::Disagrees { known } else { other }
}
