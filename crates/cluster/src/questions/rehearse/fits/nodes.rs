//! Nodes that are gone, that came since, and that are not what they were.
//!
//! A kubelet registers its Node once, when it starts (k8s.io/kubernetes v1.36.3, `pkg/kubelet/kubelet_node_status.go`, `registerWithAPIServer`): one that
//! runs on does not make a Node that the restore took away. A Node whose kubelet does not report becomes NotReady after `node-monitor-grace-period`, 50
//! seconds (`pkg/controller/nodelifecycle/config/v1alpha1/defaults.go`), and stays until somebody deletes it, or the cloud's controller does
//! (`cloud-provider`, `controllers/nodelifecycle`). The range allocator gives a range that no Node of the API has (`pkg/controller/nodeipam/ipam`).

use std::collections::BTreeMap;

use serde_json::Value;

use ketcd_kube::Object;
use ketcd_store::shell::quoted;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{Pair, affected, counted, items, pairs, text};
use super::super::states::{RehearsedState, States};
use crate::error::Result;
use crate::verify::Weight;

const MAX_COMMANDS: usize = 20;

/// Taints that controllers set by what the kubelet reports, and set anew.
const CONDITION_TAINT_PREFIX: &str = "node.kubernetes.io/";

/// The one of them that people set.
const OUT_OF_SERVICE_TAINT: &str = "node.kubernetes.io/out-of-service";

/// Returns what becomes of nodes.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let Some(newest) = &states.newest else {
        states.note("which nodes are gone or came since the backup: no newer state");
        return Ok(Vec::new());
    };
    let (mut gone, mut unknown, mut differ, mut is_harm) = (Vec::new(), Vec::new(), Vec::new(), false);
    for pair in pairs(states, "/minions/") {
        match (&pair.before, &pair.after) {
            (Some(_), None) => gone.push(on(&pair, "has no kubelet any more".to_owned())),
            (None, Some(_)) => unknown.push(on(&pair, "is not in the backup".to_owned())),
            (Some(before), Some(after)) => {
                let differences = differences(before, after);
                is_harm |= differences.iter().any(|difference| difference.is_harm);
                let says: Vec<String> = differences.into_iter().map(|difference| difference.says).collect();
                if !says.is_empty() {
                    differ.push(on(&pair, says.join("; ")));
                }
            }
            (None, None) => {}
        }
    }
    let mut forecasts = Vec::new();
    forecasts.extend(of_gone(gone));
    forecasts.extend(of_unknown(unknown).map(|forecast| forecast.or_command(|| states.of_newest("get nodes -o wide"))));
    forecasts.extend(of_differing(differ, is_harm));
    forecasts.extend(ranges_given_twice(states, newest).await?);
    Ok(forecasts)
}

fn on(pair: &Pair, says: String) -> Affected {
    let affected = pair.affected(says);
    Affected { node: affected.subject.name.clone(), ..affected }
}

fn of_gone(nodes: Vec<Affected>) -> Option<Forecast> {
    if nodes.is_empty() {
        return None;
    }
    let count = counted(nodes.len(), "node", "nodes");
    let (are, they, nodes_without, their) = match nodes.len() {
        1 => ("is", "it", "a Node", "its"),
        _ => ("are", "they", "Nodes", "their"),
    };
    let says = format!(
        "{count} of the backup {are} gone: {they} would come back as {nodes_without} without a kubelet, Ready until the controllers miss {their} \
         reports, with the pods that {they} had"
    );
    let headline = format!("{count} back from the dead");
    let delete: Vec<String> =
        nodes.iter().take(MAX_COMMANDS).map(|node| format!("kubectl delete node -- {}", quoted(node.node.as_bytes()))).collect();
    let forecast = Forecast::new(ForecastKind::NodesGone, Weight::Medium, says, nodes).with_headline(headline);
    Some(delete.into_iter().fold(forecast, Forecast::with_command))
}

fn of_unknown(nodes: Vec<Affected>) -> Option<Forecast> {
    if nodes.is_empty() {
        return None;
    }
    let count = counted(nodes.len(), "node", "nodes");
    let kubelets = if nodes.len() == 1 {
        "its kubelet is restarted, which registers only when it starts"
    } else {
        "their kubelets are restarted, which register only when they start"
    };
    let says = format!(
        "{count} came after the backup and would be missing until {kubelets}; labels, taints and cordons that others set would be lost"
    );
    let commands: Vec<String> = nodes
        .iter()
        .filter(|node| ketcd_kube::is_dns_subdomain(&node.node))
        .take(MAX_COMMANDS)
        .map(|node| format!("ssh {} systemctl restart kubelet", node.node))
        .collect();
    let forecast = Forecast::new(ForecastKind::NodesUnknown, Weight::Medium, says, nodes).with_headline(format!("{count} unknown"));
    Some(commands.into_iter().fold(forecast, Forecast::with_command))
}

fn of_differing(nodes: Vec<Affected>, is_harm: bool) -> Option<Forecast> {
    if nodes.is_empty() {
        return None;
    }
    let says = format!("{} would be what they were: cordons, taints, ranges and identities go back", counted(nodes.len(), "node", "nodes"));
    let weight = if is_harm { Weight::Medium } else { Weight::Low };
    let forecast = Forecast::new(ForecastKind::NodesDiffer, weight, says, nodes);
    Some(forecast.with_command("kubectl get nodes -o wide"))
}

/// One thing in which a node is not what it was.
struct Difference {
    says: String,
    /// Whether pods may run where they must not, or have addresses that are not routed.
    is_harm: bool,
}

fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut add = |is_harm, says: String| differences.push(Difference { says, is_harm });
    if text(before, "/metadata/uid") != text(after, "/metadata/uid") {
        add(true, "was made again since".to_owned());
    }
    let [then, now] = [before, after].map(|node| text(node, "/spec/podCIDR"));
    if !then.is_empty() && then != now {
        let now = if now.is_empty() { "no pod range" } else { now };
        add(true, format!("has {now} and would have {then}"));
    }
    match (before["spec"]["unschedulable"] == true, after["spec"]["unschedulable"] == true) {
        (false, true) => add(true, "is cordoned and would get pods".to_owned()),
        (true, false) => add(false, "would be cordoned again".to_owned()),
        _ => {}
    }
    let [then, now] = [before, after].map(taints);
    for taint in now.iter().filter(|taint| !then.contains(taint)) {
        add(true, format!("would lose the taint {taint}"));
    }
    for taint in then.iter().filter(|taint| !now.contains(taint)) {
        add(false, format!("would have the taint {taint} again"));
    }
    differences
}

/// The taints of a node that no controller sets by itself.
fn taints(node: &Value) -> Vec<String> {
    let taints = items(node, "/spec/taints").filter(|taint| {
        let key = text(taint, "/key");
        !key.starts_with(CONDITION_TAINT_PREFIX) || key == OUT_OF_SERVICE_TAINT
    });
    taints.map(|taint| format!("{}={}:{}", text(taint, "/key"), text(taint, "/value"), text(taint, "/effect"))).collect()
}

/// The nodes that came since and have a pod range that another Node of the backup would have again.
async fn ranges_given_twice(states: &States<'_>, newest: &RehearsedState<'_>) -> Result<Option<Forecast>> {
    let of_node = |node: Object| Some((affected(&node, ""), ranges(&node).map(str::to_owned).collect::<Vec<_>>()));
    let mut holders: BTreeMap<String, String> = BTreeMap::new();
    for (node, ranges) in states.backup.made("/minions/", of_node).await? {
        holders.extend(ranges.into_iter().map(|range| (range, node.subject.name.clone())));
    }
    let mut twice = Vec::new();
    for (node, ranges) in newest.made("/minions/", of_node).await? {
        let name = &node.subject.name;
        let other = ranges.iter().find_map(|range| holders.get(range).filter(|holder| *holder != name).map(|holder| (range, holder)));
        if let Some((range, holder)) = other {
            let says = format!("has the pod range {range}, which {holder} would have again");
            twice.push(Affected { node: name.clone(), says, ..node });
        }
    }
    if twice.is_empty() {
        return Ok(None);
    }
    let count = counted(twice.len(), "pod range", "pod ranges");
    let says = format!(
        "{count} would be given twice: the nodes that have them now register anew with others, while their pods and routes keep them"
    );
    let forecast = Forecast::new(ForecastKind::GivenTwice, Weight::Medium, says, twice).with_headline(format!("{count} given twice"));
    Ok(Some(forecast.with_command("kubectl get nodes -o custom-columns=NAME:.metadata.name,RANGES:.spec.podCIDRs")))
}

fn ranges(node: &Value) -> impl Iterator<Item = &str> {
    let all = items(node, "/spec/podCIDRs").filter_map(Value::as_str);
    let only = node["spec"]["podCIDR"].as_str().filter(|_| node["spec"]["podCIDRs"].is_null());
    all.chain(only)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, names, node, with};
    use super::*;

    async fn found(backup: &[Value], newest: &[Value]) -> Vec<Forecast> {
        let made_up = MadeUp::two(backup, newest).await;
        forecasts(&made_up.states().await).await.unwrap()
    }

    fn ranged(name: &str, range: &str) -> Value {
        with(node(name, name), json!({"spec": {"podCIDR": range, "podCIDRs": [range]}}))
    }

    #[tokio::test]
    async fn nodes_come_and_go() {
        let found = found(&[node("old", "o"), node("same", "s")], &[node("new", "n"), node("same", "s")]).await;
        assert_eq!(
            (names(&found, ForecastKind::NodesGone), names(&found, ForecastKind::NodesUnknown)),
            (vec!["old".into()], vec!["new".into()])
        );
        assert_eq!(found[0].commands, ["kubectl delete node -- old"]);
        assert_eq!(found[1].commands, ["ssh new systemctl restart kubelet"]);
        assert_eq!((found[0].headline.as_str(), found[1].headline.as_str()), ("1 node back from the dead", "1 node unknown"));
    }

    #[tokio::test]
    async fn a_node_goes_back_to_what_it_was() {
        let now = json!({"spec": {"unschedulable": true, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]}});
        let found = found(&[node("n1", "u")], &[with(node("n1", "u"), now)]).await;
        assert_eq!(found[0].affected[0].says, "is cordoned and would get pods; would lose the taint a=:NoExecute");
        assert_eq!((found.len(), found[0].kind, found[0].weight), (1, ForecastKind::NodesDiffer, Weight::Medium));
    }

    #[tokio::test]
    async fn a_pod_range_is_given_twice() {
        let found = found(&[ranged("old", "10.1.0.0/24")], &[ranged("new", "10.1.0.0/24")]).await;
        let twice: Vec<&Forecast> = found.iter().filter(|forecast| forecast.kind == ForecastKind::GivenTwice).collect();
        assert_eq!(twice[0].affected[0].says, "has the pod range 10.1.0.0/24, which old would have again");
    }
}
