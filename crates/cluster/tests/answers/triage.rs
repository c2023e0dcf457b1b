//! What is broken in recorded clusters: at moments of the operator's log the true trouble is the first finding, and a healthy cluster has none.

use std::slice;

use ketcd_cluster::triage::{Absence, Answer, Cause};
use ketcd_cluster::{Options, ReleaseChoice};
use ketcd_history::timeline::Subject;
use ketcd_history::trouble::TroubleKind;
use ketcd_history::trouble::triage::Finding;
use ketcd_history::{ChangeKind, Intervention, intervention};
use serde_json::{Value, json};

use crate::fixture::{at, capture, cluster_of, of_namespace, stored};

const K120: &str = "k120-story";
const K136: &str = "k136-story";

async fn triage_at(name: &str, moment: &str) -> Answer {
    capture(name, at(moment)).await.triage().await.unwrap()
}

/// `kind/namespace/name`.
fn address(subject: &Subject) -> String {
    let parts = [subject.kind.to_lowercase(), subject.namespace.clone(), subject.name.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

/// A line of the operator's log (story.log), a moment soon after it, and the first finding then: the object that has it first, what it is, how many
/// objects have it.
const MOMENTS: &[(&str, &str, &str, &str, TroubleKind, usize)] = &[
    (
        K120,
        "22:16:13.877Z taint: every node NoSchedule, pod lab/ubuntu-tainted waits",
        "22:16:16",
        "pod/lab/ubuntu-tainted",
        TroubleKind::Unschedulable,
        1,
    ),
    (
        K120,
        "22:16:25.546Z anti-affinity: spread-1..spread-5 on 4 nodes, the fifth waits",
        "22:16:30",
        "pod/lab/spread-5",
        TroubleKind::Unschedulable,
        1,
    ),
    (K120, "22:16:43.969Z rollout: stuck on the host port", "22:16:50", "pod/web/tomcat-7f6f6db99b-sj7wj", TroubleKind::Unschedulable, 1),
    (
        K120,
        "22:17:02.957Z config: app-config changes under a running pod, crash loop",
        "22:17:30",
        "pod/web/crasher",
        TroubleKind::CrashLooping,
        1,
    ),
    (K120, "22:17:03.318Z node failure: node2's kubelet stops", "22:17:50", "node/node2", TroubleKind::NodeSilent, 1),
    (
        K120,
        "22:17:45.983Z node failure: node2 is Unknown; waiting for the 300 s toleration",
        "22:22:55",
        "node/node2",
        TroubleKind::NodeSilent,
        1,
    ),
    (K120, "22:23:11.088Z node failure: node2's kubelet returns", "22:24:00", "pod/web/crasher", TroubleKind::CrashLooping, 1),
    (
        K136,
        "00:14:22.366Z taint: every node NoSchedule, pod lab/ubuntu-tainted waits",
        "00:14:24",
        "pod/lab/ubuntu-tainted",
        TroubleKind::Unschedulable,
        1,
    ),
    (
        K136,
        "00:14:36.382Z anti-affinity: spread-1..spread-5 on 4 nodes, the fifth waits",
        "00:14:42",
        "pod/lab/spread-5",
        TroubleKind::Unschedulable,
        1,
    ),
    (K136, "00:14:53.610Z rollout: stuck on the host port", "00:14:58", "pod/web/tomcat-647b88d788-vmnc5", TroubleKind::Unschedulable, 1),
    (K136, "00:16:14.781Z burst: job web/burst, 12 like pods at once", "00:16:20", "job/web/burst", TroubleKind::Unschedulable, 6),
    (K136, "00:16:24.196Z node failure: node2's kubelet stops", "00:17:12", "node/node2", TroubleKind::NodeSilent, 1),
    (
        K136,
        "00:17:10.761Z node failure: node2 is Unknown; waiting for the 300 s toleration",
        "00:22:15",
        "node/node2",
        TroubleKind::NodeSilent,
        1,
    ),
];

#[tokio::test]
async fn the_true_trouble_is_the_first_finding() {
    for (name, log, moment, subject, kind, count) in MOMENTS {
        let answer = triage_at(name, moment).await;
        let first = &answer.findings[0];
        // Several pods of one controller are told by it.
        let told = first.owner.as_ref().filter(|_| first.subjects.len() > 1).unwrap_or(&first.subjects[0]);
        assert_eq!((&*address(told), first.trouble.kind, first.subjects.len()), (*subject, *kind, *count), "{log}");
    }
}

#[tokio::test]
async fn a_silent_node_is_silent_since_its_last_heartbeat() {
    for (name, moment, since) in [
        (K120, "22:17:50", "2026-11-20T22:17:03"),
        (K120, "22:22:55", "2026-11-20T22:17:03"),
        (K136, "00:17:12", "2026-11-21T00:16:19"),
        (K136, "00:22:15", "2026-11-21T00:16:19"),
    ] {
        let answer = triage_at(name, moment).await;
        assert!(answer.findings[0].since().unwrap().to_string().starts_with(since), "{moment}: {:?}", answer.findings[0]);
    }
}

#[tokio::test]
async fn a_healthy_cluster_has_no_finding() {
    // Before the first pod, between two stories, and while a node is cordoned, which is nobody's trouble.
    let moments = [(K120, "22:16:19"), (K120, "22:16:21"), (K120, "22:16:24"), (K136, "00:14:21"), (K136, "00:14:30"), (K136, "00:14:33")];
    for (name, moment) in moments {
        let answer = triage_at(name, moment).await;
        assert_eq!((answer.findings, answer.counts.nodes, answer.absence, answer.not_decoded), (vec![], 4, None, 0), "{moment}");
    }
}

/// The finding or effect of this trouble.
fn find(findings: &[Finding], kind: TroubleKind) -> &Finding {
    findings.iter().find(|finding| finding.trouble.kind == kind).unwrap_or_else(|| panic!("no {kind:?} in {findings:#?}"))
}

fn names(finding: &Finding) -> Vec<&str> {
    finding.subjects.iter().map(|subject| &*subject.name).collect()
}

#[tokio::test]
async fn the_node_is_the_cause_of_what_followed() {
    let found = triage_at(K120, "22:22:55").await.findings;
    let node = &found[0];
    assert_eq!((node.trouble.kind, names(node), node.pods), (TroubleKind::NodeSilent, vec!["node2"], 3));
    // story.log: the kubelet stops at 22:17:03.318; its last renewal came a little before.
    assert!(node.since().unwrap().to_string().starts_with("2026-11-20T22:17:03.050"), "{node:?}");
    let deleted = find(&node.effects, TroubleKind::Terminating);
    assert_eq!(names(deleted), ["spread-1", "tomcat-7f6f6db99b-jr4fc"]);
    assert_eq!(deleted.since(), Some("2026-11-20T22:22:50Z".parse().unwrap()));
    let short = find(&node.effects, TroubleKind::Short);
    assert_eq!((names(short), short.trouble.numbers), (vec!["tomcat"], Some((1, 2))));
    let waits = find(&short.effects, TroubleKind::Unschedulable);
    assert_eq!(names(waits), ["tomcat-7f6f6db99b-fssvc"]);
    assert!(waits.trouble.message.as_ref().unwrap().starts_with("0/4 nodes are available: "), "{waits:?}");
    // The pod that waited since before the node was lost is no effect of it.
    assert!(found.iter().any(|finding| names(finding)[0] == "tomcat-7f6f6db99b-sj7wj"));
}

#[tokio::test]
async fn claims_and_the_pods_that_wait_for_them_are_one() {
    let options = Options { namespace: Some("web".to_owned()), ..at("00:22:15") };
    let found = capture(K136, options).await.triage().await.unwrap().findings;
    let claims = find(&found, TroubleKind::ClaimPending);
    assert_eq!(claims.subjects.len(), 2);
    // The scheduler has chosen node1 since it refused them: what it said then is over.
    assert_eq!(claims.trouble.about[1..], ["node1", "csi.example.com"]);
    let pods = find(&claims.effects, TroubleKind::VolumeAwaited);
    assert_eq!((&*pods.owner.as_ref().unwrap().name, pods.pods), ("store", 2));
    assert_eq!((pods.trouble.about.first().map(|node| &**node), &pods.trouble.message), (Some("node1"), &None));
    assert_eq!(find(&pods.effects, TroubleKind::Short).trouble.numbers, Some((0, 2)));
    assert!(found.iter().all(|finding| finding.subjects[0].namespace != "lab"));
}

#[tokio::test]
async fn who_changed_what_before() {
    let found = triage_at(K120, "22:17:30").await.changed.changes;
    let created = |kind: &str, name: &str, by: &str| {
        found.iter().any(|change| {
            let subject = Subject::of(change.change.object().unwrap());
            let is_it = (&*subject.kind, &*subject.name) == (kind, name) && change.change.kind == ChangeKind::Added;
            is_it && change.actor.as_ref().is_some_and(|actor| actor.name == by)
        })
    };
    let set = |kind: &str, name: &str, path: &str, value: Value, by: &str| {
        let is_it = found.iter().any(|change| {
            let subject = Subject::of(change.change.object().unwrap());
            let Some(Intervention::Changed(fields)) = intervention(change) else { return false };
            let is_set = fields.iter().any(|field| field.path.to_string() == path && field.field.after() == Some(&value));
            (&*subject.kind, &*subject.name) == (kind, name) && is_set && change.actor.as_ref().is_some_and(|actor| actor.name == by)
        });
        assert!(is_it, "{kind}/{name} {path} {value} {by}");
    };
    // The operator's log of the minute before, from the newest on.
    set("ConfigMap", "app-config", "data.LOG", json!("debug"), "kubectl-client-side-apply");
    assert!(created("CustomResourceDefinition", "widgets.example.com", "kubectl-client-side-apply"));
    set("Deployment", "tomcat", "spec.template.spec.containers[tomcat].image", json!("tomcat:10"), "kubectl-set");
    set("Node", "node3", "metadata.labels.nodelabel", json!("tomcat"), "kubectl-label");
    set("Node", "node1", "spec.unschedulable", json!(true), "kubectl");
    let taint = json!({"effect": "NoExecute", "key": "broken", "value": "yes"});
    set("Node", "node2", "spec.taints[broken/NoExecute]", taint, "kubectl-taint");
    // What the control plane writes by itself is not among them.
    for change in &found {
        let by = change.actor.as_ref().map_or("", |actor| &*actor.name);
        assert!(by != "kubelet" && by != "kube-controller-manager", "{change:?}");
        if let Some(Intervention::Changed(fields)) = intervention(change) {
            assert!(fields.iter().all(|field| !field.path.starts_with(&["status"])), "{change:?}");
        }
    }
}

#[tokio::test]
async fn what_etcd_was_written() {
    let writes = triage_at(K120, "22:22:55").await.storage.writes.unwrap();
    assert_eq!(writes.by_resource.iter().take(2).map(|(resource, _)| &**resource).collect::<Vec<_>>(), ["leases", "events"]);
    assert_eq!(writes.changes, writes.by_resource.iter().map(|(_, part)| part.changes).sum::<u64>());
}

#[tokio::test]
async fn objects_without_a_history_are_looked_at_too() {
    // A pod in a crash loop, as kubectl prints it.
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop", "uid": "1", "resourceVersion": "7"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "ready": false, "restartCount": 4, "image": "i", "imageID": "",
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}});
    let answer = cluster_of(pod.to_string(), Options::default()).await.triage().await.unwrap();
    let first = &answer.findings[0];
    assert_eq!((&*address(&first.subjects[0]), first.trouble.kind), ("pod/shop/web-0", TroubleKind::CrashLooping));
    assert_eq!(answer.changed.windows, []);
}

