//! What is gathered to be extracted from recorded clusters, and what is left out and why.

use ketcd_cluster::extract::{By, Gathered, LastWritten, ManifestLeftOut, Targets, With};
use ketcd_cluster::not_found::Whereabouts;
use ketcd_cluster::{Cluster, Error, Nothing, Options, Revision};
use ketcd_restore::exclusions::OWNED_EXCLUSION;
use ketcd_restore::{ObjectId, Switches};
use ketcd_testing::written::Written;
use serde_json::{Value, json};

use crate::fixture::{capture, cluster_of, database, of_namespace, open, path};

/// What words name, without what belongs to it.
async fn gathered(cluster: &Cluster, words: &[&str]) -> Gathered {
    with(cluster, words, With::default(), &Switches::default()).await
}

async fn with(cluster: &Cluster, words: &[&str], with: With, switches: &Switches) -> Gathered {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    cluster.extract(&Targets::Words(&words), with, switches).await.unwrap()
}

async fn everything(cluster: &Cluster) -> Gathered {
    cluster.extract(&Targets::Everything, With::default(), &Switches::default()).await.unwrap()
}

/// `Kind/namespace/name`.
fn name_of(id: &ObjectId) -> String {
    let namespace = id.namespace.as_ref().map_or(String::new(), |namespace| format!("{namespace}/"));
    format!("{}/{namespace}{}", id.kind, id.name)
}

fn names(gathered: &Gathered) -> Vec<String> {
    let mut names: Vec<String> = gathered.objects.keys().map(name_of).collect();
    names.sort();
    names
}

/// The rules that left something out.
fn rules(gathered: &Gathered) -> Vec<&'static str> {
    let rule =
        |(_, left): &(ObjectId, ManifestLeftOut)| if let ManifestLeftOut::Excluded(exclusion) = left { Some(exclusion.name) } else { None };
    gathered.left_out.iter().filter_map(rule).collect()
}

#[tokio::test]
async fn what_a_cluster_makes_again_is_left_out() {
    for capture_name in ["k120-story", "k136-story"] {
        let cluster = capture(capture_name, Options::default()).await;
        let found = gathered(&cluster, &["ns/web", "ns/lab"]).await;
        let made = ["Event", "ReplicaSet", "ControllerRevision", "Lease", "Endpoints"];
        let names = names(&found);
        for name in &names {
            // One of these was made by hand.
            let is_made = made.iter().any(|kind| name.starts_with(&format!("{kind}/")));
            assert!(!is_made || name == "Endpoints/web/dual", "{capture_name}: {name}");
        }
        for wanted in ["Namespace/web", "Namespace/lab", "ConfigMap/web/app-config", "Secret/web/db-password", "Deployment/web/tomcat"] {
            assert!(names.iter().any(|name| name == wanted), "{capture_name}: {wanted} is not in {names:?}");
        }
        let rules = rules(&found);
        for rule in ["events", "owned", "endpoints", "root-ca", "default-accounts"] {
            assert!(rules.contains(&rule), "{capture_name}: {rule} is not in {rules:?}");
        }
    }
}

#[tokio::test]
async fn the_same_namespace_by_options_is_the_same() {
    let by_name = gathered(&capture("k136-story", Options::default()).await, &["ns/web"]).await;
    let by_option = everything(&capture("k136-story", of_namespace("web")).await).await;
    assert_eq!(names(&by_name), names(&by_option));
    let objects = |gathered: &Gathered| gathered.objects.values().map(|found| found.object.clone().into_value()).collect::<Vec<_>>();
    assert_eq!(objects(&by_name), objects(&by_option));
}

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

