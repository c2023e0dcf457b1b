//! The story as one self-contained page: a row per object under its owners, bars of states, ticks for changes and events.
//!
//! The page holds what every row shows as JSON, and each object's versions, diffs and scheduling decisions deflated next to it,
//! opened by a click: so thousands of objects stay smooth. It asks the network for nothing.

mod decision;
pub(crate) mod event;
mod lines;
mod notes;
mod packer;
mod page;
pub(crate) mod row;
mod standing;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use bytes::Bytes;
use jiff::Timestamp;

use crate::contract::triage::{Finding, Triage};
use crate::page::TriagePage;
use ketcd_cluster::survey::{RowSelection, Unlisted};
use ketcd_cluster::triage::Answer;
use ketcd_history::clock::Dated;
use ketcd_history::diff::ManagedFields;
use ketcd_history::timeline::phases_of_one_moment;
use ketcd_history::trouble::TroubleKind;
use ketcd_history::{AttributedChange, Leases, ObjectVersion};
use ketcd_scheduler::{Explanation, FilterMode};
use ketcd_store::Origin;

use event::EventMark;
use packer::Packer;
use row::ReportRow;

pub use notes::{decisions_note, reach_words, recorded_note, selection_note, window_words};
pub use page::{Heading, is_page};

/// Bytes of changes that a page has room for, deflated: with base64 and the rest, less than 50 MB.
const MAX_PAGE_CHANGES_BYTES: usize = 18 << 20;
/// Bytes of changes that wait to be deflated: the more of an object's are deflated at once, the smaller they get.
const MAX_LOOSE_BYTES: usize = 4 << 20;
/// Bytes of Events that a page has room for, not yet deflated.
const ROOM_FOR_EVENTS: usize = 16 << 20;

/// Collects changes, oldest first, and writes the page.
pub struct Report {
    managed_fields: ManagedFields,
    rows: Vec<ReportRow>,
    /// The row of the object that a key holds now.
    by_key: HashMap<Bytes, usize>,
    by_uid: HashMap<String, usize>,
    gaps: Vec<(i64, i64)>,
    events: BTreeMap<String, Vec<EventMark>>,
    unlisted: Vec<Unlisted>,
    packer: Packer,
    /// Bytes of changes that were not yet deflated.
    loose: usize,
    /// Bytes of Events.
    held_events: usize,
    /// How many Events there was no room for.
    events_left_out: usize,
    /// Whether the versions of the objects are kept.
    keeps_versions: bool,
    begins: Option<Timestamp>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Report {
    /// An empty report.
    pub fn new(managed_fields: ManagedFields) -> Self {
        Self {
            managed_fields,
            rows: Vec::new(),
            by_key: HashMap::new(),
            by_uid: HashMap::new(),
            gaps: Vec::new(),
            events: BTreeMap::new(),
            unlisted: Vec::new(),
            packer: Packer::new(),
            loose: 0,
            held_events: 0,
            events_left_out: 0,
            keeps_versions: true,
            begins: None,
            first: None,
            last: None,
        }
    }

    /// An empty report that keeps what rows show and no versions.
    pub(crate) fn of_rows(managed_fields: ManagedFields) -> Self {
        Self { keeps_versions: false, ..Self::new(managed_fields) }
    }

    /// Returns the rows, each with its Events, in the order in which the objects were seen first.
    pub(crate) fn into_rows(mut self) -> Vec<ReportRow> {
        self.place_events();
        self.rows
    }

    /// The keys of the objects that have a row.
    pub fn keys(&self) -> impl Iterator<Item = &Bytes> {
        self.rows.iter().map(|row| &row.key)
    }

    /// Says how the objects of some keys are named to ketcd, where that is not simply by kind, namespace and name.
    pub fn name(&mut self, addresses: &HashMap<Bytes, String>) {
        for row in &mut self.rows {
            row.address = addresses.get(&row.key).filter(|address| **address != row.usual_address()).cloned();
        }
    }

    /// How many objects have a row.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no object has a row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Counts the objects that were not selected.
    pub fn count_unlisted(&mut self, selection: RowSelection) {
        self.unlisted = selection.unlisted;
    }

    /// Adds one change. Events become marks on the objects they are about; other objects get a row each. `leases` say when nodes fell silent.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub fn observe(&mut self, attributed: &AttributedChange, leases: &Leases) -> io::Result<()> {
        let Some(object) = attributed.change.object() else { return Ok(()) };
        let one_moment = attributed.change.origin == Origin::Objects;
        let phases = if one_moment { phases_of_one_moment(object, attributed.change.revision) } else { Vec::new() };
        for dated in phases.iter().filter_map(|phase| phase.dated).chain(attributed.dated) {
            self.first = Some(self.first.map_or(dated.time, |first| first.min(dated.time)));
            self.last = self.last.max(Some(dated.time));
        }
        if object["kind"] == "Event" {
            self.note_event(attributed);
            return Ok(());
        }
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let known = self.by_key.get(&attributed.change.key).copied().filter(|&row| self.rows[row].uid == uid && !self.rows[row].ended());
        let index = known.unwrap_or_else(|| {
            let mut row = ReportRow::new(attributed, uid.clone(), self.managed_fields);
            row.keeps_versions = self.keeps_versions;
            self.rows.push(row);
            self.by_key.insert(attributed.change.key.clone(), self.rows.len() - 1);
            self.rows.len() - 1
        });
        if !uid.is_empty() {
            self.by_uid.insert(uid, index);
        }
        let row = &mut self.rows[index];
        let renewed = if row.kind == "Node" { leases.renewed(&row.name, attributed.change.revision) } else { None };
        self.loose += if one_moment { row.observe_one_moment(attributed, &phases)? } else { row.observe(attributed, renewed)? };
        self.pack_if_much()
    }

