//! The story as one self-contained page: a row per object under its owners, bars of states, ticks for changes and events.
//!
//! The page holds what every row shows as JSON, and each object's versions, diffs and scheduling decisions deflated beside it,
//! opened by a click: so thousands of objects stay smooth. It asks the network for nothing.

mod decision;
mod page;
mod row;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use ketcd_history::clock::{Dated, newest_stamp};
use ketcd_history::diff::ManagedFields;
use ketcd_history::timeline::phases_of_one_moment;
use ketcd_history::{AttributedChange, ObjectVersion};
use ketcd_scheduler::{Explanation, FilterMode};
use ketcd_store::Origin;

use row::ObjectRow;

pub use page::{Heading, is_page};

/// Collects changes, oldest first, and writes the page.
pub struct Report {
    managed_fields: ManagedFields,
    rows: Vec<ObjectRow>,
    /// The row of the object that a key holds now.
    by_key: HashMap<Vec<u8>, usize>,
    by_uid: HashMap<String, usize>,
    gaps: Vec<(i64, i64)>,
    events: BTreeMap<String, Vec<Value>>,
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
            first: None,
            last: None,
        }
    }

    /// How many objects it shows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it shows none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds one change. Events become marks on the objects they are about; other objects get a row each.
    pub fn observe(&mut self, attributed: &AttributedChange) {
        let Some(object) = attributed.change.object() else { return };
        let one_moment = attributed.change.origin == Origin::Objects;
        let phases = if one_moment { phases_of_one_moment(object, attributed.change.revision) } else { Vec::new() };
        for dated in phases.iter().filter_map(|phase| phase.dated).chain(attributed.dated) {
            self.first = Some(self.first.map_or(dated.time, |first| first.min(dated.time)));
            self.last = self.last.max(Some(dated.time));
        }
        if object["kind"] == "Event" {
            if let Some(event) = attributed.change.after.object() {
                self.note_event(attributed, event.clone());
            }
            return;
        }
        let uid = attributed.change.object().and_then(|object| object["metadata"]["uid"].as_str()).unwrap_or_default().to_owned();
        let known =
            self.by_key.get(attributed.change.key.as_ref()).copied().filter(|&row| self.rows[row].uid == uid && !self.rows[row].ended());
        let index = known.unwrap_or_else(|| {
            self.rows.push(ObjectRow::new(attributed, uid.clone(), self.managed_fields));
            self.by_key.insert(attributed.change.key.to_vec(), self.rows.len() - 1);
            self.rows.len() - 1
        });
        if !uid.is_empty() {
            self.by_uid.insert(uid, index);
        }
        if one_moment {
            self.rows[index].observe_one_moment(attributed, &phases);
        } else {
            self.rows[index].observe(attributed);
        }
    }

    /// Says that nothing is readable between two moments.
    pub fn gap(&mut self, from: Timestamp, to: Timestamp) {
        self.gaps.push((from.as_millisecond(), to.as_millisecond()));
    }

    /// Takes for gone what is not alive at the end though no readable version shows its deletion; it was gone by `latest`.
    pub fn mark_vanished(&mut self, alive: &HashSet<Bytes>, latest: Option<Timestamp>) {
        let current: HashSet<usize> = self.by_key.iter().filter(|(key, _)| alive.contains(key.as_slice())).map(|(_, &row)| row).collect();
        for (_, row) in self.rows.iter_mut().enumerate().filter(|(index, row)| !row.ended() && !current.contains(index)) {
            row.vanished = true;
            row.end = latest.map(Timestamp::as_millisecond).max(row.ticks.last().and_then(|tick| tick.time));
        }
    }

    /// Whether the object with this uid has a row.
    pub fn shows(&self, uid: &str) -> bool {
        self.by_uid.contains_key(uid)
    }

    /// Adds a scheduling decision to its pod's row.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub fn decision(&mut self, explanation: &Explanation, mode: FilterMode, time: Option<Dated>) -> io::Result<()> {
        if let Some(&row) = self.by_uid.get(&*explanation.attempt.pod.uid) {
            self.rows[row].decisions.push(decision::document(explanation, mode, time)?);
        }
        Ok(())
    }

    fn note_event(&mut self, attributed: &AttributedChange, event: Value) {
        let about = &event["involvedObject"];
        let uid = about["uid"].as_str().unwrap_or_default();
        let place = if uid.is_empty() || self.by_uid.contains_key(uid) || about["kind"] != "Node" {
            uid.to_owned()
        } else {
            // Kubelets name a node where its uid belongs.
            format!("Node/{}", about["name"].as_str().unwrap_or_default())
        };
        let own = || newest_stamp(&event).filter(|_| attributed.change.origin == Origin::Objects);
        let time = attributed.dated.map(|dated| dated.time).or_else(own).map(Timestamp::as_millisecond);
        let source = event["source"]["component"].as_str().filter(|text| !text.is_empty()).or(event["reportingComponent"].as_str());
        self.events.entry(place).or_default().push(json!({
            "t": time, "reason": event["reason"], "type": event["type"], "message": event["message"], "source": source, "count": event["count"],
        }));
    }

    /// Writes the page.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(mut self, heading: &Heading<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        for (place, events) in std::mem::take(&mut self.events) {
            let row = match place.strip_prefix("Node/") {
                Some(name) => self.rows.iter().rposition(|row| row.kind == "Node" && row.name == name),
                None => self.by_uid.get(&place).copied(),
            };
            if let Some(row) = row {
                self.rows[row].events = events;
            }
        }
        let (first, last) = (self.first.unwrap_or(Timestamp::UNIX_EPOCH), self.last.unwrap_or(Timestamp::UNIX_EPOCH));
        let order = order(&self.rows, &self.by_uid);
        page::write(heading, (first.as_millisecond(), last.as_millisecond()), &self.gaps, &self.rows, &order, out)
    }
}

