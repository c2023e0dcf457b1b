//! What of all findings and changes concerns the objects asked for.

use std::collections::BTreeMap;

use ketcd_history::AttributedChange;
use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;

use super::rules::Warning;
use super::{Cause, Changed};
use crate::asked_keys::AskedKeys;
use crate::cluster::Cluster;
use crate::error::Result;

/// Leaves those findings that an object asked for has, controls, or brought about: a trouble that it shares with others stays whole.
///
/// # Errors
/// The kinds cannot be read.
pub(super) async fn concerning(cluster: &Cluster, asked: &AskedKeys, findings: Vec<Finding>) -> Result<Vec<Finding>> {
    let mut kept = Vec::new();
    for finding in findings {
        let mut subjects = Vec::new();
        subjects_of(&finding, &mut subjects);
        for Subject { kind, namespace, name, .. } in subjects {
            if asked.contain(cluster, (kind, namespace, name)).await? {
                kept.push(finding);
                break;
            }
        }
    }
    Ok(kept)
}

/// Leaves those Warnings that are about an object asked for.
pub(super) async fn warnings_about(cluster: &Cluster, asked: &AskedKeys, warnings: Vec<Warning>) -> Result<Vec<Warning>> {
    let mut kept = Vec::new();
    for warning in warnings {
        let Subject { kind, namespace, name, .. } = &warning.subject;
        if asked.contain(cluster, (kind, namespace, name)).await? {
            kept.push(warning);
        }
    }
    Ok(kept)
}

/// The objects of a finding and of its effects, with their controllers.
pub(super) fn subjects_of<'f>(finding: &'f Finding, into: &mut Vec<&'f Subject>) {
    into.extend(finding.subjects.iter().chain(&finding.owner));
    finding.effects.iter().for_each(|effect| subjects_of(effect, into));
}

/// Leaves the changes that are taken and those that explain a finding.
pub(super) fn changes_concerning(is_taken: impl Fn(&AttributedChange) -> bool, changed: &mut Changed, causes: &mut [Vec<Cause>]) {
    let mut places = BTreeMap::new();
    let is_cause = |place: usize| causes.iter().flatten().any(|cause| cause.change == place);
    let mut kept = Vec::new();
    for (place, change) in std::mem::take(&mut changed.changes).into_iter().enumerate() {
        if is_cause(place) || is_taken(&change) {
            places.insert(place, kept.len());
            kept.push(change);
        }
    }
    changed.changes = kept;
    causes.iter_mut().flatten().for_each(|cause| cause.change = places.get(&cause.change).copied().unwrap_or(cause.change));
}
