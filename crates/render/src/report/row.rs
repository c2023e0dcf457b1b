//! One object of the report: its states, its ticks, and the versions that a click opens.

use std::io;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use ketcd_history::clock::Dated;
use ketcd_history::diff::ManagedFields;
use ketcd_history::state::{State, Tone, state_of};
use ketcd_history::timeline::{self, Step, StepDetail, StepDetector, StepKind};
use ketcd_history::{ActorFrom, AttributedChange, ChangeKind, ObjectVersion};

use super::event::EventMark;
use super::is_version;
use super::packer::{Packed, Packer};
use super::standing::Troubles;
use crate::contract::change::ChangeSource;
use crate::contract::common::KubernetesObject;
use crate::timeline::detail as step_detail;
use crate::value;

/// Characters of a label, at most.
const MAX_LABEL_CHARS: usize = 240;

/// Fields whose change alone is not worth a mark.
const QUIET_FIELDS: [&str; 4] =
    ["/metadata/managedFields", "/metadata/resourceVersion", "/metadata/generation", "/status/observedGeneration"];

/// An object through its readable life.
pub(crate) struct ReportRow {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// The uid of its controller or, without one, of its first owner.
    pub owner: Option<String>,
    /// When the row begins: the creation, or creationTimestamp of an object older than the readable history. Milliseconds since 1970.
    pub begin: Option<i64>,
    /// When its first readable version was written; before that is a gap.
    pub readable: Option<i64>,
    pub end: Option<i64>,
    /// Whether it is gone though no readable version shows its deletion; then `end` is when it was gone at the latest.
    pub vanished: bool,
    pub states: Vec<(Option<i64>, State)>,
    pub troubles: Troubles,
    pub ticks: Vec<Tick>,
    held_by_ticks: usize,
    pub versions: Packed,
    /// How many changes were left out for lack of room: all of them or none.
    pub left_out: usize,
    pub events: Vec<EventMark>,
    pub decisions: Packed,
    /// The scheduling attempts of a pod that its own changes record.
    pub attempts: Vec<Value>,
    /// Its key.
    pub key: Bytes,
    /// How it is named to ketcd, where that is not usual.
    pub address: Option<String>,
    /// What its newest decoded version says of itself.
    pub last: LastVersion,
    /// Whether the versions themselves are kept.
    pub keeps_versions: bool,
    detector: StepDetector,
    managed_fields: ManagedFields,
}

/// A mark on the axis: one change.
#[derive(Clone)]
pub(crate) struct Tick {
    pub time: Option<i64>,
    pub kind: ChangeKind,
    pub label: String,
    pub revision: i64,
    /// Who made it, as far as that is known.
    pub by: Option<Box<str>>,
}

/// What the newest version of an object says of it that a filter may ask for.
#[derive(Clone, Default)]
pub(crate) struct LastVersion {
    pub labels: Map<String, Value>,
    pub images: Vec<String>,
    pub node: Option<String>,
    /// The messages of its conditions.
    pub messages: Vec<String>,
}

impl LastVersion {
    fn of(object: &Value) -> Self {
        let texts = |list: &Value, field: &str| -> Vec<String> {
            list.as_array().into_iter().flatten().filter_map(|item| item[field].as_str()).map(str::to_owned).collect()
        };
        let spec = if object["spec"]["containers"].is_array() { &object["spec"] } else { &object["spec"]["template"]["spec"] };
        Self {
            labels: object["metadata"]["labels"].as_object().cloned().unwrap_or_default(),
            images: [texts(&spec["containers"], "image"), texts(&spec["initContainers"], "image")].concat(),
            node: (object["kind"] == "Pod").then(|| object["spec"]["nodeName"].as_str().map(str::to_owned)).flatten(),
            messages: texts(&object["status"]["conditions"], "message"),
        }
    }
}

impl Tick {
    /// How many bytes it takes, about.
    fn held(&self) -> usize {
        self.label.len() + self.by.as_ref().map_or(0, |by| by.len()) + 48
    }
}

impl ReportRow {
    pub(super) fn new(attributed: &AttributedChange, uid: String, managed_fields: ManagedFields) -> Self {
        let object = attributed.change.object().unwrap_or(&Value::Null);
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let owners = metadata["ownerReferences"].as_array();
        let owner = owners.and_then(|owners| owners.iter().find(|owner| owner["controller"] == true).or(owners.first()));
        let written = attributed.dated.map(|dated| dated.time.as_millisecond());
        let born = metadata["creationTimestamp"].as_str().and_then(|time| time.parse::<jiff::Timestamp>().ok());
        let begin = match (attributed.change.kind, born) {
            (ChangeKind::Added, _) | (_, None) => written,
            (_, Some(born)) => Some(born.as_millisecond()),
        };
        Self {
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid,
            owner: owner.and_then(|owner| owner["uid"].as_str()).map(str::to_owned),
            begin,
            readable: written,
            end: None,
            vanished: false,
            states: Vec::new(),
            troubles: Troubles::default(),
            ticks: Vec::new(),
            held_by_ticks: 0,
            versions: Packed::default(),
            left_out: 0,
            events: Vec::new(),
            decisions: Packed::default(),
            attempts: Vec::new(),
            key: attributed.change.key.clone(),
            address: None,
            last: LastVersion::default(),
            keeps_versions: true,
            detector: StepDetector::default(),
            managed_fields,
        }
    }

