use serde_json::json;

use super::*;

/// A cluster of some objects, which serves everything but `example.com/v1`.
struct Made(BTreeMap<ObjectId, Value>);

impl Made {
    fn of(objects: &[Value]) -> Self {
        Self(objects.iter().map(|object| (ObjectId::of(object), object.clone())).collect())
    }
}

impl TargetCluster for Made {
    fn object(&self, id: &ObjectId) -> Option<&Value> {
        self.0.get(id)
    }

    fn objects(&self) -> Box<dyn Iterator<Item = (&ObjectId, &Value)> + '_> {
        Box::new(self.0.iter())
    }

    fn serves(&self, api_version: &str, _: &str) -> bool {
        api_version != "example.com/v1"
    }

    fn plural(&self, id: &ObjectId) -> Option<String> {
        Some(format!("{}s", id.kind.to_lowercase()))
    }
}

fn object(api_version: &str, kind: &str, namespace: &str, name: &str, members: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
    object
}

fn namespace(members: Value) -> Value {
    object("v1", "Namespace", "", "web", members)
}

#[track_caller]
fn check(cluster: &[Value], manifests: &[Value], wanted: &[(ApplyObstacle, &[&str])]) {
    let found = obstacles(manifests, &Made::of(cluster));
    let found: Vec<(ApplyObstacle, Vec<String>)> =
        found.into_iter().map(|(problem, ids)| (problem, ids.iter().map(ToString::to_string).collect())).collect();
    let wanted: Vec<(ApplyObstacle, Vec<String>)> =
        wanted.iter().map(|(problem, ids)| (problem.clone(), ids.iter().map(ToString::to_string).collect())).collect();
    assert_eq!(found, wanted);
}

#[test]
fn kinds_and_namespaces_must_be_there() {
    let widget = object("example.com/v1", "Widget", "web", "w", json!({}));
    let missing = ApplyObstacle::NamespaceMissing { namespace: "web".to_owned() };
    let not_served = ApplyObstacle::NotServed { api_version: "example.com/v1".to_owned() };
    check(
        &[],
        std::slice::from_ref(&widget),
        &[(not_served.clone(), &["widget.example.com/web/w"]), (missing, &["widget.example.com/web/w"])],
    );
    check(&[], &[widget.clone(), namespace(json!({}))], &[(not_served, &["widget.example.com/web/w"])]);
    let definition = object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "",
        "widgets.example.com",
        json!({"spec": {"group": "example.com", "names": {"kind": "Widget"}}}),
    );
    let mut terminating = namespace(json!({}));
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let problem = ApplyObstacle::NamespaceTerminating { namespace: "web".to_owned() };
    check(&[terminating], &[widget, definition], &[(problem, &["widget.example.com/web/w"])]);
}

#[test]
fn what_a_live_object_does_not_let_happen() {
    let claim = |class: &str| object("v1", "PersistentVolumeClaim", "web", "data", json!({"spec": {"accessModes": [class]}}));
    let fields = vec!["spec.accessModes".to_owned()];
    check(
        &[namespace(json!({})), claim("a")],
        &[claim("b")],
        &[(ApplyObstacle::Immutable { fields }, &["persistentvolumeclaim/web/data"])],
    );
    check(&[namespace(json!({})), claim("a")], &[claim("a")], &[]);
    let reference = json!({"namespace": "web", "name": "data", "uid": "u"});
    let live = object("v1", "PersistentVolume", "", "pv", json!({"spec": {"claimRef": reference}, "status": {"phase": "Released"}}));
    let wanted = object("v1", "PersistentVolume", "", "pv", json!({"spec": {"claimRef": {"namespace": "web", "name": "data"}}}));
    check(&[live], &[wanted], &[(ApplyObstacle::VolumeReserved { uid: "u".to_owned() }, &["persistentvolume/pv"])]);
}

