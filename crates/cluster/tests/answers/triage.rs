//! What is broken in recorded clusters: at moments of the operator's log the true trouble is the first finding, and a healthy cluster has none.

use std::slice;

use futures_util::TryStreamExt;
use ketcd_cluster::read::{Keys, Read};
use ketcd_cluster::triage::{Absence, Answer, Cause, changed};
use ketcd_cluster::{Options, ReleaseChoice};
use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::{TroubleKind, troubles_of};
use ketcd_history::{ChangeKind, Intervention, intervention};
use ketcd_testing::written::Written;
use serde_json::{Value, json};

use crate::fixture::{at, capture, cluster_of, database, of_namespace, stored};

const K120_CAPTURE: &str = "k120-story";
const K136_CAPTURE: &str = "k136-story";

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
const STORY_MOMENTS: &[(&str, &str, &str, &str, TroubleKind, usize)] = &[
    (
        K120_CAPTURE,
        "22:16:13.877Z taint: every node NoSchedule, pod lab/ubuntu-tainted waits",
        "22:16:16",
        "pod/lab/ubuntu-tainted",
        TroubleKind::Unschedulable,
        1,
    ),
    (
        K120_CAPTURE,
        "22:16:25.546Z anti-affinity: spread-1..spread-5 on 4 nodes, the fifth waits",
        "22:16:30",
        "pod/lab/spread-5",
        TroubleKind::Unschedulable,
        1,
    ),
    (
        K120_CAPTURE,
        "22:16:43.969Z rollout: stuck on the host port",
        "22:16:50",
        "pod/web/tomcat-7f6f6db99b-sj7wj",
        TroubleKind::Unschedulable,
        1,
    ),
    (
        K120_CAPTURE,
        "22:17:02.957Z config: app-config changes under a running pod, crash loop",
        "22:17:30",
        "pod/web/crasher",
        TroubleKind::CrashLooping,
        1,
    ),
    (K120_CAPTURE, "22:17:03.318Z node failure: node2's kubelet stops", "22:17:50", "node/node2", TroubleKind::NodeSilent, 1),
    (
        K120_CAPTURE,
        "22:17:45.983Z node failure: node2 is Unknown; waiting for the 300 s toleration",
        "22:22:55",
        "node/node2",
        TroubleKind::NodeSilent,
        1,
    ),
    (K120_CAPTURE, "22:23:11.088Z node failure: node2's kubelet returns", "22:24:00", "pod/web/crasher", TroubleKind::CrashLooping, 1),
    (
        K136_CAPTURE,
        "00:14:22.366Z taint: every node NoSchedule, pod lab/ubuntu-tainted waits",
        "00:14:24",
        "pod/lab/ubuntu-tainted",
        TroubleKind::Unschedulable,
        1,
    ),
    (
        K136_CAPTURE,
        "00:14:36.382Z anti-affinity: spread-1..spread-5 on 4 nodes, the fifth waits",
        "00:14:42",
        "pod/lab/spread-5",
        TroubleKind::Unschedulable,
        1,
    ),
    (
        K136_CAPTURE,
        "00:14:53.610Z rollout: stuck on the host port",
        "00:14:58",
        "pod/web/tomcat-647b88d788-vmnc5",
        TroubleKind::Unschedulable,
        1,
    ),
    (K136_CAPTURE, "00:16:14.781Z burst: job web/burst, 12 like pods at once", "00:16:20", "job/web/burst", TroubleKind::Unschedulable, 6),
    (K136_CAPTURE, "00:16:24.196Z node failure: node2's kubelet stops", "00:17:12", "node/node2", TroubleKind::NodeSilent, 1),
    (
        K136_CAPTURE,
        "00:17:10.761Z node failure: node2 is Unknown; waiting for the 300 s toleration",
        "00:22:15",
        "node/node2",
        TroubleKind::NodeSilent,
        1,
    ),
];

#[tokio::test]
async fn the_true_trouble_is_the_first_finding() {
    for (name, log, moment, subject, kind, count) in STORY_MOMENTS {
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
        (K120_CAPTURE, "22:17:50", "2026-11-20T22:17:03"),
        (K120_CAPTURE, "22:22:55", "2026-11-20T22:17:03"),
        (K136_CAPTURE, "00:17:12", "2026-11-21T00:16:19"),
        (K136_CAPTURE, "00:22:15", "2026-11-21T00:16:19"),
    ] {
        let answer = triage_at(name, moment).await;
        assert!(answer.findings[0].since().unwrap().to_string().starts_with(since), "{moment}: {:?}", answer.findings[0]);
    }
}

