//! RuntimeClass: the overhead, the node selector and the tolerations of a pod's runtime.
//! Source: `plugin/pkg/admission/runtimeclass/admission.go` (1.37).

use serde_json::{Value, json};

use crate::json::{list, member, text};
use crate::model::Id;
use crate::simulated_cluster::SimulatedCluster;

/// Adds what a pod's runtime class brings.
///
/// # Errors
/// The class does not exist, or selects other nodes than the pod.
pub(super) fn admit(world: &mut SimulatedCluster<'_>, pod: &mut Value) -> Result<(), String> {
    let name = text(pod, "/spec/runtimeClassName").to_owned();
    if name.is_empty() {
        return Ok(());
    }
    let Some(class) = world.model.get(&Id::new("RuntimeClass", "", &name)) else {
        return Err(format!("pod rejected: RuntimeClass \"{name}\" not found"));
    };
    let spec = member(pod, "spec");
    if let Some(overhead) = class.pointer("/overhead/podFixed") {
        spec.insert("overhead".to_owned(), overhead.clone());
    }
    for (key, value) in class.pointer("/scheduling/nodeSelector").and_then(Value::as_object).into_iter().flatten() {
        let selector = spec.entry("nodeSelector").or_insert_with(|| json!({}));
        if !selector[key].is_null() && selector[key] != *value {
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {}",
                selector[key]
            ));
        }
        selector[key] = value.clone();
    }
    let tolerations = list(&class, "/scheduling/tolerations").to_vec();
    if !tolerations.is_empty() {
        let all = spec.entry("tolerations").or_insert_with(|| json!([]));
        all.as_array_mut().into_iter().for_each(|all| all.extend(tolerations.clone()));
    }
    Ok(())
}