    fn pack_if_much(&mut self) -> io::Result<()> {
        if self.loose > MAX_LOOSE_BYTES {
            self.loose = 0;
            self.rows.iter_mut().try_for_each(|row| row.pack(&mut self.packer))?;
            self.make_room();
        }
        Ok(())
    }

    /// Leaves out what a click would open where there is no room: on rows that were never in trouble first, of those the largest.
    fn make_room(&mut self) {
        let mut held: usize = self.rows.iter().map(ReportRow::held).sum();
        if held <= MAX_PAGE_CHANGES_BYTES {
            return;
        }
        let mut order: Vec<usize> = (0..self.rows.len()).filter(|&row| self.rows[row].left_out == 0).collect();
        order.sort_by_key(|&row| (self.rows[row].severity(), std::cmp::Reverse(self.rows[row].held())));
        for row in order {
            if held <= MAX_PAGE_CHANGES_BYTES / 8 * 7 {
                break;
            }
            held -= self.rows[row].held();
            self.rows[row].leave_out();
            held += self.rows[row].held();
        }
    }

    /// Says when the page begins: what was there before is shown from then on.
    pub fn begin(&mut self, at: Timestamp) {
        self.begins = Some(at);
    }

    /// Says that nothing is readable between two moments.
    pub fn gap(&mut self, from: Timestamp, to: Timestamp) {
        self.gaps.push((from.as_millisecond(), to.as_millisecond()));
    }

    /// Takes for gone what is not alive at the end though no readable version shows its deletion; it was gone by `latest`.
    pub fn mark_vanished(&mut self, alive: &HashSet<Bytes>, latest: Option<Timestamp>) {
        let current: HashSet<usize> = self.by_key.iter().filter(|(key, _)| alive.contains(*key)).map(|(_, &row)| row).collect();
        for (_, row) in self.rows.iter_mut().enumerate().filter(|(index, row)| !row.ended() && !current.contains(index)) {
            row.vanished = true;
            row.end = latest.map(Timestamp::as_millisecond).max(row.ticks.last().and_then(|tick| tick.time));
        }
    }

    /// Whether the object with this uid has a row.
    pub fn shows(&self, uid: &str) -> bool {
        self.by_uid.contains_key(uid)
    }

    /// Whether a pod that has a row was bound or refused in the readable history.
    pub fn has_attempts(&self) -> bool {
        let refused = |event: &EventMark| event.reason.as_deref() == Some("FailedScheduling");
        self.rows.iter().any(|row| !row.attempts.is_empty()) || self.events.values().flatten().any(refused)
    }

