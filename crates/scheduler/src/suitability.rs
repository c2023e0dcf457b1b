//! Whether a node suits a pod by its labels, its taints and a cordon alone: of two objects without a cluster's state, or of many nodes of one.
//!
//! The rules are those of the plugins `NodeAffinity`, `TaintToleration` and `NodeUnschedulable`.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::{Node, NodeFields, PodFields, PodInterner, PodSpec};
use crate::plugins::{CORDON_TAINT, required_matches, tolerates, untolerated};

/// What of a node lets a pod on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suitability {
    /// The pod's node selector and its required node affinity hold.
    pub labels: bool,
    /// The pod tolerates every taint of effect `NoSchedule` and `NoExecute`.
    pub taints: bool,
    /// The pod tolerates every taint of effect `NoExecute`: one that is on the node already may stay.
    pub stays: bool,
    /// The node is not cordoned, or the pod tolerates that.
    pub cordon: bool,
}

/// What a pod asks of the labels, taints and cordons of nodes, compiled once for many of them.
///
/// The rules are those of the newest release with the gate `TaintTolerationComparisonOperators`: where it is off, the API server lets no pod have the
/// operators `Lt` and `Gt` in a toleration.
#[derive(Clone, Debug)]
pub struct Suitor(PodSpec);

impl Suitor {
    /// A pod that is given by its `spec`; without one (null) it selects and tolerates nothing. `interner`: that of the nodes' state
    /// ([`ClusterState::interner`](crate::cluster::ClusterState::interner)).
    ///
    /// # Errors
    /// The pod has a field of the wrong type, a fragment.
    pub fn new(spec: &Value, interner: &mut PodInterner) -> Result<Self, String> {
        let pod = PodFields::of(json!({"spec": spec})).map_err(|error| format!("the pod: {error}"))?;
        // Problems are of quantities, which are not asked for.
        let spec = PodSpec::compile(&pod.metadata.unwrap_or_default(), &pod.spec.unwrap_or_default(), &mut interner.texts, &mut Vec::new());
        Ok(Self(spec))
    }

    /// What of a node lets the pod on it.
    pub fn on(&self, node: &Node) -> Suitability {
        let Self(spec) = self;
        let no_execute = node.taints.iter().filter(|taint| &*taint.effect == "NoExecute");
        let covers = |taint| spec.tolerations.iter().any(|toleration| tolerates(toleration, taint, true));
        Suitability {
            labels: required_matches(spec, node, true),
            taints: untolerated(&node.taints, &spec.tolerations, true).is_none(),
            stays: no_execute.into_iter().all(covers),
            cordon: !node.unschedulable || covers(&CORDON_TAINT),
        }
    }
}

/// Returns whether a node suits a pod, both given as objects, as [`Suitor`] does.
///
/// # Errors
/// Which of the two objects has a field of the wrong type, a fragment.
pub fn suitability(spec: &Value, node: &Value) -> Result<Suitability, String> {
    let mut interner = PodInterner::default();
    let pod = Suitor::new(spec, &mut interner)?;
    let node = NodeFields::deserialize(node).map_err(|error| format!("the node: {error}"))?;
    Ok(pod.on(&Node::selectable(&node, &mut interner.texts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(labels: &Value, taints: &Value) -> Value {
        json!({"metadata": {"name": "n1", "labels": labels}, "spec": {"taints": taints}})
    }

    fn taint(key: &str, value: &str, effect: &str) -> Value {
        json!([{"key": key, "value": value, "effect": effect}])
    }

    #[test]
    fn labels_taints_and_a_cordon_decide_each_for_itself() {
        let wants = json!({"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "spread", "operator": "Exists"}]});
        let of = |labels: Value, taints: Value| suitability(&wants, &node(&labels, &taints)).unwrap();
        assert_eq!(of(json!({"disk": "ssd"}), json!(null)), Suitability { labels: true, taints: true, stays: true, cordon: true });
        assert!(!of(json!({"disk": "hdd"}), json!(null)).labels);
        assert!(!of(json!(null), json!(null)).labels);
        assert!(of(json!({}), taint("spread", "", "NoSchedule")).taints);
        assert!(!of(json!({}), taint("maintenance", "", "NoSchedule")).taints);
        assert!(of(json!({}), taint("maintenance", "", "PreferNoSchedule")).taints);
        assert!(of(json!({}), taint("maintenance", "", "NoSchedule")).stays && !of(json!({}), taint("maintenance", "", "NoExecute")).stays);
        let cordoned = json!({"spec": {"unschedulable": true}});
        assert!(!suitability(&wants, &cordoned).unwrap().cordon);
        assert!(suitability(&json!({"tolerations": [{"operator": "Exists"}]}), &cordoned).unwrap().cordon);
        assert_eq!(suitability(&Value::Null, &cordoned).unwrap(), Suitability { labels: true, taints: true, stays: true, cordon: false });
    }

    #[test]
    fn required_terms_match_labels_and_the_name() {
        let terms = json!([
            {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
        ]);
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        let spec = json!({"affinity": {"nodeAffinity": required}});
        let mut other = node(&json!({"zone": "a"}), &json!(null));
        assert!(suitability(&spec, &other).unwrap().labels);
        other["metadata"]["name"] = json!("n2");
        assert!(!suitability(&spec, &other).unwrap().labels);
    }

    #[test]
    fn tolerations_compare_numbers() {
        let tolerates = |operator: &str, value: &str| {
            let toleration = json!({"key": "failures", "operator": operator, "value": "10", "effect": "NoSchedule"});
            suitability(&json!({"tolerations": [toleration]}), &node(&json!({}), &taint("failures", value, "NoSchedule"))).unwrap().taints
        };
        assert!(tolerates("Gt", "11") && !tolerates("Gt", "10") && !tolerates("Gt", "9"));
        assert!(tolerates("Lt", "9") && !tolerates("Lt", "10") && !tolerates("Lt", "many"));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let error = |spec: Value, node: Value| suitability(&spec, &node).unwrap_err();
        assert!(error(json!({"tolerations": 7}), json!({})).starts_with("the pod: "));
        assert!(error(json!(null), json!({"spec": {"taints": "no"}})).starts_with("the node: "));
    }
}
