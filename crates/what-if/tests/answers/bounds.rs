//! Numbers that the author of a workload chooses: one run makes no more pods and nodes than it can carry, and says so.

use ketcd_what_if::{Happening, NodeChoice, Unmodelled, WhatIf, WhatIfAction, WhatIfQuestion, what_if};
use serde_json::{Value, json};

use super::controllers::{cluster, deployment, namespace, node, running, story, workload};

async fn answer(objects: &[Value], action: WhatIfAction, most_more_pods: usize) -> WhatIf {
    let question = WhatIfQuestion { actions: vec![action], most_more_pods, ..WhatIfQuestion::default() };
    what_if(&cluster(objects).await, &question).await.unwrap()
}

#[tokio::test]
async fn a_controller_makes_no_more_pods_than_a_run_carries() {
    for (api, kind, spec) in [
        ("apps/v1", "ReplicaSet", json!({"replicas": i32::MAX})),
        ("apps/v1", "StatefulSet", json!({"replicas": i32::MAX, "podManagementPolicy": "Parallel", "serviceName": "many"})),
        ("batch/v1", "Job", json!({"parallelism": i32::MAX, "completions": i32::MAX})),
        ("batch/v1", "Job", json!({"parallelism": i32::MAX, "completions": i32::MAX, "completionMode": "Indexed"})),
    ] {
        let many = workload(api, kind, "many", &spec);
        let answer = answer(&[node("n1", "a", "4"), namespace()], WhatIfAction::Apply(vec![many]), 30).await;
        assert_eq!((answer.count(Happening::Created), answer.count(Happening::Scheduled)), (30, 4), "{kind}: {:?}", story(&answer));
        let bounded = Unmodelled::PodsBounded { workload: format!("{kind}/default/many"), most: 30 };
        assert!(answer.caveats.contains(&bounded) && !answer.finds_places(), "{kind}: {:?}", answer.caveats);
    }
}

#[tokio::test]
async fn pods_that_replace_others_are_not_bounded() {
    let mut objects = deployment("web", 4, "n1", &json!({}));
    objects.extend([node("n1", "a", "8"), node("n2", "b", "8"), node("n3", "b", "8"), namespace()]);
    for action in [WhatIfAction::Drain("n1".to_owned()), WhatIfAction::Fail(NodeChoice::parse("n1"))] {
        let answer = answer(&objects, action.clone(), 1).await;
        assert_eq!(answer.count(Happening::Scheduled), 4, "{action:?}: {:?}", story(&answer));
        assert!(!answer.caveats.iter().any(|unknown| matches!(unknown, Unmodelled::PodsBounded { .. })), "{:?}", answer.caveats);
    }
}

#[tokio::test]
async fn no_more_nodes_are_added_than_a_run_carries() {
    let capacity = |name: &str| format!("capacity.cluster-autoscaler.kubernetes.io/{name}");
    let machines = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": "pool",
        "annotations": {capacity("cpu"): "2", capacity("memory"): "4Gi"}}, "spec": {"replicas": i32::MAX}});
    for action in [WhatIfAction::add_like("2147483647*n1").unwrap(), WhatIfAction::AddNodes(vec![machines])] {
        let answer = answer(&[node("n1", "a", "4"), namespace()], action, 0).await;
        assert_eq!(answer.after.len(), 1_001);
        assert!(answer.caveats.contains(&Unmodelled::NodesBounded { wanted: 2_147_483_647, added: 1_000 }), "{:?}", answer.caveats);
    }
}

#[tokio::test]
async fn numbers_that_no_api_server_accepts_are_counted_with() {
    for number in [i64::MIN, i64::MAX] {
        let opposite = !number;
        let mut objects = deployment("web", 2, "n1", &json!({}));
        objects[2..].iter_mut().for_each(|pod| pod["spec"]["terminationGracePeriodSeconds"] = json!(number));
        let spec = json!({"parallelism": 1, "completions": number, "backoffLimit": number, "completionMode": "Indexed"});
        let mut job = workload("batch/v1", "Job", "work", &spec);
        job["status"] = json!({"succeeded": opposite, "completedIndexes": "0-18446744073709551615"});
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guard", "namespace": "default"},
            "spec": {"minAvailable": number, "selector": {"matchLabels": {"app": "guarded"}}}});
        objects.extend([running("work-0", "n1", "1", Some(&job)), running("guarded", "n2", "1", None), job, budget]);
        objects.extend([node("n1", "a", "8"), node("n2", "b", "8"), namespace()]);
        let answer = answer(&objects, WhatIfAction::Drain("n1".to_owned()), 30).await;
        let counts = [Happening::Evicted, Happening::Created, Happening::Scheduled].map(|what| answer.count(what));
        assert_eq!(counts, [3, 2, 2], "{number}: {:?}", story(&answer));
    }
}