/// A compaction took the first ends of the container: the first that can be read is not when the loop began.
#[tokio::test]
async fn a_crash_loop_behind_a_compaction_may_have_begun_earlier() {
    for (name, since, may_begin_earlier) in [
        (K120_CAPTURE, "2026-11-20T22:17:05Z", false),
        ("k120-story/compacted.db.zst", "2026-11-20T22:17:40Z", true),
        (K136_CAPTURE, "2026-11-21T00:16:28Z", false),
        // Its first version was restarted once and had ended twice.
        ("k136-story/compacted.db.zst", "2026-11-21T00:16:30Z", true),
    ] {
        let answer = capture(name, Options::default()).await.triage().await.unwrap();
        let crasher = answer.findings.iter().find(|finding| finding.trouble.kind == TroubleKind::CrashLooping).unwrap();
        assert_eq!((crasher.since(), crasher.may_begin_earlier()), (Some(since.parse().unwrap()), may_begin_earlier), "{name}");
    }
}

#[tokio::test]
async fn a_healthy_cluster_has_no_finding() {
    // Before the first pod, between two stories, and while a node is cordoned, which is nobody's trouble.
    let moments = [
        (K120_CAPTURE, "22:16:19"),
        (K120_CAPTURE, "22:16:21"),
        (K120_CAPTURE, "22:16:24"),
        (K136_CAPTURE, "00:14:21"),
        (K136_CAPTURE, "00:14:30"),
        (K136_CAPTURE, "00:14:33"),
    ];
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
    let found = triage_at(K120_CAPTURE, "22:22:55").await.findings;
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
    let found = capture(K136_CAPTURE, options).await.triage().await.unwrap().findings;
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

/// What somebody changed is read without decoding writes of status; it is what decoding all of them gives.
#[tokio::test]
async fn writes_of_status_are_passed_over_and_nothing_else_is() {
    const STATUS_KINDS: [&str; 8] =
        ["minions", "namespaces", "persistentvolumeclaims", "resourcequotas", "deployments", "statefulsets", "daemonsets", "jobs"];
    let is_of_these = |key: &[u8]| STATUS_KINDS.iter().any(|path| key.starts_with(format!("/registry/{path}/").as_bytes()));
    let (mut changed_fields, mut all, mut made) = (0, 0, 0);
    for name in [K120_CAPTURE, "k136-cbor"] {
        let cluster = capture(name, Options::default()).await;
        let (newest, now) = (cluster.revision().await.unwrap(), cluster.known_moment().await.unwrap());
        let found = changed(&cluster, newest, now, &[]).await.unwrap();
        let clock = cluster.clock().await.unwrap();
        let mut wanted = Vec::new();
        let mut read = cluster.history(Keys::all(), newest).await.unwrap().changes();
        while let Some(item) = read.try_next().await.unwrap() {
            let Read::Item(change) = item else { continue };
            let key = change.change.key.clone();
            if is_of_these(&key) && clock.date(change.change.revision).is_some_and(|dated| dated.time > found.windows[0].from) {
                all += 1;
                changed_fields += usize::from(matches!(intervention(&change), Some(Intervention::Changed(_))));
                wanted.extend(intervention(&change).is_some().then_some(change.change.revision));
            }
        }
        let found: Vec<_> = found.changes.iter().map(|change| &change.change).collect();
        let found: Vec<_> = found.into_iter().filter(|change| is_of_these(&change.key)).map(|change| change.revision).collect();
        assert_eq!(found, wanted, "{name}");
        made += wanted.len();
    }
    assert!(all > 2 * made && changed_fields > 10, "{made} of {all}, {changed_fields} of them changed");
}

#[tokio::test]
async fn who_changed_what_before() {
    let found = triage_at(K120_CAPTURE, "22:17:30").await.changed.changes;
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
    let writes = triage_at(K120_CAPTURE, "22:22:55").await.storage.writes.unwrap();
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

const DEFAULT_NAMESPACE: (&str, &str) =
    ("/registry/namespaces/default", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}"#);
const SAMPLE_EVENT: (&str, &str) =
    ("/registry/events/web/a.1", r#"{"apiVersion":"v1","kind":"Event","metadata":{"name":"a.1","namespace":"web"},"reason":"Pulled"}"#);
const COMPACTION_ROW: (&str, &str) = ("compact_rev_key", "17");

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
    let of_kube = ("/kube/namespaces/default", DEFAULT_NAMESPACE.1);
    let other = |prefix: &str, cluster: &str| Absence::OtherPrefix { prefix: prefix.to_owned(), cluster: cluster.to_owned() };
    let cases: Vec<(&[(&str, &str)], Options, Absence)> = vec![
        (&[], Options::default(), Absence::Empty),
        (&[COMPACTION_ROW], Options::default(), foreign("compact_rev_key")),
        (slice::from_ref(&SAMPLE_EVENT), Options::default(), Absence::OnlyEvents { prefix: usual() }),
        (&[SAMPLE_EVENT, COMPACTION_ROW], Options::default(), Absence::OnlyEvents { prefix: usual() }),
        (slice::from_ref(&config), Options::default(), Absence::OtherKinds { prefix: usual(), kinds: vec!["configmaps".to_owned()] }),
        (&[DEFAULT_NAMESPACE], below("/wrong"), other("/wrong", "/registry")),
        (slice::from_ref(&of_kube), below("/registry"), other("/registry", "/kube")),
        (&[("/calico/v1/host", "1"), ("/calico/ipam/v2/a", "{}")], Options::default(), foreign("/calico/")),
        (&[("by-dev/meta/session/id", "360")], Options::default(), foreign("by-dev/")),
        (&[("/registry/dubbo/a", "x")], Options::default(), foreign("/registry/")),
        (&[("\u{1b}[31m/a", "x")], Options::default(), foreign("\u{1b}[31m/")),
        (&[DEFAULT_NAMESPACE], of_namespace("wbe"), Absence::Namespace("wbe".to_owned())),
    ];
    for (values, options, wanted) in cases {
        assert_eq!(absence_in(values, options).await, Some(wanted), "{values:?}");
    }
}

#[tokio::test]
async fn a_cluster_without_nodes_is_one_all_the_same() {
    let answer = stored(&[DEFAULT_NAMESPACE, COMPACTION_ROW], Options::default()).await.triage().await.unwrap();
    assert_eq!((answer.findings, answer.absence, answer.not_decoded), (vec![], None, 0));
    assert_eq!((answer.counts.nodes, answer.counts.pods, answer.counts.workloads), (0, 0, 0));
}

#[tokio::test]
async fn what_could_not_be_decoded_is_counted() {
    let broken = ("/registry/minions/n1", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"#);
    // As the command does: what is shown looks the same in every release.
    let any = || Options { release: ReleaseChoice::Any, ..Options::default() };
    let cases = [(capture("k136-encrypted", any()).await, 13), (stored(&[broken, DEFAULT_NAMESPACE], any()).await, 1)];
    for (cluster, count) in cases {
        let answer = cluster.triage().await.unwrap();
        assert_eq!((answer.not_decoded, answer.absence), (count, None));
    }
}

#[tokio::test]
async fn a_lease_that_was_given_back_is_told_as_that() {
    let answer = capture(K136_CAPTURE, Options::default()).await.triage().await.unwrap();
    let place = answer.findings.iter().position(|finding| finding.trouble.kind == TroubleKind::LeaseReleased).unwrap();
    let released = &answer.findings[place];
    assert_eq!(names(released), ["kube-scheduler"]);
    assert!(released.since().unwrap().to_string().starts_with("2026-11-21T00:25:23"), "{released:?}");
    // Workloads that are short weigh more.
    assert!(place > 0 && answer.findings.iter().all(|finding| finding.trouble.kind != TroubleKind::ComponentSilent), "{place}");
}

#[tokio::test]
async fn a_silent_node_says_when_that_was_noticed() {
    let answer = triage_at(K136_CAPTURE, "00:22:15").await;
    let node = &find(&answer.findings, TroubleKind::NodeSilent).trouble;
    let later = node.counts_from.unwrap().duration_since(node.since.unwrap()).as_secs_f64();
    assert_eq!((later.round(), node.message.as_deref()), (51.0, Some("Kubelet stopped posting node status.")));
    // Before the control plane notices, the lease shows it.
    let answer = triage_at(K136_CAPTURE, "00:17:08").await;
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
    for (name, pod) in [(K120_CAPTURE, "tomcat-7f6f6db99b-sj7wj"), (K136_CAPTURE, "tomcat-647b88d788-vmnc5")] {
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
    let answer = triage_at(K136_CAPTURE, "00:14:24").await;
    let causes = explained(&answer, 0);
    assert!(causes.len() == 4 && causes.iter().all(|cause| cause.ends_with("Node kubectl-taint")), "{causes:?}");
}

#[tokio::test]
async fn an_unfinished_rollout_is_a_finding_and_begins_when_timeline_says() {
    for (name, begun) in [(K120_CAPTURE, "2026-11-20T22:16:44"), (K136_CAPTURE, "2026-11-21T00:14:54")] {
        let cluster = capture(name, Options::default()).await;
        let answer = cluster.triage().await.unwrap();
        let rollout = answer
            .findings
            .iter()
            .find_map(|finding| finding.effects.iter().find(|effect| effect.trouble.kind == TroubleKind::RolloutUnfinished));
        let rollout = rollout.unwrap();
        assert_eq!((names(rollout), rollout.trouble.numbers), (vec!["tomcat"], Some((2, 2))));
        // Number 4; one pod of before is left (truth: replicas 3, updatedReplicas 2).
        assert_eq!(rollout.trouble.about[..2], ["4", "1"]);
        let asked = cluster.asked(&["deploy/web/tomcat".to_owned()], false).await.unwrap();
        let story = cluster.timeline(&asked).await.unwrap();
        let last = story.find("Deployment", "web", "tomcat").unwrap().rollouts.last().unwrap();
        assert_eq!((last.end, last.number.as_deref()), (None, Some("4")));
        assert_eq!(last.dated.map(|dated| dated.time), rollout.since());
        assert!(rollout.since().unwrap().to_string().starts_with(begun), "{rollout:?}");
    }
    // One that goes on is nobody's trouble.
    let found = triage_at(K136_CAPTURE, "00:14:48").await.findings;
    assert!(!format!("{found:?}").contains("RolloutUnfinished"), "{found:?}");
}

#[tokio::test]
async fn a_node_dies_once() {
    for (name, moment) in [(K120_CAPTURE, "22:22:55"), (K136_CAPTURE, "00:22:15")] {
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
    for name in [K120_CAPTURE, K136_CAPTURE] {
        let cluster = capture(name, Options::default()).await;
        let answer = cluster.triage().await.unwrap();
        let asked = cluster.asked(&[], true).await.unwrap();
        let story = cluster.timeline(&asked).await.unwrap();
        let told: std::collections::BTreeSet<_> = story.timelines.values().flat_map(|of| &of.phases).map(|phase| phase.revision).collect();
        let missing: Vec<_> = answer.changed.changes.iter().filter(|change| !told.contains(&change.change.revision)).collect();
        assert!(missing.is_empty() && answer.changed.changes.len() > 100, "{missing:?}");
    }
}

/// Every finding with every effect.
fn each<'f>(findings: &'f [Finding], found: &mut Vec<&'f Finding>) {
    for finding in findings {
        found.push(finding);
        each(&finding.effects, found);
    }
}

/// What an object says itself; the rest follows from leases, claims, classes and the audit log.
fn is_own(kind: TroubleKind) -> bool {
    use TroubleKind as Kind;
    kind.is_of_pods() && !matches!(kind, Kind::VolumeAwaited | Kind::DeviceAwaited)
        || matches!(
            kind,
            Kind::NodePressure | Kind::NodeNotReady | Kind::Short | Kind::RolloutUnfinished | Kind::RolloutStuck | Kind::PodsRefused
        )
        || matches!(kind, Kind::ClaimPending | Kind::NamespaceStuck | Kind::QuotaExhausted | Kind::JobFailed)
}

#[tokio::test]
async fn no_finding_says_of_an_object_what_its_own_data_does_not() {
    let ends = ["k120-burst", "k131-burst", "k136-burst", "k137-burst", "k136-random", "k137-whatif"];
    let moments = [
        (K120_CAPTURE, "22:16:50"),
        (K120_CAPTURE, "22:22:55"),
        (K136_CAPTURE, "00:16:20"),
        (K136_CAPTURE, "00:17:12"),
        (K136_CAPTURE, "00:22:15"),
    ];
    let ends = ends.map(|name| (name, Options::default()));
    let mut objects = 0;
    for (name, options) in ends.into_iter().chain(moments.map(|(name, moment)| (name, at(moment)))) {
        let cluster = capture(name, options).await;
        let answer = cluster.triage().await.unwrap();
        let mut found = Vec::new();
        each(&answer.findings, &mut found);
        for finding in found.into_iter().filter(|finding| is_own(finding.trouble.kind)) {
            for (subject, trouble) in finding.subjects.iter().zip(&finding.troubles) {
                assert_eq!(trouble.likeness(), finding.trouble.likeness(), "{name} {subject:?}");
                let stored = cluster.subjects(&[address(subject)]).await.unwrap().objects;
                let own = troubles_of(&stored[0].object);
                // Events say why a pod does not start and a claim has no volume.
                let is_said_by_event = matches!(trouble.kind, TroubleKind::NotStarting | TroubleKind::ClaimPending);
                let says = |own: &ketcd_history::trouble::Trouble| {
                    let message = if is_said_by_event { &own.message } else { &trouble.message };
                    // What its own spec says of a rollout that cannot move stands behind the rest.
                    (own.kind, &own.reason, &own.message, own.numbers) == (trouble.kind, &trouble.reason, message, trouble.numbers)
                        && trouble.about.starts_with(&own.about)
                };
                assert!(own.iter().any(says), "{name} {subject:?}: {trouble:?}, and it says {own:?}");
                objects += 1;
            }
        }
    }
    assert!(objects > 30, "{objects}");
}

/// A history of a namespace, written a change at a time, each with its second and its author.
#[derive(Default)]
struct Story(Written);

impl Story {
    fn put(&mut self, path: &str, second: u32, by: &str, mut object: Value) {
        let time = format!("2026-11-20T22:00:{second:02}Z");
        let (_, name) = path.rsplit_once('/').unwrap();
        object["metadata"]["name"] = json!(name);
        object["metadata"]["uid"] = json!(path);
        object["metadata"]["managedFields"] = json!([{"manager": by, "operation": "Update", "apiVersion": "v1", "time": time}]);
        if object["metadata"]["creationTimestamp"].is_null() {
            object["metadata"]["creationTimestamp"] = json!(time);
        }
        self.0.put(&format!("/registry/{path}"), object.to_string());
    }

    async fn triage(&self) -> Answer {
        database(self.0.finish(), Options::default()).await.triage().await.unwrap()
    }
}

fn config(made: u32, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "creationTimestamp": format!("2026-11-20T22:00:{made:02}Z")}, "data": data})
}

fn class(labels: Value) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"labels": labels, "creationTimestamp": "2026-11-20T22:00:02Z"}, "provisioner": "p"})
}