fn rbac(kind: &str, namespace: Option<&str>, name: &str, more: Value) -> Value {
    let mut object = json!({"apiVersion": format!("{RBAC_GROUP}/v1"), "kind": kind, "metadata": {"name": name, "namespace": namespace}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

fn binding(kind: &str, namespace: Option<&str>, name: &str, role_kind: &str, role: &str, account: &str) -> Value {
    let subject = json!({"kind": "ServiceAccount", "name": account, "namespace": "shop"});
    rbac(kind, namespace, name, json!({"roleRef": {"apiGroup": RBAC_GROUP, "kind": role_kind, "name": role}, "subjects": [subject]}))
}

#[tokio::test]
async fn rights_come_with_the_accounts_that_have_them() {
    let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "shop"}});
    let shop = Some("shop");
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "till", "namespace": "shop"}, "spec": {
            "selector": {"matchLabels": {"app": "till"}},
            "template": {"metadata": {"labels": {"app": "till"}}, "spec": {"serviceAccountName": "till", "containers": [{"name": "main", "image": "till"}]}}}},
        account("till"), account("other"),
        rbac("Role", shop, "reads", json!({"rules": []})), rbac("Role", shop, "writes", json!({"rules": []})),
        rbac("ClusterRole", None, "watches", json!({"rules": []})), rbac("ClusterRole", None, "rules", json!({"rules": []})),
        binding("RoleBinding", shop, "till-reads", "Role", "reads", "till"),
        binding("ClusterRoleBinding", None, "till-watches", "ClusterRole", "watches", "till"),
        binding("RoleBinding", shop, "other-writes", "Role", "writes", "other"),
        binding("ClusterRoleBinding", None, "other-rules", "ClusterRole", "rules", "other"),
    ]});
    let cluster = cluster_of(objects.to_string(), Options::default()).await;
    assert_eq!(names(&gathered(&cluster, &["deploy/shop/till"]).await), ["Deployment/shop/till"]);
    let rights = With { rbac: true, ..With::default() };
    let wanted = [
        "ClusterRole/watches",
        "ClusterRoleBinding/till-watches",
        "Deployment/shop/till",
        "Role/shop/reads",
        "RoleBinding/shop/till-reads",
        "ServiceAccount/shop/till",
    ];
    assert_eq!(names(&with(&cluster, &["deploy/shop/till"], rights, &Switches::default()).await), wanted);
}

#[tokio::test]
async fn children_are_left_to_their_controllers_unless_they_are_asked_for() {
    let cluster = capture("k136-story", Options::default()).await;
    assert_eq!(names(&gathered(&cluster, &["deploy/web/tomcat"]).await), ["Deployment/web/tomcat"]);
    let mut switches = Switches::default();
    assert!(switches.keep(OWNED_EXCLUSION));
    let owned = with(&cluster, &["deploy/web/tomcat"], With { owned: true, ..With::default() }, &switches).await;
    let owned = names(&owned);
    let has = |kind: &str| owned.iter().any(|name| name.starts_with(&format!("{kind}/web/tomcat-")));
    assert!(has("Pod") && has("ReplicaSet") && owned.contains(&"Deployment/web/tomcat".to_owned()), "{owned:?}");
    // A child that is named is asked for.
    let child = owned.iter().find(|name| name.starts_with("Pod/")).unwrap();
    assert_eq!(names(&gathered(&cluster, &[&child.replace("Pod/", "pod/")]).await), std::slice::from_ref(child));
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let cluster = capture("k136-story", Options::default()).await;
    let found = gathered(&cluster, &["deploy/web/nothing"]).await;
    assert!(found.objects.is_empty() && found.nothing_of.is_some());
    assert_eq!((found.absent.len(), &found.absent[0].elsewhere), (1, &Whereabouts::Nowhere));
    let nowhere = capture("k136-story", of_namespace("nowhere")).await;
    let error = nowhere.extract(&Targets::Everything, With::default(), &Switches::default()).await.err().unwrap();
    assert!(matches!(&error, Error::Nothing(Nothing::InNamespace(namespace)) if namespace == "nowhere"), "{error:?}");
}

/// From a whole cluster, what the control plane creates itself is left out.
#[tokio::test]
async fn a_whole_cluster_has_no_accounts_of_controllers() {
    for name in ["k120-story", "k136-story"] {
        let found = everything(&capture(name, Options { all_namespaces: true, ..Options::default() }).await).await;
        let names = names(&found);
        assert!(!names.iter().any(|name| name.starts_with("ServiceAccount/kube-system/")), "{name}: {names:?}");
        assert!(names.iter().any(|name| name.starts_with("Node/")) && rules(&found).contains(&"controller-accounts"), "{name}: {names:?}");
    }
}

/// API servers of 1.20 mark their own flow control by no annotation; what somebody changed or added is somebody's.
#[tokio::test]
async fn flow_control_of_api_servers_stays_there() {
    let all = || Options { all_namespaces: true, ..Options::default() };
    let found = everything(&capture("k120-story", all()).await).await;
    let is_flow_control = |name: &String| name.starts_with("FlowSchema/") || name.starts_with("PriorityLevelConfiguration/");
    assert!(!names(&found).iter().any(is_flow_control) && rules(&found).contains(&"server-objects"));

    let flow = |kind: &str, name: &str, generation: i64, annotation: Option<&str>| {
        let mut object = json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1beta1", "kind": kind, "metadata": {"name": name, "generation": generation}, "spec": {}});
        if let Some(value) = annotation {
            object["metadata"]["annotations"] = json!({"apf.kubernetes.io/autoupdate-spec": value});
        }
        object.to_string()
    };
    let objects = [
        flow("FlowSchema", "exempt", 1, None),
        flow("FlowSchema", "service-accounts", 2, None),
        flow("FlowSchema", "probes", 3, Some("true")),
        flow("FlowSchema", "catch-all", 1, Some("false")),
        flow("FlowSchema", "mine", 1, None),
        flow("PriorityLevelConfiguration", "workload-low", 1, None),
        flow("PriorityLevelConfiguration", "mine", 1, None),
    ];
    let found = everything(&cluster_of(objects.join("\n"), all()).await).await;
    assert_eq!(
        names(&found),
        ["FlowSchema/catch-all", "FlowSchema/mine", "FlowSchema/service-accounts", "PriorityLevelConfiguration/mine"]
    );
}

