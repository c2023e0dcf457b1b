//! The history walked once: the state held change by change, each attempt explained as it comes, on the state the scheduler most likely saw.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::cluster::{CachedObject, ClusterState, HasState, ObjectChange, ObjectKey, PodInfo, PodKey, RawObject, UndoLog, WatchedKind};

use super::caveats::{self, Circumstances};
use super::devices;
use super::evidence;
use super::explanation::{Agreement, Attempt, DecidedBy, Depth, Evidence, Explanation, Help, Outcome, StateSeen};
use super::preemption::kept;
use super::preemption::victims;
use super::profile::scheduler::Scheduler;
use super::remedies::help;
use crate::framework::Cycle;

pub(crate) mod agreement;
pub(crate) mod assumed;
pub(crate) mod attempt;
mod compared;
pub(crate) mod image_snapshots;
mod look_back;
pub(crate) mod origin;
pub(crate) mod own_writes;
mod unwritten;

use agreement::{may_be_next_best, rests_on_doubt};
use image_snapshots::ImageSnapshots;
use look_back::Judged;
use origin::meant_for;
use own_writes::is_victim;
use unwritten::Unwritten;

/// How many changes are kept to look back over.
const JOURNAL: usize = 20_000;

/// The state at one revision and the way that led to it.
pub struct Replay {
    state: ClusterState,
    scheduler: Scheduler,
    journal: VecDeque<(i64, ObjectChange)>,
    /// Since when each pod without a node waits for its next attempt, and how it was then.
    waiting: HashMap<PodKey, (i64, Arc<PodInfo>)>,
    images: ImageSnapshots,
    unwritten: Unwritten,
    unreadable: usize,
    depth: Depth,
    /// Whether changes are looked for that would make a pod fit.
    remedies: bool,
    /// Whether the walk began with the cluster's first revision, so that nothing before it is missing.
    complete: bool,
}

impl HasState for Replay {
    fn state_mut(&mut self) -> &mut ClusterState {
        &mut self.state
    }
}

impl Replay {
    /// Starts with an empty cluster. `complete`: no revision before the walk is missing.
    pub fn new(scheduler: Scheduler, complete: bool) -> Self {
        let rules = scheduler.profiles[0].rules.requests;
        Self {
            state: ClusterState::new(rules),
            scheduler,
            journal: VecDeque::new(),
            waiting: HashMap::new(),
            images: ImageSnapshots::default(),
            unwritten: Unwritten::default(),
            unreadable: 0,
            depth: Depth::default(),
            remedies: false,
            complete,
        }
    }

    /// Says how much evidence explanations should bring.
    pub fn with_depth(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// Says whether explanations should bring remedies for pods that fit nowhere.
    pub fn with_remedies(self, remedies: bool) -> Self {
        Self { remedies, ..self }
    }

    /// The state as of the last change.
    pub fn state(&self) -> &ClusterState {
        &self.state
    }

    /// How many versions of objects could not be read.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// The scheduler judged by.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Takes in an object that was there when the walk began.
    pub fn seed<'a>(&mut self, key: &ObjectKey, object: impl Into<RawObject<'a>>, mod_revision: i64) {
        let change = self.state.apply(key, Some(object), mod_revision);
        self.unreadable += usize::from(matches!(change.after, Some(CachedObject::Unreadable(_))));
        self.note(&change, mod_revision);
        self.images.note(&change, mod_revision, &self.state, false);
    }

