//! What is deployed can be run: the commands in `deploy/` are commands of ketcd, with flags that it has.

use std::collections::BTreeSet;
use std::fs;

use ketcd_kube::Kinds;
use serde_json::{Value, json};

use super::root;

fn read(name: &str) -> String {
    fs::read_to_string(root().join("deploy").join(name)).unwrap()
}

/// The recording that a command line makes.
fn directory_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let matches = ketcd::command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{error}"));
    let (name, matches) = matches.subcommand().unwrap();
    assert_eq!(name, "record");
    matches.get_one::<std::path::PathBuf>("directory").unwrap().display().to_string()
}

#[test]
fn the_systemd_unit_runs_the_recorder() {
    let unit = read("ketcd-record.service");
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    assert_eq!(directory_of(line.split(' ')), "/var/lib/ketcd/recording");
    assert!(unit.contains("\nStateDirectory=ketcd\n") && unit.contains("\nRestart=always\n"));
}

#[test]
fn the_static_pod_runs_the_recorder_on_what_it_mounts() {
    let pod: Value = serde_saphyr::from_str(&read("ketcd-record.yaml")).unwrap();
    let container = &pod["spec"]["containers"][0];
    let words: Vec<&str> = container["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let directory = directory_of(words.iter().copied());
    let mounts: Vec<&str> =
        container["volumeMounts"].as_array().unwrap().iter().map(|mount| mount["mountPath"].as_str().unwrap()).collect();
    let paths = words.iter().filter_map(|word| word.split_once('=').map(|flag| flag.1)).filter(|value| value.starts_with('/'));
    for path in paths.chain([directory.as_str()]) {
        assert!(mounts.iter().any(|mount| path.starts_with(mount)), "{path} is not mounted");
    }
    let volumes: Vec<&Value> = pod["spec"]["volumes"].as_array().unwrap().iter().map(|volume| &volume["name"]).collect();
    assert!(container["volumeMounts"].as_array().unwrap().iter().all(|mount| volumes.contains(&&mount["name"])));
}

/// What a script verifies with: the flags behind the file, up to where the output goes.
fn verifies(script: &str) {
    let (_, line) = script.split_once("ketcd verify ").expect("it verifies");
    let (line, _) = line.split_once(" > ").expect("it writes metrics");
    let words = ["ketcd", "verify"].into_iter().chain(line.split(' ').map(|word| word.trim_matches('"')));
    let matches = ketcd::command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{error}"));
    let (name, matches) = matches.subcommand().unwrap();
    assert_eq!((name, matches.get_one::<String>("output").map(String::as_str)), ("verify", Some("metrics")));
    assert!(matches.get_one::<std::time::Duration>("max_age").is_some());
}

#[test]
fn backups_are_verified_every_night() {
    let unit = read("ketcd-verify.service");
    verifies(unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap());
    assert!(read("ketcd-verify.timer").contains("\nOnCalendar=") && !unit.contains("[Install]"));
    let job: Value = serde_saphyr::from_str(&read("ketcd-verify.yaml")).unwrap();
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    verifies(container["command"][2].as_str().unwrap());
    let names = |list: &Value| list.as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&container["volumeMounts"]), names(&pod["volumes"]));
}

/// The documents of the manifest that records through an API server, by their kinds.
fn of_api_server(kind: &str) -> Value {
    let text = read("ketcd-record-api-server.yaml");
    let documents = text.split("\n---\n").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    documents.into_iter().find(|document| document["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// A resource that a role names: its group and its name.
type Resource = (String, String);

/// The resources that a rule is about.
fn resources(rule: &Value) -> Vec<Resource> {
    let texts = |field: &str| rule[field].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    texts("apiGroups").iter().flat_map(|group| texts("resources").into_iter().map(move |resource| (group.clone(), resource))).collect()
}

#[test]
fn the_deployment_records_through_the_api_server_into_what_it_mounts() {
    let deployment = of_api_server("Deployment");
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let directory = directory_of(container["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    assert!(directory.starts_with(container["volumeMounts"][0]["mountPath"].as_str().unwrap()), "{directory}");
    assert!(container["command"].as_array().unwrap().contains(&json!("--kubeconfig")));
    assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], of_api_server("PersistentVolumeClaim")["metadata"]["name"]);
    assert_eq!((&deployment["spec"]["replicas"], &deployment["spec"]["strategy"]["type"]), (&json!(1), &json!("Recreate")));
    let account = &of_api_server("ServiceAccount")["metadata"];
    let binding = of_api_server("ClusterRoleBinding");
    assert_eq!(pod["serviceAccountName"], account["name"]);
    assert_eq!(binding["subjects"], json!([{"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}]));
    assert_eq!(binding["roleRef"]["name"], of_api_server("ClusterRole")["metadata"]["name"]);
}

/// What is asked for is every resource of the table of kinds that lies in etcd, but Secrets.
#[test]
fn the_role_permits_what_the_recorder_asks_for_and_no_more() {
    let role = of_api_server("ClusterRole");
    let (read, others): (Vec<&Value>, Vec<&Value>) =
        role["rules"].as_array().unwrap().iter().partition(|rule| rule["verbs"] == json!(["list", "watch"]));
    let permitted: Vec<Resource> = read.iter().flat_map(|rule| resources(rule)).collect();
    let kinds = Kinds::builtin();
    let asked = kinds.iter().filter(|kind| kind.is_stored() && !(kind.group.is_empty() && kind.plural == "secrets"));
    let asked: BTreeSet<Resource> = asked.map(|kind| (kind.group.to_string(), kind.plural.to_string())).collect();
    assert_eq!(permitted.iter().cloned().collect::<BTreeSet<_>>(), asked);
    assert_eq!(permitted.len(), asked.len(), "one is named twice");
    let identity = json!({"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"]});
    assert_eq!(others, [&identity]);
}
