//! The history walked once: the state held change by change, each attempt explained as it comes, on the state the scheduler most likely saw.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::cluster::{Change, ClusterState, Encoded, ObjectKey, PodInfo, PodKey, Stored, Watched};

use super::agreement::agreement;
use super::assumed;
use super::attempt;
use super::caveats::{self, Circumstances};
use super::cycle::{Cycle, Judgement, NodeJudgement};
use super::evidence;
use super::explanation::{Agreement, Attempt, Depth, Evidence, Explanation, Outcome, VersionFrom};
use super::image_snapshots::ImageSnapshots;
use super::own_writes::{before_own_writes, is_victim};
use super::remedies::remedies;
use super::sampling;
use super::victims;
use super::{Gates, Profile, Refusal, Release, Verdict, judged_as};

/// Who schedules: the profiles of one scheduler, and how its release is known.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Its profiles; a pod is judged by the one it names, or by the first as a hypothesis.
    pub profiles: Vec<Profile>,
    /// Its release and the evidence for it.
    pub version: VersionFrom,
    /// The release that the data itself speaks of; where the user asks for another one, recorded outcomes are not expected to follow.
    pub recorded: Release,
    /// Whether the configuration was given, not assumed.
    pub configured: bool,
}

impl Scheduler {
    /// The scheduler of a release as it runs without a configuration file.
    pub fn with_defaults(version: VersionFrom) -> Self {
        let profile = Profile::new(version.release, Gates::new(judged_as(version.release)));
        Self { profiles: vec![profile], recorded: version.release, version, configured: false }
    }

    /// The profile for a pod, and whether it is the one the pod asks for.
    pub fn profile_for(&self, pod: &PodInfo) -> (&Profile, bool) {
        let named = self.profiles.iter().find(|profile| profile.scheduler_name == *pod.spec.scheduler_name);
        (named.unwrap_or(&self.profiles[0]), named.is_some())
    }

    /// Whether recorded outcomes are those of the release judged by.
    fn is_as_recorded(&self) -> bool {
        judged_as(self.version.release) == judged_as(self.recorded)
    }
}

/// How many changes are kept to look back over.
const JOURNAL: usize = 20_000;

