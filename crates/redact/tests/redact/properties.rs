//! What holds of every object: made-up ones of many kinds.

use ketcd_redact::{Choice, Redactor};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A word that is nobody's but its object's: no word of Kubernetes has a `q` before a digit.
fn word() -> impl Strategy<Value = String> {
    "[a-z]{3,6}q[0-9][a-z]{2,5}"
}

/// Names, values and addresses of one made-up application.
#[derive(Clone, Debug)]
struct Application {
    namespace: String,
    name: String,
    node: String,
    zone: String,
    label: (String, String),
    value: String,
    secret: String,
    ip: [u8; 4],
    user: String,
    ordinal: u8,
}

fn application() -> impl Strategy<Value = Application> {
    (vec(word(), 8), any::<[u8; 4]>(), 0_u8..100).prop_map(|(words, ip, ordinal)| {
        // What is of two classes would stay in one and go in the other.
        let of = |at: usize, class: char| format!("{class}{}", words[at]);
        let (value, secret) = (of(5, 'v'), of(6, 's'));
        Application {
            namespace: of(0, 'n'),
            name: of(1, 'a'),
            node: of(2, 'm'),
            zone: of(3, 'z'),
            label: (of(4, 'k'), of(4, 'l')),
            value: format!("{value} {value}"),
            secret: format!("{secret}{secret}"),
            ip: [52, ip[1], ip[2], ip[3] | 1],
            user: of(7, 'u'),
            ordinal,
        }
    })
}

impl Application {
    fn ip(&self) -> String {
        self.ip.map(|byte| byte.to_string()).join(".")
    }

    fn host(&self) -> String {
        format!("{}.{}.example.com", self.name, self.zone)
    }

    fn labels(&self) -> Value {
        let (key, value) = &self.label;
        json!({key: value, "app": self.name, "kubernetes.io/hostname": self.node, "topology.kubernetes.io/zone": self.zone})
    }

    fn metadata(&self, name: &str) -> Value {
        let fields = json!({"f:metadata": {"f:labels": {format!("f:{}", self.label.0): {}}}, "f:spec": {
            format!("k:{{\"name\":\"{name}\"}}"): {}, format!("v:\"{name}\""): {}}});
        json!({"name": name, "namespace": self.namespace, "labels": self.labels(), "annotations": {"note": self.value},
            "managedFields": [{"manager": self.user, "fieldsV1": fields}]})
    }

    fn image(&self) -> String {
        format!("{}.example.com/{}/{}:1.2.3", self.zone, self.name, self.node)
    }