    /// Takes in a change and returns the attempts it shows: seldom one, hardly ever two. `object` is `None` for a deletion.
    pub fn advance<'a>(&mut self, key: &ObjectKey, object: Option<impl Into<RawObject<'a>>>, revision: i64) -> Vec<Attempt> {
        let change = self.state.apply(key, object, revision);
        let refused = || {
            self.waiting.values().any(|(_, pod)| {
                pod.scheduled.as_ref().is_some_and(|condition| !condition.status && &*condition.reason != "SchedulingGated")
            })
        };
        let refused = change.key.kind == WatchedKind::Node && refused();
        self.images.note(&change, revision, &self.state, refused);
        self.unreadable += usize::from(matches!(change.after, Some(CachedObject::Unreadable(_))));
        let found = match (&change.before, &change.after) {
            (Some(CachedObject::Pod(before)), Some(CachedObject::Pod(after))) => attempt::attempt(Some(before), after, revision),
            _ => None,
        };
        if self.journal.len() == JOURNAL {
            self.journal.pop_front();
        }
        if found.is_none() {
            self.note(&change, revision);
        }
        let unwritten = if change.key.kind == WatchedKind::Pod { self.unwritten.settle(&change) } else { None };
        self.journal.push_back((revision, change));
        unwritten.into_iter().chain(found).collect()
    }

    /// Remembers since when a pod waits.
    fn note(&mut self, change: &ObjectChange, revision: i64) {
        if change.key.kind != WatchedKind::Pod {
            return;
        }
        let key: PodKey = (change.key.namespace.clone(), change.key.name.clone());
        match &change.after {
            Some(CachedObject::Pod(pod)) if pod.node_name.is_none() && !pod.finished => {
                self.waiting.entry(key).or_insert_with(|| (revision, pod.clone()));
            }
            _ => {
                self.waiting.remove(&key);
            }
        }
    }

    /// Takes note of an attempt that the last change showed without explaining it.
    pub fn pass_over(&mut self, attempt: &Attempt) {
        let mut undone = UndoLog::new(self);
        let Self { journal, state, images, .. } = &mut *undone;
        for (_, change) in journal.iter().rev().take_while(|(revision, _)| *revision >= attempt.revision) {
            state.undo(change);
        }
        images.look(state, attempt.revision - 1);
        images.conclude(state, attempt.revision - 1);
        drop(undone);
        self.conclude(attempt);
    }

    /// Explains an attempt that the last change showed.
    pub fn explain(&mut self, attempt: Attempt) -> Explanation {
        let known = if attempt.told {
            Some((attempt.pod.mod_revision, attempt.pod.clone()))
        } else {
            self.waiting.get(&attempt.pod.key()).cloned()
        };
        let (begun, first) = known.unwrap_or((attempt.revision - 1, attempt.pod.clone()));
        let mut undone = UndoLog::new(self);
        let end = undone.journal.len();
        let back = undone.undo_after(attempt.revision - 1, end);
        let mut explanation = if undone.scheduler.is_as_recorded() {
            undone.look_back(&attempt, begun, &first, back)
        } else {
            let judged = undone.judge(&attempt, &attempt.pod.clone(), attempt.revision - 1);
            undone.explained(attempt.clone(), judged, attempt.revision - 1, None)
        };
        // An attempt judged on an earlier state than the one it ended on left the counts of the chosen one behind.
        let Self { state, images, .. } = &mut *undone;
        images.conclude(state, explanation.evaluated_revision);
        drop(undone);
        explanation.preempted = self.preempted(&attempt, begun);
        let since = self.journal.iter().filter(|(revision, _)| *revision > begun && *revision <= attempt.revision);
        let since = since.map(|(revision, change)| (*revision, change));
        explanation.recorded_devices = devices::recorded(&attempt.pod, attempt.node.as_deref(), since, &explanation.devices);
        let there = |evidence: &&mut Evidence| evidence.plugin == "DynamicResources" && Some(&evidence.node) == attempt.node.as_ref();
        if let Some(compared) = explanation.evidence.iter_mut().find(there) {
            compared.facts.extend(explanation.recorded_devices.iter().map(evidence::devices::seen));
        }
        self.conclude(&attempt);
        explanation
    }

    /// Whom the attempt, or the one before it, took off the node it was nominated to.
    fn preempted(&self, attempt: &Attempt, begun: i64) -> Vec<(Arc<PodInfo>, i64)> {
        let nominated = self.nominated_by(attempt);
        let mut found: Vec<(Arc<PodInfo>, i64)> = Vec::new();
        for (revision, change) in self.journal.iter().filter(|(revision, _)| *revision > begun && *revision <= attempt.revision) {
            let Some(CachedObject::Pod(before)) = &change.before else { continue };
            if is_victim(change, &attempt.pod, nominated.as_deref()) && !found.iter().any(|(pod, _)| pod.uid == before.uid) {
                found.push((before.clone(), *revision));
            }
        }
        found
    }

    /// The next attempt of a refused pod begins with the refusal, if that was written.
    fn conclude(&mut self, attempt: &Attempt) {
        if attempt.told {
            return;
        }
        let key = attempt.pod.key();
        self.waiting.remove(&key);
        if let Some(pod) = self.state.pod(&key.0, &key.1).filter(|pod| pod.node_name.is_none() && !pod.finished) {
            self.waiting.insert(key, (attempt.revision, pod.clone()));
        }
    }

    /// Judges a pod that waits, on the state as it is.
    pub fn explain_waiting(&mut self, pod: &Arc<PodInfo>, revision: i64) -> Explanation {
        let gated = self.scheduler.profile_for(pod).0.waits_at_gates(pod);
        let attempt = attempt::waiting(pod, gated, revision);
        let judged = self.judge(&attempt, pod, revision);
        self.explained(attempt, judged, revision, None)
    }

    /// Judges a bound pod whose binding is not readable any more: on the state as it is, as if the pod were to be placed now.
    pub fn explain_bound(&mut self, pod: &Arc<PodInfo>, revision: i64) -> Explanation {
        let mut replay = UndoLog::new(self);
        let key = ObjectKey { kind: WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() };
        replay.state.set(&key, None);
        let unbound = Arc::new(PodInfo { node_name: None, nominated_node_name: None, ..(**pod).clone() });
        let attempt = Attempt {
            pod: unbound.clone(),
            outcome: Outcome::Scheduled,
            node: pod.node_name.clone(),
            revision,
            recorded_message: None,
            at_once: false,
            told: false,
        };
        let mut judged = replay.judge(&attempt, &unbound, revision);
        judged.verdict = Agreement::Unverifiable;
        let mut explanation = replay.explained(attempt, judged, revision, None);
        explanation.decided_by = DecidedBy::without_attempt(pod, replay.complete);
        let why = match explanation.decided_by {
            DecidedBy::Kubelet => "it is a static pod: its kubelet runs it and no scheduler decided; judged as if it were to be placed now",
            DecidedBy::Creator => "it was created with its node, so no scheduler decided; judged as if it were to be placed now",
            DecidedBy::Unreadable | DecidedBy::Scheduler => {
                "when the pod was bound cannot be read: it is judged as if it were to be placed now"
            }
        };
        explanation.caveats.insert(0, why.to_owned());
        explanation
    }

    fn explained(&mut self, attempt: Attempt, judged: Judged, evaluated_revision: i64, found: Option<StateSeen>) -> Explanation {
        let mut log = UndoLog::new(self);
        let replay = &mut *log;
        let (profile, own_profile) = replay.scheduler.profile_for(&attempt.pod);
        let circumstances = Circumstances {
            scheduler: &replay.scheduler,
            profile,
            own_profile,
            state: &replay.state,
            attempt: &attempt,
            judgement: &judged.judgement,
            same_message: judged.same_message,
            found,
            evaluated_revision,
            complete: replay.complete,
        };
        let mut caveats = caveats::caveats(&circumstances);
        let doubt = rests_on_doubt(&attempt, &judged.judgement) || may_be_next_best(&attempt, &judged.judgement);
        let in_doubt = judged.verdict == Agreement::Disagrees && doubt;
        let verdict = if own_profile && !in_doubt { judged.verdict } else { Agreement::Unverifiable };
        for (key, stored) in &judged.before {
            replay.state.set(key, Some(stored.clone()));
        }
        let evidence = replay.evidence(&attempt.pod, profile, &judged.judgement);
        let devices = devices::chosen(&Cycle::new(&attempt.pod, &replay.state, profile), &judged.judgement);
        let sought = replay.remedies && matches!(attempt.outcome, Outcome::Unschedulable | Outcome::Pending);
        let mut preemption = Vec::new();
        if sought && judged.judgement.preemption_helps {
            let cycle = Cycle { scope: judged.scope.as_ref(), ..Cycle::new(&attempt.pod, &replay.state, profile) };
            preemption = victims::candidates(&cycle, &judged.judgement);
            caveats.extend(caveats::unseen_candidates(kept(&cycle, &judged.judgement), preemption.len()));
        }
        caveats.extend(caveats::equal_victims(&preemption));
        caveats.extend(caveats::budgets_in_any_order(&preemption));
        let only = match &replay.depth {
            Depth::Node(name) => Some(name.as_str()),
            Depth::Verdicts | Depth::Refusals => None,
        };
        let help = if sought { help(&attempt.pod, &mut replay.state, profile, &judged.judgement, only) } else { Help::default() };
        Explanation {
            decided_by: DecidedBy::Scheduler,
            meant_for: meant_for(&attempt.pod),
            scheduler_name: attempt.pod.spec.scheduler_name.clone(),
            version: replay.scheduler.version.clone(),
            attempt,
            evaluated_revision,
            judgement: judged.judgement,
            verdict,
            caveats,
            assumptions: caveats::assumptions(&replay.scheduler, profile),
            evidence,
            help,
            preemption,
            preempted: Vec::new(),
            devices,
            recorded_devices: Vec::new(),
        }
    }
}
