//! `ketcd extract`: manifests of recorded clusters, and what is said of the rest.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::ketcd::ketcd;

fn capture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).join("snapshot.db.zst")
}

fn run(name: &str, arguments: &[&str]) -> Output {
    ketcd().arg("-f").arg(capture(name)).arg("extract").args(arguments).output().unwrap()
}

/// The manifests that a run prints, and what it says beside them.
#[track_caller]
fn extract(name: &str, arguments: &[&str]) -> (Vec<Value>, String) {
    let output = run(name, &[arguments, &["-o", "ndjson"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), said)
}

fn name_of(manifest: &Value) -> String {
    let namespace = manifest["metadata"]["namespace"].as_str().map_or(String::new(), |namespace| format!("{namespace}/"));
    format!("{}/{namespace}{}", manifest["kind"].as_str().unwrap(), manifest["metadata"]["name"].as_str().unwrap())
}

fn names(manifests: &[Value]) -> Vec<String> {
    manifests.iter().map(name_of).collect()
}

#[test]
fn a_namespace_is_extracted_without_what_the_cluster_makes_again() {
    for capture in ["k120-story", "k136-story"] {
        let (manifests, said) = extract(capture, &["ns/web", "ns/lab", "--show-secrets"]);
        let names = names(&manifests);
        for wanted in [
            "Namespace/web",
            "Namespace/lab",
            "ConfigMap/web/app-config",
            "Secret/web/db-password",
            "Deployment/web/tomcat",
            "Service/web/tomcat",
        ] {
            assert!(names.contains(&wanted.to_owned()), "{capture}: {wanted} is not in {names:?}");
        }
        for manifest in &manifests {
            let metadata = &manifest["metadata"];
            for field in
                ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "ownerReferences", "finalizers", "selfLink"]
            {
                assert!(metadata[field].is_null(), "{capture}: {} has {field}", name_of(manifest));
            }
            assert!(manifest["spec"]["nodeName"].is_null() && !manifest.to_string().contains("last-applied-configuration"));
            let made = ["Event", "ReplicaSet", "ControllerRevision", "Lease", "Endpoints"];
            let kind = manifest["kind"].as_str().unwrap();
            assert!(!made.contains(&kind) || name_of(manifest) == "Endpoints/web/dual", "{capture}: {}", name_of(manifest));
            assert!(manifest["status"].is_null() || kind == "Widget", "{capture}: {}", name_of(manifest));
        }
        for reason in ["(events)", "(owned)", "(endpoints)", "(root-ca)", "(default-accounts)"] {
            assert!(said.contains(reason), "{capture}: {reason} is not said in {said}");
        }
    }
}

#[test]
fn what_others_need_comes_before_them() {
    let (manifests, _) = extract("k136-story", &["ns/web", "--show-secrets", "--with", "config,rbac,storage,crds"]);
    let kinds: Vec<&str> = manifests.iter().map(|manifest| manifest["kind"].as_str().unwrap()).collect();
    let place = |kind: &str| kinds.iter().position(|other| *other == kind).unwrap_or_else(|| panic!("no {kind} in {kinds:?}"));
    let order = [
        "Namespace",
        "CustomResourceDefinition",
        "StorageClass",
        "ConfigMap",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Service",
        "Deployment",
    ];
    assert!(order.map(place).is_sorted(), "{kinds:?}");
    let last: BTreeSet<&str> = kinds[kinds.len() - 2..].iter().copied().collect();
    assert_eq!(last, BTreeSet::from(["LimitRange", "ResourceQuota"]), "{kinds:?}");
}

