//! Pods that run and are not in the backup, and pods of the backup that do not run any more.
//!
//! What a kubelet does (k8s.io/kubernetes v1.36.3):
//!
//! - It stops what runs and is not in its list of pods, static pods excepted, as soon as it has read that list: `HandlePodCleanups` in
//!   `pkg/kubelet/kubelet_pods.go`. Pods that it did not know before get one second of grace there; those that it knew end with their own
//!   (`SyncKnownPods` in `pkg/kubelet/pod_workers.go`).
//! - It does so only once the API server has answered (`sourcesReady` in `pkg/kubelet/kubelet.go`). A watch that began before the restore waits for newer
//!   revisions than the restored ones: until the kubelet lists anew, it sees nothing (kubernetes#107457), and pods run on that no API knows (#131115).
//! - It starts the pods of its list that do not run.
//!
//! Pods on a Node that does not exist are deleted after 40 seconds: `gcOrphaned` in `pkg/controller/podgc/gc_controller.go`. A Node that comes back
//! without a kubelet exists: its pods are evicted after their tolerations and stay Terminating until the Node is deleted
//! (`pkg/controller/nodelifecycle`, `pkg/controller/tainteviction`).

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use ketcd_kube::{Object, is_dns_subdomain};
use ketcd_store::shell::quoted;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{Pair, backup_has_controller, controller, counted, is_deleted, names, pairs, text, uid};
use super::super::states::States;
use crate::error::Result;
use crate::verify::Weight;

const MAX_COMMANDS: usize = 20;

/// By which annotation the API's copy of a static pod is known (`pkg/kubelet/types/types.go`).
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// Returns what becomes of pods.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let Some(newest) = &states.newest else { return alone(states).await };
    let mut pods = PodFates { nodes: names(newest, "/minions/").await?, ..PodFates::default() };
    pairs(states, "/pods/").for_each(|pair| pods.see(states, &pair));
    Ok(pods.finish(states))
}

/// What becomes of pods, by what it is.
#[derive(Default)]
struct PodFates {
    /// The nodes of the newest state.
    nodes: BTreeSet<String>,
    unknown: Vec<Affected>,
    others: Vec<Affected>,
    /// Whether one of the others runs on another node than the backup's.
    is_elsewhere: bool,
    again: Vec<Affected>,
    orphaned: Vec<Affected>,
    /// By the uid of a controller, whether the backup has it: many pods have one.
    controllers: HashMap<String, Option<bool>>,
}

impl PodFates {
    fn see(&mut self, states: &States<'_>, pair: &Pair) {
        let then = pair.before.as_ref().filter(|pod| is_placed(pod));
        let now = pair.after.as_ref().filter(|pod| is_placed(pod));
        if let Some(then) = then.filter(|then| !self.nodes.contains(node(then))) {
            self.orphaned.push(on(then, pair.affected_then("was on a node that is gone")));
        }
        if pair.is_same() {
            return;
        }
        match (now, &pair.before) {
            (Some(now), None) => {
                let says = self.maker(states, now);
                self.unknown.push(on(now, pair.affected(says)));
            }
            (Some(now), Some(before)) => {
                let place = then.map_or_else(String::new, |then| format!(" on {}", node(then)));
                let says = format!("runs as {}, the backup has {}{place}", uid(now), uid(before));
                self.is_elsewhere |= then.is_some_and(|then| node(then) != node(now) && self.nodes.contains(node(then)));
                self.others.push(on(now, pair.affected(says)));
            }
            (None, _) => {
                if let Some(then) = then.filter(|then| self.nodes.contains(node(then)) && !is_deleted(then)) {
                    let says = if pair.after.is_some() { "has ended since" } else { "is gone since" };
                    self.again.push(on(then, pair.affected_then(says)));
                }
            }
        }
    }