const NAMESPACE: (&str, &str) = ("/registry/namespaces/default", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}"#);
const EVENT: (&str, &str) =
    ("/registry/events/web/a.1", r#"{"apiVersion":"v1","kind":"Event","metadata":{"name":"a.1","namespace":"web"},"reason":"Pulled"}"#);
const COMPACTION: (&str, &str) = ("compact_rev_key", "17");

/// Why there is nothing to look at in an etcd of these keys.
async fn absence_in(values: &[(&str, &str)], options: Options) -> Option<Absence> {
    stored(values, options).await.triage().await.unwrap().absence
}

#[tokio::test]
async fn where_there_is_nothing_to_look_at_the_reason_is_named() {
    let usual = || "/registry".to_owned();
    let below = |prefix: &str| Options { prefix: Some(prefix.to_owned()), ..Options::default() };
    let foreign = |begin: &str| Absence::Foreign { prefix: usual(), begin: vec![begin.to_owned()] };
    let config = ("/registry/configmaps/web/a", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"web"}}"#);
    let of_kube = ("/kube/namespaces/default", NAMESPACE.1);
    let other = |prefix: &str, cluster: &str| Absence::OtherPrefix { prefix: prefix.to_owned(), cluster: cluster.to_owned() };
    let cases: Vec<(&[(&str, &str)], Options, Absence)> = vec![
        (&[], Options::default(), Absence::Empty),
        (&[COMPACTION], Options::default(), foreign("compact_rev_key")),
        (slice::from_ref(&EVENT), Options::default(), Absence::OnlyEvents { prefix: usual() }),
        (&[EVENT, COMPACTION], Options::default(), Absence::OnlyEvents { prefix: usual() }),
        (slice::from_ref(&config), Options::default(), Absence::OtherKinds { prefix: usual(), kinds: vec!["configmaps".to_owned()] }),
        (&[NAMESPACE], below("/wrong"), other("/wrong", "/registry")),
        (slice::from_ref(&of_kube), below("/registry"), other("/registry", "/kube")),
        (&[("/calico/v1/host", "1"), ("/calico/ipam/v2/a", "{}")], Options::default(), foreign("/calico/")),
        (&[("by-dev/meta/session/id", "360")], Options::default(), foreign("by-dev/")),
        (&[("/registry/dubbo/a", "x")], Options::default(), foreign("/registry/")),
        (&[("\u{1b}[31m/a", "x")], Options::default(), foreign("\u{1b}[31m/")),
        (&[NAMESPACE], of_namespace("wbe"), Absence::Namespace("wbe".to_owned())),
    ];
    for (values, options, wanted) in cases {
        assert_eq!(absence_in(values, options).await, Some(wanted), "{values:?}");
    }
}