#[test]
fn secrets_are_left_out_unless_they_are_asked_for() {
    let (manifests, said) = extract("k136-story", &["ns/web"]);
    // The Secret of a token has no values in its manifest.
    let secrets: Vec<String> = names(&manifests).into_iter().filter(|name| name.starts_with("Secret/")).collect();
    assert_eq!(secrets, ["Secret/web/default-token"]);
    assert!(
        said.contains("(secrets): their values are masked; --show-secrets extracts them") && said.contains("secret/web/db-password"),
        "{said}"
    );
    assert!(!manifests.iter().any(|manifest| manifest.to_string().contains("***")));
    let (manifests, _) = extract("k136-story", &["secret/web/db-password", "--show-secrets"]);
    assert!(manifests[0]["data"].is_object());
}

#[test]
fn a_volume_and_its_claim_find_each_other_when_asked() {
    let (manifests, said) = extract("k120-story", &["pvc/web/data", "--with", "storage"]);
    assert!(!said.contains("will get another volume"), "{said}");
    let volume = manifests.iter().find(|manifest| manifest["kind"] == "PersistentVolume").unwrap();
    let claim = manifests.iter().find(|manifest| manifest["kind"] == "PersistentVolumeClaim").unwrap();
    assert_eq!(claim["spec"]["volumeName"], volume["metadata"]["name"]);
    let reference = &volume["spec"]["claimRef"];
    assert_eq!((&reference["namespace"], &reference["name"], &reference["uid"]), (&"web".into(), &"data".into(), &Value::Null));
    let (manifests, said) = extract("k120-story", &["pvc/web/data"]);
    assert!(manifests[0]["spec"]["volumeName"].is_null() && said.contains("will get another volume"), "{said}");
}

#[test]
fn rules_are_switched_off_by_name() {
    let service = |arguments: &[&str]| extract("k136-story", &[&["svc/web/tomcat"], arguments].concat()).0[0].clone();
    assert!(service(&[])["spec"]["clusterIP"].is_null());
    let kept = service(&["--keep", "cluster-ip,node-port"]);
    assert!(kept["spec"]["clusterIP"].is_string() && kept["spec"]["ports"][0]["nodePort"].is_number(), "{kept}");
    let output = run("k136-story", &["ns/web", "--keep", "cluster-ips"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(2) && said.contains("no rule is called \"cluster-ips\"") && said.contains("cluster-ip,"),
        "{said}"
    );
}

#[test]
fn every_format_is_what_kubectl_takes() {
    let yaml = run("k136-story", &["deploy,svc", "-n", "web"]);
    let text = String::from_utf8(yaml.stdout).unwrap();
    assert_eq!(text.lines().filter(|line| *line == "---").count(), 4, "{text}");
    let json = run("k136-story", &["deploy,svc", "-n", "web", "-o", "json"]);
    let list: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((list["kind"].as_str(), list["items"].as_array().map(Vec::len)), (Some("List"), Some(4)));
    let names = run("k136-story", &["deploy,svc", "-n", "web", "-o", "name"]);
    assert_eq!(
        String::from_utf8(names.stdout).unwrap(),
        "service/web/dual\nservice/web/tomcat\ndeployment.apps/web/tomcat\ndeployment.apps/web/wide\n"
    );
    assert_eq!(run("k136-story", &["deploy", "-n", "web", "-o", "wide"]).status.code(), Some(2));
}

#[test]
fn a_folder_has_a_file_for_each_object_and_lists_them() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("web");
    let output = run("k136-story", &["ns/web", "--out", place.to_str().unwrap()]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b""[..]), "{}", String::from_utf8_lossy(&output.stderr));
    let kustomization = std::fs::read_to_string(place.join("kustomization.yaml")).unwrap();
    let listed: Vec<&str> = kustomization.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    let (manifests, _) = extract("k136-story", &["ns/web"]);
    assert_eq!(listed.len(), manifests.len(), "{kustomization}");
    assert_eq!(listed[0], "cluster/namespace-web.yaml");
    assert!(
        listed.contains(&"web/deployment.apps-tomcat.yaml") && kustomization.contains("sortOptions:\n  order: fifo\n"),
        "{kustomization}"
    );
    for (name, manifest) in listed.iter().zip(&manifests) {
        let text = std::fs::read_to_string(place.join(name)).unwrap();
        assert_eq!(&serde_saphyr::from_str::<Value>(&text).unwrap(), manifest, "{name}");
    }
    let again = run("k136-story", &["ns/web", "--out", place.to_str().unwrap()]);
    assert!(again.status.code() == Some(2) && String::from_utf8_lossy(&again.stderr).contains("is not empty"));
}