/// A pod that reads one key of a ConfigMap and has a claim of a class, as it is when it was made and when it ends again and again.
fn pod(status: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "creationTimestamp": "2026-11-20T22:00:05Z",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "statefulsets/shop/web", "controller": true}]},
        "spec": {"nodeName": "n1", "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}], "containers": [{"name": "c", "image": "i",
            "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "a"}}}]}]}, "status": status})
}

fn ending() -> Value {
    json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-20T22:00:30Z"}],
        "containerStatuses": [{"name": "c", "restartCount": 3, "image": "i", "imageID": "", "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-11-20T22:00:30Z"}}}]})
}

fn set(image: &str, replicas: i64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"namespace": "shop", "creationTimestamp": "2026-11-20T22:00:04Z"},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"name": "c", "image": image}]}}}, "status": {"readyReplicas": replicas}})
}

/// What happened before the pod was made.
fn begun(owner: Option<Value>) -> Story {
    let mut story = Story::default();
    story.put("namespaces/shop", 0, "kubectl", json!({"apiVersion": "v1", "kind": "Namespace"}));
    story.put("configmaps/shop/app", 1, "kubectl", config(1, json!({"a": "1", "b": "1"})));
    story.put("storageclasses/local", 2, "kubectl", class(Value::Null));
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop"}, "spec": {"storageClassName": "local"}, "status": {"phase": "Bound"}});
    story.put("persistentvolumeclaims/shop/data", 3, "kubectl", claim);
    owner.into_iter().for_each(|owner| story.put("statefulsets/shop/web", 4, "kubectl", owner));
    story.put("pods/shop/web-0", 5, "kube-controller-manager", pod(json!({"phase": "Running"})));
    story
}

