//! The JSON of `triage`.

use schemars::JsonSchema;
use serde::Serialize;

use super::common::{ActorFrom, Subject, Time};
use super::window::HistoryWindow;
use crate::page::TriagePage;
use crate::since_last::{EarlierTrouble, GoneTrouble, identity};
use crate::words::{absence_words, intervention_words, shared_words, trouble};
use ketcd_cluster::triage as answer;
use ketcd_history::trouble::triage;
use ketcd_history::trouble::triage::since_last::TroubleState;
use ketcd_history::{AttributedChange, intervention, timeline};

/// What is broken at one moment.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Triage<'a> {
    /// Why there was nothing to look at; null where there was something. Then that `findings` is empty says nothing.
    pub absence: Option<Absence>,
    /// What somebody changed in the windows, oldest first: not status, and not what the control plane writes by itself.
    pub changes: Vec<SuspectChange>,
    /// Which cluster it is of.
    pub cluster: ClusterIdentity<'a>,
    /// What is wrong, the most important first; empty if nothing is wrong, as far as `absence` and `notDecoded` allow that conclusion.
    pub findings: Vec<Finding<'a>>,
    /// How much was looked at.
    pub looked_at: LookedAt,
    /// The newest time in printed objects that do not show when they were printed: `time` is null, and it was not before this; else null.
    pub not_before: Option<Time>,
    /// How many values of what was looked at could not be decoded: sealed ones without their key, and damaged ones.
    pub not_decoded: usize,
    /// How many findings are left out, because a bundle holds all their objects only as far as a scheduler reads them; 0 where it is not a bundle.
    pub reduced: usize,
    /// The revision looked at.
    pub revision: i64,
    /// What was asked for.
    pub scope: Scope<'a>,
    /// Whether `findings` and `changes` hold only what concerns the objects asked for.
    pub selected: bool,
    /// The earlier triage that `state` is since; absent without `--since-last`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_last: Option<SinceLast>,
    /// etcd itself.
    pub storage: Storage<'a>,
    /// The moment looked at; null where nothing in the data shows it. What lasts is not counted then.
    pub time: Option<Time>,
    /// Warning Events that occur often, were seen in the 15 minutes before, and that no finding explains; those that occur most often first.
    pub warnings: Vec<Warning<'a>>,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
    /// The stretches of time whose changes were read, ascending.
    pub windows: Vec<WindowRead>,
}

/// What tells clusters apart, as far as it is known.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterIdentity<'a> {
    /// etcd's cluster id; null where the source does not hold it.
    pub etcd: Option<&'a str>,
    /// The uid of the namespace kube-system, which a restored cluster keeps; null where it could not be read.
    pub kube_system: Option<&'a str>,
}

/// What was asked for: findings of another scope cannot be compared.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope<'a> {
    /// The addresses, and selectors as their flags; empty where everything was asked for.
    pub asked: &'a [String],
    /// The namespace; null where all were looked at.
    pub namespace: Option<&'a str>,
}

/// An earlier triage.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SinceLast {
    /// Its revision.
    pub revision: i64,
    /// Its moment; null where it did not show it.
    pub time: Option<Time>,
}

/// Why there was nothing to look at.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Absence {
    /// What there is instead, in words.
    pub message: String,
    /// One word: `Empty`, `OtherPrefix`, `Foreign`, `OnlyEvents`, `OtherKinds`, `Namespace`, or `Objects`: none of
    /// those asked for is there. There may be more in time.
    pub reason: &'static str,
}

/// How much was looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LookedAt {
    /// Nodes.
    pub nodes: usize,
    /// Pods that have not ended.
    pub pods: usize,
    /// Deployments, StatefulSets, DaemonSets and Jobs.
    pub workloads: usize,
}

/// Warning Events of one reason about one object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Warning<'a> {
    /// How often it occurred.
    pub count: i64,
    /// When it occurred first; null where that is not known.
    pub first_time: Option<Time>,
    /// When it occurred last; null where that is not known.
    pub last_time: Option<Time>,
    /// The message of the last one.
    pub message: &'a str,
    /// The object.
    pub object: Subject<'a>,
    /// Kubernetes' own word for the reason.
    pub reason: &'a str,
}

