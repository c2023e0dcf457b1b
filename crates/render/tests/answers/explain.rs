//! Explanations of recorded decisions: what people read, and the document for scripts.

use std::collections::BTreeMap;

use ketcd_cluster::explain::Explained as Answer;
use ketcd_cluster::replay::{Feed, SchedulerOptions};
use ketcd_cluster::{Cluster, Error, Options};
use ketcd_render::explanation::json::write_json;
use ketcd_render::explanation::{PodNow, SinceRefusal, text};
use ketcd_scheduler::{Attempt, Depth, Explanation, Replay};
use ketcd_store::Revision;
use ketcd_what_if::explain_pod;
use serde_json::{Value, json};

use crate::fixture;

/// How a pod is explained.
#[derive(Default)]
pub(crate) struct How<'a> {
    /// Only this node, in depth.
    pub node: Option<&'a str>,
    /// Which scheduler decided.
    pub scheduler: SchedulerOptions<'a>,
}

/// A pod explained.
pub(crate) struct Explained {
    /// What people read; lines that were folded are joined.
    pub text: String,
    /// The document.
    pub document: Value,
    /// The refusals before it.
    pub refusals: Vec<Attempt>,
}

/// Explains `namespace/name`.
pub(crate) async fn explained(cluster: &Cluster, pod: &str, how: How<'_>) -> Result<Explained, Error> {
    let (namespace, name) = pod.split_once('/').unwrap();
    let depth = how.node.map_or(Depth::Refusals, |node| Depth::Node(node.to_owned()));
    let mut explainer = cluster.explainer(&how.scheduler).await?.with_depth(depth).with_remedies(true);
    let Answer { explanation, refusals, since, held, replay, .. } = explain_pod(&mut explainer, namespace, name).await?;
    let attempts = refusals.iter().chain([&explanation.attempt]).map(|attempt| Revision(attempt.revision));
    let revisions: Vec<Revision> = attempts.chain([Revision(explanation.evaluated_revision)]).collect();
    let clock = cluster.clock_around(&revisions, &[]).await?;
    let since = since.as_ref().map(SinceRefusal::from);
    let now = PodNow { since: since.as_ref(), held: &held };
    let shown = text::TextOptions { node: how.node, refusals: &refusals, since: Some(now), ..text::TextOptions::default() };
    let text = fixture::text(|out| text::write_styled(&explanation, Some(&clock), shown, out)).replace("\n  ", " ");
    let document = document(&explanation, &replay, how.node, now);
    Ok(Explained { text, document, refusals })
}

fn document(explanation: &Explanation, replay: &Replay, node: Option<&str>, now: PodNow<'_>) -> Value {
    let mode = replay.scheduler().profile_for(&explanation.attempt.pod).0.filter_mode;
    let mut out = Vec::new();
    write_json(explanation, mode, None, node, now, None, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[tokio::test]
async fn a_node_that_is_not_there_is_said_to_be_missing() {
    let node = |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p"},
        "spec": {"nodeName": "node9", "containers": []}, "status": {"phase": "Running"}});
    let of = async |items: Value| {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        explained(&fixture::cluster_of(&list).await, "shop/p", How::default()).await.unwrap().text
    };
    let missing = "node9 is not among the nodes";
    let text = of(json!([node("node1"), node("node2"), pod])).await.replace('\n', " ");
    assert!(text.contains(missing) && !text.contains("runs there"), "{text}");
    // Without nodes nothing is known of this one.
    for items in [json!([pod]), json!([node("node9"), pod])] {
        let text = of(items).await.replace('\n', " ");
        assert!(!text.contains(missing), "{text}");
    }
}