    /// Whether a controller of the backup knows of the pod's absence.
    fn maker(&mut self, states: &States<'_>, pod: &Value) -> String {
        let Some(owner) = controller(pod) else { return "has no controller: nothing makes another".to_owned() };
        let is_there = match self.controllers.get(text(owner, "/uid")) {
            Some(known) => *known,
            None => {
                let found = backup_has_controller(states, pod);
                self.controllers.insert(text(owner, "/uid").to_owned(), found);
                found
            }
        };
        let owner = format!("{} {}", text(owner, "/kind"), text(owner, "/name"));
        match is_there {
            Some(true) => format!("{owner} would make what it lacks"),
            Some(false) => format!("{owner} is not in the backup either"),
            None => format!("is controlled by {owner}"),
        }
    }

    fn finish(self, states: &States<'_>) -> Vec<Forecast> {
        // No command is made that runs on a node with an odd name.
        let show = || states.of_newest("get pods -A -o wide");
        let mut forecasts = Vec::new();
        forecasts.extend(unknown(self.unknown).map(|forecast| forecast.or_command(show)));
        forecasts.extend(others(self.others, self.is_elsewhere).map(|forecast| forecast.or_command(show)));
        forecasts.extend(again(self.again).map(|forecast| forecast.with_command(states.of_backup("get pods -A -o wide"))));
        forecasts.extend(orphaned(self.orphaned));
        forecasts
    }
}

/// Whether its containers run or will run on a node: not those of static pods, which the API does not start.
fn is_placed(pod: &Value) -> bool {
    let is_over = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
    let is_static = !pod["metadata"]["annotations"][MIRROR_ANNOTATION].is_null();
    !node(pod).is_empty() && !is_over && !is_static
}

fn node(pod: &Value) -> &str {
    text(pod, "/spec/nodeName")
}

fn on(pod: &Value, affected: Affected) -> Affected {
    Affected { node: node(pod).to_owned(), ..affected }
}

fn nodes_of(pods: &[Affected]) -> usize {
    pods.iter().map(|pod| pod.node.as_str()).collect::<BTreeSet<_>>().len()
}

fn unknown(mut pods: Vec<Affected>) -> Option<Forecast> {
    if pods.is_empty() {
        return None;
    }
    pods.sort_by(|one, other| one.node.cmp(&other.node));
    let (count, nodes) = (counted(pods.len(), "pod", "pods"), counted(nodes_of(&pods), "node", "nodes"));
    let says = format!(
        "{count} on {nodes} would run unknown to the API, with volumes and addresses, until each kubelet lists its pods anew and stops them: \
         when it is restarted, or when its watch is refused because its revision was compacted"
    );
    let commands: Vec<String> = pods.iter().filter_map(stop).take(MAX_COMMANDS).collect();
    let forecast = Forecast::new(ForecastKind::UnknownPods, Weight::High, says, pods)
        .with_headline(format!("{count} would run on {nodes} unknown to the API"));
    Some(commands.into_iter().fold(forecast, Forecast::with_command))
}

/// The command that stops a pod on its node, by the labels that the kubelet gives to its sandbox (`pkg/kubelet/types/labels.go`).
fn stop(pod: &Affected) -> Option<String> {
    if !is_dns_subdomain(&pod.node) {
        return None;
    }
    let word = |text: &str| quoted(text.as_bytes());
    let find = format!(
        "crictl pods --namespace={} --name={} --label=io.kubernetes.pod.uid={} -q",
        word(&pod.subject.namespace),
        word(&pod.subject.name),
        word(&pod.uid)
    );
    Some(format!("ssh {} {}", pod.node, word(&format!("{find} | xargs -r crictl stopp"))))
}

fn others(mut pods: Vec<Affected>, is_elsewhere: bool) -> Option<Forecast> {
    if pods.is_empty() {
        return None;
    }
    pods.sort_by(|one, other| one.node.cmp(&other.node));
    let count = counted(pods.len(), "pod runs", "pods run");
    let twice = if is_elsewhere { ", so that two of one name may run at once on different nodes" } else { "" };
    let says = format!(
        "{count} with another uid than the backup has: each kubelet would stop what runs once it lists its pods anew, and start what the backup has for \
         it, if its volumes are there{twice}"
    );
    let commands: Vec<String> = pods.iter().filter_map(stop).take(MAX_COMMANDS).collect();
    let weight = if is_elsewhere { Weight::High } else { Weight::Medium };
    let headline = format!("{} would have another uid than their containers", counted(pods.len(), "pod", "pods"));
    let forecast = Forecast::new(ForecastKind::OtherPods, weight, says, pods).with_headline(headline);
    Some(commands.into_iter().fold(forecast, Forecast::with_command))
}

