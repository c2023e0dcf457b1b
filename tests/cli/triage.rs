//! `triage` on recorded clusters: at moments of the operator's log the true trouble is the first line, and where nothing is wrong it is the only one.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::ketcd::ketcd;

/// `triage` of a capture at a time.
fn triage(capture: &str, at: &str, arguments: &[&str]) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture);
    let output = ketcd().arg("-f").arg(file).args(["triage", "--at", at]).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{at}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(capture: &str, at: &str, arguments: &[&str]) -> Value {
    serde_json::from_str(&triage(capture, at, &[&["-o", "json"], arguments].concat())).unwrap()
}

const K120: &str = "k120-story/snapshot.db.zst";
const K136: &str = "k136-story/snapshot.db.zst";

/// A line of the operator's log (story.log), a moment soon after it, and how the first line then begins.
const MOMENTS: &[(&str, &str, &str, &str)] = &[
    (K120, "22:16:13.877Z taint: every node NoSchedule, pod lab/ubuntu-tainted waits", "22:16:16", "pod/lab/ubuntu-tainted  unschedulable"),
    (K120, "22:16:25.546Z anti-affinity: spread-1..spread-5 on 4 nodes, the fifth waits", "22:16:30", "pod/lab/spread-5  unschedulable"),
    (K120, "22:16:43.969Z rollout: stuck on the host port", "22:16:50", "pod/web/tomcat-7f6f6db99b-sj7wj  unschedulable"),
    (K120, "22:17:02.957Z config: app-config changes under a running pod, crash loop", "22:17:30", "pod/web/crasher  CrashLoopBackOff"),
    (K120, "22:17:03.318Z node failure: node2's kubelet stops", "22:17:50", "node/node2  silent since 22:17:03"),
    (
        K120,
        "22:17:45.983Z node failure: node2 is Unknown; waiting for the 300 s toleration",
        "22:22:55",
        "node/node2  silent since 22:17:03",
    ),
    (K120, "22:23:11.088Z node failure: node2's kubelet returns", "22:24:00", "pod/web/crasher  CrashLoopBackOff"),
    (K136, "00:14:22.366Z taint: every node NoSchedule, pod lab/ubuntu-tainted waits", "00:14:24", "pod/lab/ubuntu-tainted  unschedulable"),
    (K136, "00:14:36.382Z anti-affinity: spread-1..spread-5 on 4 nodes, the fifth waits", "00:14:42", "pod/lab/spread-5  unschedulable"),
    (K136, "00:14:53.610Z rollout: stuck on the host port", "00:14:58", "pod/web/tomcat-647b88d788-vmnc5  unschedulable"),
    (K136, "00:16:14.781Z burst: job web/burst, 12 like pods at once", "00:16:20", "6 pods of job/web/burst  unschedulable"),
    (K136, "00:16:24.196Z node failure: node2's kubelet stops", "00:17:12", "node/node2  silent since 00:16:19"),
    (
        K136,
        "00:17:10.761Z node failure: node2 is Unknown; waiting for the 300 s toleration",
        "00:22:15",
        "node/node2  silent since 00:16:19",
    ),
];

#[test]
fn the_true_trouble_is_the_first_line() {
    for (capture, log, at, begins) in MOMENTS {
        let page = triage(capture, at, &[]);
        let first = page.lines().next().unwrap();
        assert!(first.starts_with(begins), "{log}\n{first}");
    }
}

#[test]
fn a_healthy_cluster_is_one_line() {
    // Before the first pod, between two stories, and while a node is cordoned, which is nobody's trouble.
    let moments = [(K120, "22:16:19"), (K120, "22:16:21"), (K120, "22:16:24"), (K136, "00:14:21"), (K136, "00:14:30"), (K136, "00:14:33")];
    for (capture, at) in moments {
        let page = triage(capture, at, &[]);
        assert_eq!(page.lines().count(), 1, "{at}: {page}");
        assert!(page.starts_with("nothing is wrong at ") && page.contains(": 4 nodes, "), "{at}: {page}");
        assert_eq!(json(capture, at, &[])["findings"], Value::Array(Vec::new()));
    }
}

