//! Priority: what a PriorityClass gives a pod. Source: `plugin/pkg/admission/priority/admission.go` (1.37).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::json::{member, number, text};
use crate::model::Id;
use crate::simulated_cluster::SimulatedCluster;

/// Sets the priority of a pod's class, or the default one.
///
/// # Errors
/// The class does not exist.
pub(super) fn admit(world: &mut SimulatedCluster<'_>, pod: &mut Value) -> Result<(), String> {
    let named = text(pod, "/spec/priorityClassName").to_owned();
    let class = match &*named {
        "" => default_class(world),
        name => {
            let found = world.model.get(&Id::new("PriorityClass", "", name)).or_else(|| system_class(name));
            Some(found.ok_or_else(|| format!("no PriorityClass with name {name} was found"))?)
        }
    };
    let spec = member(pod, "spec");
    let value = class.as_ref().and_then(|class| number(class, "/value")).unwrap_or(0);
    spec.insert("priority".to_owned(), json!(value));
    if let Some(class) = class {
        spec.insert("priorityClassName".to_owned(), class["metadata"]["name"].clone());
        if spec.get("preemptionPolicy").is_none_or(Value::is_null)
            && let Some(policy) = class["preemptionPolicy"].as_str()
        {
            spec.insert("preemptionPolicy".to_owned(), json!(policy));
        }
    }
    spec.entry("preemptionPolicy").or_insert_with(|| json!("PreemptLowerPriority"));
    Ok(())
}

/// The global default of the lowest value (`getDefaultPriorityClass`).
fn default_class(world: &mut SimulatedCluster<'_>) -> Option<Arc<Value>> {
    let classes: Vec<Arc<Value>> = world.model.ids("PriorityClass").iter().filter_map(|id| world.model.get(id)).collect();
    classes.into_iter().filter(|class| class["globalDefault"] == true).min_by_key(|class| number(class, "/value"))
}

/// The classes that every API server makes (`pkg/apis/scheduling/v1/helpers.go`).
fn system_class(name: &str) -> Option<Arc<Value>> {
    let value: i64 = match name {
        "system-node-critical" => 2_000_001_000,
        "system-cluster-critical" => 2_000_000_000,
        _ => return None,
    };
    Some(Arc::new(json!({"metadata": {"name": name}, "value": value})))
}
