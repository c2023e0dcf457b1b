//! Traces of recorded and made-up clusters: ids are the same in every export, links and parents lead somewhere, and no trace is too large.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use ketcd_cluster::traces::{LinkReason, MAX_START_SPANS, MAX_TRACE_SPANS, MAX_TRACE_STARTS, MissingSpans, Span, SpanKind, Trace, Traces};
use ketcd_cluster::{AskedKeys, Cluster, Options, Revision, Since, TryStreamExt};
use ketcd_testing::written::Written;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::fixture::{at_revision, capture, database, of_namespace};

const CAPTURES: [&str; 5] = ["k120-story", "k136-story", "k137-story", "k136-whatif", "k120-story/compacted.db.zst"];
/// Those of them that are looked at twice by day: an older release, and what a compaction left.
const DAY_CAPTURES: [&str; 2] = ["k120-story", "k120-story/compacted.db.zst"];

async fn all(cluster: &Cluster) -> Traces {
    joined(cluster, None, None).await
}

/// The traces of all parts.
async fn joined(cluster: &Cluster, asked: Option<&AskedKeys>, trace_parent: Option<&str>) -> Traces {
    let parts: Vec<Traces> = cluster.traces(asked, trace_parent).try_collect().await.unwrap();
    parts.into_iter().fold(Traces::default(), |mut all, part| {
        all.add(part);
        all
    })
}

/// All traces of a recorded cluster, made once for the tests that look at them.
async fn whole(name: &'static str) -> Arc<Traces> {
    static MADE: LazyLock<Mutex<HashMap<&str, Arc<Traces>>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().await;
    if let Some(traces) = made.get(name) {
        return Arc::clone(traces);
    }
    let traces = Arc::new(all(&capture(name, Options::default()).await).await);
    made.insert(name, Arc::clone(&traces));
    traces
}

/// The traces about what words name.
async fn of(cluster: &Cluster, words: &[&str]) -> Traces {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let asked = AskedKeys::of(cluster, &words).await.unwrap();
    joined(cluster, asked.as_ref(), None).await
}

fn spans(traces: &Traces) -> impl Iterator<Item = (&Trace, &Span)> {
    traces.traces.iter().flat_map(|trace| trace.spans.iter().map(move |span| (trace, span)))
}

/// What each span is, by its ids.
fn told(traces: &Traces) -> HashMap<(String, String), String> {
    spans(traces)
        .map(|(trace, span)| {
            ((trace.id.to_string(), span.id.to_string()), format!("{:?} {:?} {:?}", span.kind, span.about.subject, span.parent))
        })
        .collect()
}

#[tokio::test]
async fn ids_are_unique() {
    for name in CAPTURES {
        let traces = whole(name).await;
        let first = told(&traces);
        assert!(first.len() > 50, "{name}: {}", first.len());
        assert_eq!(first.len(), spans(&traces).count(), "{name}: two spans have the same ids");
        let ids: HashSet<_> = spans(&traces).map(|(_, span)| span.id).collect();
        assert_eq!(ids.len(), first.len(), "{name}: an id is in two traces");
    }
}

#[tokio::test]
async fn ids_are_the_same_in_every_export() {
    are_the_same_again(&DAY_CAPTURES).await;
}

#[tokio::test]
async fn ids_are_the_same_in_every_export_nightly() {
    are_the_same_again(&CAPTURES).await;
}

