//! What `triage` shows.

use jiff::Timestamp;

use crate::command_line::{CommandLine, Invocation};
use crate::since_last::SinceEarlier;
use crate::words::trouble;
use ketcd_cluster::triage::{Absence, Answer, Cause, ChangeWindow, StorageFacts, Warning};
use ketcd_history::AttributedChange;
use ketcd_history::trouble::triage::{Counts, Finding};
use ketcd_store::Revision;

/// All that `triage` shows.
pub struct TriagePage<'a> {
    /// What is wrong, the weightiest first.
    pub findings: &'a [Finding],
    /// The changes that explain each of them, by their places in `changes`.
    pub causes: &'a [Vec<Cause>],
    /// Warning Events that occur often and that no finding explains, those that occur most often first.
    pub warnings: &'a [Warning],
    /// What was looked at.
    pub counts: Counts,
    /// The moment looked at, where anything shows it.
    pub now: Option<Timestamp>,
    /// The newest time in printed objects that do not show when they were printed: it was not before.
    pub not_before: Option<Timestamp>,
    /// Its revision.
    pub revision: Revision,
    /// Whether that is not the newest one: commands then have `--rev`.
    pub is_past: bool,
    /// The changes before it, oldest first.
    pub changes: &'a [AttributedChange],
    /// The periods that they cover, and whether the history begins within them.
    pub windows: &'a [ChangeWindow],
    /// etcd itself.
    pub storage: &'a StorageFacts,
    /// Why there was nothing to look at, where that is so.
    pub absence: Option<Absence>,
    /// How many values could not be decoded.
    pub not_decoded: usize,
    /// Whether some of the data could not be read. Absent objects are then not reported.
    pub is_partial: bool,
    /// Whether only what concerns the objects asked for is shown.
    pub is_selected: bool,
    /// How many findings are left out, because a bundle holds all their objects only as far as a scheduler reads them.
    pub reduced: usize,
    /// How many of the objects asked for are not there.
    pub missing: usize,
    /// Whose changes alone are among them, where not all are.
    pub by: Option<&'a str>,
    /// The uid of the namespace kube-system, where it could be read.
    pub kube_system: Option<&'a str>,
    /// The namespace looked at, where only one is.
    pub namespace: Option<&'a str>,
    /// The addresses and selectors that were asked for.
    pub asked: &'a [String],
    /// What became of the troubles since an earlier triage, where one is given. The findings are split by it.
    pub since_last: Option<&'a SinceEarlier>,
    /// The call of ketcd that suggested commands begin with.
    pub invocation: &'a Invocation,
    /// Whether all is shown, in full.
    pub is_wide: bool,
    /// Columns of the terminal.
    pub width: Option<usize>,
}

impl<'a> TriagePage<'a> {
    /// An answer about everything, as `invocation` asked for it: nothing is limited to users or a namespace, and nothing is compared.
    pub fn of(answer: &'a Answer, invocation: &'a Invocation) -> Self {
        Self {
            findings: &answer.findings,
            causes: &answer.causes,
            warnings: &answer.warnings,
            counts: answer.counts,
            now: answer.now,
            not_before: answer.not_before,
            revision: answer.revision,
            is_past: answer.is_past,
            changes: &answer.changed.changes,
            windows: &answer.changed.windows,
            storage: &answer.storage,
            absence: answer.absence.clone(),
            not_decoded: answer.not_decoded,
            is_partial: answer.is_partial,
            is_selected: answer.is_selected,
            reduced: answer.reduced,
            missing: answer.missing.len(),
            by: None,
            kube_system: answer.kube_system.as_deref(),
            namespace: None,
            asked: &[],
            since_last: None,
            invocation,
            is_wide: false,
            width: None,
        }
    }

    /// The changes that explain the finding at a place.
    pub fn causes_of(&self, place: usize) -> &'a [Cause] {
        self.causes.get(place).map_or(&[], Vec::as_slice)
    }

    /// The command that shows more about a finding, at the moment looked at.
    pub fn command(&self, finding: &Finding) -> Option<CommandLine> {
        trouble::command(finding, self.invocation).map(|command| self.at_moment(command))
    }

    pub(crate) fn at_moment(&self, command: CommandLine) -> CommandLine {
        if self.is_past { command.and("--rev").word(&self.revision.to_string()) } else { command }
    }
}
