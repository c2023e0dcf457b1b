//! What is broken, since when and why: the state of what can be broken, the changes before it broke, and etcd's own facts.

mod absence;
mod bearing;
mod causes;
pub(crate) mod certificates;
mod changes;
pub(crate) mod kinds;
mod node_needs;
mod partial;
mod pods;
mod reads;
pub(crate) mod rules;
mod scope;
mod since;
mod state;
mod storage;
mod unexplained;
mod upkeep;

use std::collections::BTreeSet;

use jiff::Timestamp;

use ketcd_history::AttributedChange;
use ketcd_history::trouble::triage::{Counts, Finding};
use ketcd_history::trouble::{data_troubles, storage_troubles};
use ketcd_store::{At, KeyRange, Revision, Want};

use crate::asked_keys::AskedKeys;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::not_found::NotFound;
use crate::rights::refused::unless_denied;

pub use absence::Absence;
use absence::absence;
pub use bearing::Relation;
pub use causes::Cause;
use causes::causes;
pub use changes::{ChangeWindow, Changed, changed};
pub use rules::Warning;
pub(crate) use rules::volumes_held;
use since::{date_loops, date_rollouts};
use state::state;
pub use storage::{StorageFacts, WriteSums, Writes, resource, storage};
use unexplained::unexplained;

/// What is broken at a moment.
#[derive(Debug)]
pub struct Answer {
    /// What is wrong, the weightiest first.
    pub findings: Vec<Finding>,
    /// The changes that explain them, in the same order: for each finding those before it began that concern what it depends on, oldest first.
    pub causes: Vec<Vec<Cause>>,
    /// Warning Events that occur often and that no finding explains, those that occur most often first.
    pub warnings: Vec<Warning>,
    /// What was looked at.
    pub counts: Counts,
    /// The moment looked at, where anything shows it; printed objects often do not.
    pub now: Option<Timestamp>,
    /// The newest time in printed objects that do not show when they were printed: it was not before.
    pub not_before: Option<Timestamp>,
    /// Its revision.
    pub revision: Revision,
    /// Whether that is not the newest one.
    pub is_past: bool,
    /// Who changed what before.
    pub changed: Changed,
    /// etcd itself.
    pub storage: StorageFacts,
    /// Why there was nothing to look at, where that is so.
    pub absence: Option<Absence>,
    /// How many values could not be decoded.
    pub not_decoded: usize,
    /// Whether some of the data could not be read.
    pub is_partial: bool,
    /// Whether only what concerns the objects asked for is among the findings and the changes.
    pub is_selected: bool,
    /// How many findings are left out, because a bundle holds all their objects only as far as a scheduler reads them.
    pub reduced: usize,
    /// The single objects that were named and are not there.
    pub missing: Vec<NotFound>,
    /// The uid of the namespace kube-system, which differs from cluster to cluster; `None` where it could not be read.
    pub kube_system: Option<String>,
    /// The storage classes that make no volume before a pod needs it.
    pub patient_classes: BTreeSet<String>,
}

impl Answer {
    /// Leaves out the changes that `takes` does not accept, also where they explain a finding.
    pub fn keep_changes(&mut self, takes: impl Fn(&AttributedChange) -> bool) {
        let mut places = Vec::new();
        let mut kept = 0;
        self.changed.changes.retain(|change| {
            let is_kept = takes(change);
            places.push(is_kept.then_some(kept));
            kept += usize::from(is_kept);
            is_kept
        });
        for causes in &mut self.causes {
            causes.retain_mut(|cause| match places.get(cause.change).copied().flatten() {
                Some(place) => {
                    cause.change = place;
                    true
                }
                None => false,
            });
        }
    }
}