async fn are_the_same_again(captures: &[&'static str]) {
    for &name in captures {
        let traces = whole(name).await;
        let first = told(&traces);
        let again = all(&capture(name, Options::default()).await).await;
        assert_eq!(told(&again), first, "{name}");
        let times = |traces: &Traces| spans(traces).map(|(_, span)| (span.id, span.from, span.to)).collect::<Vec<_>>();
        assert_eq!(times(&again), times(&traces), "{name}");
    }
}

#[tokio::test]
async fn an_earlier_export_and_one_of_a_part_have_the_same_spans() {
    let whole = told(&*whole("k136-story").await);
    let earlier = told(&all(&capture("k136-story", at_revision(1600)).await).await);
    assert!(earlier.len() > 100 && earlier.len() < whole.len(), "{}", earlier.len());
    for (ids, words) in &earlier {
        assert_eq!(whole.get(ids), Some(words));
    }
    let part = told(&of(&capture("k136-story", of_namespace("web")).await, &[]).await);
    assert!(part.len() > 20 && part.len() < whole.len(), "{}", part.len());
    for (ids, words) in &part {
        assert_eq!(whole.get(ids), Some(words));
    }
}

#[tokio::test]
async fn links_and_parents_lead_to_spans_that_are_exported() {
    let mut reasons = HashSet::new();
    for name in CAPTURES {
        let cluster = capture(name, Options::default()).await;
        for traces in [whole(name).await, Arc::new(of(&cluster, &["pods"]).await)] {
            let known: HashMap<_, &Span> = spans(&traces).map(|(trace, span)| ((trace.id, span.id), span)).collect();
            let mut open = 0;
            for (trace, span) in spans(&traces) {
                for link in &span.links {
                    assert!(known.contains_key(&(link.trace, link.span)), "{name}: {span:?}");
                    reasons.insert(link.reason.as_str());
                }
                match span.parent.map(|parent| known.get(&(trace.id, parent))) {
                    // What has not ended has no span, which its parts wait for.
                    Some(None) => open += 1,
                    Some(Some(parent)) => assert!(parent.id != span.id),
                    None => {}
                }
            }
            assert!(open == 0 || traces.left_out.without_end > 0, "{name}: {open}");
        }
    }
    for reason in [LinkReason::Start, LinkReason::Node, LinkReason::Replaces, LinkReason::Owner, LinkReason::Preemptor] {
        assert!(reasons.contains(reason.as_str()), "{reason:?} is in no capture: {reasons:?}");
    }
}

#[tokio::test]
async fn times_are_those_of_the_timeline_and_never_run_backwards() {
    have_the_times_of_the_timeline(&["k136-story", "k137-story"]).await;
}

#[tokio::test]
async fn times_are_those_of_the_timeline_and_never_run_backwards_nightly() {
    have_the_times_of_the_timeline(&CAPTURES).await;
}

async fn have_the_times_of_the_timeline(captures: &[&'static str]) {
    for &name in captures {
        let cluster = capture(name, Options::default()).await;
        let asked = cluster.asked(&[], true).await.unwrap();
        let story = cluster.timeline(&asked).await.unwrap();
        let phases = story.timelines.values().flat_map(|timeline| &timeline.phases);
        let mut known: HashSet<_> = phases.filter_map(|phase| Some((phase.revision, phase.dated?.time))).collect();
        for timeline in story.timelines.values() {
            known.extend(timeline.notes.iter().filter_map(|note| Some((note.revision, note.first?))));
            known.extend(timeline.rollouts.iter().filter_map(|rollout| Some((rollout.begun, rollout.dated?.time))));
            if timeline.subject.kind == "Node" {
                known.extend(story.outages(timeline).iter().filter_map(|outage| Some((outage.from.revision, outage.from.dated?.time))));
            }
        }
        for (_, span) in spans(&*whole(name).await) {
            assert!(span.from.time <= span.to.time, "{name}: {span:?}");
            for moment in [span.from, span.to] {
                assert!(known.contains(&(moment.revision, moment.time)), "{name}: {span:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_start_holds_what_the_pod_waited_for() {
    let traces = whole("k136-story").await;
    let kinds: HashSet<SpanKind> = spans(&traces).map(|(_, span)| span.kind).collect();
    for kind in [
        SpanKind::Attempt,
        SpanKind::Bound,
        SpanKind::Containers,
        SpanKind::Deletion,
        SpanKind::Eviction,
        SpanKind::ImagePull,
        SpanKind::InitContainer,
        SpanKind::Job,
        SpanKind::NodeOutage,
        SpanKind::NotReady,
        SpanKind::PodStart,
        SpanKind::Queued,
        SpanKind::Readiness,
        SpanKind::Restart,
        SpanKind::Rollout,
        SpanKind::Run,
        SpanKind::Sandbox,
    ] {
        assert!(kinds.contains(&kind), "{kind:?} is not in the story: {kinds:?}");
    }
    let rollout =
        traces.traces.iter().find(|trace| trace.about.subject.name == "tomcat" && trace.about.subject.kind == "Deployment").unwrap();
    let root = rollout.spans.iter().find(|span| span.kind == SpanKind::Rollout).unwrap();
    let starts: Vec<&Span> = rollout.spans.iter().filter(|span| span.kind == SpanKind::PodStart).collect();
    assert!(!starts.is_empty());
    for start in starts {
        assert_eq!(start.parent, Some(root.id));
        assert!(start.about.owners.iter().any(|owner| owner.kind == "Deployment" && owner.name == "tomcat"), "{:?}", start.about);
        let parts = rollout.spans.iter().filter(|span| span.parent == Some(start.id));
        assert!(parts.map(|part| part.kind).collect::<HashSet<_>>().contains(&SpanKind::Queued));
    }
    let pulls: Vec<_> = spans(&traces).filter(|(_, span)| span.kind == SpanKind::ImagePull).collect();
    assert!(pulls.iter().all(|(_, span)| span.from.error.is_none() && span.image.is_some()), "a kubelet's clock is compared with none");
}

#[tokio::test]
async fn a_window_chooses_what_ended_in_it() {
    let mut cluster = capture("k136-story", Options::default()).await;
    let whole = whole("k136-story").await.traces.len();
    cluster.since = Some(Since { after: Revision(2500), time: None });
    let traces = all(&cluster).await;
    assert!(!traces.traces.is_empty() && traces.traces.len() < whole);
    let linked: HashSet<_> = spans(&traces).flat_map(|(_, span)| &span.links).map(|link| link.trace).collect();
    for trace in &traces.traces {
        let is_new = trace.spans.iter().any(|span| span.to.revision > Revision(2500));
        assert!(is_new || linked.contains(&trace.id), "{:?}", trace.about);
    }
}

/// A database in which a Job makes pods, each of which is ready, and succeeds.
fn job_of(pods: usize, annotation: &str) -> Vec<u8> {
    let (created, job_uid) = ("2026-11-20T10:00:00Z", "job-uid");
    let job = |status: Value| {
        let metadata = json!({"name": "many", "namespace": "lab", "uid": job_uid, "creationTimestamp": created, "annotations": {"parent": annotation}});
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {}, "status": status}).to_string()
    };
    let mut written = Written::of(&[("/registry/jobs/lab/many", &job(json!({})))]);
    for number in 0..pods {
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "many", "uid": job_uid, "controller": true});
        let name = format!("many-{number:04}");
        let metadata = json!({"name": name, "namespace": "lab", "uid": format!("pod-{number}"), "creationTimestamp": created, "ownerReferences": [owner]});
        let refusals = |count: usize| -> Value {
            match count {
                0 => json!({}),
                count => {
                    json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": format!("refused {count}")}]})
                }
            }
        };
        let pod = |node: Option<&str>, status: Value| {
            let spec = json!({"containers": [{"name": "main", "image": "app:1"}], "nodeName": node});
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}).to_string()
        };
        let key = format!("/registry/pods/lab/{name}");
        let tries = if number == 0 { 50 } else { 0 };
        (0..=tries).for_each(|count| written.put(&key, pod(None, refusals(count))));
        written.put(&key, pod(Some("n1"), json!({})));
        let running = json!([{"name": "main", "restartCount": 0, "state": {"running": {"startedAt": created}}}]);
        let ready = json!([{"type": "Ready", "status": "True"}]);
        written.put(&key, pod(Some("n1"), json!({"conditions": ready, "containerStatuses": running})));
    }
    let done = json!({"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-20T10:05:00Z"}]});
    written.put("/registry/jobs/lab/many", job(done));
    // What comes after it dates what came before.
    let later = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "lab", "uid": "c", "creationTimestamp": "2026-11-20T10:06:00Z"}});
    written.put("/registry/configmaps/lab/c", later.to_string());
    written.finish()
}

