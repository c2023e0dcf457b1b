//! What would make a pod fit that fits nowhere: for each node the smallest set of changes, each proved by judging again on the changed state.

mod fix;
mod propose;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::{ClusterState, ObjectKey, PodInfo, Stored};

use super::cycle::NodeJudgement;
use super::explanation::Remedy;
use super::{Cycle, Judgement, Profile, Verdict, WholePod};

use fix::Fix;

/// Nodes looked at: those the fewest filters refuse come first.
const NODES: usize = 48;
/// In clusters larger than this only a few nodes are looked at.
const LARGE: usize = 500;
const NODES_OF_LARGE: usize = 8;
/// A node that needs more changes than this is left alone.
const CHANGES: usize = 6;

/// The remedies for a pod that fits nowhere, best first. The state is changed on the way and as it was afterwards.
pub fn remedies(pod: &PodInfo, state: &mut ClusterState, profile: &Profile, judgement: &Judgement) -> Vec<Remedy> {
    if matches!(judgement.whole_pod, Some(WholePod::Gated(_) | WholePod::Error(_))) || judgement.nodes.iter().any(NodeJudgement::fits) {
        return Vec::new();
    }
    let refusals = |node: &NodeJudgement| node.verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Reject(_))).count();
    let mut nodes: Vec<&NodeJudgement> = judgement.nodes.iter().collect();
    nodes.sort_by(|a, b| refusals(a).cmp(&refusals(b)).then_with(|| a.name.cmp(&b.name)));
    nodes.truncate(if judgement.nodes.len() > LARGE { NODES_OF_LARGE } else { NODES });
    let request = profile.rules.requests.incoming(pod);
    let mut found: Vec<(usize, i64, Remedy)> = Vec::new();
    for node in nodes {
        let mut known: Vec<Vec<String>> = Vec::new();
        for preference in 0..2 {
            let Some(fixes) = search(pod, state, profile, &node.name, preference) else { continue };
            let changes: Vec<String> = fixes.iter().map(|fix| fix.text(&node.name)).collect();
            if known.contains(&changes) {
                continue;
            }
            known.push(changes.clone());
            let refusing = node.verdicts.iter().zip(&judgement.filters).filter(|(verdict, _)| matches!(verdict, Verdict::Reject(_)));
            let plugins = refusing.map(|(_, plugin)| *plugin).collect();
            let cost = fixes.iter().map(|fix| fix.cost(&request)).sum();
            found.push((fixes.len(), cost, Remedy { node: node.name.clone(), changes, plugins }));
        }
    }
    found.sort_by(|a, b| (a.0, a.1, &a.2.node).cmp(&(b.0, b.1, &b.2.node)));
    found.into_iter().map(|(_, _, remedy)| remedy).collect()
}

/// The changes that let the pod fit one node; `preference` chooses among what each filter's refusal can be met with.
fn search(pod: &PodInfo, state: &mut ClusterState, profile: &Profile, node: &Arc<str>, preference: usize) -> Option<Vec<Fix>> {
    let mut fixes: Vec<Fix> = Vec::new();
    loop {
        let mut trial = Trial::new(pod, state);
        fixes.iter().for_each(|fix| trial.apply(fix, node));
        let next = match trial.refusal(profile, node) {
            None => break,
            Some(at) => propose::fixes(&trial.cycle(profile), node, profile.filters[at].name, at, preference),
        };
        drop(trial);
        let next: Vec<Fix> = next.into_iter().filter(|fix| !fixes.contains(fix)).collect();
        if next.is_empty() || fixes.len() + next.len() > CHANGES {
            return None;
        }
        fixes.extend(next);
    }
    // What an earlier change was made for a later one may have made needless.
    let mut at = 0;
    while fixes.len() > 1 && at < fixes.len() {
        let fewer: Vec<Fix> = fixes.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, fix)| fix.clone()).collect();
        let mut trial = Trial::new(pod, state);
        fewer.iter().for_each(|fix| trial.apply(fix, node));
        let enough = trial.refusal(profile, node).is_none();
        drop(trial);
        if enough {
            fixes = fewer;
        } else {
            at += 1;
        }
    }
    (!fixes.is_empty()).then_some(fixes)
}

/// A state with some changes made, undone when it is dropped.
struct Trial<'s> {
    pod: PodInfo,
    state: &'s mut ClusterState,
    undo: Vec<(ObjectKey, Option<Stored>)>,
}

impl<'s> Trial<'s> {
    fn new(pod: &PodInfo, state: &'s mut ClusterState) -> Self {
        Self { pod: pod.clone(), state, undo: Vec::new() }
    }

    fn apply(&mut self, fix: &Fix, node: &Arc<str>) {
        fix.change_pod(&mut self.pod);
        if let Some((key, stored)) = fix.change_state(self.state, node) {
            let before = self.state.set(&key, stored);
            self.undo.push((key, before));
        }
    }

    fn cycle<'c>(&'c self, profile: &'c Profile) -> Cycle<'c> {
        Cycle { pod: &self.pod, state: self.state, profile }
    }

    /// The place of the first filter that does not let the pod pass, if there is one.
    fn refusal(&self, profile: &Profile, node: &str) -> Option<usize> {
        let cycle = self.cycle(profile);
        let prepared = cycle.prepare();
        let named = prepared.subset.as_ref().is_none_or(|(names, _)| names.contains(node));
        let Some(info) = self.state.node(node).filter(|_| prepared.whole_pod.is_none()) else { return Some(0) };
        if !named {
            return Some(narrowing(profile, &prepared.subset));
        }
        let verdicts = cycle.judge_node(info, &prepared, &cycle.nominated_pods(), &[]);
        verdicts.iter().position(|verdict| !verdict.passes())
    }
}