/// The finding or effect of this trouble below some.
fn find<'a>(findings: &'a Value, trouble: &str) -> &'a Value {
    let found = findings.as_array().unwrap().iter().find(|finding| finding["trouble"] == trouble);
    found.unwrap_or_else(|| panic!("no {trouble} in {findings}"))
}

#[test]
fn the_node_is_the_cause_of_what_followed() {
    let found = json(K120, "22:22:55", &[]);
    let node = &found["findings"][0];
    assert_eq!((&node["trouble"], &node["objects"][0]["name"], &node["pods"]), (&"NodeSilent".into(), &"node2".into(), &3.into()));
    // story.log: the kubelet stops at 22:17:03.318; its last renewal came a little before.
    assert_eq!(node["since"], "2026-11-20T22:17:03.050Z");
    let deleted = find(&node["effects"], "Terminating");
    let names: Vec<&str> = deleted["objects"].as_array().unwrap().iter().map(|object| object["name"].as_str().unwrap()).collect();
    assert_eq!((names, &deleted["since"]), (vec!["spread-1", "tomcat-7f6f6db99b-jr4fc"], &"2026-11-20T22:22:50.000Z".into()));
    let short = find(&node["effects"], "Short");
    assert_eq!((&short["objects"][0]["name"], &short["what"]), (&"tomcat".into(), &"1/2 ready".into()));
    let waits = find(&short["effects"], "Unschedulable");
    assert_eq!(waits["objects"][0]["name"], "tomcat-7f6f6db99b-fssvc");
    assert!(waits["detail"].as_str().unwrap().starts_with("host port 8080: 0/4 nodes are available: "), "{waits}");
    let command = waits["command"].as_str().unwrap();
    assert!(command.starts_with("ketcd -f ") && command.contains(" explain pod/web/tomcat-7f6f6db99b-fssvc --rev "), "{command}");
    // The pod that waited since before the node was lost is no effect of it.
    assert!(found["findings"].as_array().unwrap().iter().any(|finding| finding["objects"][0]["name"] == "tomcat-7f6f6db99b-sj7wj"));
}

#[test]
fn claims_and_the_pods_that_wait_for_them_are_one() {
    let found = json(K136, "00:22:15", &["-n", "web"]);
    let claims = find(&found["findings"], "ClaimPending");
    assert_eq!(claims["objects"].as_array().unwrap().len(), 2);
    // The scheduler has chosen node1 since it refused them: what it said then is over.
    assert_eq!(claims["detail"], "waits for csi.example.com to make it on node1");
    let pods = find(&claims["effects"], "VolumeAwaited");
    assert_eq!((&pods["owner"]["name"], &pods["pods"]), (&"store".into(), &2.into()));
    assert_eq!((&pods["what"], &pods["message"]), (&"not bound yet, meant for node1".into(), &Value::Null));
    assert_eq!(find(&pods["effects"], "Short")["what"], "0/2 ready");
    assert!(found["findings"].as_array().unwrap().iter().all(|finding| finding["objects"][0]["namespace"] != "lab"));
}