/// The state at one revision and the way that led to it.
pub struct Replay {
    state: ClusterState,
    scheduler: Scheduler,
    journal: VecDeque<(i64, Change)>,
    /// Since when each pod without a node waits for its next attempt, and how it was then.
    waiting: HashMap<PodKey, (i64, Arc<PodInfo>)>,
    images: ImageSnapshots,
    unreadable: usize,
    depth: Depth,
    /// Whether changes are looked for that would make a pod fit.
    remedies: bool,
    /// Whether the walk began with the cluster's first revision, so that nothing before it is missing.
    complete: bool,
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
    pub fn seed<'a>(&mut self, key: &ObjectKey, object: impl Into<Encoded<'a>>, mod_revision: i64) {
        let change = self.state.apply(key, Some(object), mod_revision);
        self.unreadable += usize::from(change.after.is_none());
        self.note(&change, mod_revision);
        self.images.note(&change, mod_revision, &self.state);
    }

    /// Takes in a change and returns the attempt it shows, if it shows one. `object` is `None` for a deletion.
    pub fn advance<'a>(&mut self, key: &ObjectKey, object: Option<impl Into<Encoded<'a>>>, revision: i64) -> Option<Attempt> {
        let written = object.is_some();
        let change = self.state.apply(key, object, revision);
        self.images.note(&change, revision, &self.state);
        self.unreadable += usize::from(written && change.after.is_none());
        let found = match (&change.before, &change.after) {
            (Some(Stored::Pod(before)), Some(Stored::Pod(after))) => attempt::attempt(Some(before), after, revision),
            _ => None,
        };
        if self.journal.len() == JOURNAL {
            self.journal.pop_front();
        }
        if found.is_none() {
            self.note(&change, revision);
        }
        self.journal.push_back((revision, change));
        found
    }

    /// Remembers since when a pod waits.
    fn note(&mut self, change: &Change, revision: i64) {
        if change.key.kind != Watched::Pod {
            return;
        }
        let key: PodKey = (change.key.namespace.clone(), change.key.name.clone());
        match &change.after {
            Some(Stored::Pod(pod)) if pod.node_name.is_none() && !pod.finished => {
                self.waiting.entry(key).or_insert_with(|| (revision, pod.clone()));
            }
            _ => {
                self.waiting.remove(&key);
            }
        }
    }

    /// Takes note of the attempt that the last change showed without explaining it.
    pub fn pass_over(&mut self, attempt: &Attempt) {
        let mut excursion = Excursion::default();
        for (_, change) in self.journal.iter().rev().take_while(|(revision, _)| *revision == attempt.revision) {
            excursion.undo(&mut self.state, change);
        }
        self.images.look(&mut self.state, attempt.revision - 1);
        self.images.conclude(&self.state, attempt.revision - 1);
        excursion.restore(&mut self.state);
        self.conclude(attempt);
    }

    /// Explains the attempt that the last change showed.
    pub fn explain(&mut self, attempt: Attempt) -> Explanation {
        let (begun, first) = self.waiting.get(&attempt.pod.key()).cloned().unwrap_or((attempt.revision - 1, attempt.pod.clone()));
        let mut excursion = Excursion::default();
        let mut back = self.journal.len();
        while back > 0 && self.journal[back - 1].0 == attempt.revision {
            back -= 1;
            excursion.undo(&mut self.state, &self.journal[back].1);
        }
        let mut explanation = if self.scheduler.is_as_recorded() {
            self.look_back(&attempt, begun, &first, back, &mut excursion)
        } else {
            let judged = self.judge(&attempt, &attempt.pod.clone(), attempt.revision - 1);
            self.explained(attempt.clone(), judged, attempt.revision - 1, None)
        };
        // An attempt judged on an earlier state than the one it ended on left the counts of the chosen one behind.
        self.images.conclude(&self.state, explanation.evaluated_revision);
        excursion.restore(&mut self.state);
        explanation.preempted = self.preempted(&attempt, begun);
        self.conclude(&attempt);
        explanation
    }

    /// Whom the attempt, or the one before it, took off the node it was nominated to.
    fn preempted(&self, attempt: &Attempt, begun: i64) -> Vec<(Arc<PodInfo>, i64)> {
        let nominated = self.nominated_by(attempt);
        let mut found: Vec<(Arc<PodInfo>, i64)> = Vec::new();
        for (revision, change) in self.journal.iter().filter(|(revision, _)| *revision > begun && *revision <= attempt.revision) {
            let Some(Stored::Pod(before)) = &change.before else { continue };
            if is_victim(change, &attempt.pod, nominated.as_deref()) && !found.iter().any(|(pod, _)| pod.uid == before.uid) {
                found.push((before.clone(), *revision));
            }
        }
        found
    }

    /// The next attempt of a refused pod begins with the refusal.
    fn conclude(&mut self, attempt: &Attempt) {
        let key = attempt.pod.key();
        self.waiting.remove(&key);
        if let Some(pod) = self.state.pod(&key.0, &key.1).filter(|pod| pod.node_name.is_none() && !pod.finished) {
            self.waiting.insert(key, (attempt.revision, pod.clone()));
        }
    }

    /// Judges on the revision before, less what the attempt wrote; where the outcome does not follow, on earlier ones, newest first.
    fn look_back(
        &mut self,
        attempt: &Attempt,
        begun: i64,
        first: &Arc<PodInfo>,
        journal_end: usize,
        excursion: &mut Excursion,
    ) -> Explanation {
        let since =
            self.journal.iter().take(journal_end).filter(|(revision, _)| *revision > begun).map(|(_, change)| change).collect::<Vec<_>>();
        let nominated = self.nominated_by(attempt);
        let own = before_own_writes(&attempt.pod, nominated.as_deref(), &since, &self.state);
        // A node the scheduler nominated only because it was about to bind the pod there is its own write too.
        let pod = Arc::new(PodInfo { nominated_node_name: first.nominated_node_name.clone(), ..(*attempt.pod).clone() });
        let before = attempt.revision - 1;
        let plain = self.judge(attempt, &attempt.pod.clone(), before);
        for (key, stored) in &own {
            excursion.set(&mut self.state, key, stored.clone());
        }
        let changed = !own.is_empty() || pod.nominated_node_name != attempt.pod.nominated_node_name;
        let less = if changed { self.judge(attempt, &pod, before) } else { plain.clone() };
        if let Some((judged, evaluated)) = self.at_its_turn(attempt, &pod, begun, journal_end, &own, excursion) {
            return self.explained(attempt.clone(), judged, evaluated, Some(Found::AtItsTurn));
        }
        if less.follows {
            return self.explained(attempt.clone(), less, before, changed.then_some(Found::WithoutOwnWrites));
        }
        let mut fallback = keep_better(None, less, before, changed);
        let mut left = (50_000 / self.state.node_count().max(1)).clamp(8, 400);
        for at in (0..journal_end).rev() {
            let (revision, change) = &self.journal[at];
            if *revision <= begun || left == 0 {
                break;
            }
            if own.iter().any(|(key, _)| *key == change.key) || is_the_pod(&change.key, &attempt.pod) {
                continue;
            }
            let (evaluated, matters) = (revision - 1, matters(change));
            excursion.undo(&mut self.state, change);
            if !matters || at > 0 && self.journal[at - 1].0 == evaluated + 1 {
                continue;
            }
            left -= 1;
            let judged = self.judge(attempt, &pod, evaluated);
            if judged.follows {
                return self.explained(attempt.clone(), judged, evaluated, Some(Found::Earlier));
            }
            fallback = keep_better(fallback, judged, evaluated, true);
        }
        // A volume bound for the pod leaves it one node: what follows from that alone says little, so it is asked last.
        if plain.follows {
            return self.explained(attempt.clone(), plain, before, None);
        }
        fallback = keep_better(fallback, plain, before, false);
        let (judged, evaluated, own_taken_back) = fallback.expect("the revision before was judged");
        let found = if evaluated < before { Some(Found::Earlier) } else { own_taken_back.then_some(Found::WithoutOwnWrites) };
        self.explained(attempt.clone(), judged, evaluated, found)
    }

    /// Judges a new pod that was decided on within moments on the state at its turn: after its creation and after the pods decided on before it.
    /// What others wrote later, while the decision was on its way to etcd, the scheduler cannot have seen. `None` where there was no such write, or
    /// the outcome does not follow; the state is then as it was.
    fn at_its_turn(
        &mut self,
        attempt: &Attempt,
        pod: &Arc<PodInfo>,
        begun: i64,
        journal_end: usize,
        own: &[(ObjectKey, Option<Stored>)],
        excursion: &mut Excursion,
    ) -> Option<(Judged, i64)> {
        let new = attempt.pod.scheduled.is_none() && attempt.at_once;
        let mut early = Excursion::default();
        let mut evaluated = attempt.revision - 1;
        let mut disturbed = false;
        for (revision, change) in self.journal.iter().take(journal_end).rev().take_while(|(revision, _)| new && *revision > begun) {
            if decides(change) {
                break;
            }
            if own.iter().any(|(key, _)| *key == change.key) || is_the_pod(&change.key, &attempt.pod) {
                continue;
            }
            early.undo(&mut self.state, change);
            disturbed |= matters(change);
            evaluated = revision - 1;
        }
        let judged = disturbed.then(|| self.judge(attempt, pod, evaluated)).filter(|judged| judged.follows);
        match judged {
            Some(judged) => {
                excursion.steps.append(&mut early.steps);
                Some((judged, evaluated))
            }
            None => {
                early.restore(&mut self.state);
                None
            }
        }
    }

    /// The node an attempt nominated with its outcome, or had before.
    fn nominated_by(&self, attempt: &Attempt) -> Option<Arc<str>> {
        let after = match &self.journal.back()?.1.after {
            Some(Stored::Pod(pod)) => pod.nominated_node_name.clone(),
            _ => None,
        };
        after.or_else(|| attempt.pod.nominated_node_name.clone())
    }

    fn judge(&mut self, attempt: &Attempt, pod: &Arc<PodInfo>, revision: i64) -> Judged {
        if self.scheduler.profiles[0].rules.image_counts_at_snapshot {
            self.images.look(&mut self.state, revision);
        }
        let mut assumed = Excursion::default();
        for pod in assumed::pods(self.waiting.iter().map(|(key, (since, _))| (key, *since)), pod, &self.state) {
            let key = ObjectKey { kind: Watched::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() };
            assumed.set(&mut self.state, &key, Some(Stored::Pod(pod)));
        }
        let (profile, _) = self.scheduler.profile_for(pod);
        let judgement = Cycle { pod, state: &self.state, profile }.judge();
        let feasible = judgement.nodes.iter().filter(|node| node.fits()).count();
        let sampled = feasible > sampling::enough(profile, judgement.nodes.len());
        let verdict = agreement(attempt, &judgement, sampled);
        let same_message = attempt.recorded_message.is_none() || attempt.recorded_message.as_deref() == judgement.message.as_deref();
        let follows = match attempt.outcome {
            Outcome::Scheduled => verdict != Agreement::Disagrees,
            _ => verdict == Agreement::Agrees && same_message,
        };
        assumed.restore(&mut self.state);
        Judged { judgement, verdict, same_message, sampled, follows }
    }

    /// Judges a pod that waits, on the state as it is.
    pub fn explain_waiting(&mut self, pod: &Arc<PodInfo>, revision: i64) -> Explanation {
        let gated = self.scheduler.profile_for(pod).0.gates.on("PodSchedulingReadiness") && !pod.spec.scheduling_gates.is_empty();
        let attempt = attempt::waiting(pod, gated, revision);
        let judged = self.judge(&attempt, pod, revision);
        self.explained(attempt, judged, revision, None)
    }

    /// Judges a bound pod whose binding is not readable any more: on the state as it is, as if the pod were to be placed now.
    pub fn explain_bound(&mut self, pod: &Arc<PodInfo>, revision: i64) -> Explanation {
        let mut excursion = Excursion::default();
        let key = ObjectKey { kind: Watched::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() };
        excursion.set(&mut self.state, &key, None);
        let unbound = Arc::new(PodInfo { node_name: None, nominated_node_name: None, ..(**pod).clone() });
        let attempt = Attempt {
            pod: unbound.clone(),
            outcome: Outcome::Scheduled,
            node: pod.node_name.clone(),
            revision,
            recorded_message: None,
            at_once: false,
        };
        let mut judged = self.judge(&attempt, &unbound, revision);
        judged.verdict = Agreement::Unverifiable;
        let mut explanation = self.explained(attempt, judged, revision, None);
        let why = if pod.mirror {
            "it is a static pod: its kubelet runs it and no scheduler decided; judged as if it were to be placed now"
        } else if self.complete {
            "it was created with its node, so no scheduler decided; judged as if it were to be placed now"
        } else {
            "when the pod was bound cannot be read: it is judged as if it were to be placed now"
        };
        explanation.caveats.insert(0, why.to_owned());
        excursion.restore(&mut self.state);
        explanation
    }

    fn explained(&mut self, attempt: Attempt, judged: Judged, evaluated_revision: i64, found: Option<Found>) -> Explanation {
        let (profile, own_profile) = self.scheduler.profile_for(&attempt.pod);
        let circumstances = Circumstances {
            scheduler: &self.scheduler,
            profile,
            own_profile,
            state: &self.state,
            attempt: &attempt,
            judgement: &judged.judgement,
            sampled: judged.sampled,
            same_message: judged.same_message,
            found,
            evaluated_revision,
            complete: self.complete,
        };
        let caveats = caveats::caveats(&circumstances);
        let verdict = if own_profile { judged.verdict } else { Agreement::Unverifiable };
        let evidence = self.evidence(&attempt.pod, profile, &judged.judgement);
        let sought = self.remedies && matches!(attempt.outcome, Outcome::Unschedulable | Outcome::Pending);
        let preemption = if sought && judged.judgement.preemption_helps {
            victims::candidates(&Cycle { pod: &attempt.pod, state: &self.state, profile }, &judged.judgement)
        } else {
            Vec::new()
        };
        let remedies = if sought { remedies(&attempt.pod, &mut self.state, profile, &judged.judgement) } else { Vec::new() };
        Explanation {
            scheduler_name: attempt.pod.spec.scheduler_name.clone(),
            version: self.scheduler.version.clone(),
            attempt,
            evaluated_revision,
            judgement: judged.judgement,
            verdict,
            caveats,
            evidence,
            remedies,
            preemption,
            preempted: Vec::new(),
        }
    }
}