#[test]
fn what_is_not_there_is_said() {
    let output = run("k136-story", &["deploy/web/nothing"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("deployment.apps \"nothing\" not found in namespace \"web\""), "{said}");
    assert_eq!(run("k136-story", &["-n", "nowhere", "--all"]).status.code(), Some(1));
}

/// What an extraction of one capture, or of an earlier revision of it, would change in another.
fn plan(name: &str, arguments: &[&str], target: &str) -> (Value, Option<i32>) {
    let target = capture(target);
    let output = run(name, &[arguments, &["-o", "json", "--against", target.to_str().unwrap()]].concat());
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code())
}

/// An object of a plan as an address.
fn address(object: &Value) -> String {
    let text = |field: &str| object[field].as_str().unwrap();
    let resource = match text("group") {
        "" => text("kind").to_lowercase(),
        group => format!("{}.{group}", text("kind").to_lowercase()),
    };
    match text("namespace") {
        "" => format!("{resource}/{}", text("name")),
        namespace => format!("{resource}/{namespace}/{}", text("name")),
    }
}

/// The objects that an obstacle of this sort is about.
fn in_the_way(plan: &Value, problem: &str) -> Vec<String> {
    let obstacles = plan["obstacles"].as_array().unwrap().iter().filter(|obstacle| obstacle["problem"] == problem);
    obstacles.flat_map(|obstacle| obstacle["objects"].as_array().unwrap()).map(address).collect()
}

fn changed(plan: &Value, address: &str) -> Option<Value> {
    plan["changes"].as_array().unwrap().iter().find(|change| change["address"] == address).cloned()
}

#[test]
fn an_apply_to_the_same_state_changes_nothing() {
    for capture in ["k120-story", "k136-story"] {
        // Ports and volumes that were chosen by who applied them are kept, so that nothing is left to differ.
        let arguments = ["cm,deploy,sts,ds,cj,svc,netpol,pdb,hpa,ing,pvc", "-n", "web", "--with", "storage", "--keep", "node-port"];
        let (plan, _) = plan(capture, &arguments, capture);
        assert_eq!(plan["changes"].as_array().map(Vec::len), Some(0), "{capture}: {plan:#}");
        assert!(plan["unchanged"].as_u64().unwrap() > 8, "{capture}");
        assert!(in_the_way(&plan, "Immutable").is_empty() && in_the_way(&plan, "NotServed").is_empty(), "{capture}: {plan:#}");
    }
}

#[test]
fn an_earlier_state_says_what_would_change_back() {
    let (plan, code) = plan("k136-story", &["ns/web", "--rev", "1500"], "k136-story");
    assert_eq!(code, Some(1));
    let config = changed(&plan, "configmap/web/app-config").unwrap();
    assert_eq!((config["type"].as_str(), config["patch"].as_array().map(Vec::len)), (Some("MODIFIED"), Some(1)), "{config:#}");
    assert_eq!((&config["patch"][0]["path"], &config["patch"][0]["value"]), (&"/data/LOG".into(), &"info".into()));
    let pod = changed(&plan, "pod/web/logged").unwrap();
    assert_eq!((pod["type"].as_str(), &pod["patch"]), (Some("ADDED"), &Value::Null));
    assert_eq!(in_the_way(&plan, "Policy"), ["pod/web/logged"]);
    assert_eq!(in_the_way(&plan, "LimitRange"), ["pod/web/logged"]);
}

