//! Small clusters and what a release says of a pod in them.

use ketcd_scheduler::cluster::{ClusterState, PodFields, PodInfo};
use ketcd_scheduler::{Cycle, Gates, Judgement, Profile, Release, Rules};
use serde_json::{Value, json};

use crate::object_key::object_key;

/// A cluster of objects as the API server returns them.
pub(crate) struct Cluster {
    pub objects: Vec<Value>,
    pub gates: &'static str,
}

impl Cluster {
    pub(crate) fn new(objects: impl IntoIterator<Item = Value>) -> Self {
        Self { objects: objects.into_iter().collect(), gates: "" }
    }

    pub(crate) fn evaluate(&self, release: u16, pod: &Value) -> Judgement {
        let release = Release(release);
        let gates = Gates::new(release).parse(self.gates).unwrap();
        let profile = Profile::new(release, gates.clone());
        let mut state = ClusterState::new(Rules::new(release, &gates).requests);
        for (number, object) in self.objects.iter().enumerate() {
            state.apply(&object_key(object), Some(object.to_string().as_bytes()), number as i64 + 1);
        }
        let pod = PodFields::of(pod.clone()).unwrap();
        let pod = PodInfo::compile(&pod, 0, state.interner(), &mut Vec::new());
        Cycle { pod: &pod, state: &state, profile: &profile, scope: None }.evaluate()
    }

    pub(crate) fn message(&self, release: u16, pod: &Value) -> String {
        self.evaluate(release, pod).message.unwrap_or_default()
    }
}

pub(crate) fn node(name: &str) -> Value {
    json!({"kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
           "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})
}

pub(crate) fn with(mut object: Value, path: &str, value: Value) -> Value {
    match object.pointer_mut(path) {
        Some(place) => *place = value,
        None => {
            let (parent, field) = path.rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[field.replace("~1", "/")] = value;
        }
    }
    object
}

pub(crate) fn pod(spec: Value) -> Value {
    let mut pod = json!({"kind": "Pod", "metadata": {"name": "new", "namespace": "default", "labels": {"app": "web"}}, "spec": spec});
    if pod["spec"]["containers"].is_null() {
        pod["spec"]["containers"] = json!([]);
    }
    pod
}

pub(crate) fn asking(cpu: &str) -> Value {
    pod(json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}))
}

pub(crate) fn claiming(claim: &str) -> Value {
    pod(json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}))
}

/// A pod on a node, with labels and anti-affinity terms of its own.
pub(crate) fn placed(name: &str, node: &str, labels: Value, affinity: Value) -> Value {
    json!({"kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": labels},
           "spec": {"nodeName": node, "containers": [], "affinity": affinity}})
}

pub(crate) fn term(key: &str, app: &str) -> Value {
    json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}})
}

pub(crate) fn fitting(judgement: &Judgement) -> Vec<&str> {
    judgement.nodes.iter().filter(|node| node.fits()).map(|node| &*node.name).collect()
}

pub(crate) fn three() -> Vec<Value> {
    ["n1", "n2", "n3"].map(node).into()
}