/// Whether the volume of a pod is attached to another node is said by the rule that `triage` has.
#[tokio::test]
async fn a_volume_that_another_node_holds_is_in_the_way() {
    let node = |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}});
    let pod = |name: &str, on: Option<&str>, phase: &str| {
        let volumes = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"nodeName": on, "containers": [], "volumes": volumes}, "status": {"phase": phase}})
    };
    let of = async |pods: &[Value], attached: &str, modes: Value| {
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "c"},
            "spec": {"volumeName": "pv-1", "accessModes": modes}, "status": {"phase": "Bound"}});
        let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1", "uid": "v"},
            "spec": {"accessModes": modes, "claimRef": {"namespace": "shop", "name": "data", "uid": "c"}}, "status": {"phase": "Bound"}});
        let spec = json!({"attacher": "disk.csi", "nodeName": attached, "source": {"persistentVolumeName": "pv-1"}});
        let attachment = json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "csi-1", "uid": "a"},
            "spec": spec, "status": {"attached": true}});
        let items = [&[node("node1"), node("node2"), claim, volume, attachment][..], pods].concat();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        let Explained { text, document, .. } = explained(&fixture::cluster_of(&list).await, "shop/pg-0", How::default()).await.unwrap();
        (words(&text), document.get("heldVolumes").cloned())
    };
    let once = || json!(["ReadWriteOnce"]);
    let waiting = pod("pg-0", Some("node2"), "Pending");
    let (page, held) = of(std::slice::from_ref(&waiting), "node1", once()).await;
    let line = "waits: volumeattachment/csi-1 holds volume pv-1 on node1: no pod there uses it; delete the VolumeAttachment; if it does not end, \
        disk.csi has to detach the volume";
    assert!(page.contains(line), "{page}");
    let volume = json!({"volume": "pv-1", "attachment": "csi-1", "node": "node1", "nodeMissing": false, "attacher": "disk.csi"});
    assert_eq!(held, Some(json!([volume])));
    let (page, held) = of(&[waiting.clone(), pod("pg-old", Some("node1"), "Running")], "node1", once()).await;
    assert!(page.contains("on node1: pod shop/pg-old uses it there; delete pod shop/pg-old;"), "{page}");
    assert_eq!(held.unwrap()[0]["usedBy"], json!({"kind": "Pod", "name": "pg-old", "namespace": "shop"}));
    let (page, held) = of(std::slice::from_ref(&waiting), "node9", once()).await;
    assert!(page.contains("holds volume pv-1 on node9: node9 is not among the nodes; delete the VolumeAttachment;"), "{page}");
    assert_eq!(held.unwrap()[0]["nodeMissing"], true);
    // Without a node it may still come to the one where the volume is.
    let (page, held) = of(&[pod("pg-0", None, "Pending")], "node1", once()).await;
    assert!(
        page.contains("it would wait on every node but node1: volumeattachment/csi-1 holds volume pv-1 on node1: no pod there uses it")
    );
    assert!(held.is_some() && !page.contains("delete the VolumeAttachment"), "{page}");
    // Where it should be; of a volume that many nodes may have; of a pod that runs.
    for (pod, attached, modes) in [
        (&waiting, "node2", once()),
        (&waiting, "node1", json!(["ReadWriteOnce", "ReadWriteMany"])),
        (&pod("pg-0", Some("node2"), "Running"), "node1", once()),
    ] {
        let (page, held) = of(std::slice::from_ref(pod), attached, modes).await;
        assert!(held.is_none() && !page.contains("volumeattachment"), "{page}");
    }
}

/// Explains a pod of a recorded cluster.
async fn recorded(capture: &str, pod: &str) -> Explained {
    explained(&fixture::capture(capture, Options::default()).await, pod, How::default()).await.unwrap()
}

/// A text with its lines joined.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn pods_of_a_daemon_set_are_meant_for_one_node() {
    let printed = words(&recorded("k136-story", "lab/agent-4rtgr").await.text);
    assert!(printed.contains("lab/agent-4rtgr → node2") && printed.contains("the pod of DaemonSet agent for node2"), "{printed}");
    assert!(printed.contains("not evaluated: the pod can run only on other nodes"), "{printed}");
    let printed = words(&recorded("k120-story", "lab/agent-2t9fc").await.text);
    assert!(
        printed.contains("the pod of DaemonSet agent for node4") && printed.contains("the node node4 wanted, it is node1"),
        "{printed}"
    );
}

#[tokio::test]
async fn what_was_written_after_the_last_refusal_is_evaluated() {
    // Refused at r1430 and, as its Event says, at r1434; then a storage class was made, node1 chosen at r1473, and a provisioner that never answers asked for the volume.
    let Explained { text, document, .. } = recorded("k136-story", "web/store-5").await;
    let page = words(&text);
    assert!(page.starts_with("web/store-5 waits") && page.contains(" node1 alone of 4 nodes fits "), "{page}");
    let since = "refused at r1434; since then: nominated to node1, claim data-store-5 waits for csi.example.com on node1";
    assert!(page.contains(since), "{page}");
    assert!(!page.contains("provide a PersistentVolume"), "{page}");
    let since = &document["sinceRefusal"];
    assert_eq!((&since["refusedRevision"], &since["nominatedNode"]), (&1434.into(), &"node1".into()));
    assert_eq!(since["awaited"], json!([{"claim": "data-store-5", "node": "node1", "waitsFor": "csi.example.com"}]));
    assert_eq!(document["attempt"]["outcome"], "Pending");
    // If nothing was written about the pod since, the refusal is the answer.
    let refused = recorded("k136-story", "lab/train-3").await.document;
    assert_eq!((&refused["attempt"]["outcome"], refused.get("sinceRefusal")), (&"Unschedulable".into(), None));
}

#[tokio::test]
async fn a_pod_that_waited_says_how_long_how_often_and_why() {
    let Explained { text, refusals, .. } = recorded("k136-story", "lab/spread-5").await;
    let line = text.lines().find(|line| line.starts_with("waited ")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains(&format!("; {} refusals recorded, the last at r", refusals.len())) && refusals.len() > 2, "{line}");
    assert!(line.contains(": 0/") && line.contains("nodes are available: "), "{line}");
    let last = refusals.last().unwrap();
    assert!(line.ends_with(&format!("r{}: {}", last.revision, last.recorded_message.as_deref().unwrap())), "{line}\n{last:?}");
    assert!(!recorded("k136-story", "lab/ubuntu").await.text.contains("waited "), "it was bound at once");
}