fn again(pods: Vec<Affected>) -> Option<Forecast> {
    if pods.is_empty() {
        return None;
    }
    let (count, nodes) = (counted(pods.len(), "pod", "pods"), counted(nodes_of(&pods), "node", "nodes"));
    let says = format!(
        "{count} of the backup that no longer run would be started again on {nodes}, from the images and the configuration of that time, as far as \
         their volumes are there, until their controllers replace them"
    );
    let headline = format!("{count} of the past would start again");
    Some(Forecast::new(ForecastKind::PodsReturn, Weight::Medium, says, pods).with_headline(headline))
}

fn orphaned(mut pods: Vec<Affected>) -> Option<Forecast> {
    if pods.is_empty() {
        return None;
    }
    pods.sort_by(|one, other| one.node.cmp(&other.node));
    let says = format!(
        "{} of the backup on {} that are gone would look as if they ran, then stay Terminating until the Node is deleted: replacements on other nodes may \
         come late, those of StatefulSets only then",
        counted(pods.len(), "pod", "pods"),
        counted(nodes_of(&pods), "node", "nodes"),
    );
    let gone: BTreeSet<String> = pods.iter().map(|pod| pod.node.clone()).collect();
    let forecast = Forecast::new(ForecastKind::PodsOrphaned, Weight::Medium, says, pods);
    Some(gone.iter().take(MAX_COMMANDS).fold(forecast, |forecast, node| {
        forecast.with_command(format!("kubectl get pods -A --field-selector={}", quoted(format!("spec.nodeName={node}").as_bytes())))
    }))
}