#[tokio::test]
async fn no_trace_is_above_the_bounds() {
    let pods = MAX_TRACE_STARTS + 50;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let cluster = database(job_of(pods, parent), Options::default()).await;
    let traces = joined(&cluster, None, Some("parent")).await;
    assert!(traces.traces.iter().all(|trace| trace.spans.len() <= MAX_TRACE_SPANS));
    let job = traces.traces.iter().find(|trace| trace.about.subject.kind == "Job").unwrap();
    let root = job.spans.iter().find(|span| span.kind == SpanKind::Job).unwrap();
    assert_eq!(job.spans.iter().filter(|span| span.kind == SpanKind::PodStart).count(), MAX_TRACE_STARTS);
    let apart = traces.traces.iter().filter(|trace| trace.about.subject.kind == "Pod");
    let apart: Vec<&Span> = apart.filter_map(|trace| trace.spans.iter().find(|span| span.kind == SpanKind::PodStart)).collect();
    assert_eq!(apart.len(), 50);
    assert!(apart.iter().all(|start| start.links.iter().any(|link| link.span == root.id && link.reason == LinkReason::Owner)));
    // One pod was refused more often than its start may have parts.
    let many = job.spans.iter().find(|span| span.kind == SpanKind::PodStart && span.about.subject.uid == "pod-0").unwrap();
    let parts = job.spans.iter().filter(|span| span.parent == Some(many.id)).count();
    assert_eq!(parts, MAX_START_SPANS - 1);
    assert!(many.parts_left_out > 0 && traces.left_out.above_bounds == many.parts_left_out);
    // The annotation is a link, never a parent.
    assert!(
        root.parent.is_none()
            && root.links.iter().any(|link| link.reason == LinkReason::Annotation && link.trace.to_string() == parent[3..35])
    );
}