/// A trouble that some objects have in common, with what followed from it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding<'a> {
    /// The changes that explain it, oldest first: for each object that it depends on, the nearest one before it began. Effects do not have causes of their own.
    pub causes: Vec<Cause>,
    /// The command that shows more about the first object.
    pub command: String,
    /// What else is known, in words; empty where nothing is.
    pub detail: String,
    /// What followed from it, as far as the data show it.
    pub effects: Vec<Finding<'a>>,
    /// What it is, the same at every moment: where all of `troubles` have one id, that; else of what they have in common, and two parts of one finding
    /// with different states share it.
    pub id: String,
    /// Whether it may have begun before `since`, because the versions of the object that would show it cannot be read; then `seconds` is how long it lasts
    /// at least.
    pub may_begin_earlier: bool,
    /// Kubernetes' own message; null if there is none, or where the objects have different ones, which `messages` has.
    pub message: Option<&'a str>,
    /// Kubernetes' own messages about the objects, each once, the commonest first.
    pub messages: Vec<Message<'a>>,
    /// The objects that have it, those that had it first before the others.
    pub objects: Vec<Subject<'a>>,
    /// The controller of all of them; null where they are not pods of one.
    pub owner: Option<Subject<'a>>,
    /// How many pods it affects: those that have it, run on the node, or are missing.
    pub pods: usize,
    /// Kubernetes' own word for the reason; null if there is none.
    pub reason: Option<&'a str>,
    /// What ends it, in words; empty where nothing is known.
    pub remedy: String,
    /// How long it lasts at the moment looked at, in seconds; null where either time is not known.
    pub seconds: Option<f64>,
    /// Since when the first object has it; null where the data do not show it.
    pub since: Option<Time>,
    /// With `--since-last`: `new`, `ended` or `stays`, which all of `troubles` have in common; absent without it. Of one that ended, only what the
    /// earlier triage said is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// What is wrong, such as `NodeSilent` or `CrashLooping`. There may be more words in time.
    pub trouble: &'a str,
    /// Each trouble in it, one for an object, or for a workload whose pods have it.
    pub troubles: Vec<IdentifiedTrouble<'a>>,
    /// How much it weighs, with its effects. What a number means may change; the order is what counts.
    pub weight: u64,
    /// What is wrong, in words.
    pub what: String,
}

/// One trouble, as it is known again at another moment.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentifiedTrouble<'a> {
    /// The moment of the first triage that reported it, as far as those before were given with `--since-last`; null where that moment is not known.
    pub first_seen: Option<Time>,
    /// What it is: 16 hexadecimal digits made of the rule, what tells its troubles apart (a container, a webhook) and the object's kind, namespace and
    /// name. Neither times nor counts are part of it.
    pub id: String,
    /// The object; of pods that are made anew under other names, what they are pods of.
    pub object: Subject<'a>,
}

/// What Kubernetes says about some of a finding's objects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Message<'a> {
    /// How many of the objects it is of.
    pub count: usize,
    /// The first of them.
    pub first: Subject<'a>,
    /// The message.
    pub message: &'a str,
}

/// A change that explains a finding.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The change; it is among `changes` too.
    pub change: SuspectChange,
    /// How it concerns the finding: `Object` (one that has the trouble), `Owner`, `Node`, `Configuration`, `Claim` or `Class`. There may be more in time.
    pub relation: &'static str,
    /// How many seconds before the finding began it was made; null where that is not known.
    pub seconds_before: Option<f64>,
}

/// What somebody changed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuspectChange {
    /// Who; null where it is not known.
    pub by: Option<String>,
    /// How that is known; null where it is not.
    pub by_from: Option<ActorFrom>,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace; empty where the kind has none.
    pub namespace: String,
    /// The revision.
    pub revision: i64,
    /// When; null where nothing dates the revision.
    pub time: Option<Time>,
    /// What was changed, in words.
    pub what: String,
}

/// A stretch of time whose changes were read.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowRead {
    /// Its begin.
    pub from: Time,
    /// Whether the readable history begins within it.
    pub is_cut: bool,
    /// Its end.
    pub to: Time,
}

/// etcd itself.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage<'a> {
    /// Bytes of the database file; 0 if there is none.
    pub bytes: u64,
    /// Whether the members hold the same data; null of files, at earlier revisions, and where fewer than two endpoints answer. Where data differ,
    /// `findings` has `DataDiffers`.
    pub hashes: Option<Hashes<'a>>,
    /// How many revisions are kept up to the one looked at.
    pub kept_revisions: i64,
    /// The least quota of the members; null where none tells.
    pub quota: Option<i64>,
    /// What was written in the 15 minutes before, or since the readable history begins, or by the newest 5,000 revisions of a live etcd; null where
    /// nothing was, or the data do not show times.
    pub writes: Option<Writes<'a>>,
}

