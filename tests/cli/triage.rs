//! `triage` on recorded clusters: at moments of the operator's log the true trouble is the first line, and where nothing is wrong it is the only one.

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
    assert_eq!(waits["command"], "ketcd explain pod/web/tomcat-7f6f6db99b-fssvc");
    // The pod that waited since before the node was lost is no effect of it.
    assert!(found["findings"].as_array().unwrap().iter().any(|finding| finding["objects"][0]["name"] == "tomcat-7f6f6db99b-sj7wj"));
}

#[test]
fn claims_and_the_pods_that_wait_for_them_are_one() {
    let found = json(K136, "00:22:15", &["-n", "web"]);
    let claims = find(&found["findings"], "ClaimPending");
    assert_eq!(claims["objects"].as_array().unwrap().len(), 2);
    let pods = find(&claims["effects"], "Unschedulable");
    assert_eq!((&pods["owner"]["name"], &pods["pods"]), (&"store".into(), &2.into()));
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
            let words = format!("{}  {}", one["who"].as_str().unwrap(), one["what"].as_str().unwrap());
            assert!(page.lines().any(|line| line.starts_with(&words)), "{words}: {page}");
            let row = &data["rows"][usize::try_from(one["row"].as_u64().unwrap()).unwrap()];
            assert!(words.contains(row["n"].as_str().unwrap()), "{words}: {row}");
        }
        assert_eq!((&standing[0]["what"], &standing[1]["what"]), (&"CrashLoopBackOff".into(), &"silent".into()), "{standing:?}");
    }
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