impl Cluster {
    /// Returns what is wrong at the revision looked at, the weightiest first, with nothing of what led to it.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn still_wrong(&self) -> Result<Vec<Finding>> {
        let (at, now) = (At::Revision(self.revision().await?), self.known_moment().await?);
        let (triage, _) = state(self, at, now).await?;
        let absent_nodes = triage.absent_nodes();
        let (mut findings, _) = rules::told(self, at, now, absent_nodes, triage.findings()).await?;
        date_loops(self, &mut findings).await?;
        date_rollouts(self, &mut findings).await?;
        Ok(partial::without_reduced(self, at, findings).await?.0)
    }

    /// The uid of the namespace kube-system, which stays when a cluster is restored.
    async fn kube_system(&self) -> Result<Option<String>> {
        let key = format!("{}/namespaces/kube-system", self.prefix().await?);
        let found = unless_denied(self.source.first(KeyRange::key(key), self.at, Want::Values, 1).await)?;
        let Some(entry) = found.unwrap_or_default().pop() else { return Ok(None) };
        let decoded = self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
        Ok(decoded.object().and_then(|namespace| namespace["metadata"]["uid"].as_str()).map(str::to_owned))
    }

    /// Returns what is broken at the moment looked at, since when and why, and who changed what before.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn triage(&self) -> Result<Answer> {
        self.triage_of(&[]).await
    }

    /// The same of what words name and selectors select: findings that such an object has, controls or brought about, and changes of such objects.
    /// Without both it is of everything, or of the namespace looked at.
    ///
    /// # Errors
    /// A word that cannot be read as an address, a source that cannot be read, or that nothing is selected.
    pub async fn triage_of(&self, words: &[String]) -> Result<Answer> {
        self.read_once().await?;
        let is_whole = words.is_empty() && self.options.selection.takes_all();
        let asked = if is_whole { None } else { AskedKeys::of(self, words).await? };
        self.triage_asked(asked, words).await
    }

    /// The same of everything, or of the namespace looked at, whatever selectors select.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn triage_of_everything(&self) -> Result<Answer> {
        self.read_once().await?;
        self.triage_asked(None, &[]).await
    }

    async fn triage_asked(&self, asked: Option<AskedKeys>, words: &[String]) -> Result<Answer> {
        let newest = self.source.span().await?.newest;
        let revision = match self.at {
            At::Newest => newest,
            At::Revision(revision) => revision,
        };
        let now = self.known_moment().await?;
        let is_undated = now.is_none() && self.source.is_one_moment();
        let not_before = if is_undated { self.newest_time().await? } else { None };
        // A compaction may overtake the newest revision while much is read.
        let (mut triage, values_read) = state(self, self.at, now).await?;
        let storage = storage(self, revision, now).await?;
        // Members say how they are now.
        if self.at == At::Newest {
            triage.add(storage_troubles(&storage.status));
            triage.add(storage.hashes.iter().flat_map(data_troubles));
        }
        triage.add(unexplained(self, revision).await?);
        let (counts, patient_classes) = (triage.counts(), triage.patient_classes().clone());
        let mut absence = absence(self, self.at, values_read, counts).await?;
        let absent_nodes = triage.absent_nodes();
        let (mut findings, mut warnings) = rules::told(self, self.at, now, absent_nodes, triage.findings()).await?;
        date_loops(self, &mut findings).await?;
        date_rollouts(self, &mut findings).await?;
        let mut missing = Vec::new();
        if let Some(asked) = &asked {
            missing = asked.absent(self).await?;
            if !words.is_empty() && asked.names_nothing(self).await? {
                absence = absence.or_else(|| Some(Absence::Objects(self.options.namespace.clone())));
            }
            findings = scope::concerning(self, asked, findings).await?;
            warnings = scope::warnings_about(self, asked, warnings).await?;
        }
        let (findings, reduced) = partial::without_reduced(self, self.at, findings).await?;
        // Printed objects of other kinds were looked at too, if they do not end.
        if matches!(absence, Some(Absence::OtherKinds { .. })) && self.source.is_one_moment() && !findings.is_empty() {
            absence = None;
        }
        let onsets: Vec<Timestamp> = findings.iter().filter_map(Finding::since).collect();
        let mut changed = changed(self, revision, now, &onsets).await?;
        let mut causes = causes(self, &findings, &changed.changes).await?;
        if let Some(asked) = &asked {
            scope::changes_concerning(|change| asked.contains(&change.change.key), &mut changed, &mut causes);
        }
        if self.source.arrivals_are_dates() {
            scope::changes_concerning(partial::is_of_whole, &mut changed, &mut causes);
        }
        let not_decoded = self.not_decoded();
        let is_partial = !self.source.damage().is_empty() || self.has_missed();
        self.note_missed().await?;
        Ok(Answer {
            findings,
            causes,
            warnings,
            counts,
            now,
            not_before,
            revision,
            is_past: revision < newest,
            changed,
            storage,
            absence,
            not_decoded,
            is_partial,
            is_selected: asked.is_some(),
            reduced,
            missing,
            kube_system: self.kube_system().await?,
            patient_classes,
        })
    }
}