#[test]
fn the_file_to_compare_with_may_follow_its_own_flag() {
    let target = capture("k136-story");
    let compared = |flags: &[&str]| run("k136-story", &[&["cm/web/app-config", "--rev", "1500", "--against"], flags].concat());
    let plain = compared(&[target.to_str().unwrap()]);
    assert_eq!(plain.status.code(), Some(1), "{plain:?}");
    assert_eq!(compared(&["-f", target.to_str().unwrap()]), plain);
}

#[test]
fn versions_that_a_newer_cluster_removed_are_named_and_converted() {
    let kinds = "pdb,cj,ing,deploy";
    let (plan_as_stored, _) = plan("k120-story", &[kinds, "-n", "web"], "k136-story");
    let removed = ["cronjob.batch/web/nightly", "ingress.networking.k8s.io/web/tomcat", "poddisruptionbudget.policy/web/tomcat"];
    assert_eq!(in_the_way(&plan_as_stored, "NotServed"), removed);
    let (plan, _) = plan("k120-story", &[kinds, "-n", "web", "--api-version", "preferred", "--release", "1.36"], "k136-story");
    assert!(in_the_way(&plan, "NotServed").is_empty(), "{plan:#}");
    let (manifests, _) = extract("k120-story", &[kinds, "-n", "web", "--api-version", "preferred", "--release", "1.36"]);
    let versions: BTreeSet<&str> = manifests.iter().map(|manifest| manifest["apiVersion"].as_str().unwrap()).collect();
    assert_eq!(versions, BTreeSet::from(["apps/v1", "batch/v1", "networking.k8s.io/v1", "policy/v1"]));
}

#[test]
fn what_a_cluster_lacks_is_in_the_way() {
    // Before the namespace was made there was nothing of it.
    let folder = tempfile::tempdir().unwrap();
    let early = folder.path().join("early.yaml");
    let objects = ketcd().arg("-f").arg(capture("k136-story")).args(["get", "ns/default", "-o", "yaml"]).output().unwrap();
    std::fs::write(&early, &objects.stdout).unwrap();
    let output =
        run("k136-story", &["deploy/web/tomcat", "widget/web/one", "-n", "web", "-o", "json", "--against", early.to_str().unwrap()]);
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(in_the_way(&plan, "NamespaceMissing"), ["deployment.apps/web/tomcat", "widget.example.com/web/one"]);
    assert_eq!(in_the_way(&plan, "NotServed"), ["widget.example.com/web/one"]);
}