#[tokio::test]
async fn what_is_only_near_in_time_explains_nothing() {
    // What a pod was made with, and what of it holds no container back.
    let mut story = begun(None);
    story.put("storageclasses/local", 20, "kubectl", class(json!({"a": "b"})));
    story.put("configmaps/shop/app", 21, "kubectl", config(1, json!({"a": "1", "b": "2"})));
    story.put("configmaps/shop/other", 22, "kubectl", config(22, json!({"a": "2"})));
    story.put("statefulsets/shop/web", 23, "kubectl", set("i", 2));
    story.put("statefulsets/shop/web", 24, "kubectl", set("i", 1));
    story.put("pods/shop/web-0", 31, "kubelet", pod(ending()));
    let answer = story.triage().await;
    assert_eq!((answer.findings[0].trouble.kind, explained(&answer, 0)), (TroubleKind::CrashLooping, vec![]));
    assert!(answer.changed.changes.len() >= 7, "all of it is among the other changes");
    // The key that it reads.
    let mut story = begun(None);
    story.put("configmaps/shop/app", 21, "kubectl", config(1, json!({"a": "2", "b": "1"})));
    story.put("storageclasses/local", 22, "kubectl", class(json!({"a": "b"})));
    story.put("pods/shop/web-0", 31, "kubelet", pod(ending()));
    let answer = story.triage().await;
    assert_eq!(explained(&answer, 0), ["configmap/shop/app Configuration kubectl"]);
}