#[tokio::test]
async fn a_recorded_sentence_is_never_cut() {
    let cluster = fixture::capture("k136-story", Options::default()).await;
    let mut last = BTreeMap::new();
    walk(&cluster, None, Depth::Verdicts, |_, attempt| {
        last.insert(format!("{}/{}", attempt.pod.namespace, attempt.pod.name), attempt.recorded_message);
    })
    .await;
    let mut checked = 0;
    for pod in last.into_iter().filter_map(|(pod, sentence)| sentence.and(Some(pod))) {
        let Explained { text, document, .. } = explained(&cluster, &pod, How::default()).await.unwrap();
        let Some(sentence) = document["attempt"]["recordedMessage"].as_str() else { continue };
        assert!(words(&text).contains(&words(sentence)), "{sentence}\n{text}");
        checked += 1;
    }
    assert!(checked >= 2, "{checked}");
}

/// Hands each attempt of a cluster's history to `each`.
async fn walk(cluster: &Cluster, version: Option<&str>, depth: Depth, mut each: impl FnMut(&mut Replay, Attempt)) {
    let span = cluster.source.span().await.unwrap();
    let mut feed = Feed::new(cluster).await.unwrap();
    let scheduler = feed.scheduler(&SchedulerOptions { version, ..SchedulerOptions::default() }, span.newest).await.unwrap();
    let mut replay = Replay::new(scheduler, true).with_depth(depth);
    feed.seed(&mut replay, span.oldest, span.oldest).await.unwrap();
    let walked = feed.walk(&mut replay, span.oldest.after(), span.newest, |replay, attempt| {
        each(replay, attempt);
        Ok::<(), Error>(())
    });
    walked.await.unwrap();
}

/// What is wrong with the facts of a document of one node: those of a filter that passes must all speak for the node, of one that refuses one against it.
fn contradictions(attempt: &Value, compared: &mut usize) -> Vec<String> {
    let mut wrong = Vec::new();
    for filter in attempt["nodes"].as_array().unwrap().iter().flat_map(|node| node["filters"].as_array().unwrap()) {
        let facts = filter["compared"].as_array().map(Vec::as_slice).unwrap_or_default();
        let against = facts.iter().filter(|fact| fact["holds"] == false).count();
        let is_named = match filter["status"].as_str().unwrap() {
            "Success" => !facts.is_empty() && against == 0,
            "Unschedulable" | "UnschedulableAndUnresolvable" => against > 0,
            _ => continue,
        };
        *compared += 1;
        wrong.extend((!is_named).then(|| format!("{} {filter}", attempt["pod"])));
    }
    wrong
}

#[tokio::test]
async fn facts_bear_the_verdicts_of_every_filter_out() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for (capture, node, version) in [
        ("k136-random", "n03", "1.36"),
        ("matrix-1.24", "n01", "1.24"),
        ("k136-story", "node3", "1.36"),
        ("k120-random", "n05", "1.9"),
        ("k120-random", "n07", "1.11"),
        ("k120-random", "n09", "1.17"),
        ("k120-story", "node2", "1.20"),
    ] {
        let cluster = fixture::capture(capture, Options::default()).await;
        let each = |replay: &mut Replay, attempt| {
            let explanation = replay.explain(attempt);
            wrong.extend(contradictions(&document(&explanation, replay, Some(node), PodNow::default()), &mut compared));
        };
        walk(&cluster, Some(version), Depth::Node(node.to_owned()), each).await;
    }
    assert!(compared > 15_000, "only {compared} verdicts were compared");
    assert!(wrong.is_empty(), "{} of {compared}\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
}

/// The headline names who decided, and whose rules were applied where these are others.
#[tokio::test]
async fn the_headline_names_who_decided_and_whose_rules_were_applied() {
    let cluster = fixture::capture("k120-story", Options::default()).await;
    for (given, wanted) in [
        (None, "by default-scheduler 1.20; evaluated on r"),
        (Some("1.20"), "by default-scheduler 1.20; evaluated on r"),
        (Some("1.24"), "by default-scheduler 1.20; evaluated on r"),
        (Some("1.99"), "by default-scheduler 1.20; evaluated on r"),
    ] {
        let scheduler = SchedulerOptions { version: given, ..SchedulerOptions::default() };
        let text = explained(&cluster, "web/db-0", How { node: None, scheduler }).await.unwrap().text;
        assert!(text.contains(wanted) && !text.contains("default-scheduler 1.99"), "{given:?}: {text}");
        let rules = given.map(|given| given.replace("99", "37")).filter(|rules| rules != "1.20");
        assert_eq!(rules.is_some(), text.contains(" by the rules of 1."), "{given:?}: {text}");
        assert!(rules.is_none_or(|rules| text.contains(&format!(" by the rules of {rules}"))), "{given:?}: {text}");
    }
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default, uid: u}\nspec: {schedulerName: default-scheduler, containers: [{name: c}]}\n\
        status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: no nodes available to schedule pods}]}\n";
    let text = explained(&fixture::cluster_of(pod).await, "default/p", How::default()).await.unwrap().text;
    assert!(text.contains("by the rules of") && !text.contains("by default-scheduler 1."), "{text}");
}
