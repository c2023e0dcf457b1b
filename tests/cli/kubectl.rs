//! kubectl's habits: `get` with its table and `-w`, `describe`, `events`, `tree`, and the commands that there cannot be.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::ketcd::ketcd;

const STORY: &str = "k136-story";

fn run_on(capture: &str, arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture);
    ketcd().args(["-f", "snapshot.db.zst"]).args(arguments).current_dir(folder).output().unwrap()
}

fn run(arguments: &[&str]) -> Output {
    run_on(STORY, arguments)
}

/// What a command prints that finds something and has nothing to complain of.
#[track_caller]
fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn json_of(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).unwrap()
}

#[track_caller]
fn lines_of(arguments: &[&str]) -> Vec<Value> {
    text(arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs the arguments on objects as kubectl prints them.
fn on_objects(objects: &[Value], arguments: &[&str]) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
    ketcd().arg("-f").arg(file.path()).args(arguments).output().unwrap()
}

#[test]
fn get_prints_the_table_of_ls_unless_a_format_is_asked_for() {
    for words in [&["pods", "-A"][..], &["pod/web/crasher"], &["nodes", "-o", "wide"], &["po,svc", "-n", "web"], &["gadgets", "-A"]] {
        let (get, ls) = (text(&[&["get"], words].concat()), text(&[&["ls"], words].concat()));
        assert!(get.starts_with("NAME"), "{get}");
        assert_eq!(get, ls, "{words:?}");
    }
    assert_eq!(json_of(&["get", "pod/web/crasher", "-o", "json"])["metadata"]["name"], "crasher");
    let key = text(&["get", "/registry/pods/web/crasher"]);
    assert!(key.contains("crasher") && key.contains("CrashLoopBackOff"), "{key}");
}

#[test]
fn get_watch_prints_what_is_and_then_each_change() {
    let from = 1200;
    let watch = |more: &[&'static str]| -> Vec<&'static str> { [&["get", "pods", "-n", "lab", "--rev", "1200"], more].concat() };
    let before = text(&["ls", "pods", "-n", "lab", "--rev", "1200"]);
    let history = lines_of(&["history", "pods", "-n", "lab", "-o", "ndjson"]);
    let later: Vec<&Value> = history.iter().filter(|change| change["revision"].as_i64().unwrap() > from).collect();
    assert!(later.len() > 50 && later.iter().any(|change| change["type"] == "DELETED"));

    let rows = text(&watch(&["-w"]));
    assert!(rows.starts_with(&before), "the rows of ls come first:\n{rows}");
    let name = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    let followed: Vec<String> = rows[before.len()..].lines().map(name).collect();
    let wanted: Vec<String> = later.iter().map(|change| change["key"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(followed, wanted);
    let only = text(&watch(&["--watch-only", "--no-headers"]));
    assert_eq!(only.lines().map(name).collect::<Vec<_>>(), wanted);

    // Documents are those of the history; of a deletion the object as it was last.
    let documents = lines_of(&watch(&["--watch-only", "-o", "ndjson"]));
    assert_eq!(documents.len(), later.len());
    for (document, change) in documents.iter().zip(&later).filter(|(_, change)| change["type"] != "DELETED") {
        assert_eq!(document, &change["object"]);
    }
    let pretty = text(&watch(&["-w", "-o", "json"]));
    let read: Vec<Value> = serde_json::Deserializer::from_str(&pretty).into_iter().map(Result::unwrap).collect();
    assert_eq!(read.len(), before.lines().count() - 1 + later.len());
    assert_eq!(read[before.lines().count() - 1..], documents);
    let yaml = text(&watch(&["-w", "-o", "yaml"]));
    assert_eq!(yaml.split("\n---\n").count(), read.len());
    let names = text(&watch(&["-w", "-o", "custom-columns=N:.metadata.name"]));
    assert_eq!(names.lines().count(), 1 + read.len());

    // A selector takes an object that fits before or after the change.
    let running = text(&watch(&["--watch-only", "--no-headers", "--field-selector", "status.phase=Running"]));
    assert!(running.lines().count() < wanted.len() && running.lines().any(|line| line.contains("Terminating")), "{running}");
    let end = run(&["get", "pods", "-n", "lab", "--watch-only"]);
    assert_eq!((end.status.code(), end.stdout.len()), (Some(1), 0), "a file has no changes after its newest revision");
}

#[test]
fn get_watch_says_what_is_not_there_and_goes_on() {
    let created = lines_of(&["history", "pod/lab/urgent", "-o", "ndjson"])[0]["revision"].as_i64().unwrap();
    let output = run(&["get", "pod/lab/urgent", "-w", "--no-headers", "--rev", &(created - 1).to_string()]);
    assert!(stderr(&output).contains("pod \"urgent\" not found in namespace \"lab\" at revision"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("urgent"));
}

#[test]
fn commands_that_there_cannot_be_say_why() {
    for (words, why) in [
        ("logs crasher -n web -f --tail=5", "logs are not in etcd but on the pod's node, in /var/log/pods/"),
        ("logs -f crasher -c main --previous", "/var/log/pods/"),
        ("delete pod crasher -n web --force --grace-period=0", "ketcd never writes to a cluster; use kubectl delete"),
        ("edit deploy/tomcat", "ketcd get -o yaml shows the object"),
        ("apply -f deploy.yaml --server-side", "use kubectl apply"),
        ("apply -k .", "use kubectl apply"),
        ("exec -it crasher -- sh -c ls", "exec asks the kubelet"),
        ("scale deploy tomcat --replicas=3", "use kubectl scale"),
        ("patch pod x -p {}", "use kubectl patch"),
        ("create deployment x --image=y", "use kubectl create"),
        ("label pod x a=b", "use kubectl label"),
        ("annotate pod x a=b", "use kubectl annotate"),
        ("rollout undo deploy/tomcat --to-revision=3", "ketcd timeline and ketcd history show rollouts"),
        ("drain node1 --ignore-daemonsets", "use kubectl drain"),
        ("cordon node1", "use kubectl cordon"),
        ("uncordon node1", "use kubectl uncordon"),
        ("taint nodes node1 a=b:NoSchedule", "use kubectl taint"),
        ("top pods", "metrics-server"),
        ("port-forward pod/x 8080:80", "use kubectl port-forward"),
        ("attach x", "use kubectl attach"),
        ("cp x:/tmp/a .", "use kubectl cp"),
    ] {
        let output = ketcd().args(words.split(' ')).output().unwrap();
        let said = stderr(&output);
        assert_eq!((output.status.code(), output.stdout.len(), said.lines().count()), (Some(2), 0, 1), "{words}: {said}");
        assert!(said.starts_with("ketcd: error: ") && said.contains(why), "{words}: {said}");
    }
    let help = String::from_utf8(ketcd().arg("--help").output().unwrap().stdout).unwrap();
    assert!(help.contains("  describe ") && !help.contains("  delete ") && !help.contains("  logs "), "{help}");
}

#[test]
fn a_description_holds_what_the_other_commands_show() {
    let description = json_of(&["describe", "pod/web/crasher", "-o", "json"]);
    assert_eq!(description["object"], json_of(&["get", "pod/web/crasher", "-o", "json"]));
    assert_eq!(description["events"], json_of(&["events", "pod/web/crasher", "-o", "json"])["items"]);
    let history = lines_of(&["history", "pod/web/crasher", "-o", "ndjson"]);
    assert!(history.len() > 10 && description["hasEarlierChanges"] == true);
    let last = description["changes"].as_array().unwrap();
    assert_eq!(last.len(), 10);
    for (change, recorded) in last.iter().zip(&history[history.len() - 10..]) {
        for field in ["revision", "type", "by", "byFrom", "time", "timeErrorSeconds", "patch"] {
            assert_eq!(change[field], recorded[field], "{field} of {change}");
        }
    }
    let page = text(&["describe", "pod/web/crasher"]);
    for wanted in ["CrashLoopBackOff", "Terminated: Error, exit code 1", "Restarts:    6", "BackOff", "r2586  ~ kubelet node1", "cpu 50m"] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
}

#[test]
fn a_description_is_of_the_revision_looked_at() {
    let first = &lines_of(&["history", "pod/lab/train-3", "-o", "ndjson"])[0];
    let revision = first["revision"].to_string();
    let description = json_of(&["describe", "pod/lab/train-3", "-o", "json", "--rev", &revision]);
    assert_eq!(description["object"]["metadata"]["resourceVersion"], revision.as_str());
    assert_eq!((&description["events"], &description["hasEarlierChanges"]), (&json!([]), &json!(false)));
    assert_eq!(description["changes"].as_array().unwrap().len(), 1);
    assert_eq!(description["changes"][0]["type"], "ADDED");
}

#[test]
fn a_node_is_described_with_its_pods() {
    let description = json_of(&["describe", "nodes", "-o", "json"]);
    let pods = json_of(&["get", "pods", "-A", "-o", "json"]);
    let pods = pods["items"].as_array().unwrap();
    for node in description["items"].as_array().unwrap() {
        let name = &node["object"]["metadata"]["name"];
        let ended = |pod: &Value| ["Succeeded", "Failed"].iter().any(|phase| pod["status"]["phase"] == *phase);
        let own = pods.iter().filter(|pod| pod["spec"]["nodeName"] == *name && !ended(pod)).count();
        assert_eq!(node["pods"]["count"], own, "{name}");
        assert!(own > 0 && node["pods"]["requests"]["cpu"].is_string(), "{node}");
    }
    // A node asked for alone is found by its name in the stored bytes.
    let one = json_of(&["describe", "node/node2", "-o", "json"]);
    assert!(description["items"].as_array().unwrap().contains(&one));
}

#[test]
fn descriptions_mask_secrets_and_refuse_what_they_are_not() {
    let page = text(&["describe", "secrets", "-A"]);
    assert!(page.contains("\"***\""));
    for secret in json_of(&["get", "secrets", "-A", "-o", "json", "--show-secrets"])["items"].as_array().unwrap() {
        for value in secret["data"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()) {
            assert!(value.len() < 9 || !page.contains(value), "{}", secret["metadata"]["name"]);
        }
    }
    for command in ["describe", "tree"] {
        let refused = run(&[command, "pod/web/crasher", "-o", "yaml"]);
        assert_eq!(refused.status.code(), Some(2));
        assert_eq!(stderr(&refused), format!("ketcd: error: {command} has no output format yaml; use one of table, json, ndjson\n"));
    }
    let refused = run(&["events", "-w", "-o", "yaml"]);
    assert!(stderr(&refused).contains("events --watch has no output format yaml"), "{}", stderr(&refused));
}

#[test]
fn every_object_can_be_described() {
    for capture in ["k120-story", STORY] {
        let kinds: Value = serde_json::from_slice(&run_on(capture, &["ls", "-o", "json"]).stdout).unwrap();
        let stored = kinds.as_array().unwrap().iter().filter_map(|row| row["resource"].as_str());
        let stored: Vec<&str> = stored.filter(|resource| !resource.starts_with('(') && *resource != "events").collect();
        let output = run_on(capture, &["describe", &stored.join(","), "-A"]);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{capture}");
        let objects = run_on(capture, &["ls", &stored.join(","), "-A", "-o", "name"]).stdout.iter().filter(|byte| **byte == b'\n').count();
        let page = String::from_utf8(output.stdout).unwrap();
        assert_eq!(page.matches("\nLast written: ").count(), objects, "{capture}");
        assert!(stored.len() > 30 && objects > 300, "{capture}: {objects} objects of {} kinds", stored.len());
    }
}

#[test]
fn descriptions_and_trees_fit_the_terminal() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(STORY);
    for words in ["describe pods,nodes,deploy,sts,job,pvc -n web", "tree deploy,sts -n web", "events pod/web/crasher"] {
        let mut command = ketcd();
        command.args(["-f", "snapshot.db.zst"]).args(words.split(' ')).current_dir(&folder);
        let (shown, status) = crate::pty::run(80, &mut command);
        assert_eq!(status.code(), Some(0), "{words}: {shown}");
        let shown = anstream::adapter::strip_str(&shown).to_string();
        // Progress stands in a line until what follows is written over it.
        let lines: Vec<&str> = shown.lines().filter_map(|line| line.trim_end_matches('\r').rsplit('\r').next()).collect();
        let wide: Vec<&&str> = lines.iter().filter(|line| line.chars().count() > 80).collect();
        assert!(
            lines.len() > 5 && wide.is_empty(),
            "{words}: {} of {} lines are too wide, the first: {:?}",
            wide.len(),
            lines.len(),
            wide.first()
        );
    }
}

#[test]
fn events_are_those_stored_by_time() {
    let time = |event: &Value| {
        let all = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
        all.iter().find_map(|time| time.as_str()).unwrap().parse::<jiff::Timestamp>().unwrap()
    };
    let events = json_of(&["events", "-A", "-o", "json"]);
    let events = events["items"].as_array().unwrap();
    assert!(events.is_sorted_by_key(time));
    let stored: BTreeSet<String> = text(&["ls", "events", "-A", "-o", "name"]).lines().map(str::to_owned).collect();
    let listed: BTreeSet<String> = text(&["events", "-A", "-o", "name"]).lines().map(str::to_owned).collect();
    assert_eq!((events.len(), &listed), (stored.len(), &stored));

    let of = |arguments: &[&str]| json_of(&[&["events", "-o", "json"], arguments].concat())["items"].as_array().unwrap().clone();
    let about = |kind: &str, name: &str| -> Vec<Value> {
        let is_it = |event: &&Value| event["involvedObject"]["kind"] == kind && event["involvedObject"]["name"] == name;
        events.iter().filter(is_it).cloned().collect()
    };
    assert_eq!(of(&["pod/web/crasher"]), about("Pod", "crasher"));
    assert_eq!(of(&["--for", "pod/crasher", "-n", "web"]), about("Pod", "crasher"));
    // A node's are in the namespace default.
    assert_eq!(of(&["node/node2"]), about("Node", "node2"));
    assert!(!about("Node", "node2").is_empty());
    let warnings = of(&["-A", "--types", "warning"]);
    assert!(!warnings.is_empty() && warnings.iter().all(|event| event["type"] == "Warning"));
    let nodes = of(&["nodes"]);
    assert!(!nodes.is_empty() && nodes.iter().all(|event| event["involvedObject"]["kind"] == "Node"));

    let table = text(&["events", "pod/web/crasher"]);
    assert!(table.starts_with("LAST SEEN ") && table.contains("(x7 over 9m16s)"), "{table}");
    assert!(
        text(&["events", "-A", "-o", "wide"])
            .lines()
            .next()
            .unwrap()
            .split_whitespace()
            .eq("NAMESPACE LAST SEEN TYPE REASON OBJECT FROM MESSAGE".split(' '))
    );
    let nothing = run(&["events", "-n", "nowhere"]);
    assert_eq!(
        (nothing.status.code(), stderr(&nothing).as_str()),
        (Some(1), "ketcd: No events found in nowhere namespace; -A looks in all\n")
    );
    let key = run(&["events", "/registry/pods/web/crasher"]);
    assert_eq!(key.status.code(), Some(2));
}

#[test]
fn events_are_watched() {
    let from = "1500";
    let before = text(&["events", "-n", "web", "--rev", from]);
    let watched = text(&["events", "-n", "web", "-w", "--rev", from]);
    assert!(watched.starts_with(&before));
    let changes = lines_of(&["history", "events", "-n", "web", "-o", "ndjson"]);
    let later = changes.iter().filter(|change| change["revision"].as_i64().unwrap() > 1500 && change["type"] != "DELETED").count();
    assert!(later > 0);
    assert_eq!(watched.lines().count(), before.lines().count() + later);
}

/// The names on the lines of a tree, without what is drawn before them.
fn names(tree: &str) -> Vec<&str> {
    let drawn = |c: char| "│├└─ ".contains(c);
    tree.lines().skip(1).filter_map(|line| line.trim_start_matches(drawn).split_whitespace().next()).collect()
}

#[test]
fn trees_hold_all_that_is_owned() {
    let replica_sets = json_of(&["get", "rs", "-n", "web", "-o", "json"]);
    let pods = json_of(&["get", "pods", "-n", "web", "-o", "json"]);
    for revision in ["700", "3190"] {
        let tree = text(&["tree", "deploy/web/tomcat", "--rev", revision]);
        assert!(names(&tree)[0] == "Deployment/tomcat", "{tree}");
    }
    let tree = text(&["tree", "deploy/web/tomcat"]);
    let shown: BTreeSet<&str> = names(&tree).into_iter().collect();
    let owned = |of: &Value, owner: &Value| {
        of["metadata"]["ownerReferences"].as_array().is_some_and(|all| all.iter().any(|one| one["uid"] == owner["metadata"]["uid"]))
    };
    let deployment = json_of(&["get", "deploy/web/tomcat", "-o", "json"]);
    let sets: Vec<&Value> = replica_sets["items"].as_array().unwrap().iter().filter(|set| owned(set, &deployment)).collect();
    let below: Vec<&Value> = pods["items"].as_array().unwrap().iter().filter(|pod| sets.iter().any(|set| owned(pod, set))).collect();
    let name = |kind: &str, object: &Value| format!("{kind}/{}", object["metadata"]["name"].as_str().unwrap());
    let wanted: Vec<String> = sets.iter().map(|set| name("ReplicaSet", set)).chain(below.iter().map(|pod| name("Pod", pod))).collect();
    assert!(sets.len() > 1 && below.len() > 1);
    assert_eq!(shown.len(), 1 + wanted.len());
    assert!(wanted.iter().all(|name| shown.contains(name.as_str())), "{tree}");
    // From below, the way up and nothing beside it.
    let pod = below[0]["metadata"]["name"].as_str().unwrap();
    let up = text(&["tree", &format!("pod/web/{pod}")]);
    let up = names(&up);
    assert!(up.len() == 3 && up[0] == "Deployment/tomcat" && up[2] == format!("Pod/{pod}"), "{up:?}");
    let node = json_of(&["tree", "node/node1", "-o", "json"]);
    assert_eq!((&node["asked"], &node["owned"][0]["kind"]), (&json!(true), &json!("Lease")));
}

#[test]
fn trees_lead_through_custom_resources_lost_owners_and_circles() {
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "apps.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "apps", "singular": "app", "kind": "App"},
            "versions": [{"name": "v1", "served": true, "storage": true}]}});
    let owner = |api: &str, kind: &str, name: &str, uid: &str| json!([{"apiVersion": api, "kind": kind, "name": name, "uid": uid}]);
    let object = |api: &str, kind: &str, name: &str, owners: Value| {
        json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "x", "uid": format!("uid-{name}"),
            "creationTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": owners}})
    };
    let objects = [
        crd,
        object("example.com/v1", "App", "shop", json!([])),
        object("example.com/v1", "App", "part", owner("example.com/v1", "App", "shop", "uid-shop")),
        object("apps/v1", "Deployment", "web", owner("example.com/v1", "App", "part", "uid-part")),
        object("v1", "Pod", "orphan", owner("apps/v1", "ReplicaSet", "gone", "uid-gone")),
        // Another object has the name by now.
        object("v1", "Pod", "left", owner("example.com/v1", "App", "shop", "uid-of-before")),
        object("v1", "ConfigMap", "a", owner("v1", "ConfigMap", "b", "uid-b")),
        object("v1", "ConfigMap", "b", owner("v1", "ConfigMap", "a", "uid-a")),
    ];
    let tree = |address: &str| {
        let output = on_objects(&objects, &["tree", address, "-n", "x"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(names(&tree("app/shop")), ["App/shop", "App/part", "Deployment/web"]);
    assert_eq!(names(&tree("deploy/web")), ["App/shop", "App/part", "Deployment/web"]);
    for (pod, lost) in [("orphan", "ReplicaSet/gone"), ("left", "App/shop")] {
        let shown = tree(&format!("pod/{pod}"));
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].starts_with(lost) && lines[1].contains("not found") && lines[2].contains(&format!("Pod/{pod}")), "{shown}");
    }
    let circle = tree("cm/a");
    assert!(names(&circle).contains(&"ConfigMap/b"), "{circle}");
}