#[tokio::test]
async fn a_pod_is_not_made_of_a_template_that_came_after_it() {
    let cause = async |second: u32, image: &str, replicas: i64| {
        let mut story = begun(Some(set("h", 1)));
        story.put("statefulsets/shop/web", second, "kubectl", set(image, replicas));
        story.put("pods/shop/web-0", 31, "kubelet", pod(ending()));
        let answer = story.triage().await;
        let last = answer.causes[0].last().map(|cause| answer.changed.changes[cause.change].change.kind);
        (explained(&answer, 0), last)
    };
    let owner = || vec!["statefulset/shop/web Owner kubectl".to_owned()];
    assert_eq!(cause(5, "i", 1).await, (owner(), Some(ChangeKind::Modified)));
    // It is made of what was there before.
    assert_eq!(cause(20, "i", 1).await, (owner(), Some(ChangeKind::Added)));
    assert_eq!(cause(20, "h", 3).await, (owner(), Some(ChangeKind::Added)));
}

/// Printed objects, one or a few, with what is wrong with them.
fn pasted() -> Vec<(Value, TroubleKind)> {
    let time = "2026-11-24T22:40:00Z";
    let metadata = |more: Value| {
        let mut metadata = json!({"name": "x", "namespace": "shop", "uid": "1", "creationTimestamp": time});
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        metadata
    };
    let failure = json!({"type": "NamespaceDeletionDiscoveryFailure", "status": "True", "reason": "DiscoveryFailed", "message": "metrics.k8s.io/v1beta1", "lastTransitionTime": time});
    let ended = || metadata(json!({"deletionTimestamp": time, "finalizers": ["example.com/hold"]}));
    let namespace = json!({"name": "x", "uid": "1", "creationTimestamp": "2026-11-20T00:00:00Z", "deletionTimestamp": time});
    let unavailable = json!({"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "lastTransitionTime": time, "lastUpdateTime": time});
    vec![
        (
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace, "status": {"phase": "Terminating", "conditions": [failure]}}),
            TroubleKind::NamespaceStuck,
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": ended(), "spec": {"nodeName": "n1", "containers": []}, "status": {"phase": "Running"}}),
            TroubleKind::Terminating,
        ),
        (
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata(json!({})), "spec": {"storageClassName": "local"}, "status": {"phase": "Pending"}}),
            TroubleKind::ClaimPending,
        ),
        (
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(json!({})), "spec": {"replicas": 1}, "status": {"conditions": [unavailable]}}),
            TroubleKind::Short,
        ),
    ]
}