#[test]
fn secrets_stay_masked_in_what_would_change() {
    let target = capture("k136-story");
    let output = run("k120-story", &["ns/web", "--against", target.to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("(secrets)") && !String::from_utf8_lossy(&output.stdout).contains("hunter"), "{said}");
}

/// What a snapshot says reaches kubectl as names in the form of DNS behind `--`, and as paths made of such names; the rest is said and not asked for.
#[test]
fn a_snapshot_chooses_no_flag_and_no_path_of_kubectl() {
    let folder = tempfile::tempdir().unwrap();
    let definition = |group: &str, plural: &str, kind: &str| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("{}.{group}", kind.to_lowercase())},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind}, "versions": [{"name": "v1", "served": true, "storage": true}]}})
    };
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain", "namespace": "lab"}}),
        definition("lab.example.com", "things", "Thing"),
    ];
    let plurals = ["--filename=http://127.0.0.1:1/beacon?", "a,secrets", "secrets/x", "-o", "../x", "a b"];
    for (place, plural) in plurals.iter().enumerate() {
        objects.push(definition(&format!("g{place}.example.com"), plural, &format!("Evil{place}")));
    }
    std::fs::write(folder.path().join("objects.json"), objects.iter().map(|object| object.to_string() + "\n").collect::<String>()).unwrap();
    // Objects whose own words differ from their keys' are only in a database; here a list of them is what one would hold.
    let versions = [
        "../api/v1/namespaces/kube-system/services/http:evil:80/proxy/shutdown?x=/v1",
        "v1/../..",
        "--raw/v1",
        "a/b/c",
        "V1",
        "lab.example.com/v1",
    ];
    let mut things: Vec<Value> = plurals
        .iter()
        .enumerate()
        .map(|(place, _)| json!({"apiVersion": format!("g{place}.example.com/v1"), "kind": format!("Evil{place}"), "metadata": {"name": "x", "namespace": "lab"}}))
        .collect();
    things.extend(versions.iter().enumerate().map(
        |(place, version)| json!({"apiVersion": version, "kind": "Thing", "metadata": {"name": format!("t{place}"), "namespace": "lab"}}),
    ));
    things.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "--all-namespaces=false"}}));
    let mut database = ketcd_testing::written::Written::default();
    objects.iter().chain(&things).enumerate().for_each(|(place, object)| database.put(&key_of(object, place), object.to_string()));
    std::fs::write(folder.path().join("hostile.db"), database.finish()).unwrap();

    write_kubectl(folder.path(), plurals.len());
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = ketcd();
    command.current_dir(folder.path()).env("PATH", path).env("LOG", folder.path().join("log"));
    let output = command.args(["-f", "hostile.db", "extract", "-A", "--all", "--against", "config", "-o", "json"]).output().unwrap();
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok(), "{output:?}");

    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let asked = log.lines().filter(|line| asks_for_objects(line)).count();
    assert!(asked > 3 && log.contains("things.v1.lab.example.com"), "{log}");
    let notes = String::from_utf8(output.stderr).unwrap();
    for wanted in ["shutdown?x=", "beacon?", "a,secrets", "--all-namespaces=false"] {
        assert!(notes.contains(wanted), "{wanted} is not said in {notes}");
    }
}