    /// How an object of a usual kind is named to ketcd.
    pub(super) fn usual_address(&self) -> String {
        let kind = self.kind.to_lowercase();
        if self.namespace.is_empty() { format!("{kind}/{}", self.name) } else { format!("{kind}/{}/{}", self.namespace, self.name) }
    }

    /// Whether the object is gone: what the key holds next is another one.
    pub(crate) fn ended(&self) -> bool {
        self.ticks.last().is_some_and(|tick| tick.kind == ChangeKind::Deleted)
    }

    /// Adds the only version known, with the steps that its own times show in place of changes; returns how long its text is.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub(super) fn observe_one_moment(&mut self, attributed: &AttributedChange, phases: &[timeline::Phase]) -> io::Result<usize> {
        for phase in phases {
            let by = phase.by.as_ref().map(|by| format!(" · {by}")).unwrap_or_default();
            let time = phase.dated.map(|dated| dated.time.as_millisecond());
            let label = words(&[Step { phase: phase.phase, detail: phase.detail.clone() }]);
            let who = phase.by.as_ref().map(|by| by.to_string().into());
            self.mark(Tick { time, kind: ChangeKind::Modified, label: label + &by, revision: attributed.change.revision.0, by: who });
        }
        let Some(object) = attributed.change.object() else { return Ok(0) };
        let time = self.ticks.last().and_then(|tick| tick.time);
        self.states.push((time, state_of(object)));
        self.troubles.see(object, time, None);
        self.last = LastVersion::of(object);
        if !self.keeps_versions {
            return Ok(0);
        }
        let version = json!({
            "r": attributed.change.revision.0, "t": null, "e": null, "y": attributed.change.kind.as_str(), "s": ChangeSource::from(attributed.change.origin),
            "by": null, "inferred": false, "label": timeline::state(object), "o": self.shown(object),
        });
        self.versions.push(&version)
    }

    /// Adds a change, of a node with the last renewal of its lease before; returns how long its text is.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub(super) fn observe(&mut self, attributed: &AttributedChange, renewed: Option<jiff::Timestamp>) -> io::Result<usize> {
        let time = attributed.dated.map(|dated| dated.time.as_millisecond());
        let change = &attributed.change;
        let has_room = self.left_out == 0;
        let is_followed = self.versions.count() > 0 || !self.keeps_versions;
        let patch = (has_room && is_followed).then(|| change.patch(self.managed_fields)).flatten();
        let before = self.states.last().map(|(_, state)| state.label.clone());
        if let Some(object) = change.after.object() {
            self.last = LastVersion::of(object);
            let state = state_of(object);
            let begun = self.troubles.see(object, time, renewed).filter(|_| self.kind == "Node");
            if let Some(known) = self.states.last()
                && known.1 != state
            {
                // A node is silent from its last heartbeat on, not from when that was noticed.
                let begun = begun.into_iter().chain(time).min().max(known.0);
                self.states.push((begun, state));
            } else if self.states.is_empty() {
                self.states.push((time, state));
            }
        }
        if change.kind == ChangeKind::Deleted {
            self.end = time;
            self.troubles.close(time);
        }
        let steps = self.detector.steps(change);
        if self.kind == "Pod" {
            self.attempts.extend(steps.iter().filter_map(|step| attempt(step, change.revision.0, attributed.dated)));
        }
        let paths: Vec<String> = patch.iter().flat_map(|patch| &patch.0).map(|operation| operation.path().to_string()).collect();
        let mut label = match change.kind {
            _ if !steps.is_empty() => words(&steps),
            _ if change.before == ObjectVersion::Unreadable => {
                format!("after a gap: {}", change.object().map_or_else(|| "deleted".to_owned(), timeline::state))
            }
            ChangeKind::Added => "Created".to_owned(),
            ChangeKind::Deleted => "Deleted".to_owned(),
            ChangeKind::Modified => self.summary(before.as_deref(), &paths),
        };
        let by: Option<Box<str>> = attributed.by().map(|actor| actor.to_string().into());
        if let Some(by) = &by {
            label.push_str(" · ");
            label.push_str(by);
        }
        let tick = Tick { time, kind: change.kind, label: label.clone(), revision: change.revision.0, by };
        if !has_room {
            self.left_out += 1;
            if change.kind != ChangeKind::Modified {
                self.mark(tick);
            }
            return Ok(0);
        }
        self.mark(tick);
        if !self.keeps_versions {
            return Ok(0);
        }
        let mut version = json!({
            "r": change.revision.0, "t": time, "e": attributed.dated.map(|dated| dated.error), "y": change.kind.as_str(), "s": ChangeSource::from(change.origin),
            "by": attributed.by().map(|by| by.to_string()), "inferred": attributed.by().is_some_and(|actor| actor.from == ActorFrom::Inferred),
            "label": label,
        });
        match (&patch, &change.after) {
            (Some(patch), after) if is_version(after) => version["p"] = json!(patch),
            (_, ObjectVersion::Object(object)) => version["o"] = json!(self.shown(object)),
            (_, ObjectVersion::Opaque(opaque)) => version["x"] = json!(opaque.reason),
            _ => {}
        }
        self.versions.push(&version)
    }

    fn mark(&mut self, tick: Tick) {
        self.held_by_ticks += tick.held();
        self.ticks.push(tick);
    }

    /// Shows a node as silent since a moment, where its own versions do not say so.
    pub(super) fn fall_silent(&mut self, since: i64) {
        let is_told = self.states.last().is_some_and(|(_, state)| state.tone == Tone::Bad);
        if !is_told {
            let begun = self.states.last().and_then(|(begun, _)| *begun).max(Some(since));
            self.states.push((begun, State { tone: Tone::Bad, label: "Silent".into() }));
        }
    }

    /// Deflates the changes so far.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub(super) fn pack(&mut self, packer: &mut Packer) -> io::Result<()> {
        self.versions.pack(packer)?;
        self.decisions.pack(packer)
    }

    /// How many bytes its changes take.
    pub(super) fn held(&self) -> usize {
        self.versions.held() + self.decisions.held() + self.held_by_ticks
    }

    /// How bad its worst state was.
    pub(super) fn severity(&self) -> u8 {
        self.states.iter().map(|(_, state)| state.tone.severity()).max().unwrap_or_default()
    }

    /// Leaves out the changes themselves and the decisions, those to come too; the states they led to stay.
    pub(super) fn leave_out(&mut self) {
        self.left_out = self.versions.count();
        (self.versions, self.decisions) = (Packed::default(), Packed::default());
        self.ticks.retain(|tick| tick.kind != ChangeKind::Modified);
        self.ticks.shrink_to_fit();
        self.held_by_ticks = self.ticks.iter().map(Tick::held).sum();
    }

    fn shown<'a>(&self, object: &'a Value) -> KubernetesObject<'a> {
        KubernetesObject { object, managed_fields: self.managed_fields }
    }

    fn summary(&self, before: Option<&str>, paths: &[String]) -> String {
        let now = self.states.last().map(|(_, state)| state.label.as_ref());
        match (before, now) {
            (Some(before), Some(now)) if before != now => return format!("{} → {now}", if before.is_empty() { "–" } else { before }),
            _ => {}
        }
        let mut news: Vec<String> = Vec::new();
        for path in paths.iter().filter(|path| !QUIET_FIELDS.iter().any(|quiet| path.starts_with(quiet))) {
            let short: String = path.split('/').skip(1).take(2).collect::<Vec<_>>().join(".");
            if !news.contains(&short) {
                news.push(short);
            }
        }
        match news.len() {
            0 => "bookkeeping".to_owned(),
            1..=3 => news.join(", "),
            more => format!("{}, {} and {} more", news[0], news[1], more - 2),
        }
    }
}

/// The scheduling attempt that a step of a pod records.
fn attempt(step: &Step, revision: i64, dated: Option<Dated>) -> Option<Value> {
    let (outcome, node, message) = match (step.phase, &step.detail) {
        (StepKind::Scheduled, StepDetail::BoundTo(node)) => ("Scheduled", Some(node), None),
        (StepKind::Refused, StepDetail::Message(message)) => ("Unschedulable", None, Some(message)),
        _ => return None,
    };
    let time = dated.map(|dated| dated.time.to_string());
    Some(json!({"attempt": {"outcome": outcome, "node": node, "revision": revision, "time": time}, "message": message}))
}

/// The steps of one change in words: `Restarted: c for the 2nd time after Error, exit 1; Ready`.
fn words(steps: &[Step]) -> String {
    let step = |Step { phase, detail }: &Step| match step_detail(*phase, detail) {
        detail if detail.is_empty() => phase.as_str().to_owned(),
        detail => format!("{phase}: {detail}"),
    };
    value::cut(&steps.iter().map(step).collect::<Vec<_>>().join("; "), MAX_LABEL_CHARS)
}