#[tokio::test]
async fn one_printed_object_says_what_is_wrong_and_not_when_it_was_printed() {
    for (object, kind) in pasted() {
        let answer = cluster_of(object.to_string(), Options::default()).await.triage().await.unwrap();
        assert_eq!(answer.findings.first().map(|finding| finding.trouble.kind), Some(kind), "{object}");
        let not_before = answer.not_before.map(|time| time.to_string());
        assert_eq!((answer.now, not_before.as_deref()), (None, Some("2026-11-24T22:40:00Z")), "{object}");
        let answer = cluster_of(object.to_string(), at("2026-11-24T23:40:00Z")).await.triage().await.unwrap();
        assert_eq!((answer.findings[0].trouble.kind, answer.not_before), (kind, None), "{object}");
        assert_eq!(answer.now.unwrap().to_string(), "2026-11-24T23:40:00Z");
    }
}

#[tokio::test]
async fn printed_objects_have_a_namespace_that_was_not_printed() {
    let (claim, kind) = pasted().swap_remove(2);
    let of = async |namespace: &str| cluster_of(claim.to_string(), of_namespace(namespace)).await.triage().await.unwrap();
    let answer = of("shop").await;
    assert_eq!((answer.findings[0].trouble.kind, answer.absence), (kind, None));
    let answer = of("shpo").await;
    assert!(answer.findings.is_empty() && answer.absence.is_some(), "{:?}", answer.absence);
    // A custom resource is an object of Kubernetes without its definition, too.
    let mut widget = json!({"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop"}});
    let answer = cluster_of(widget.to_string(), Options::default()).await.triage().await.unwrap();
    assert_eq!(answer.absence, Some(Absence::OtherKinds { prefix: "/registry".to_owned(), kinds: vec!["widgets".to_owned()] }));
    widget["metadata"]["deletionTimestamp"] = json!("2026-11-24T22:40:00Z");
    widget["metadata"]["finalizers"] = json!(["acme.io/hold"]);
    let answer = cluster_of(widget.to_string(), Options::default()).await.triage().await.unwrap();
    assert_eq!((answer.findings[0].trouble.kind, answer.absence), (TroubleKind::FinalizersStuck, None));
    let answer = cluster_of(widget.to_string(), of_namespace("shpo")).await.triage().await.unwrap();
    assert!(answer.findings.is_empty() && answer.absence.is_some());
}