    fn pod_spec(&self) -> Value {
        let Self { name, node, label: (key, value), value: env, .. } = self;
        let terms = json!([{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]);
        json!({
            "nodeName": node, "nodeSelector": {key: value}, "serviceAccountName": name, "volumes": [{"name": name, "secret": {"secretName": name}}],
            "containers": [{"name": name, "image": self.image(), "env": [{"name": "X", "value": env}], "args": [format!("--a={env}")]}],
            "tolerations": [{"key": key, "value": value}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}},
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, "labelSelector": {"matchLabels": {key: value}}}]}},
        })
    }

    /// Objects of many kinds that name each other.
    fn objects(&self) -> Vec<(String, Value)> {
        let Self { namespace, name, node, zone, label: (key, value), value: env, secret, user, ordinal, .. } = self;
        let pod = format!("{name}-{ordinal}");
        let (image, labels, spec) = (self.image(), self.labels(), self.pod_spec());
        let meta = |name: &str| self.metadata(name);
        let message = format!(
            "Successfully assigned {namespace}/{pod} to {node}: \"{image}\" of {user}@example.com at {}, {}",
            self.ip(),
            self.host()
        );
        vec![
            (
                format!("/registry/namespaces/{namespace}"),
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
            ),
            (
                format!("/registry/minions/{node}"),
                json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": labels},
                "spec": {"taints": [{"key": key, "value": value, "effect": "NoSchedule"}], "providerID": format!("aws:///{zone}/i-{node}")},
                "status": {"addresses": [{"type": "InternalIP", "address": self.ip()}, {"type": "Hostname", "address": node}], "images": [{"names": [image]}]}}),
            ),
            (
                format!("/registry/pods/{namespace}/{pod}"),
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta(&pod), "spec": spec,
                "status": {"podIP": self.ip(), "message": message}}),
            ),
            (
                format!("/registry/statefulsets/{namespace}/{name}"),
                json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta(name),
                "spec": {"serviceName": name, "selector": {"matchLabels": {key: value}}, "template": {"metadata": {"labels": labels}, "spec": spec}}}),
            ),
            (
                format!("/registry/services/specs/{namespace}/{name}"),
                json!({"apiVersion": "v1", "kind": "Service", "metadata": meta(name),
                "spec": {"selector": {key: value}, "clusterIP": self.ip(), "externalName": self.host()}}),
            ),
            (
                format!("/registry/secrets/{namespace}/{name}"),
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta(name), "stringData": {"a": secret}}),
            ),
            (
                format!("/registry/configmaps/{namespace}/{name}"),
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name), "data": {
                "a": json!({"inner": {"name": name}, "secret": secret}).to_string(), name: env}}),
            ),
            (
                format!("/registry/events/{namespace}/{pod}.17a2b3c4d5e6f708"),
                json!({"apiVersion": "v1", "kind": "Event", "metadata": meta(&format!("{pod}.17a2b3c4d5e6f708")),
                "involvedObject": {"kind": "Pod", "name": pod, "namespace": namespace, "fieldPath": format!("spec.containers{{{name}}}")}, "message": message}),
            ),
            (
                format!("/registry/rolebindings/{namespace}/{name}"),
                json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta(name),
                "roleRef": {"kind": "Role", "name": name}, "subjects": [{"kind": "User", "name": user}, {"kind": "ServiceAccount", "name": name, "namespace": namespace}]}),
            ),
            (
                format!("/registry/ingress/{namespace}/{name}"),
                json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta(name),
                "spec": {"rules": [{"host": self.host(), "http": {"paths": [{"path": "/", "backend": {"service": {"name": name}}}]}}]}}),
            ),
            (
                format!("/registry/example.com/widgets/{namespace}/{name}"),
                json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta(name),
                "spec": {"target": name, name: {"size": 3}, "text": env, "of": [pod, node]}}),
            ),
        ]
    }

    /// What goes of each class.
    fn originals(&self, choice: &Choice) -> Vec<String> {
        use ketcd_redact::Class;
        let of = |class: Class, originals: &[&str]| {
            if choice.has(class) { originals.iter().map(|text| (*text).to_owned()).collect() } else { Vec::new() }
        };
        let names = [&*self.name, &self.node, &self.zone, &self.label.0, &self.label.1];
        let (ip, mail, env) = (self.ip(), format!("{}@example.com", self.user), self.value.clone());
        [
            of(Class::Names, &names),
            of(Class::Namespaces, &[&self.namespace]),
            of(Class::Values, &[&env]),
            of(Class::Addresses, &[&ip, &mail, &self.host()]),
            of(Class::Identities, &[&self.user]),
            of(Class::Secrets, &[&self.secret]),
        ]
        .concat()
    }
}

fn redacted(choice: &Choice, salt: &[u8], objects: &[(String, Value)]) -> (Redactor, Vec<(String, Value)>) {
    let mut redactor = Redactor::new(choice.clone(), salt, &[]);
    objects.iter().for_each(|(key, object)| redactor.learn(key, object));
    let mut rewritten = Vec::new();
    for (key, object) in objects {
        let mut new = object.clone();
        redactor.object(key, &mut new);
        rewritten.push((redactor.key(key), new));
    }
    (redactor, rewritten)
}

fn choices() -> impl Strategy<Value = Choice> {
    let words = ["names", "namespaces", "values", "addresses", "identities", "tokens", "all", "none"];
    prop_oneof![
        proptest::sample::select(words.to_vec()).prop_map(|word| Choice::parse(word).unwrap()),
        proptest::sample::subsequence(words[..6].to_vec(), 1..6).prop_map(|words| Choice::parse(&words.join(",")).unwrap()),
    ]
}