/// Hashes of what the members hold.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hashes<'a> {
    /// The endpoints that were compared.
    pub compared: Vec<&'a str>,
    /// Why others, or all, were not.
    pub not_compared: &'a [String],
    /// The revision whose data were hashed.
    pub revision: i64,
}

/// What was written in a stretch of time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Writes<'a> {
    /// By the field manager that managedFields show, the most changes first; not of writes without any.
    pub by_manager: Vec<WritesBy<'a>>,
    /// By resource, the most changes first; empty if only the number of revisions is known: on a learner, and for users who may not read every key.
    pub by_resource: Vec<WritesOf<'a>>,
    /// Bytes of the values written; 0 where only the number of revisions is known.
    pub bytes: u64,
    /// By how many bytes the values that are there grew; null of a live etcd.
    pub bytes_grown: Option<i64>,
    /// Changes of keys, or revisions where only their number is known.
    pub changes: u64,
    /// By how many the keys that are there grew; null where only the number of revisions is known.
    pub keys_grown: Option<i64>,
    /// How long that was.
    pub seconds: f64,
}

/// What was written of one resource.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WritesOf<'a> {
    /// Bytes of the values written.
    pub bytes: u64,
    /// Changes of keys.
    pub changes: u64,
    /// The resource, such as `leases`.
    pub resource: &'a str,
}

/// What one field manager wrote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WritesBy<'a> {
    /// Bytes of the values written.
    pub bytes: u64,
    /// Changes of keys.
    pub changes: u64,
    /// The field manager, such as `kubelet`.
    pub manager: &'a str,
}

impl<'a> From<&TriagePage<'a>> for Triage<'a> {
    fn from(page: &TriagePage<'a>) -> Self {
        let storage = page.storage;
        let writes = storage.writes.as_ref().map(|writes| Writes {
            by_resource: writes
                .by_resource
                .iter()
                .map(|(resource, part)| WritesOf { bytes: part.bytes, changes: part.changes, resource })
                .collect(),
            by_manager: writes
                .by_manager
                .iter()
                .map(|(manager, part)| WritesBy { bytes: part.bytes, changes: part.changes, manager })
                .collect(),
            bytes: writes.bytes,
            bytes_grown: writes.grown.and_then(|(_, bytes)| bytes),
            changes: writes.changes,
            keys_grown: writes.grown.map(|(keys, _)| keys),
            seconds: writes.seconds,
        });
        Self {
            absence: page.absence.as_ref().map(|absence| Absence { message: absence_words(absence), reason: absence.as_str() }),
            changes: page.changes.iter().filter_map(change).collect(),
            cluster: ClusterIdentity { etcd: storage.status.cluster_id.as_deref(), kube_system: page.kube_system },
            findings: page
                .findings
                .iter()
                .enumerate()
                .map(|(place, of)| finding(page, of, page.causes_of(place)))
                .chain(page.since_last.into_iter().flat_map(|since| since.gone.iter().map(gone)))
                .collect(),
            looked_at: LookedAt { nodes: page.counts.nodes, pods: page.counts.pods, workloads: page.counts.workloads },
            not_before: page.not_before.map(Time),
            not_decoded: page.not_decoded,
            reduced: page.reduced,
            revision: page.revision.0,
            scope: Scope { asked: page.asked, namespace: page.namespace },
            selected: page.is_selected,
            since_last: page.since_last.map(|since| SinceLast { revision: since.revision.0, time: since.time.map(Time) }),
            storage: Storage {
                bytes: storage.status.file_bytes,
                hashes: storage.hashes.as_ref().map(|hashes| Hashes {
                    compared: hashes.members.iter().map(|member| &*member.endpoint).collect(),
                    not_compared: &hashes.left_out,
                    revision: hashes.revision.0,
                }),
                kept_revisions: storage.kept,
                quota: storage.status.members.iter().filter_map(|member| member.db_size_quota).min(),
                writes,
            },
            time: page.now.map(Time),
            warnings: page.warnings.iter().map(warning).collect(),
            window: None,
            windows: page
                .windows
                .iter()
                .map(|window| WindowRead { from: Time(window.from), is_cut: window.is_cut, to: Time(window.to) })
                .collect(),
        }
    }
}