#[test]
fn who_changed_what_before() {
    let found = json(K120, "22:17:30", &[]);
    let changes = found["changes"].as_array().unwrap();
    let has = |kind: &str, name: &str, what: &str, by: &str| {
        let is_it = |change: &&Value| {
            change["kind"] == kind && change["name"] == name && change["what"].as_str().unwrap().contains(what) && change["by"] == by
        };
        assert!(changes.iter().any(|change| is_it(&change)), "{kind}/{name} {what} {by}: {changes:#?}");
    };
    // The operator's log of the minute before, from the newest on.
    has("ConfigMap", "app-config", "data.LOG info → debug", "kubectl-client-side-apply");
    has("CustomResourceDefinition", "widgets.example.com", "created", "kubectl-client-side-apply");
    has("Deployment", "tomcat", "image tomcat:8.0 → tomcat:10", "kubectl-set");
    has("Node", "node3", "metadata.labels.nodelabel tomcat", "kubectl-label");
    has("Node", "node1", "spec.unschedulable true", "kubectl");
    has("Node", "node2", "spec.taints[broken/NoExecute] broken=yes:NoExecute", "kubectl-taint");
    // What the control plane writes by itself is not among them.
    for change in changes {
        assert!(change["by"] != "kubelet" && change["by"] != "kube-controller-manager", "{change}");
        assert!(!change["what"].as_str().unwrap().contains("status."), "{change}");
    }
}

#[test]
fn what_etcd_was_written() {
    let found = json(K120, "22:22:55", &[]);
    let writes = &found["storage"]["writes"];
    let most: Vec<&str> = writes["byResource"].as_array().unwrap().iter().take(2).map(|one| one["resource"].as_str().unwrap()).collect();
    assert_eq!(most, ["leases", "events"]);
    let sum: u64 = writes["byResource"].as_array().unwrap().iter().map(|one| one["changes"].as_u64().unwrap()).sum();
    assert_eq!(writes["changes"], sum);
}

/// One module weighs for both: what stood out of the whole time is what `triage` says of a moment in it.
#[test]
fn a_report_says_what_triage_says() {
    for (capture, at) in [(K120, "22:22:55"), (K136, "00:22:15")] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture);
        let output = ketcd().arg("-f").arg(file).args(["report", "--out", "-"]).output().unwrap();
        let report = String::from_utf8(output.stdout).unwrap();
        let (_, data) = report.split_once(r#"id="data">"#).unwrap();
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        let standing = data["stand"].as_array().unwrap();
        let page = triage(capture, at, &["-o", "wide"]);
        for one in &standing[..2] {
            // What is over is not said to be so still: node2 came back.
            assert_eq!(one["lasts"], one["what"] == "CrashLoopBackOff", "{one}");
            let words = format!("{}  {}", one["who"].as_str().unwrap(), one["what"].as_str().unwrap());
            assert!(page.lines().any(|line| line.starts_with(&words)), "{words}: {page}");
            let row = &data["rows"][usize::try_from(one["row"].as_u64().unwrap()).unwrap()];
            assert!(words.contains(row["n"].as_str().unwrap()), "{words}: {row}");
        }
        let first: BTreeSet<&str> = standing[..2].iter().map(|one| one["what"].as_str().unwrap()).collect();
        assert_eq!(first, BTreeSet::from(["CrashLoopBackOff", "silent"]), "{standing:?}");
    }
}

/// What stands out of a report of a capture.
fn standing(capture: &str) -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture);
    let output = ketcd().arg("-f").arg(file).args(["report", "--out", "-"]).output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    let (_, data) = report.split_once(r#"id="data">"#).unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    data["stand"].as_array().unwrap().clone()
}

#[test]
fn a_report_says_still_of_what_is_and_counts_no_more() {
    let still = |standing: &[Value]| -> Vec<String> {
        let words = |one: &Value| format!("{} {}", one["who"].as_str().unwrap(), one["what"].as_str().unwrap());
        standing.iter().filter(|one| one["lasts"] == true).map(words).collect()
    };
    // At its end one pod of tomcat waits, though several did.
    let found = standing(K136);
    assert!(still(&found).contains(&"pod/web/tomcat-647b88d788-vmnc5 unschedulable".to_owned()), "{found:?}");
    assert!(
        found.iter().all(|one| one["lasts"] == false || !one["who"].as_str().unwrap().contains("pods of deploy/web/tomcat")),
        "{found:?}"
    );
    // node2 was silent from its last heartbeat (story.log: 00:16:19) to its return, not from when that was noticed.
    let silent = found.iter().find(|one| one["what"] == "silent").unwrap();
    let lasted = silent["lasted"].as_i64().unwrap();
    assert!(silent["lasts"] == false && (376_000..378_500).contains(&lasted), "{silent}");
    // Claims whose class waits for a pod are nobody's trouble: `triage` finds nothing wrong.
    let clock = "k136-clock/snapshot.db.zst";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(clock);
    let page = String::from_utf8(ketcd().arg("-f").arg(file).arg("triage").output().unwrap().stdout).unwrap();
    assert!(page.starts_with("nothing is wrong"), "{page}");
    let found = standing(clock);
    assert!(still(&found).is_empty() && found.iter().all(|one| !one["what"].as_str().unwrap().contains("no volume")), "{found:?}");
}