/// Writes a kubectl that notes its arguments in `$LOG`, and a kubeconfig.
fn write_kubectl(folder: &std::path::Path, evil: usize) {
    let kubectl = folder.join("kubectl");
    let served: Vec<Value> = (0..evil)
        .map(|place| json!({"name": "things", "kind": format!("Evil{place}")}))
        .chain([
            json!({"name": "things", "kind": "Thing"}),
            json!({"name": "configmaps", "kind": "ConfigMap"}),
            json!({"name": "namespaces", "kind": "Namespace"}),
        ])
        .collect();
    let list = json!({"items": [], "resources": served});
    std::fs::write(
        &kubectl,
        format!(
            "#!/bin/sh\nfor word in \"$@\"; do printf '%s\\037' \"$word\" >> \"$LOG\"; done\nprintf '\\n' >> \"$LOG\"\necho '{list}'\n"
        ),
    )
    .unwrap();
    std::fs::set_permissions(&kubectl, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(folder.join("config"), r#"{"apiVersion":"v1","kind":"Config","clusters":[]}"#).unwrap();
}

/// Checks the arguments of one call of kubectl, and returns whether it asks for objects.
fn asks_for_objects(line: &str) -> bool {
    let words: Vec<&str> = line.split_terminator('\u{1f}').collect();
    assert_eq!(&words[..2], ["--kubeconfig=config", "get"], "{line:?}");
    match &words[2..] {
        [raw] => {
            let parts = raw.strip_prefix("--raw=/").unwrap_or_else(|| panic!("{line:?}")).split('/');
            assert!(parts.clone().all(is_dns) && (2..=3).contains(&parts.count()), "{line:?}");
            false
        }
        [place, "--output=json", "--chunk-size=500", "--", resource] => {
            assert!(*place == "--all-namespaces" || place.strip_prefix("--namespace=").is_some_and(is_dns), "{line:?}");
            assert!(is_dns(resource), "{line:?}");
            true
        }
        _ => panic!("{line:?}"),
    }
}

fn is_dns(text: &str) -> bool {
    text.split('.').all(|label| {
        let is_plain = label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        is_plain && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    })
}

/// The key of an object as a database may have it, whatever the object says of itself.
fn key_of(object: &Value, place: usize) -> String {
    let metadata = &object["metadata"];
    let (name, namespace) = (metadata["name"].as_str().unwrap(), metadata["namespace"].as_str().unwrap_or_default());
    match object["kind"].as_str().unwrap() {
        "Namespace" => format!("/registry/namespaces/{name}"),
        "ConfigMap" => format!("/registry/configmaps/{namespace}/{name}"),
        "CustomResourceDefinition" => format!("/registry/apiextensions.k8s.io/customresourcedefinitions/{name}"),
        _ => format!("/registry/lab.example.com/things/{namespace}/{name}{place}"),
    }
}

/// From a whole cluster, what the control plane creates itself is left out, and claims and volumes keep together without a flag.
#[test]
fn a_whole_cluster_has_its_volumes_and_no_accounts_of_controllers() {
    for name in ["k120-story", "k136-story"] {
        let (manifests, said) = extract(name, &["-A", "--all"]);
        let is_account = |manifest: &&Value| manifest["kind"] == "ServiceAccount" && manifest["metadata"]["namespace"] == "kube-system";
        let accounts: Vec<String> = manifests.iter().filter(is_account).map(name_of).collect();
        assert!(accounts.is_empty() && said.contains("(controller-accounts)"), "{name}: {accounts:?} {said}");
        let nodes: Vec<&Value> = manifests.iter().filter(|manifest| manifest["kind"] == "Node").collect();
        let marks = ["node.alpha.kubernetes.io/ttl", "volumes.kubernetes.io/controller-managed-attach-detach"];
        for node in &nodes {
            assert!(node["spec"]["podCIDR"].is_null() && node["spec"]["podCIDRs"].is_null(), "{name}: {node}");
            assert!(marks.iter().all(|mark| node["metadata"]["annotations"][mark].is_null()), "{name}: {node}");
        }
        assert!(!nodes.is_empty(), "{name}");
        let (with_storage, _) = extract(name, &["-A", "--all", "--with", "storage"]);
        assert_eq!(manifests, with_storage, "{name}");
        let claims: Vec<&Value> = manifests.iter().filter(|manifest| manifest["kind"] == "PersistentVolumeClaim").collect();
        assert!(claims.iter().any(|claim| claim["spec"]["volumeName"].is_string()), "{name}: {claims:?}");
    }
    // A namespace alone may come back elsewhere: its claims look for volumes anew.
    let (of_namespace, _) = extract("k120-story", &["-n", "lab", "--all"]);
    assert!(of_namespace.iter().all(|manifest| manifest["spec"]["volumeName"].is_null()), "{of_namespace:?}");
}

#[test]
fn what_was_written_since_a_revision_is_extracted_alone_and_by_whom() {
    let of = |more: &[&str]| names(&extract("k120-story", &[&["-A", "--all", "--show-secrets"], more].concat()).0);
    let (all, since) = (of(&[]), of(&["--since", "r600"]));
    assert!(!since.is_empty() && since.len() < all.len() && since.iter().all(|name| all.contains(name)), "{since:?}");
    assert_eq!(since, of(&["--since", "600", "--by", "all"]));
    let people = of(&["--since", "r600", "--by", "people,gitops"]);
    assert!(!people.is_empty() && people.iter().all(|name| since.contains(name)), "{people:?}");
}

#[test]
fn conflicts_of_what_was_written_since_are_named() {
    let backup = capture("k120-story");
    let output = run("k120-story", &["deploy", "-A", "--since", "r600", "--by", "people", "--against", backup.to_str().unwrap()]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code().is_some_and(|code| code <= 1), "{said}");
    let refused = run("k120-story", &["deploy", "-A", "--since", "yesterday-ish"]);
    assert_eq!(refused.status.code(), Some(2));
}