    /// Shows scheduling decisions as they are recorded, with the command that evaluates them.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub fn show_recorded_decisions(&mut self) -> io::Result<()> {
        for row in self.rows.iter_mut().filter(|row| row.left_out == 0) {
            for attempt in &row.attempts {
                self.loose += row.decisions.push(attempt)?;
            }
        }
        self.pack_if_much()
    }

    /// Adds a scheduling decision to its pod's row.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub fn decision(&mut self, explanation: &Explanation, mode: FilterMode, time: Option<Dated>) -> io::Result<()> {
        if let Some(&row) = self.by_uid.get(&*explanation.attempt.pod.uid).filter(|&&row| self.rows[row].left_out == 0) {
            self.loose += self.rows[row].decisions.push(&decision::document(explanation, mode, time)?)?;
        }
        self.pack_if_much()
    }

    fn note_event(&mut self, attributed: &AttributedChange) {
        let Some(event) = attributed.change.after.object() else { return };
        let about = &event["involvedObject"];
        let uid = about["uid"].as_str().unwrap_or_default();
        let place = if uid.is_empty() || self.by_uid.contains_key(uid) || about["kind"] != "Node" {
            uid.to_owned()
        } else {
            // Kubelets name a node where its uid belongs.
            format!("Node/{}", about["name"].as_str().unwrap_or_default())
        };
        let mark = EventMark::new(attributed, event);
        if self.held_events + mark.held() > ROOM_FOR_EVENTS {
            self.events_left_out += 1;
            return;
        }
        self.held_events += mark.held();
        self.events.entry(place).or_default().push(mark);
    }

    /// Writes the page; `still` is what is wrong at the end, as `triage` finds it: only that is called still wrong.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(mut self, heading: &Heading<'_>, still: &Answer, out: &mut dyn io::Write) -> io::Result<()> {
        self.silence(still);
        self.place_events();
        let first = self.first.max(self.begins).unwrap_or(Timestamp::UNIX_EPOCH);
        let last = self.last.unwrap_or(Timestamp::UNIX_EPOCH).max(first);
        let lines = lines::in_order(&self.rows, &self.unlisted, &self.by_uid);
        let span = (first.as_millisecond(), last.as_millisecond());
        let contents = page::Contents {
            span,
            triage: self.triage(heading, still),
            standing: standing::standing_out(&self.rows, &self.by_uid, &lines, still, span),
            gaps: &self.gaps,
            rows: &self.rows,
            unlisted: &self.unlisted,
            lines: &lines,
        };
        page::write(heading, &contents, &mut self.packer, out)
    }

    /// What is wrong at the end with what explains it; of a part of the cluster only what its rows show.
    fn triage<'a>(&self, heading: &Heading<'a>, still: &'a Answer) -> Triage<'a> {
        let mut triage = Triage::from(&TriagePage::of(still, heading.invocation));
        if heading.is_part {
            let rows: HashSet<[&str; 3]> =
                self.rows.iter().map(|row| [row.kind.as_str(), row.namespace.as_str(), row.name.as_str()]).collect();
            let is_shown =
                |finding: &Finding<'_>| finding.objects.iter().any(|object| rows.contains(&[object.kind, object.namespace, object.name]));
            triage.findings.retain(|finding| is_shown(finding) || finding.effects.iter().any(is_shown));
            triage.changes.retain(|change| rows.contains(&[&*change.kind, &*change.namespace, &*change.name]));
            triage.warnings.clear();
        }
        triage
    }

    /// Puts the Events to what they are about.
    fn place_events(&mut self) {
        for (place, events) in std::mem::take(&mut self.events) {
            let row = match place.strip_prefix("Node/") {
                Some(name) => self.rows.iter().rposition(|row| row.kind == "Node" && row.name == name),
                None => self.by_uid.get(&place).copied(),
            };
            if let Some(row) = row {
                self.rows[row].events = events;
            }
        }
    }

    /// Marks the nodes that are silent at the end as silent, even if their conditions do not say so yet.
    fn silence(&mut self, still: &Answer) {
        let silent = still.findings.iter().filter(|finding| finding.trouble.kind == TroubleKind::NodeSilent);
        for (subject, since) in silent.flat_map(|finding| finding.subjects.iter().zip(std::iter::repeat(finding.since()))) {
            let row = self.rows.iter_mut().rfind(|row| row.kind == "Node" && row.name == subject.name && !row.ended());
            row.zip(since).into_iter().for_each(|(row, since)| row.fall_silent(since.as_millisecond()));
        }
    }

    /// The note about what was left out for lack of room.
    pub fn notes(&self) -> Vec<String> {
        let rows = self.rows.iter().filter(|row| row.left_out > 0).count();
        let changes = (rows > 0).then(|| {
            format!("The changes of {rows} objects are left out, as the page has no room for them: ketcd history KIND/NAMESPACE/NAME --diff shows those of one.")
        });
        let events = (self.events_left_out > 0).then(|| {
            format!("{} Events are left out, as the page has no room for them: ketcd events -n NAMESPACE lists them.", self.events_left_out)
        });
        changes.into_iter().chain(events).collect()
    }
}

/// Whether a change left its object as good as before: deletions and creations never do.
fn is_version(version: &ObjectVersion) -> bool {
    matches!(version, ObjectVersion::Object(_) | ObjectVersion::Opaque(_))
}