#[test]
fn objects_without_a_history_are_looked_at_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pods.json");
    std::fs::write(&file, triage_objects()).unwrap();
    let output = ketcd().arg("-f").arg(&file).arg("triage").output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.starts_with("pod/shop/web-0  CrashLoopBackOff"), "{page}");
    assert!(!page.contains("changed from"), "{page}");
}

/// A pod in a crash loop, as kubectl prints it.
fn triage_objects() -> String {
    serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop", "uid": "1", "resourceVersion": "7"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "ready": false, "restartCount": 4, "image": "i", "imageID": "",
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}})
    .to_string()
}

/// A database of these objects, each written once, one revision after the other.
fn stored(folder: &Path, objects: &[(&str, &str)]) -> String {
    let events = objects.iter().zip(2..).map(|((key, value), revision)| ketcd_store::Event {
        revision: ketcd_store::Revision(revision),
        sub_revision: 0,
        kind: ketcd_store::EventKind::Put,
        key_value: ketcd_store::KeyValue {
            key: (*key).to_owned().into(),
            value: (*value).to_owned().into(),
            create_revision: ketcd_store::Revision(revision),
            mod_revision: ketcd_store::Revision(revision),
            version: 1,
            replaced: ketcd_store::Revision(0),
            lease: 0,
        },
        origin: ketcd_store::Origin::Db,
        sources: ketcd_store::Sources::default(),
    });
    let file = folder.join("store.db");
    let newest = 1 + i64::try_from(objects.len()).unwrap();
    std::fs::write(&file, ketcd_testing::database!(&events.collect::<Vec<_>>(), newest, None, false)).unwrap();
    file.to_str().unwrap().to_owned()
}

const NAMESPACE: &str = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}"#;
const EVENT: &str = r#"{"apiVersion":"v1","kind":"Event","metadata":{"name":"a.1","namespace":"web"},"reason":"Pulled"}"#;
const CONFIG: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"web"}}"#;
const BROKEN: &str = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"#;