/// Custom resources whose definition is not there: an aggregated API server's own, or those of a definition that was deleted.
#[tokio::test]
async fn a_namespace_has_custom_resources_without_definitions_too() {
    let mut written = Written::default();
    for (group, plural, kind, namespace, name) in [
        ("lab.example.com", "foos", "Foo", Some("test"), "one"),
        ("lab.example.com", "foos", "Foo", Some("test"), "two"),
        ("lab.example.com", "foos", "Foo", Some("other"), "three"),
        ("lab.example.com", "bars", "Bar", None, "wide"),
        ("zed.example.com", "zeds", "Zed", Some("test"), "four"),
    ] {
        let object = json!({"apiVersion": "lab.example.com/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}});
        let place = namespace.map_or(String::new(), |namespace| format!("{namespace}/"));
        written.put(&format!("/registry/{group}/{plural}/{place}{name}"), object.to_string());
    }
    let open = async |options: Options| database(written.finish(), options).await;
    let all = everything(&open(Options { all_namespaces: true, ..Options::default() }).await).await;
    assert_eq!(names(&all), ["Bar/wide", "Foo/other/three", "Foo/test/one", "Foo/test/two", "Zed/test/four"]);
    let own = ["Foo/test/one", "Foo/test/two", "Zed/test/four"];
    assert_eq!(names(&everything(&open(of_namespace("test")).await).await), own);
    assert_eq!(names(&gathered(&open(Options::default()).await, &["ns/test"]).await), own);
    // An address names them too.
    let mut foos = Vec::new();
    for word in ["foos", "foos.lab.example.com/one"] {
        let found = open(of_namespace("test")).await.subjects(&[word.to_owned()]).await.unwrap().objects;
        foos.extend(found.iter().map(|found| name_of(&ObjectId::of(&found.object))));
    }
    assert_eq!(foos, ["Foo/test/one", "Foo/test/two", "Foo/test/one"]);
    // Nothing at all is in no namespace.
    let nowhere = open(Options { prefix: Some("/nowhere".to_owned()), all_namespaces: true, ..Options::default() }).await;
    let error = nowhere.extract(&Targets::Everything, With::default(), &Switches::default()).await.err().unwrap();
    assert!(matches!(&error, Error::Nothing(Nothing::Objects { prefix }) if prefix == "/nowhere"), "{error:?}");
}

/// Where the version of then is compacted, all who ever wrote an object count: that is said of each. Read with a file that has that version, it is decided.
#[tokio::test]
async fn what_may_have_been_written_before_is_named() {
    let written = LastWritten { after: Some(Revision(1_500)), by: vec![By::People] };
    let found = async |captures: &[&str]| {
        let files: Vec<String> = captures.iter().map(|capture| path(capture)).collect();
        let cluster = open(&files, Options { all_namespaces: true, ..Options::default() }).await.unwrap();
        cluster.extract_written(&Targets::Everything, With::default(), &Switches::default(), &written).await.unwrap()
    };
    let (compacted, joined) = (found(&["k136-story/compacted.db.zst"]).await, found(&["k136-story", "k136-story/compacted.db.zst"]).await);
    assert!(joined.maybe_older.is_empty(), "{:?}", joined.maybe_older);
    let more: Vec<ObjectId> = compacted.objects.keys().filter(|id| !joined.objects.contains_key(*id)).cloned().collect();
    assert!(!more.is_empty() && joined.objects.keys().all(|id| compacted.objects.contains_key(id)));
    assert!(more.iter().all(|id| compacted.maybe_older.contains(id)), "{more:?}");
    let summary = compacted.into_manifests(&Switches::default(), None).summary;
    assert!(more.len() <= summary.maybe_older.len() + summary.left_out.len() && !summary.maybe_older.is_empty());
    // By their managers, which are read though no manifest has them, these are not people's.
    let names = names(&joined);
    assert!(names.contains(&"Pod/lab/details".to_owned()) && !names.iter().any(|name| name.starts_with("Node/")), "{names:?}");
    let manifests = joined.into_manifests(&Switches::default(), None).manifests;
    assert!(manifests.iter().all(|manifest| manifest["metadata"]["managedFields"].is_null()));
}
