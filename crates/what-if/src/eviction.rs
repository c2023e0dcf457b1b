//! The eviction API: whether disruption budgets let a pod go. Source: `pkg/registry/core/pod/storage/eviction.go` (1.37).

use serde_json::{Value, json};

use super::answer::Happening;
use super::controllers::disruption;
use super::json::{is_condition_true, is_finished, is_terminating, number, set_condition, text};
use super::model::Id;
use super::simulated_cluster::SimulatedCluster;

/// What the API server answers where a budget has nothing left.
const BUDGET_VIOLATION: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const SEVERAL_BUDGETS: &str = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";

/// Why a pod cannot be evicted, and the budget that decides.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Blocked {
    pub message: String,
    pub budget: Option<String>,
}

/// Evicts a pod.
///
/// # Errors
/// A budget does not let it go.
pub(super) fn evict(world: &mut SimulatedCluster<'_>, id: &Id) -> Result<(), Blocked> {
    let Some(pod) = world.model.get(id) else { return Ok(()) };
    if !is_terminating(&pod) {
        if !(is_finished(&pod) || text(&pod, "/status/phase") == "Pending") {
            ask_budgets(world, id, &pod)?;
        }
        world.record(Happening::Evicted, id, &pod);
        let time = world.timestamp();
        world.terminate(id, |pod| {
            set_condition(
                pod,
                json!({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting", "lastTransitionTime": time}),
            );
        });
    }
    Ok(())
}

/// Whether the budgets would let a pod go now.
pub(super) fn may_leave(world: &mut SimulatedCluster<'_>, id: &Id) -> bool {
    world.model.get(id).is_some_and(|pod| ask_budgets(world, id, &pod).is_ok())
}

fn ask_budgets(world: &mut SimulatedCluster<'_>, id: &Id, pod: &Value) -> Result<(), Blocked> {
    let budgets = disruption::of_pod(world, id);
    let budget = match &budgets[..] {
        [] => return Ok(()),
        [one] => one,
        _ => return Err(Blocked { message: SEVERAL_BUDGETS.to_owned(), budget: None }),
    };
    let count = |field: &str| number(budget, &format!("/status/{field}")).unwrap_or(0);
    if !is_condition_true(pod, "Ready") {
        let is_healthy = count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0;
        if is_healthy || text(budget, "/spec/unhealthyPodEvictionPolicy") == "AlwaysAllow" {
            return Ok(());
        }
    }
    let name = Some(text(budget, "/metadata/name").to_owned());
    if count("disruptionsAllowed") < 0 {
        return Err(Blocked { message: "pdb disruptions allowed is negative".to_owned(), budget: name });
    }
    if count("disruptionsAllowed") == 0 {
        return Err(Blocked { message: BUDGET_VIOLATION.to_owned(), budget: name });
    }
    Ok(())
}
