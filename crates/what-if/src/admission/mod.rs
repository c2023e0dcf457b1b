//! What an API server makes of a pod that is created: its defaults, and its admission plugins in their order.
//! Source: `pkg/kubeapiserver/options/plugins.go` (1.37). Webhooks and policies are not asked; that is a caveat.

mod defaults;
mod limit_ranger;
mod merged_labels;
mod priority;
mod resource_quota;
mod runtime_class;
mod tolerations;

use serde_json::Value;

use super::json::text;
use super::simulated_cluster::SimulatedCluster;

/// Gives a group of pods its priority, as the API server does (`admitPodGroup`).
///
/// # Errors
/// Its class does not exist.
pub(super) fn admit_group(world: &mut SimulatedCluster<'_>, group: &mut Value) -> Result<(), String> {
    priority::admit(world, group)
}

/// Admits a pod, which is changed as the API server changes it.
///
/// # Errors
/// Why it is refused, in the API server's words.
pub(super) fn admit(world: &mut SimulatedCluster<'_>, pod: &mut Value) -> Result<(), String> {
    defaults::set(pod);
    let namespace = text(pod, "/metadata/namespace").to_owned();
    limit_ranger::admit(world, pod, &namespace)?;
    priority::admit(world, pod)?;
    tolerations::add(pod);
    runtime_class::admit(world, pod)?;
    merged_labels::merge(pod, world.scheduler.version.release);
    resource_quota::admit(world, pod, &namespace)
}
