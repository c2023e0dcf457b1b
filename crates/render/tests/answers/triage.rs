//! What is broken, as a page and as a document.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_cluster::triage::Answer;
use ketcd_cluster::{At, Cluster, Options, Revision, files};
use ketcd_history::trouble::TroubleKind;
use ketcd_render::contract::triage::Triage;
use ketcd_render::since_last::{EarlierTriage, SinceEarlier, Unfit};
use ketcd_render::triage::{TriagePage, page};
use ketcd_store::SourceKind;
use ketcd_store::load::{AuditLogs, Limits};
use ketcd_testing::testdata;
use ketcd_testing::written::Written;
use serde_json::Value;

use crate::fixture::{self, stored};

const K120_CAPTURE: &str = "k120-story";
const K136_CAPTURE: &str = "k136-story";

/// Shows an answer in this many columns.
fn with_page<T>(answer: &Answer, width: Option<usize>, show: impl FnOnce(&TriagePage<'_>) -> T) -> T {
    with_since(answer, width, None, show)
}

/// The same since an earlier triage.
fn with_since<T>(answer: &Answer, width: Option<usize>, since: Option<&SinceEarlier>, show: impl FnOnce(&TriagePage<'_>) -> T) -> T {
    show(&TriagePage { since_last: since, width, ..TriagePage::of(answer, &fixture::PLAIN_INVOCATION) })
}

/// The JSON of an answer, compared with an earlier one where it is given.
fn document(answer: &mut Answer, earlier: Option<&Value>) -> Value {
    told_since(answer, earlier).0
}

/// The JSON of an answer and its screen, compared with an earlier one where it is given.
fn told_since(answer: &mut Answer, earlier: Option<&Value>) -> (Value, String) {
    let since = earlier.map(|earlier| SinceEarlier::new(EarlierTriage::read(earlier.to_string().as_bytes()).unwrap(), answer));
    with_since(answer, None, since.as_ref(), |shown| {
        (serde_json::to_value(Triage::from(shown)).unwrap(), fixture::text(|out| page(shown, out)))
    })
}

/// How many findings, and effects of them, have a state.
fn of_state(findings: &Value, state: &str) -> usize {
    let findings = findings.as_array().unwrap().iter();
    findings.map(|finding| usize::from(finding["state"] == state) + of_state(&finding["effects"], state)).sum()
}

/// The ids of the troubles in findings and their effects, with the state of each.
fn ids(findings: &Value, into: &mut BTreeMap<String, BTreeSet<String>>) {
    for finding in findings.as_array().unwrap() {
        for trouble in finding["troubles"].as_array().unwrap() {
            let state = finding["state"].as_str().unwrap_or_default().to_owned();
            into.entry(trouble["id"].as_str().unwrap().to_owned()).or_default().insert(state);
        }
        ids(&finding["effects"], into);
    }
}

/// A day cut into ten: what one cut has that the one before lacks is new, what it lacks ended, and nothing else did.
#[tokio::test]
async fn over_a_day_each_trouble_is_new_once_and_ended_once() {
    for (name, newest) in [(K120_CAPTURE, 1787), (K136_CAPTURE, 3190)] {
        let (mut earlier, mut open): (Option<Value>, BTreeSet<String>) = (None, BTreeSet::new());
        let (mut began, mut ended) = (0, 0);
        for cut in 1..=10 {
            let at = Options { at: At::Revision(Revision(newest * cut / 10)), ..Options::default() };
            let mut answer = fixture::capture(name, at).await.triage().await.unwrap();
            let mut plain = BTreeMap::new();
            ids(&document(&mut answer, None)["findings"], &mut plain);
            let (found, screen) = told_since(&mut answer, earlier.as_ref());
            let mut told = BTreeMap::new();
            ids(&found["findings"], &mut told);
            if earlier.is_some() {
                let [new, ended, stay] = ["new", "ended", "stays"].map(|state| of_state(&found["findings"], state));
                assert!(screen.starts_with(&format!("{new} new, {ended} ended, {stay} stay")), "{name} {cut}: {screen}");
                assert_eq!(screen.matches("the first since").count(), screen.matches(", the first since").count(), "{screen}");
            }
            assert!(told.values().all(|states| states.len() == 1), "{name} {cut}: {told:?}");
            let of =
                |state: &str| told.iter().filter(|(_, states)| states.contains(state)).map(|(id, _)| id.clone()).collect::<BTreeSet<_>>();
            let now: BTreeSet<String> = plain.into_keys().collect();
            if earlier.is_some() {
                assert_eq!(of("new"), &now - &open, "{name} {cut}");
                assert_eq!(of("ended"), &open - &now, "{name} {cut}");
                assert_eq!(of("stays"), &now & &open, "{name} {cut}");
            }
            began += (&now - &open).len();
            ended += of("ended").len();
            open = now;
            earlier = Some(found);
        }
        assert!(began > 5 && ended > 2, "{name}: {began} began, {ended} ended");
        assert_eq!(began - ended, open.len(), "{name}");
    }
}

#[tokio::test]
async fn what_stays_keeps_the_moment_at_which_it_was_seen_first() {
    let answer = |at: &str| {
        let options = Options { moment: Some(at.parse().unwrap()), ..Options::default() };
        async move { fixture::capture(K120_CAPTURE, options).await.triage().await.unwrap() }
    };
    let mut first = answer("2026-11-20T22:20:30Z").await;
    let earlier = document(&mut first, None);
    let mut later = answer("2026-11-20T22:20:40Z").await;
    let found = document(&mut later, Some(&earlier));
    let staying = found["findings"].as_array().unwrap().iter().find(|finding| finding["state"] == "stays").unwrap();
    assert_eq!(staying["troubles"][0]["firstSeen"], earlier["time"]);
    assert_eq!(found["sinceLast"]["revision"], earlier["revision"]);
}

#[tokio::test]
async fn an_earlier_triage_of_something_else_is_refused() {
    let mut answer = triage(K120_CAPTURE).await;
    let earlier = document(&mut answer, None);
    let read = |change: &dyn Fn(&mut Value)| {
        let mut earlier = earlier.clone();
        change(&mut earlier);
        EarlierTriage::read(earlier.to_string().as_bytes()).unwrap().fits(&answer, None, &[])
    };
    assert_eq!(read(&|_| {}), Ok(()));
    assert!(
        matches!(read(&|earlier| earlier["cluster"]["kubeSystem"] = "other".into()), Err(Unfit::Cluster(other, _)) if other == "other")
    );
    assert_eq!(read(&|earlier| earlier["time"] = "2126-11-20T22:22:55Z".into()), Err(Unfit::Younger));
    assert_eq!(read(&|earlier| earlier["scope"]["namespace"] = "web".into()), Err(Unfit::Scope("namespace web".to_owned())));
}

fn text(answer: &Answer, width: Option<usize>) -> String {
    with_page(answer, width, |shown| fixture::text(|out| page(shown, out)))
}

async fn triage(capture: &str) -> Answer {
    fixture::capture(capture, Options::default()).await.triage().await.unwrap()
}

#[tokio::test]
async fn the_culprits_are_on_the_first_screen() {
    for name in [K120_CAPTURE, K136_CAPTURE] {
        let page = text(&triage(name).await, Some(80));
        let screen = page.lines().take(24).collect::<Vec<_>>().join("\n");
        let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("no {words}: {screen}"));
        // Below the pod that waits: whose label, which image, and by whom.
        let places = [
            "pod/web/tomcat-",
            "node/node3",
            "- labels.nodelabel tomcat",
            "kubectl-label",
            "deploy/web/tomcat",
            "tomcat:8.0 → tomcat:10",
            "kubectl-set",
        ];
        assert!(places.map(at).is_sorted() && screen.contains("rollout 4 not finished"), "{screen}");
    }
}

#[tokio::test]
async fn json_has_the_causes_too() {
    let document = with_page(&triage(K136_CAPTURE).await, None, |page| serde_json::to_value(Triage::from(page)).unwrap());
    let of = |name: &str| document["findings"].as_array().unwrap().iter().find(|one| one["objects"][0]["name"] == name).unwrap();
    let causes = of("tomcat-647b88d788-vmnc5")["causes"].as_array().unwrap();
    let told: Vec<_> = causes.iter().map(|cause| (&cause["relation"], &cause["change"]["name"], &cause["change"]["by"])).collect();
    assert_eq!(
        told,
        [(&"Node".into(), &"node3".into(), &"kubectl-label".into()), (&"Owner".into(), &"tomcat".into(), &"kubectl-set".into())]
    );
    let seconds = causes[0]["secondsBefore"].as_f64().unwrap();
    // r693 at 00:14:54.169, the refusal at 00:14:56.
    assert!((1.5..2.5).contains(&seconds), "{seconds}");
    assert!(causes.iter().all(|cause| document["changes"].as_array().unwrap().contains(&cause["change"])), "{causes:?}");
}

#[tokio::test]
async fn changes_that_explain_nothing_come_last_by_author() {
    let page = text(&triage(K136_CAPTURE).await, None);
    let (_, others) = page.split_once("other changes from ").unwrap();
    assert!(others.lines().any(|line| line.ends_with("  kubectl-create: 2 changes in scratch")), "{others}");
    assert!(!others.contains("nodelabel") && !others.contains("tomcat:10"), "{others}");
    assert!(page.contains("kube-scheduler  nobody leads: its lease was released 20 s ago"), "{page}");
}

#[tokio::test]
async fn a_cluster_without_nodes_has_nothing_wrong() {
    let namespace = ("/registry/namespaces/default", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}"#);
    let cluster = stored(Written::of(&[namespace, ("compact_rev_key", "17")]).finish()).await;
    let page = text(&cluster.triage().await.unwrap(), None);
    assert!(page.starts_with("nothing is wrong") && page.contains("looked at: 0 nodes, 0 pods, 0 workloads"), "{page}");
}

/// A recorded day with a log of its API server.
async fn with_log(log: &str) -> Cluster {
    let file = |name: &str| testdata::path(&format!("audit/{name}")).to_str().unwrap().to_owned();
    let found = AuditLogs::among(&[file("snapshot.db.zst"), file(log)], &Limits::default()).unwrap();
    let source = files::open(&found.others, &Limits::default()).unwrap().source;
    let mut cluster = Cluster::open(source, Options::default()).await.unwrap();
    cluster.set_audit_logs(found.logs);
    cluster
}

#[tokio::test]
async fn writes_past_the_api_server_are_findings() {
    let answer = with_log("full.jsonl.zst").await.triage().await.unwrap();
    let found = answer.findings.iter().filter(|finding| finding.trouble.kind == TroubleKind::ChangeUnexplained).count();
    assert_eq!(found, 5);
    let page = text(&answer, None);
    assert!(page.contains("without a request in the audit log") && page.contains("written directly to etcd"), "{page}");
    let document = with_page(&answer, None, |page| serde_json::to_value(Triage::from(page)).unwrap());
    let of_them = |finding: &&Value| finding["trouble"] == "ChangeUnexplained";
    assert_eq!(document["findings"].as_array().unwrap().iter().filter(of_them).count(), 5);
}

#[tokio::test]
async fn the_first_line_says_how_much_is_wrong_and_when() {
    for name in [K120_CAPTURE, K136_CAPTURE] {
        let answer = triage(name).await;
        let page = text(&answer, None);
        let moment = format!("{:.0}, revision {}", answer.now.unwrap(), answer.revision);
        let first = page.lines().next().unwrap();
        assert_eq!(first, format!("{} troubles at {moment}", answer.findings.len()));
        assert_eq!(page.matches(&moment).count(), 1, "{page}");
    }
}

#[tokio::test]
async fn printed_objects_have_no_moment() {
    let claim = r#"{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "creationTimestamp": "2026-11-27T10:00:00Z"},
        "spec": {"storageClassName": "local"}, "status": {"phase": "Pending"}}"#;
    let answer = fixture::cluster_of(claim).await.triage().await.unwrap();
    let page = text(&answer, None);
    let mut lines = page.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("1 trouble at an unknown moment, revision "), "{page}");
    let second = lines.next().unwrap();
    assert!(second.contains("do not show when they were printed, 2026-11-27T10:00:00Z or later") && second.contains("--at TIME"), "{page}");
    assert!(lines.next().unwrap().starts_with("pvc/shop/data  no volume (class local) since 2026-11-27 10:00:00"), "{page}");
    assert!(!page.contains(" ms"), "{page}");
    let document = with_page(&answer, None, |page| serde_json::to_value(Triage::from(page)).unwrap());
    assert_eq!((&document["time"], &document["notBefore"]), (&Value::Null, &"2026-11-27T10:00:00.000Z".into()));
    assert_eq!(document["findings"][0]["seconds"], Value::Null);
    // Nothing is wrong with this one, whenever it was.
    let node = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}"#;
    let page = text(&fixture::cluster_of(node).await.triage().await.unwrap(), None);
    assert!(
        page.starts_with("nothing is wrong at an unknown moment, ") && page.contains("--at TIME") && !page.contains("etcd itself"),
        "{page}"
    );
}

