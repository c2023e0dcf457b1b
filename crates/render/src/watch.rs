//! What `watch` prints in addition to changes: the state at the beginning, and missing revisions.

use std::io::{self, Write};

use jiff::Timestamp;

use super::contract::common::KubernetesObject;
use super::contract::watch as contract;
use super::style::{FAINT, STRONG, StyledWrite, WARNING, paint};
use super::table::{LabelColumns, ObjectTable, TableView};
use super::visible::visible;
use ketcd_cluster::watching::{Initial, InitialState};
use ketcd_history::diff::ManagedFields;
use ketcd_kube::{Body, Release};
use ketcd_store::Revision;

/// An address before the changes.
pub struct Beginning<'a> {
    /// The revision it is of.
    pub revision: Revision,
    /// The member that is watched.
    pub member: Option<String>,
    /// What is there.
    pub initial: &'a Initial,
    /// The release whose API server prints.
    pub release: Release,
}

impl Beginning<'_> {
    /// Writes it as a line for people; ages count to `now`.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_text(&self, now: Timestamp, out: &mut dyn StyledWrite) -> io::Result<()> {
        let member = self.member.as_ref().map_or(String::new(), |member| format!(" at {}", visible(member)));
        let state = match &self.initial.state {
            InitialState::Absent => "does not exist".to_owned(),
            InitialState::Many => "is watched".to_owned(),
            InitialState::Present { body: Body::Opaque(opaque), .. } => format!("cannot be decoded: {}", visible(&opaque.reason)),
            InitialState::Present { body: Body::Object(object), kind } => {
                let mut table = ObjectTable::new(
                    kind.as_ref(),
                    TableView { now: Some(now), is_wide: false, release: self.release },
                    LabelColumns::default(),
                );
                table.push(object);
                visible(&table.summary()).into_owned()
            }
        };
        let head = paint(FAINT, format!("r{}{member}", self.revision));
        writeln!(out, "{head}  {}  {state}", paint(STRONG, visible(&self.initial.name)))
    }

    /// Writes it as a line of JSON.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_json(&self, managed_fields: ManagedFields, out: &mut dyn Write) -> io::Result<()> {
        let (exists, object, error) = match &self.initial.state {
            InitialState::Absent => (Some(false), None, None),
            InitialState::Many => (None, None, None),
            InitialState::Present { body: Body::Opaque(opaque), .. } => (Some(true), None, Some(opaque.reason.as_str())),
            InitialState::Present { body: Body::Object(object), .. } => {
                (Some(true), Some(KubernetesObject { object, managed_fields }), None)
            }
        };
        let (revision, member, key) = (self.revision.0, self.member.clone(), (&*self.initial.key).into());
        serde_json::to_writer(&mut *out, &contract::Initial { kind: "INITIAL", revision, member, key, exists, object, error })?;
        out.write_all(b"\n")
    }
}

/// Writes missing revisions, both ends included, as a line for people.
///
/// # Errors
/// The stream's.
pub fn write_gap_text(from: Revision, to: Revision, out: &mut dyn StyledWrite) -> io::Result<()> {
    writeln!(out, "{}", paint(WARNING, gap_words(from, to)))
}

/// Writes missing revisions, both ends included, as a line of JSON.
///
/// # Errors
/// The stream's.
pub fn write_gap_json(from: Revision, to: Revision, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &contract::CompactedGap { kind: "GAP", from: from.0, to: to.0 })?;
    out.write_all(b"\n")
}

/// Returns the message about missing revisions.
pub fn gap_words(from: Revision, to: Revision) -> String {
    match from == to {
        true => format!("revision {from} was compacted away before it could be read: a gap"),
        false => format!("revisions {from} to {to} were compacted away before they could be read: a gap"),
    }
}
