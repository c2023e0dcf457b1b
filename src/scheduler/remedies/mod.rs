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

/// So many sets of changes are tried on a node, and in large clusters.
const TRIALS: usize = 40;
const TRIALS_OF_LARGE: usize = 12;
/// So many remedies are told of a node.
const TOLD: usize = 2;

/// The remedies for a pod that fits nowhere, best first. The state is changed on the way and as it was afterwards.
pub fn remedies(pod: &PodInfo, state: &mut ClusterState, profile: &Profile, judgement: &Judgement) -> Vec<Remedy> {
    if matches!(judgement.whole_pod, Some(WholePod::Gated(_))) || judgement.nodes.iter().any(NodeJudgement::fits) {
        return Vec::new();
    }
    let refusals = |node: &NodeJudgement| node.verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Reject(_))).count();
    let mut nodes: Vec<&NodeJudgement> = judgement.nodes.iter().collect();
    nodes.sort_by(|a, b| refusals(a).cmp(&refusals(b)).then_with(|| a.name.cmp(&b.name)));
    let large = judgement.nodes.len() > LARGE;
    nodes.truncate(if large { NODES_OF_LARGE } else { NODES });
    let request = profile.rules.requests.incoming(pod);
    let mut found: Vec<(usize, i64, Remedy)> = Vec::new();
    for node in nodes {
        let refusing = node.verdicts.iter().zip(&judgement.filters).filter(|(verdict, _)| matches!(verdict, Verdict::Reject(_)));
        let mut plugins: Vec<&'static str> = refusing.map(|(_, plugin)| *plugin).collect();
        if let Some(WholePod::Refused { plugin, .. }) = &judgement.whole_pod {
            plugins.insert(0, plugin);
            plugins.dedup();
        }
        let mut search = Search { pod, profile, node: &node.name, left: if large { TRIALS_OF_LARGE } else { TRIALS }, found: Vec::new() };
        search.explore(state, Vec::new());
        let cost = |fixes: &[Fix]| fixes.iter().map(|fix| fix.cost(&request)).sum::<i64>();
        search.found.sort_by_key(|fixes| (fixes.len(), cost(fixes)));
        for fixes in search.found.iter().take(TOLD) {
            let changes = fixes.iter().map(|fix| fix.text(&node.name)).collect();
            found.push((fixes.len(), cost(fixes), Remedy { node: node.name.clone(), changes, plugins: plugins.clone() }));
        }
    }
    found.sort_by(|a, b| (a.0, a.1, &a.2.node).cmp(&(b.0, b.1, &b.2.node)));
    found.into_iter().map(|(_, _, remedy)| remedy).collect()
}

/// The search for changes that let the pod fit one node.
struct Search<'a> {
    pod: &'a PodInfo,
    profile: &'a Profile,
    node: &'a Arc<str>,
    /// How many trials are left.
    left: usize,
    /// Sets of changes that are enough, none of them with one that is needless.
    found: Vec<Vec<Fix>>,
}

impl Search<'_> {
    /// Tries some changes; where a filter still refuses, every way known to meet it.
    fn explore(&mut self, state: &mut ClusterState, fixes: Vec<Fix>) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        let trial = Trial::with(self.pod, state, &fixes, self.node);
        let options = match trial.refusal(self.profile, self.node) {
            None => None,
            Some((at, whole)) => Some(propose::options(&trial.cycle(self.profile), self.node, self.profile.filters[at].name, at, whole)),
        };
        drop(trial);
        let Some(options) = options else {
            let least = self.least(state, fixes);
            if !least.is_empty() && !self.found.contains(&least) {
                self.found.push(least);
            }
            return;
        };
        for option in options {
            let more: Vec<Fix> = option.into_iter().filter(|fix| !fixes.contains(fix)).collect();
            if !more.is_empty() && fixes.len() + more.len() <= CHANGES {
                self.explore(state, fixes.iter().cloned().chain(more).collect());
            }
        }
    }

    /// Leaves out what an earlier change was made for and a later one made needless.
    fn least(&self, state: &mut ClusterState, mut fixes: Vec<Fix>) -> Vec<Fix> {
        let mut at = 0;
        while fixes.len() > 1 && at < fixes.len() {
            let fewer: Vec<Fix> = fixes.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, fix)| fix.clone()).collect();
            if Trial::with(self.pod, state, &fewer, self.node).refusal(self.profile, self.node).is_none() {
                fixes = fewer;
            } else {
                at += 1;
            }
        }
        fixes
    }
}

