//! The way through: the exact commands of a restore, what to stop before and to start after, and what to bring back.

mod bump;
mod distribution;
mod facts;
mod hosts;
mod members;
mod openshift;
mod ranchers;
mod release;
mod restore_command;
mod static_pods;
mod step;

use self::facts::WayFacts;
use super::states::States;
use crate::error::Result;

pub use distribution::Distribution;
pub use step::{Step, Way};

/// Returns the way of a restore.
pub(super) async fn way(states: &States<'_>) -> Result<Way> {
    let facts = WayFacts::of(states).await?;
    facts.notes.iter().for_each(|note| states.note(note.clone()));
    let mut steps = match facts.distribution {
        Distribution::Kubeadm => static_pods::steps(&facts),
        Distribution::Unknown => hosts::steps(&facts),
        Distribution::K3s => ranchers::steps(&facts, ranchers::K3S),
        Distribution::Rke2 => ranchers::steps(&facts, ranchers::RKE2),
        Distribution::OpenShift => openshift::steps(&facts),
        Distribution::Gardener => hosts::gardener(&facts),
        Distribution::Kine => hosts::kine(&facts),
    };
    // Not every distribution's own restore raises revisions.
    let is_raised = steps.iter().flat_map(|step| &step.commands).any(|command| command.contains("--bump-revision"));
    steps.extend(facts.bring_back.clone());
    let bump = facts.bump.filter(|_| is_raised).map(|bump| bump.by);
    Ok(Way { distribution: facts.distribution, evidence: facts.evidence, bump, steps })
}