#[tokio::test]
async fn an_annotation_that_is_not_a_trace_parent_is_counted() {
    let cluster = database(job_of(2, "00-nothing"), Options::default()).await;
    assert_eq!(joined(&cluster, None, Some("parent")).await.left_out.unreadable_parents, 1);
    assert_eq!(all(&cluster).await.left_out.unreadable_parents, 0);
}

#[tokio::test]
async fn what_is_not_readable_is_left_out_and_counted() {
    let traces = whole("k120-story/compacted.db.zst").await;
    assert!(traces.left_out.without_begin > 0, "{:?}", traces.left_out);
    assert!(traces.left_out.without_end > 0, "{:?}", traces.left_out);
}

/// Everything that a span shows, by its ids, and what is missing.
fn shown(parts: &[Traces]) -> (BTreeMap<(String, String), String>, MissingSpans) {
    let mut left_out = MissingSpans::default();
    parts.iter().for_each(|part| left_out.add(part.left_out));
    let spans = parts.iter().flat_map(spans);
    let spans = spans.map(|(trace, span)| ((trace.id.to_string(), span.id.to_string()), format!("{:?} {span:?}", trace.about)));
    (spans.collect(), left_out)
}

/// The traces of a cluster are the same, whether they are made at once or namespace by namespace; returns how many parts that were.
async fn are_the_same_in_parts(cluster: &Cluster, asked: Option<&AskedKeys>) -> usize {
    let whole: Vec<Traces> = cluster.traces(asked, None).try_collect().await.unwrap();
    let parts: Vec<Traces> = cluster.traces_in_parts(asked, None, 0).try_collect().await.unwrap();
    assert_eq!(whole.len(), 1);
    assert!(parts.iter().all(|part| part.cluster_uid == whole[0].cluster_uid));
    let ((whole, whole_left_out), (parted, parted_left_out)) = (shown(&whole), shown(&parts));
    for (ids, span) in &whole {
        assert_eq!(parted.get(ids), Some(span), "{ids:?}");
    }
    assert_eq!((parted.len(), parted_left_out), (whole.len(), whole_left_out));
    parts.len()
}