/// A state with some changes made, undone when it is dropped.
struct Trial<'s> {
    pod: PodInfo,
    state: &'s mut ClusterState,
    undo: Vec<(ObjectKey, Option<Stored>)>,
}

impl<'s> Trial<'s> {
    /// Makes changes.
    fn with(pod: &PodInfo, state: &'s mut ClusterState, fixes: &[Fix], node: &Arc<str>) -> Self {
        let mut trial = Self { pod: pod.clone(), state, undo: Vec::new() };
        for fix in fixes {
            fix.change_pod(&mut trial.pod);
            for (key, stored) in fix.change_state(trial.state, node) {
                let before = trial.state.set(&key, stored);
                trial.undo.push((key, before));
            }
        }
        trial
    }

    fn cycle<'c>(&'c self, profile: &'c Profile) -> Cycle<'c> {
        Cycle { pod: &self.pod, state: self.state, profile }
    }

    /// The place of the first filter that does not let the pod pass, if there is one, and whether it refuses the pod as a whole.
    fn refusal(&self, profile: &Profile, node: &str) -> Option<(usize, bool)> {
        let cycle = self.cycle(profile);
        let prepared = cycle.prepare();
        let place = |name: &str| profile.filters.iter().position(|entry| entry.name == name);
        match &prepared.whole_pod {
            // Up to 1.19 claims that cannot be bound end the attempt with an error.
            Some(WholePod::Error(_)) => return Some((place("VolumeBinding").or_else(|| place("CheckVolumeBinding")).unwrap_or(0), true)),
            Some(WholePod::Refused { plugin, .. }) => return Some((place(plugin).unwrap_or(0), true)),
            Some(WholePod::Gated(_)) => return Some((0, true)),
            None => {}
        }
        let Some(info) = self.state.node(node) else { return Some((0, true)) };
        if prepared.subset.as_ref().is_some_and(|(names, _)| !names.contains(node)) {
            return Some((narrowing(profile, &prepared.subset), false));
        }
        let verdicts = cycle.judge_node(info, &prepared, &cycle.nominated_pods(), &[]);
        verdicts.iter().position(|verdict| !verdict.passes()).map(|at| (at, false))
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
    use crate::cluster::{PodFields, Watched};
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
        let typed = PodFields::of(pod).unwrap();
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
    fn the_smallest_set_takes_of_each_filter_what_asks_for_least() {
        // Two labels or no affinity; two requests or one pod: one and one.
        let mut pod = json!({"containers": [{"resources": {"requests": {"cpu": "2", "memory": "5Gi"}}}]});
        let terms = json!([{"key": "disk", "operator": "In", "values": ["ssd"]}, {"key": "rack", "operator": "In", "values": ["r"]}]);
        pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
            json!([{"matchExpressions": terms}]);
        let mut running =
            json!({"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3", "memory": "4Gi"}}}]}});
        running["spec"]["nodeName"] = json!("n1");
        let objects = [(Watched::Node, "n1", node(json!({}), json!({}))), (Watched::Pod, "other", running)];
        let wanted = [
            "n1: drop the required node affinity and delete pod default/other",
            "n1: drop the required node affinity and lower requests.cpu by 1 and lower requests.memory by 1Gi",
        ];
        check(pod, &objects, &wanted);
    }

    #[test]
    fn a_rival_elsewhere_in_the_zone() {
        let rival = json!({"metadata": {}, "spec": {"nodeName": "n2", "containers": [{"name": "c"}], "affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}]}}}});
        let full = json!({"metadata": {"labels": {"zone": "z"}}, "spec": {}, "status": {"allocatable": {"cpu": "1", "memory": "8Gi", "pods": "1"}}});
        let objects =
            [(Watched::Node, "n1", node(json!({}), json!({"zone": "z"}))), (Watched::Node, "n2", full), (Watched::Pod, "rival", rival)];
        let pod = json!({"containers": [{"resources": {"requests": {"cpu": "2"}}}]});
        check(pod, &objects, &["n1: delete pod default/rival", "n2: lower requests.cpu by 1 and delete pod default/rival"]);
    }

    #[test]
    fn claims_that_are_missing_or_unbound_concern_every_node() {
        let mut pod = asks("1");
        pod["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
        let one = [(Watched::Node, "n1", node(json!({}), json!({})))];
        check(pod.clone(), &one, &["n1: create PersistentVolumeClaim data and a volume for it"]);
        let claim = json!({"metadata": {}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}});
        let [node] = one;
        check(pod, &[node, (Watched::PersistentVolumeClaim, "data", claim)], &["n1: provide a PersistentVolume of 5Gi for claim data"]);
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