#[tokio::test]
async fn a_log_alone_holds_no_etcd() {
    let mut answer = triage(K120_CAPTURE).await;
    answer.storage.status.kind = SourceKind::AuditLog;
    let page = text(&answer, None);
    assert!(!page.replace("ketcd", "").contains("etcd"), "{page}");
    answer.findings.clear();
    let page = text(&answer, None);
    assert!(
        page.starts_with("nothing wrong was found in what the audit log shows at ") && !page.replace("ketcd", "").contains("etcd"),
        "{page}"
    );
}

#[tokio::test]
async fn nothing_is_well_where_an_object_is_missing() {
    let cluster = fixture::capture(K120_CAPTURE, Options::default()).await;
    let of = async |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        text(&cluster.triage_of(&words).await.unwrap(), None)
    };
    let all_missing = of(&["pod/web/nosuch"]).await;
    assert!(all_missing.contains("none of the objects asked for is there") && !all_missing.contains("nothing is wrong"), "{all_missing}");
    let elsewhere = fixture::capture(K120_CAPTURE, Options { namespace: Some("default".to_owned()), ..Options::default() }).await;
    let none_there = text(&elsewhere.triage_of(&["deploy".to_owned()]).await.unwrap(), None);
    assert!(none_there.ends_with("none of the objects asked for is there in namespace \"default\"; -A looks in all\n"), "{none_there}");
    let some_missing = of(&["pod/web/nosuch", "node/node1"]).await;
    assert!(some_missing.starts_with("nothing wrong was found with the objects asked for that exist at "), "{some_missing}");
    assert!(of(&["node/node1"]).await.starts_with("nothing is wrong with what was asked for at "));
}