/// Every string of a value, in order, keys among them.
fn strings(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, all)),
        Value::Object(members) => members.iter().for_each(|(_, member)| strings(member, all)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_original_is_left(applications in vec(application(), 1..4), choice in choices()) {
        let objects: Vec<(String, Value)> = applications.iter().flat_map(Application::objects).collect();
        let (redactor, rewritten) = redacted(&choice, b"salt", &objects);
        let report = serde_json::to_string(&redactor.report()).unwrap();
        for (key, object) in &rewritten {
            let bytes = format!("{key} {object}");
            for original in applications.iter().flat_map(|application| application.originals(&choice)) {
                prop_assert!(!bytes.contains(&original), "{:?}: {} in {}", choice, original, bytes);
                prop_assert!(!report.contains(&original), "{:?}: {} in {}", choice, original, report);
            }
            prop_assert!(redactor.leaks(bytes.as_bytes()).is_empty(), "{:?}: {:?} in {}", choice, redactor.leaks(bytes.as_bytes()), bytes);
        }
    }

    #[test]
    fn references_are_equal_where_they_were(applications in vec(application(), 1..4)) {
        let objects: Vec<(String, Value)> = applications.iter().flat_map(Application::objects).collect();
        let (_, rewritten) = redacted(&Choice::parse("names,addresses,identities").unwrap(), b"salt", &objects);
        for application in objects.chunks(11).zip(rewritten.chunks(11)) {
            let (old, new) = application;
            let at = |objects: &[(String, Value)], object: usize, pointer: &str| objects[object].1.pointer(pointer).cloned().unwrap_or_default();
            let places = [
                (0, "/metadata/name"), (1, "/metadata/name"), (2, "/metadata/namespace"), (2, "/spec/nodeName"), (2, "/spec/containers/0/name"), (2, "/spec/containers/0/image"),
                (1, "/status/images/0/names/0"), (1, "/status/addresses/1/address"), (1, "/status/addresses/0/address"), (2, "/status/podIP"), (4, "/spec/clusterIP"),
                (3, "/metadata/name"), (3, "/spec/serviceName"), (4, "/metadata/name"), (7, "/involvedObject/name"), (2, "/metadata/name"), (8, "/roleRef/name"),
                (8, "/subjects/1/name"), (9, "/spec/rules/0/host"), (4, "/spec/externalName"), (10, "/spec/target"), (10, "/spec/of/0"), (10, "/spec/of/1"),
                (2, "/metadata/labels/app"), (2, "/metadata/labels/topology.kubernetes.io~1zone"), (2, "/spec/tolerations/0/key"), (1, "/spec/taints/0/key"),
                (1, "/spec/taints/0/value"), (2, "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/0/values/0"),
            ];
            for (one, one_at) in places {
                for (other, other_at) in places {
                    let was = at(old, one, one_at) == at(old, other, other_at);
                    prop_assert_eq!(was, at(new, one, one_at) == at(new, other, other_at), "{} {} {} {}", one, one_at, other, other_at);
                }
            }
        }
    }

    #[test]
    fn the_same_salt_gives_the_same_pseudonyms(applications in vec(application(), 2..4), choice in choices()) {
        let objects: Vec<(String, Value)> = applications.iter().flat_map(Application::objects).collect();
        let (_, whole) = redacted(&choice, b"salt", &objects);
        let (_, again) = redacted(&choice, b"salt", &objects);
        prop_assert_eq!(&whole, &again);
        let (_, first) = redacted(&choice, b"salt", &objects[..11]);
        prop_assert_eq!(&whole[..11], &first[..]);
        let (_, other) = redacted(&choice, b"pepper", &objects);
        let is_none = !choice.has(ketcd_redact::Class::Names);
        prop_assert!(is_none || whole[0].0 != other[0].0);
    }

    #[test]
    fn what_rewriting_twice_reads_is_still_an_object(application in application()) {
        let objects = application.objects();
        let all = Choice::parse("all").unwrap();
        let (_, once) = redacted(&all, b"salt", &objects);
        let (redactor, twice) = redacted(&all, b"salt", &once);
        for ((key, object), (_, before)) in twice.iter().zip(&once) {
            prop_assert_eq!(&object["kind"], &before["kind"]);
            let bytes = format!("{key} {object}");
            prop_assert!(redactor.leaks(bytes.as_bytes()).is_empty());
            let (mut old, mut new) = (Vec::new(), Vec::new());
            strings(before, &mut old);
            strings(object, &mut new);
            prop_assert_eq!(old.len(), new.len());
        }
    }
}