#[tokio::test]
async fn traces_in_parts_are_those_that_are_made_at_once() {
    for name in DAY_CAPTURES {
        let cluster = capture(name, Options::default()).await;
        let parts = are_the_same_in_parts(&cluster, None).await;
        assert!(parts > 3, "{name}: {parts}");
    }
    let mut cluster = capture("k136-story", Options::default()).await;
    assert!(are_the_same_in_parts(&cluster, None).await > 3);
    for word in ["pods", "nodes"] {
        let asked = AskedKeys::of(&cluster, &[word.to_owned()]).await.unwrap();
        are_the_same_in_parts(&cluster, asked.as_ref()).await;
    }
    cluster.since = Some(Since { after: Revision(2500), time: None });
    are_the_same_in_parts(&cluster, None).await;
}

#[tokio::test]
async fn traces_in_parts_are_those_that_are_made_at_once_nightly() {
    for name in ["k137-story", "k136-whatif", "k137-whatif", "k137-burst", "k136-restart"] {
        are_the_same_in_parts(&capture(name, Options::default()).await, None).await;
    }
}

/// Two pods of different namespaces, one of which preempts the other.
fn preemption_between(victim: &str, preemptor: &str) -> Vec<u8> {
    let created = "2026-11-20T10:00:00Z";
    let uid = |namespace: &str| format!("{namespace:0<8}-0000-4000-8000-000000000000");
    let pod = |namespace: &str, more: Value, spec: Value, status: Value| {
        let mut metadata = json!({"name": "app", "namespace": namespace, "uid": uid(namespace), "creationTimestamp": created});
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}).to_string()
    };
    let key = |namespace: &str| format!("/registry/pods/{namespace}/app");
    let (bound, ready) = (json!({"nodeName": "n1"}), json!({"conditions": [{"type": "Ready", "status": "True"}]}));
    let mut written = Written::default();
    written.put(&key(victim), pod(victim, json!({}), json!({}), json!({})));
    written.put(&key(victim), pod(victim, json!({}), bound.clone(), ready.clone()));
    written.put(&key(preemptor), pod(preemptor, json!({}), json!({}), json!({})));
    let involved = json!({"kind": "Pod", "namespace": victim, "name": "app", "uid": uid(victim)});
    let metadata = json!({"name": "app.1", "namespace": victim, "uid": "event", "creationTimestamp": "2026-11-20T10:01:00Z"});
    let message = format!("Preempted by pod {} on node n1", uid(preemptor));
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": involved, "reason": "Preempted", "message": message,
        "reportingComponent": "default-scheduler"});
    written.put(&format!("/registry/events/{victim}/app.1"), event.to_string());
    let leaving = json!({"deletionTimestamp": "2026-11-20T10:01:30Z", "deletionGracePeriodSeconds": 30});
    written.put(&key(victim), pod(victim, leaving, bound.clone(), ready.clone()));
    written.put(&key(preemptor), pod(preemptor, json!({}), json!({}), json!({"nominatedNodeName": "n1"})));
    written.delete(&key(victim));
    written.put(&key(preemptor), pod(preemptor, json!({}), bound, ready));
    let later = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "other", "uid": "c", "creationTimestamp": "2026-11-20T10:06:00Z"}});
    written.put("/registry/configmaps/other/c", later.to_string());
    let other = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "namespace": "between", "uid": "b"}});
    written.put("/registry/pods/between/b", other.to_string());
    written.finish()
}

#[tokio::test]
async fn a_pod_that_preempted_one_of_another_namespace_is_linked_in_parts_too() {
    for (victim, preemptor) in [("a", "z"), ("z", "a")] {
        let cluster = database(preemption_between(victim, preemptor), Options::default()).await;
        // The two namespaces are a part, the one between them is another, and the nodes come last.
        assert_eq!(are_the_same_in_parts(&cluster, None).await, 3);
        let traces = all(&cluster).await;
        let links: Vec<_> = spans(&traces).flat_map(|(_, span)| &span.links).map(|link| link.reason).collect();
        assert!(links.contains(&LinkReason::Preemptor), "{links:?}");
    }
}