impl Replay {
    /// What was compared where the pod was refused, as deep as asked for.
    fn evidence(&self, pod: &Arc<PodInfo>, profile: &Profile, judgement: &Judgement) -> Vec<Evidence> {
        const NODES_OF_A_KIND: usize = 3;
        let cycle = Cycle { pod, state: &self.state, profile };
        let fact = |node: &NodeJudgement, at: usize| Evidence {
            node: node.name.clone(),
            plugin: judgement.filters[at],
            facts: evidence::evidence(&cycle, self.state.node_by_id(node.id), judgement.filters[at]),
        };
        let mut found: Vec<Evidence> = match &self.depth {
            Depth::Verdicts => Vec::new(),
            Depth::Refusals => {
                let mut seen: HashMap<(usize, &Refusal), usize> = HashMap::new();
                let refused = judgement.nodes.iter().filter(|node| !node.absent).filter_map(|node| Some((node, node.first_refusal()?)));
                let first = refused.filter(|(_, kind)| {
                    let count = seen.entry(*kind).or_default();
                    *count += 1;
                    *count <= NODES_OF_A_KIND
                });
                first.map(|(node, (at, _))| fact(node, at)).collect()
            }
            Depth::Node(name) => {
                let nodes = judgement.nodes.iter().filter(|node| *node.name == **name);
                nodes
                    .flat_map(|node| {
                        (0..node.verdicts.len())
                            .filter(|at| matches!(node.verdicts[*at], Verdict::Reject(_)))
                            .map(|at| fact(node, at))
                            .chain([Evidence {
                                node: node.name.clone(),
                                plugin: "",
                                facts: evidence::room(&cycle, self.state.node_by_id(node.id)),
                            }])
                            .collect::<Vec<_>>()
                    })
                    .collect()
            }
        };
        found.retain(|evidence| !evidence.facts.is_empty());
        found
    }
}

