//! What quotas read of pods. All pods of a template have the same, which is kept once: counting the pods of a namespace reads none of them in full.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::json::list;

/// A pod reduced to what quotas read of it; equal ones are one.
pub(super) type QuotaShape = Arc<Value>;

#[derive(Clone, Default)]
pub(super) struct QuotaShapes(BTreeMap<String, QuotaShape>);

impl QuotaShapes {
    pub(super) fn of(&mut self, pod: &Value) -> QuotaShape {
        let shape = reduced(pod);
        let shared = self.0.entry(shape.to_string()).or_insert_with(|| Arc::new(shape));
        Arc::clone(shared)
    }
}

/// A pod's resources, its priority class and its deadline, where it has them.
fn reduced(pod: &Value) -> Value {
    let containers =
        |field: &str| list(&pod["spec"], field).iter().map(|container| fields(container, &["resources", "restartPolicy"])).collect();
    let mut spec = fields(&pod["spec"], &["activeDeadlineSeconds", "overhead", "priorityClassName", "resources"]);
    for (pointer, field) in [("/containers", "containers"), ("/initContainers", "initContainers")] {
        let all: Vec<Value> = containers(pointer);
        if !all.is_empty() {
            spec[field] = json!(all);
        }
    }
    json!({"spec": spec})
}

fn fields(object: &Value, names: &[&str]) -> Value {
    let found = names.iter().filter_map(|name| Some(((*name).to_owned(), object.get(name)?.clone())));
    Value::Object(found.collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_that_quotas_count_alike_are_one() {
        let pod = |name: &str, cpu: &str| {
            json!({"metadata": {"name": name}, "status": {"phase": "Running"}, "spec": {"nodeName": name, "priorityClassName": "high",
                "containers": [{"name": "a", "image": name, "resources": {"requests": {"cpu": cpu}}}]}})
        };
        let mut shapes = QuotaShapes::default();
        let one = shapes.of(&pod("a", "1"));
        assert!(Arc::ptr_eq(&one, &shapes.of(&pod("b", "1"))) && !Arc::ptr_eq(&one, &shapes.of(&pod("a", "2"))));
        assert_eq!(*one, json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}], "priorityClassName": "high"}}));
    }
}