#[test]
fn pods_need_their_accounts_and_classes() {
    let spec =
        json!({"serviceAccountName": "robot", "priorityClassName": "high", "volumes": [{"name": "c", "configMap": {"name": "conf"}}]});
    let pod = object("v1", "Pod", "web", "a", json!({"spec": spec}));
    let account = ObjectId::new("", "ServiceAccount", Some("web"), "robot");
    let class = ObjectId::new("scheduling.k8s.io", "PriorityClass", None, "high");
    let conf = ObjectId::new("", "ConfigMap", Some("web"), "conf");
    let ids: &[&str] = &["pod/web/a"];
    check(
        &[namespace(json!({}))],
        std::slice::from_ref(&pod),
        &[
            (ApplyObstacle::Needed { needed: account }, ids),
            (ApplyObstacle::Needed { needed: class }, ids),
            (ApplyObstacle::Missing { missing: conf }, ids),
        ],
    );
    let there = [
        namespace(json!({})),
        object("v1", "ServiceAccount", "web", "robot", json!({})),
        object("scheduling.k8s.io/v1", "PriorityClass", "", "high", json!({})),
    ];
    check(&there, &[pod, object("v1", "ConfigMap", "web", "conf", json!({}))], &[]);
}

#[test]
fn services_need_free_ports() {
    let service =
        |name: &str| object("v1", "Service", "web", name, json!({"spec": {"clusterIP": "10.0.0.1", "ports": [{"nodePort": 30080}]}}));
    let by = ObjectId::new("", "Service", Some("web"), "a");
    let ids: &[&str] = &["service/web/b"];
    let taken = ApplyObstacle::NodePortTaken { port: 30080, by: by.clone() };
    let address = ApplyObstacle::ClusterIpTaken { address: "10.0.0.1".to_owned(), by };
    check(&[namespace(json!({})), service("a")], &[service("b")], &[(taken, ids), (address, ids)]);
}

#[test]
fn quotas_count_what_is_new() {
    let quota = object(
        "v1",
        "ResourceQuota",
        "web",
        "q",
        json!({"spec": {"hard": {"pods": "2", "requests.cpu": "1"}}, "status": {"used": {"pods": "1", "requests.cpu": "500m"}}}),
    );
    let pod =
        |name: &str| object("v1", "Pod", "web", name, json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "200m"}}}]}}));
    let exceeded = ApplyObstacle::QuotaExceeded {
        quota: ObjectId::new("", "ResourceQuota", Some("web"), "q"),
        resource: "pods".to_owned(),
        hard: "2".to_owned(),
        used: "1".to_owned(),
        requested: "2".to_owned(),
    };
    check(&[namespace(json!({})), quota, pod("a")], &[pod("a"), pod("b"), pod("c")], &[(exceeded, &["pod/web/b", "pod/web/c"])]);
}

#[test]
fn webhooks_that_are_asked_are_named() {
    let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]);
    let configuration = object(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "",
        "guard",
        json!({"webhooks": [{"name": "a.guard", "rules": rules, "clientConfig": {"service": {"namespace": "guard", "name": "hook"}},
            "namespaceSelector": {"matchLabels": {"guarded": "yes"}}}]}),
    );
    let pod = object("v1", "Pod", "web", "a", json!({"spec": {}}));
    let mut guarded = namespace(json!({}));
    guarded["metadata"]["labels"] = json!({"guarded": "yes"});
    check(&[configuration.clone(), namespace(json!({}))], std::slice::from_ref(&pod), &[]);
    let (by, service) = (ObjectId::of(&configuration), ObjectId::new("", "Service", Some("guard"), "hook"));
    let unreachable = ApplyObstacle::WebhookUnreachable { configuration: by.clone(), webhook: "a.guard".to_owned(), service };
    check(&[configuration.clone(), guarded.clone()], std::slice::from_ref(&pod), &[(unreachable, &["pod/web/a"])]);
    let hook = object("v1", "Service", "guard", "hook", json!({}));
    let asked = ApplyObstacle::Webhook { configuration: by, webhook: "a.guard".to_owned(), must_answer: true };
    check(&[configuration, guarded, hook], &[pod], &[(asked, &["pod/web/a"])]);
}