/// The rows in the order shown, each with its depth: nodes, then namespaces with the busiest first, then what belongs to none; below each its own.
fn order(rows: &[ObjectRow], by_uid: &HashMap<String, usize>) -> Vec<(usize, usize)> {
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        match row.owner.as_ref().and_then(|uid| by_uid.get(uid)).filter(|&&owner| owner != index) {
            Some(&owner) => children.entry(owner).or_default().push(index),
            None => roots.push(index),
        }
    }
    let mut changes: HashMap<&str, usize> = HashMap::new();
    for row in rows {
        *changes.entry(&row.namespace).or_default() += row.ticks.len();
    }
    let place = |&index: &usize| {
        let row = &rows[index];
        let group = match (row.kind.as_str(), row.namespace.is_empty()) {
            ("Node", _) => 0,
            (_, false) => 1,
            (_, true) => 2,
        };
        let quiet = std::cmp::Reverse(changes[row.namespace.as_str()]);
        (group, quiet, row.namespace.clone(), rank(&row.kind), row.kind.clone(), row.begin.filter(|_| group != 0), row.name.clone())
    };
    roots.sort_by_key(place);
    let mut order = Vec::with_capacity(rows.len());
    let mut seen = vec![false; rows.len()];
    let mut stack: Vec<(usize, usize)> = roots.into_iter().rev().map(|row| (row, 0)).collect();
    while let Some((row, depth)) = stack.pop() {
        if std::mem::replace(&mut seen[row], true) {
            continue;
        }
        order.push((row, depth));
        let mut below = children.remove(&row).unwrap_or_default();
        below.sort_by_key(place);
        stack.extend(below.into_iter().rev().map(|child| (child, depth + 1)));
    }
    // Objects that own each other in a circle have no root; they are shown all the same.
    order.extend((0..rows.len()).filter(|&row| !seen[row]).map(|row| (row, 0)));
    order
}

/// What a post-mortem's reader looks for first.
fn rank(kind: &str) -> usize {
    const FIRST: [&str; 8] = ["Node", "Namespace", "Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Pod"];
    FIRST.iter().position(|first| *first == kind).unwrap_or(FIRST.len())
}

/// Whether a change left its object as good as before: deletions and creations never do.
fn is_version(version: &ObjectVersion) -> bool {
    matches!(version, ObjectVersion::Object(_) | ObjectVersion::Opaque(_))
}