#[tokio::test]
async fn leases_that_are_renewed_show_when_objects_were_printed() {
    let lease = |name: &str, renewed: &str| {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": "kube-node-lease", "uid": name},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewed}})
    };
    let of = async |leases: &[Value]| {
        let nodes = leases.iter().map(|lease| {
            let name = &lease["metadata"]["name"];
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        });
        let objects = json!({"apiVersion": "v1", "kind": "List", "items": nodes.chain(leases.iter().cloned()).collect::<Vec<_>>()});
        cluster_of(objects.to_string(), Options::default()).await.triage().await.unwrap()
    };
    let answer = of(&[
        lease("n1", "2026-11-24T22:40:05.000000Z"),
        lease("n2", "2026-11-24T22:40:08.000000Z"),
        lease("n3", "2026-11-24T22:30:00.000000Z"),
    ])
    .await;
    assert_eq!(answer.now.unwrap().to_string(), "2026-11-24T22:40:08Z");
    assert_eq!(answer.findings.iter().flat_map(names).collect::<Vec<_>>(), ["n3"]);
    // One lease may be of a node that was lost long before.
    let answer = of(&[lease("n1", "2026-11-24T22:40:05.000000Z")]).await;
    assert_eq!((answer.now, answer.findings), (None, vec![]));
}

#[tokio::test]
async fn that_none_of_the_objects_asked_for_is_there_is_no_health() {
    let cluster = capture(K120_CAPTURE, Options::default()).await;
    let of = async |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let answer = cluster.triage_of(&words).await.unwrap();
        (answer.absence, answer.missing.len(), answer.findings.len())
    };
    let none = Some(Absence::Objects(None));
    assert_eq!(of(&["pod/web/nosuch"]).await, (none.clone(), 1, 0));
    assert_eq!(of(&["pod/web/nosuch", "node/none"]).await, (none.clone(), 2, 0));
    assert_eq!(of(&["horizontalpodautoscalers"]).await, (none, 0, 0));
    assert_eq!(of(&["pod/web/nosuch", "node/node1"]).await, (None, 1, 0));
    assert_eq!(of(&["node/node1"]).await, (None, 0, 0));
    let elsewhere = capture(K120_CAPTURE, Options { namespace: Some("default".to_owned()), ..Options::default() }).await;
    let answer = elsewhere.triage_of(&["deploy".to_owned()]).await.unwrap();
    assert_eq!(answer.absence, Some(Absence::Objects(Some("default".to_owned()))));
}