#[tokio::test]
async fn what_ends_a_trouble_stands_below_it_and_in_json() {
    let quota = r#"{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "quota", "namespace": "shop"}, "status": {"hard": {"pods": "3"}, "used": {"pods": "3"}}}"#;
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop", "uid": "1"}, "spec": {"nodeName": "n1", "containers": []},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}"#;
    let objects = format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{quota}, {pod}]}}"#);
    let answer = fixture::cluster_of(&objects).await.triage().await.unwrap();
    let page = text(&answer, None);
    let remedy = "kube-controller-manager recounts every 5 minutes; if it does not, restart it";
    let mut lines = page.lines().skip_while(|line| !line.starts_with("resourcequota/shop/quota  used up, but its counter is wrong: "));
    assert!(lines.next().is_some_and(|line| line.contains("pods 3 counted, 1 there")), "{page}");
    assert_eq!(lines.next(), Some(format!("  {remedy}").as_str()), "{page}");
    let document = with_page(&answer, None, |page| serde_json::to_value(Triage::from(page)).unwrap());
    assert_eq!(document["findings"][0]["remedy"], remedy);
}

/// What JSON says of all objects of a finding is what each of them says.
#[tokio::test]
async fn json_says_of_objects_what_they_say() {
    fn check(finding: &Value, folds: &mut usize) {
        let (objects, messages) = (finding["objects"].as_array().unwrap(), finding["messages"].as_array().unwrap());
        let count: u64 = messages.iter().map(|message| message["count"].as_u64().unwrap()).sum();
        assert!(count as usize <= objects.len(), "{finding}");
        let is_of_all = messages.len() == 1 && count as usize == objects.len();
        assert_eq!(finding["message"].is_string(), is_of_all, "{finding}");
        assert!(messages.iter().all(|message| objects.contains(&message["first"])), "{finding}");
        *folds += usize::from(objects.len() > 1 && messages.len() > 1);
        finding["effects"].as_array().unwrap().iter().for_each(|effect| check(effect, folds));
    }
    let mut folds = 0;
    for name in ["k120-burst", "k131-burst", "k136-burst", "k137-burst", K120_CAPTURE, K136_CAPTURE] {
        let document = with_page(&triage(name).await, None, |page| serde_json::to_value(Triage::from(page)).unwrap());
        document["findings"].as_array().unwrap().iter().for_each(|finding| check(finding, &mut folds));
    }
    assert!(folds > 0, "no finding has several messages");
}