/// What the backup alone tells: which pods are to run, and not which do.
async fn alone(states: &States<'_>) -> Result<Vec<Forecast>> {
    states.note("which pods run now that the backup does not have: no newer state; on each node, crictl pods lists them");
    let nodes = names(&states.backup, "/minions/").await?;
    let of_pod = move |pod: Object| {
        let is_there = nodes.contains(node(&pod));
        let says = if is_there { "is started where it does not run" } else { "is on a node that the backup does not have" };
        (is_placed(&pod) && !is_deleted(&pod)).then(|| on(&pod, super::super::objects::affected(&pod, says)))
    };
    let affected = states.backup.made("/pods/", of_pod).await?;
    if affected.is_empty() {
        return Ok(Vec::new());
    }
    let says = format!(
        "{} of the backup on {} would be started where they do not run any more; what else runs there is stopped once its kubelet lists its pods",
        counted(affected.len(), "pod", "pods"),
        counted(nodes_of(&affected), "node", "nodes")
    );
    Ok(vec![Forecast::new(ForecastKind::PodsReturn, Weight::Low, says, affected).with_command("kubectl get pods -A -o wide")])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, names, node, object, pod, with};
    use super::*;

    async fn found(made_up: &MadeUp) -> Vec<Forecast> {
        let states = made_up.states().await;
        forecasts(&states).await.unwrap()
    }

    fn owned(pod: Value, uid: &str) -> Value {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": true});
        with(pod, json!({"metadata": {"ownerReferences": [owner]}}))
    }

    #[tokio::test]
    async fn what_runs_and_is_not_in_the_backup_is_unknown() {
        let set = object("ReplicaSet", "shop", "web", "rs");
        let backup = [node("n1", "n"), set.clone()];
        let mirror = with(pod("etcd-n1", "s", "n1", "Running"), json!({"metadata": {"annotations": {MIRROR_ANNOTATION: "x"}}}));
        let newest = [
            node("n1", "n"),
            owned(pod("web-a", "a", "n1", "Running"), "rs"),
            pod("done", "d", "n1", "Succeeded"),
            pod("waits", "w", "", "Pending"),
            mirror,
            set,
        ];
        let found = found(&MadeUp::two(&backup, &newest).await).await;
        assert_eq!(names(&found, ForecastKind::UnknownPods), ["web-a"]);
        assert_eq!(found.len(), 1);
        let unknown = &found[0];
        assert_eq!(unknown.headline, "1 pod would run on 1 node unknown to the API");
        assert_eq!(
            (unknown.affected[0].node.as_str(), unknown.affected[0].says.as_str()),
            ("n1", "ReplicaSet web would make what it lacks")
        );
        assert_eq!(
            unknown.commands,
            ["ssh n1 'crictl pods --namespace=shop --name=web-a --label=io.kubernetes.pod.uid=a -q | xargs -r crictl stopp'"]
        );
        assert!(unknown.affected[0].revision.is_some());
    }

    #[tokio::test]
    async fn a_controller_that_the_backup_lacks_makes_no_other() {
        let newest = [node("n1", "n"), object("ReplicaSet", "shop", "web", "rs"), owned(pod("web-a", "a", "n1", "Running"), "rs")];
        let found = found(&MadeUp::two(&[node("n1", "n")], &newest).await).await;
        assert_eq!(found[0].affected[0].says, "ReplicaSet web is not in the backup either");
    }

    #[tokio::test]
    async fn a_name_of_another_uid_may_run_twice() {
        let nodes = [node("n1", "n"), node("n2", "m")];
        let backup = [nodes[0].clone(), nodes[1].clone(), pod("db-0", "old", "n1", "Running")];
        let newest = [nodes[0].clone(), nodes[1].clone(), pod("db-0", "new", "n2", "Running")];
        let found = found(&MadeUp::two(&backup, &newest).await).await;
        assert_eq!(names(&found, ForecastKind::OtherPods), ["db-0"]);
        assert_eq!((found.len(), found[0].weight), (1, Weight::High));
        assert!(found[0].commands[0].contains("pod.uid=new"), "{:?}", found[0].commands);
    }

    #[tokio::test]
    async fn pods_of_the_past_start_again_where_their_node_is() {
        let backup = [node("n1", "n"), node("n2", "m"), pod("web-a", "a", "n1", "Running"), pod("web-b", "b", "n2", "Running")];
        let found = found(&MadeUp::two(&backup, &[node("n1", "n")]).await).await;
        assert_eq!(names(&found, ForecastKind::PodsReturn), ["web-a"]);
        assert_eq!(names(&found, ForecastKind::PodsOrphaned), ["web-b"]);
    }

    #[tokio::test]
    async fn a_pod_that_goes_on_is_not_news() {
        let ready = with(pod("web-a", "a", "n1", "Running"), json!({"status": {"podIP": "10.0.0.1"}}));
        let made_up = MadeUp::two(&[node("n1", "n"), pod("web-a", "a", "n1", "Pending")], &[node("n1", "n"), ready]).await;
        assert_eq!(found(&made_up).await, []);
    }

    #[tokio::test]
    async fn no_command_runs_on_a_node_of_an_odd_name() {
        let newest = [pod("web-a", "a", "-oProxyCommand=x", "Running")];
        assert_eq!(found(&MadeUp::two(&[], &newest).await).await[0].commands, ["ketcd -f store.db get pods -A -o wide"]);
    }

    #[tokio::test]
    async fn a_backup_alone_says_what_it_does_not_know() {
        let made_up = MadeUp::alone(&[node("n1", "n"), pod("web-a", "a", "n1", "Running")]).await;
        let found = found(&made_up).await;
        assert_eq!((names(&found, ForecastKind::PodsReturn), found[0].weight), (vec!["web-a".to_owned()], Weight::Low));
        let states = made_up.states().await;
        forecasts(&states).await.unwrap();
        assert!(states.not_known()[0].starts_with("which pods run now"));
    }
}