/// The filter that left the node out.
fn narrowing(profile: &Profile, subset: &Option<(BTreeSet<Arc<str>>, Vec<&'static str>)>) -> usize {
    let name = subset.as_ref().and_then(|(_, plugins)| plugins.first().copied()).unwrap_or_default();
    profile.filters.iter().position(|entry| entry.name == name).unwrap_or_default()
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        for (key, stored) in self.undo.drain(..).rev() {
            self.state.set(&key, stored);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::Watched;
    use crate::scheduler::{Gates, Release};

    fn state(profile: &Profile, objects: &[(Watched, &str, Value)]) -> ClusterState {
        let mut state = ClusterState::new(profile.rules.requests);
        for (number, (kind, name, object)) in objects.iter().enumerate() {
            let namespace = if matches!(kind, Watched::Pod | Watched::PersistentVolumeClaim) { "default" } else { "" };
            let key = ObjectKey { kind: *kind, namespace: namespace.into(), name: (*name).into() };
            let mut object = object.clone();
            object["metadata"]["name"] = json!(name);
            object["metadata"]["namespace"] = json!(namespace);
            state.apply(&key, Some(&serde_json::to_vec(&object).unwrap()), i64::try_from(number).unwrap() + 1);
        }
        state
    }

    /// The remedies for a pod, one line each.
    fn check(pod: Value, objects: &[(Watched, &str, Value)], wanted: &[&str]) {
        let release = Release(34);
        let profile = Profile::new(release, Gates::new(release));
        let mut state = state(&profile, objects);
        let mut pod = json!({"metadata": {"name": "p", "namespace": "default", "labels": {"app": "a"}}, "spec": pod});
        pod["spec"]["containers"][0]["name"] = json!("c");
        let typed = serde_json::from_value(pod).unwrap();
        let pod = PodInfo::compile(&typed, 0, state.interner(), &mut Vec::new());
        let judgement = Cycle { pod: &pod, state: &state, profile: &profile }.judge();
        let before = format!("{:?}", state.nodes().collect::<Vec<_>>());
        let found = remedies(&pod, &mut state, &profile, &judgement);
        let lines: Vec<String> = found.iter().map(|remedy| format!("{}: {}", remedy.node, remedy.changes.join(" and "))).collect();
        assert_eq!(lines, wanted);
        assert_eq!(format!("{:?}", state.nodes().collect::<Vec<_>>()), before, "the state is as it was");
    }

    fn node(spec: Value, labels: Value) -> Value {
        json!({"metadata": {"labels": labels}, "spec": spec, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}})
    }

    fn asks(cpu: &str) -> Value {
        json!({"containers": [{"resources": {"requests": {"cpu": cpu}}}]})
    }

    #[test]
    fn a_cordoned_node_and_a_tainted_one() {
        let cordoned = node(
            json!({"unschedulable": true, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}),
            json!({}),
        );
        let tainted = node(json!({"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]}), json!({}));
        let ill = node(json!({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}), json!({}));
        let objects = [(Watched::Node, "n1", cordoned), (Watched::Node, "n2", tainted), (Watched::Node, "n3", ill)];
        check(asks("1"), &objects, &["n1: uncordon n1", "n2: tolerate taint dedicated=db:NoSchedule"]);
    }

    #[test]
    fn room_by_asking_for_less_or_by_a_pod_less() {
        let mut running = json!({"metadata": {}, "spec": asks("3500m")});
        running["spec"]["nodeName"] = json!("n1");
        running["spec"]["containers"][0]["name"] = json!("c");
        let objects = [(Watched::Node, "n1", node(json!({}), json!({}))), (Watched::Pod, "other", running)];
        check(asks("1"), &objects, &["n1: lower requests.cpu by 500m", "n1: delete pod default/other"]);
    }

    #[test]
    fn more_than_a_node_has_is_only_met_by_less() {
        let objects = [(Watched::Node, "n1", node(json!({}), json!({})))];
        check(asks("6"), &objects, &["n1: lower requests.cpu by 2"]);
    }

    #[test]
    fn labels_that_people_set_and_labels_that_nodes_have() {
        let mut pod = asks("1");
        pod["nodeSelector"] = json!({"disk": "ssd"});
        let objects = [(Watched::Node, "n1", node(json!({}), json!({})))];
        check(pod, &objects, &["n1: add label disk=ssd to n1", "n1: drop disk from nodeSelector"]);
        let mut pod = asks("1");
        pod["nodeSelector"] = json!({"kubernetes.io/hostname": "gone"});
        check(pod, &objects, &["n1: drop kubernetes.io/hostname from nodeSelector"]);
    }

    #[test]
    fn several_refusals_need_several_changes() {
        let mut pod = asks("6");
        pod["nodeSelector"] = json!({"disk": "ssd"});
        let objects = [(Watched::Node, "n1", node(json!({"unschedulable": true}), json!({})))];
        let both = [
            "n1: uncordon n1 and add label disk=ssd to n1 and lower requests.cpu by 2",
            "n1: uncordon n1 and drop disk from nodeSelector and lower requests.cpu by 2",
        ];
        check(pod, &objects, &both);
    }

    #[test]
    fn a_volume_for_a_claim() {
        let mut pod = asks("1");
        pod["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
        let claim = json!({"metadata": {}, "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}});
        let class = json!({"metadata": {}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"});
        let objects = [
            (Watched::Node, "n1", node(json!({}), json!({"kubernetes.io/hostname": "n1"}))),
            (Watched::PersistentVolumeClaim, "data", claim),
            (Watched::StorageClass, "local", class),
        ];
        check(pod, &objects, &["n1: provide a PersistentVolume of 5Gi of class local on n1 for claim data"]);
    }
}