#[test]
fn where_there_is_nothing_to_look_at_nothing_is_said_to_be_well() {
    let cluster = &[("/registry/namespaces/default", NAMESPACE)][..];
    let cases: &[(&[(&str, &str)], &[&str], &str, &str)] = &[
        (&[], &[], "Empty", "nothing is stored there"),
        (&[("compact_rev_key", "17")], &[], "Foreign", "no object of Kubernetes is stored below /registry"),
        (&[("/registry/events/web/a.1", EVENT)], &[], "OnlyEvents", "only Events are stored below /registry"),
        (
            &[("/registry/events/web/a.1", EVENT), ("compact_rev_key", "17")],
            &[],
            "OnlyEvents",
            "name the etcd that holds the other objects",
        ),
        (&[("/registry/configmaps/web/a", CONFIG)], &[], "OtherKinds", "only other kinds: configmaps"),
        (
            cluster,
            &["--prefix", "/wrong"],
            "OtherPrefix",
            "nothing is stored below /wrong; a cluster's keys are below /registry: --prefix /registry",
        ),
        (&[("/kube/namespaces/default", NAMESPACE)], &["--prefix", "/registry"], "OtherPrefix", "--prefix /kube"),
        (&[("/calico/v1/host", "1"), ("/calico/ipam/v2/a", "{}")], &[], "Foreign", "keys begin with /calico/"),
        (&[("by-dev/meta/session/id", "360")], &[], "Foreign", "keys begin with by-dev/"),
        (&[("/registry/dubbo/a", "x")], &[], "Foreign", "no object of Kubernetes is stored below /registry"),
        (&[("\u{1b}[31m/a", "x")], &[], "Foreign", "keys begin with "),
        (cluster, &["-n", "wbe"], "Namespace", "namespace \"wbe\" does not exist"),
    ];
    for (objects, flags, reason, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let file = stored(folder.path(), objects);
        let run = |format: &[&str]| {
            let output = ketcd().args(["-f", &file, "triage"]).args(*flags).args(format).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        let (code, page) = run(&[]);
        let first = page.lines().next().unwrap();
        assert!(first.starts_with("nothing to look at at revision ") && first.contains(words), "{objects:?} {flags:?}: {page}");
        assert!(!page.contains("nothing is wrong") && !page.contains('\u{1b}'), "{page}");
        let (json_code, document) = run(&["-o", "json"]);
        let document: Value = serde_json::from_str(&document).unwrap();
        assert_eq!((code, json_code, &document["absence"]["reason"]), (Some(1), Some(1), &(*reason).into()), "{objects:?} {flags:?}");
        assert!(document["absence"]["message"].as_str().unwrap().contains(words), "{document}");
    }
}

#[test]
fn a_cluster_without_nodes_is_one_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = stored(folder.path(), &[("/registry/namespaces/default", NAMESPACE), ("compact_rev_key", "17")]);
    let output = ketcd().args(["-f", &file, "triage"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.starts_with("nothing is wrong") && page.contains("looked at: 0 nodes, 0 pods, 0 workloads"), "{page}");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_could_not_be_decoded_is_said_first() {
    let encrypted = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k136-encrypted/snapshot.db.zst");
    let folder = tempfile::tempdir().unwrap();
    let broken = stored(folder.path(), &[("/registry/minions/n1", BROKEN), ("/registry/namespaces/default", NAMESPACE)]);
    for (file, words, count) in
        [(encrypted.to_str().unwrap(), "13 values could not be decoded", 13), (&*broken, "1 value could not be decoded", 1)]
    {
        let output = ketcd().args(["-f", file, "triage"]).output().unwrap();
        let page = String::from_utf8(output.stdout).unwrap();
        assert!(page.lines().next().unwrap().starts_with(words), "{page}");
        assert!(!page.contains("nothing is wrong"), "{page}");
        assert_eq!(output.status.code(), Some(2), "{page}");
        let output = ketcd().args(["-f", file, "triage", "-o", "json"]).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &document["notDecoded"], &document["absence"]), (Some(2), &count.into(), &Value::Null));
    }
}

#[test]
fn a_lease_that_was_given_back_is_told_as_that() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(K136);
    let output = ketcd().arg("-f").arg(file).args(["triage", "-o", "wide"]).output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    let line = page.lines().position(|line| line.starts_with("kube-scheduler  nobody leads, its lease was released since 00:25:23 (20 s)"));
    // Workloads that are short weigh more.
    assert!(line.is_some_and(|line| line > 5) && !page.contains("held by ,"), "{page}");
}

#[test]
fn a_silent_node_says_when_that_was_noticed() {
    let found = json(K136, "00:22:15", &[]);
    let node = find(&found["findings"], "NodeSilent");
    assert_eq!(node["detail"], "noticed 51 s later: Kubelet stopped posting node status.");
    // Before the control plane notices, the lease shows it.
    let found = json(K136, "00:17:08", &[]);
    assert_eq!(find(&found["findings"], "NodeSilent")["detail"], "its lease has run out; its conditions do not say so");
}