#[tokio::test]
async fn a_cluster_without_nodes_is_one_all_the_same() {
    let answer = stored(&[NAMESPACE, COMPACTION], Options::default()).await.triage().await.unwrap();
    assert_eq!((answer.findings, answer.absence, answer.not_decoded), (vec![], None, 0));
    assert_eq!((answer.counts.nodes, answer.counts.pods, answer.counts.workloads), (0, 0, 0));
}

#[tokio::test]
async fn what_could_not_be_decoded_is_counted() {
    let broken = ("/registry/minions/n1", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"#);
    // As the command does: what is shown looks the same in every release.
    let any = || Options { release: ReleaseChoice::Any, ..Options::default() };
    let cases = [(capture("k136-encrypted", any()).await, 13), (stored(&[broken, NAMESPACE], any()).await, 1)];
    for (cluster, count) in cases {
        let answer = cluster.triage().await.unwrap();
        assert_eq!((answer.not_decoded, answer.absence), (count, None));
    }
}

#[tokio::test]
async fn a_lease_that_was_given_back_is_told_as_that() {
    let answer = capture(K136, Options::default()).await.triage().await.unwrap();
    let place = answer.findings.iter().position(|finding| finding.trouble.kind == TroubleKind::LeaseReleased).unwrap();
    let released = &answer.findings[place];
    assert_eq!(names(released), ["kube-scheduler"]);
    assert!(released.since().unwrap().to_string().starts_with("2026-11-21T00:25:23"), "{released:?}");
    // Workloads that are short weigh more.
    assert!(place > 0 && answer.findings.iter().all(|finding| finding.trouble.kind != TroubleKind::ComponentSilent), "{place}");
}

#[tokio::test]
async fn a_silent_node_says_when_that_was_noticed() {
    let answer = triage_at(K136, "00:22:15").await;
    let node = &find(&answer.findings, TroubleKind::NodeSilent).trouble;
    let later = node.counts_from.unwrap().duration_since(node.since.unwrap()).as_secs_f64();
    assert_eq!((later.round(), node.message.as_deref()), (51.0, Some("Kubelet stopped posting node status.")));
    // Before the control plane notices, the lease shows it.
    let answer = triage_at(K136, "00:17:08").await;
    let node = &find(&answer.findings, TroubleKind::NodeSilent).trouble;
    assert_eq!((node.counts_from.filter(|noticed| Some(*noticed) > node.since), node.message.as_deref().unwrap_or_default()), (None, ""));
}

/// The causes of a finding as `kind/namespace/name relation author`.
fn explained(answer: &Answer, place: usize) -> Vec<String> {
    let cause = |cause: &Cause| {
        let change = &answer.changed.changes[cause.change];
        let who = change.actor.as_ref().map_or("", |actor| &*actor.name);
        format!("{} {} {who}", address(&Subject::of(change.change.object().unwrap())), cause.relation.as_str())
    };
    answer.causes[place].iter().map(cause).collect()
}

#[tokio::test]
async fn a_finding_has_the_changes_that_explain_it() {
    let of = |answer: &Answer, name: &str| {
        let place = answer.findings.iter().position(|finding| names(finding)[0].starts_with(name)).unwrap();
        explained(answer, place)
    };
    for (name, pod) in [(K120, "tomcat-7f6f6db99b-sj7wj"), (K136, "tomcat-647b88d788-vmnc5")] {
        let answer = capture(name, Options::default()).await.triage().await.unwrap();
        // story.log: "node3 loses its label, then tomcat:10".
        assert_eq!(of(&answer, pod), ["node/node3 Node kubectl-label", "deployment/web/tomcat Owner kubectl-set"]);
        // story.log: "app-config changes under a running pod, crash loop".
        assert_eq!(of(&answer, "crasher"), ["configmap/web/app-config Configuration kubectl-client-side-apply"]);
        for (finding, causes) in answer.findings.iter().zip(&answer.causes) {
            for cause in causes {
                let dated = answer.changed.changes[cause.change].dated.unwrap();
                // Conditions carry whole seconds.
                assert!(
                    finding.since().is_none_or(|since| dated.time.duration_since(since).as_secs_f64() - dated.error < 1.0),
                    "{finding:?}"
                );
            }
        }
    }
    // A taint that was taken off again before explains nothing; one that is there does.
    let answer = triage_at(K136, "00:14:24").await;
    let causes = explained(&answer, 0);
    assert!(causes.len() == 4 && causes.iter().all(|cause| cause.ends_with("Node kubectl-taint")), "{causes:?}");
}

#[tokio::test]
async fn an_unfinished_rollout_is_a_finding_and_begins_when_timeline_says() {
    for (name, begun) in [(K120, "2026-11-20T22:16:44"), (K136, "2026-11-21T00:14:54")] {
        let cluster = capture(name, Options::default()).await;
        let answer = cluster.triage().await.unwrap();
        let rollout = answer
            .findings
            .iter()
            .find_map(|finding| finding.effects.iter().find(|effect| effect.trouble.kind == TroubleKind::RolloutUnfinished));
        let rollout = rollout.unwrap();
        assert_eq!((names(rollout), rollout.trouble.numbers), (vec!["tomcat"], Some((2, 2))));
        // Number 4; one pod of before is left (truth: replicas 3, updatedReplicas 2).
        assert_eq!(rollout.trouble.about, ["4", "1"]);
        let asked = cluster.asked(&["deploy/web/tomcat".to_owned()], false).await.unwrap();
        let story = cluster.timeline(&asked).await.unwrap();
        let last = story.find("Deployment", "web", "tomcat").unwrap().rollouts.last().unwrap();
        assert_eq!((last.end, last.number.as_deref()), (None, Some("4")));
        assert_eq!(last.dated.map(|dated| dated.time), rollout.since());
        assert!(rollout.since().unwrap().to_string().starts_with(begun), "{rollout:?}");
    }
    // One that goes on is nobody's trouble.
    let found = triage_at(K136, "00:14:48").await.findings;
    assert!(!format!("{found:?}").contains("RolloutUnfinished"), "{found:?}");
}

#[tokio::test]
async fn a_node_dies_once() {
    for (name, moment) in [(K120, "22:22:55"), (K136, "00:22:15")] {
        let answer = triage_at(name, moment).await;
        let node = find(&answer.findings, TroubleKind::NodeSilent);
        let cluster = capture(name, Options::default()).await;
        let asked = cluster.asked(&["node/node2".to_owned()], false).await.unwrap();
        let story = cluster.timeline(&asked).await.unwrap();
        let outage = story.outages(story.find("Node", "", "node2").unwrap()).remove(0);
        assert_eq!(outage.from.dated.map(|dated| dated.time), node.since(), "{name}");
    }
}

/// All that somebody changed is in the timeline of the same time.
#[tokio::test]
async fn a_timeline_around_a_moment_has_every_intervention() {
    for name in [K120, K136] {
        let cluster = capture(name, Options::default()).await;
        let answer = cluster.triage().await.unwrap();
        let asked = cluster.asked(&[], true).await.unwrap();
        let story = cluster.timeline(&asked).await.unwrap();
        let told: std::collections::BTreeSet<_> = story.timelines.values().flat_map(|of| &of.phases).map(|phase| phase.revision).collect();
        let missing: Vec<_> = answer.changed.changes.iter().filter(|change| !told.contains(&change.change.revision)).collect();
        assert!(missing.is_empty() && answer.changed.changes.len() > 100, "{missing:?}");
    }
}
