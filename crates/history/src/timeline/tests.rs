//! Steps by the changes that show them.

use serde_json::{Value, json};

use super::{ByField, Step, StepDetail, StepKind, generic, pod, rollout, workload};

/// An object with other values at some pointers.
fn with(object: &Value, changes: &[(&str, Value)]) -> Value {
    let mut object = object.clone();
    for (pointer, value) in changes {
        let names: Vec<&str> = pointer.split('/').skip(1).collect();
        let mut place = &mut object;
        for name in names {
            place = &mut place[name.replace("~1", "/")];
        }
        *place = value.clone();
    }
    object
}

#[test]
fn a_rollout_ends_once_and_a_pod_that_comes_back_is_none() {
    let set = |updated: i64, available: i64| {
        json!({"kind": "DaemonSet", "metadata": {"generation": 2}, "spec": {"template": {}},
            "status": {"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": updated, "numberAvailable": available, "numberReady": available}})
    };
    let mut rolling = rollout::Rolling::default();
    let mut follow = |before: &Value, after: &Value, begun: bool| {
        let mut steps = workload::steps("DaemonSet", Some(before), after);
        steps.extend(begun.then(|| Step::new(StepKind::Rollout, StepDetail::None)));
        rolling.follow("DaemonSet", after, &mut steps);
        steps.iter().map(|step| step.phase.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(follow(&set(0, 3), &set(1, 2), true), ["Progress", "Rollout"]);
    assert_eq!(follow(&set(1, 2), &set(3, 3), false), ["RolledOut"]);
    assert_eq!(follow(&set(3, 3), &set(3, 2), false), ["Progress"]);
    assert_eq!(follow(&set(3, 2), &set(3, 3), false), ["Progress"]);
}

#[test]
fn a_pod_under_node_pressure_is_evicted_in_every_release() {
    let running = json!({"kind": "Pod", "metadata": {}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}});
    let message = "The node was low on resource: memory. ";
    let old = with(&running, &[("/status", json!({"phase": "Failed", "reason": "Evicted", "message": message}))]);
    let steps = pod::steps(Some(&running), &old);
    assert_eq!(steps.iter().map(|step| step.phase.as_str()).collect::<Vec<_>>(), ["Evicted", "Failed"]);
    let target = json!([{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": message}]);
    let new = with(&old, &[("/status/conditions", target)]);
    assert_eq!(pod::steps(Some(&running), &new).iter().filter(|step| step.phase == StepKind::Evicted).count(), 1);
}

/// Each status of a pod of many containers was looked for among all others, which took a minute for each version.
#[test]
fn a_pod_of_many_containers_is_followed_by_their_names() {
    const CONTAINER_COUNT: usize = 20_000;
    let pod = |state: Value| {
        let statuses: Vec<Value> =
            (0..CONTAINER_COUNT).map(|n| json!({"name": format!("c{n}"), "state": state, "resources": {}})).collect();
        let conditions: Vec<Value> = (0..CONTAINER_COUNT).map(|n| json!({"type": format!("t{n}"), "status": "True"})).collect();
        let containers: Vec<Value> = (0..CONTAINER_COUNT).map(|n| json!({"name": format!("c{n}"), "resources": {}})).collect();
        json!({"kind": "Pod", "metadata": {}, "spec": {"nodeName": "n1", "containers": containers},
            "status": {"containerStatuses": statuses, "conditions": conditions}})
    };
    let (waiting, running) = (pod(json!({"waiting": {"reason": "ContainerCreating"}})), pod(json!({"running": {}})));
    let steps = pod::steps(Some(&waiting), &running);
    assert!(matches!(&steps[..], [Step { detail: StepDetail::Containers(started), .. }] if started.len() == CONTAINER_COUNT));
    let (mut old, mut changed) = (Vec::new(), Vec::new());
    generic::conditions(&waiting, &running, &mut old);
    generic::conditions(&json!({}), &running, &mut changed);
    assert_eq!((old.len(), changed.len()), (0, CONTAINER_COUNT));
}

#[test]
fn of_items_with_one_name_the_first_counts() {
    let list = [json!({"name": "a", "n": 1}), json!({"name": "a", "n": 2}), json!({"n": 3})];
    let by_name = ByField::named(&list);
    assert_eq!((by_name.find(&json!("a")).unwrap()["n"].clone(), by_name.find(&Value::Null).unwrap()["n"].clone()), (json!(1), json!(3)));
    assert!(by_name.find(&json!("b")).is_none());
}