/// How a state other than the revision before was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The attempt's own writes were taken back.
    WithoutOwnWrites,
    /// The state at the pod's turn: what was written while its outcome was on its way was taken back.
    AtItsTurn,
    /// An earlier revision from which the outcome follows.
    Earlier,
}

#[derive(Clone)]
struct Judged {
    judgement: Judgement,
    verdict: Agreement,
    same_message: bool,
    sampled: bool,
    follows: bool,
}

/// Of judgements from which the outcome does not follow to the letter, the first that at least agrees is kept, else the first.
fn keep_better(known: Option<(Judged, i64, bool)>, judged: Judged, revision: i64, own_taken_back: bool) -> Option<(Judged, i64, bool)> {
    match known {
        Some(known) if known.0.verdict != Agreement::Disagrees || judged.verdict == Agreement::Disagrees => Some(known),
        _ => Some((judged, revision, own_taken_back)),
    }
}

fn is_the_pod(key: &ObjectKey, pod: &PodInfo) -> bool {
    key.kind == Watched::Pod && key.namespace == pod.namespace && key.name == pod.name
}

/// Whether a change shows that the scheduler had turned to another pod.
fn decides(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (Some(Stored::Pod(before)), Some(Stored::Pod(after))) => attempt::attempt(Some(before), after, 0).is_some(),
        _ => false,
    }
}

/// Whether taking a change back can alter a judgement: pods that wait without a nomination cannot.
fn matters(change: &Change) -> bool {
    let counts = |stored: &Option<Stored>| match stored {
        Some(Stored::Pod(pod)) => pod.is_on_node() || pod.nominated_node_name.is_some(),
        Some(_) => true,
        None => false,
    };
    counts(&change.before) || counts(&change.after)
}

/// A way away from the state that is walked back at the end.
#[derive(Default)]
struct Excursion {
    steps: Vec<(ObjectKey, Option<Stored>)>,
}

impl Excursion {
    fn set(&mut self, state: &mut ClusterState, key: &ObjectKey, stored: Option<Stored>) {
        let before = state.set(key, stored);
        self.steps.push((key.clone(), before));
    }

    fn undo(&mut self, state: &mut ClusterState, change: &Change) {
        self.set(state, &change.key, change.before.clone());
    }

    fn restore(self, state: &mut ClusterState) {
        for (key, stored) in self.steps.into_iter().rev() {
            state.set(&key, stored);
        }
    }
}