fn warning(warning: &answer::Warning) -> Warning<'_> {
    Warning {
        count: warning.count,
        first_time: warning.first.map(Time),
        last_time: warning.last.map(Time),
        message: &warning.message,
        object: Subject::from(&warning.subject),
        reason: &warning.reason,
    }
}

fn finding<'a>(page: &TriagePage<'a>, finding: &'a triage::Finding, causes: &[answer::Cause]) -> Finding<'a> {
    let cause = |cause: &answer::Cause| {
        let change = page.changes.get(cause.change).and_then(change)?;
        Some(Cause { change, relation: cause.relation.as_str(), seconds_before: cause.before.map(|before| before.as_secs_f64()) })
    };
    let messages = shared_words::messages(finding);
    let is_of_all = matches!(messages[..], [(count, ..)] if count == finding.subjects.len());
    Finding {
        causes: causes.iter().filter_map(cause).collect(),
        command: page.command(finding).map_or(String::new(), |command| command.to_string()),
        detail: shared_words::all_detail(finding),
        effects: finding.effects.iter().map(|effect| self::finding(page, effect, &[])).collect(),
        id: identity::of_finding(finding),
        may_begin_earlier: finding.may_begin_earlier(),
        message: finding.trouble.message.as_deref().filter(|_| is_of_all),
        messages: messages.into_iter().map(|(count, message, first)| Message { count, first: Subject::from(first), message }).collect(),
        objects: finding.subjects.iter().map(Subject::from).collect(),
        owner: finding.owner.as_ref().map(Subject::from),
        pods: finding.pods,
        reason: finding.trouble.reason.as_deref(),
        remedy: trouble::remedy(finding),
        seconds: page.now.zip(finding.since()).map(|(now, since)| now.duration_since(since).as_secs_f64().max(0.0)),
        since: finding.since().map(Time),
        state: page.since_last.and_then(|since| since.state_of(finding)).map(TroubleState::as_str),
        trouble: finding.trouble.kind.as_str(),
        troubles: troubles(page, finding),
        weight: finding.weight(),
        what: shared_words::all_what(finding),
    }
}

/// Each trouble of a finding once.
fn troubles<'a>(page: &TriagePage<'_>, finding: &'a triage::Finding) -> Vec<IdentifiedTrouble<'a>> {
    let workloads = finding.workloads.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    let mut found: Vec<IdentifiedTrouble<'_>> = Vec::new();
    for ((key, subject), workload) in finding.keys().into_iter().zip(&finding.subjects).zip(workloads) {
        let id = identity::of_key(&key);
        if found.iter().all(|known| known.id != id) {
            let object = workload.filter(|workload| workload.kind == key.object.kind).unwrap_or(subject);
            let first_seen = page.since_last.and_then(|since| since.first_seen(&id)).or(page.now);
            found.push(IdentifiedTrouble { first_seen: first_seen.map(Time), id, object: Subject::from(object) });
        }
    }
    found
}

/// A trouble of the earlier triage that is not seen any more.
fn gone(of: &GoneTrouble) -> Finding<'_> {
    let EarlierTrouble { id, object, what, trouble, since, may_begin_earlier, first_seen } = &of.trouble;
    let object = || Subject::from(object);
    Finding {
        causes: Vec::new(),
        command: String::new(),
        detail: String::new(),
        effects: Vec::new(),
        id: id.clone(),
        may_begin_earlier: *may_begin_earlier,
        message: None,
        messages: Vec::new(),
        objects: vec![object()],
        owner: None,
        pods: 0,
        reason: None,
        remedy: String::new(),
        seconds: None,
        since: since.map(Time),
        state: Some(of.state.as_str()),
        trouble,
        troubles: vec![IdentifiedTrouble { first_seen: first_seen.map(Time), id: id.clone(), object: object() }],
        weight: 0,
        what: what.clone(),
    }
}

fn change(attributed: &AttributedChange) -> Option<SuspectChange> {
    let subject = timeline::Subject::of(attributed.change.object()?);
    Some(SuspectChange {
        by: attributed.by().map(|by| by.to_string()),
        by_from: ActorFrom::of(attributed.by().as_ref()),
        kind: subject.kind,
        name: subject.name,
        namespace: subject.namespace,
        revision: attributed.change.revision.0,
        time: Time::of(attributed.dated),
        what: intervention_words(&intervention(attributed)?),
    })
}
