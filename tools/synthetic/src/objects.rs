//! The objects of the made-up cluster, as the API server of the newest release stores them.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use ketcd_testing::random::Random;

/// The kubelets' version.
const KUBELET_VERSION: &str = "v1.36.3";
/// When the cluster began: 2026-01-01T00:00:00Z.
const CLUSTER_BEGIN_SECONDS: i64 = 1_767_225_600;
/// How many revisions are written in a second.
const REVISIONS_A_SECOND: i64 = 100;

/// What an object is called, and what makes it this one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identity {
    /// Empty where it has none.
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// The time of its creation.
    pub created: String,
}

impl Identity {
    pub(crate) fn new(namespace: &str, name: String, revision: i64, random: &mut Random) -> Self {
        Self { namespace: namespace.to_owned(), name, uid: uid(random), created: time(revision) }
    }
}

/// When a revision was written.
pub(crate) fn time(revision: i64) -> String {
    Timestamp::from_second(CLUSTER_BEGIN_SECONDS + revision / REVISIONS_A_SECOND).map(|time| time.to_string()).unwrap_or_default()
}

fn micro_time(revision: i64) -> String {
    let rest = revision % REVISIONS_A_SECOND * 1_000_000 / REVISIONS_A_SECOND;
    format!("{}.{rest:06}Z", time(revision).trim_end_matches('Z'))
}

fn uid(random: &mut Random) -> String {
    let (high, low) = (random.next(), random.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0xfff,
        low & 0xffff_ffff_ffff
    )
}

fn digest(of: &str, random: &mut Random) -> String {
    let [a, b, c, d] = [random.next(), random.next(), random.next(), random.next()];
    format!("{of}{a:016x}{b:016x}{c:016x}{d:016x}")
}

/// An object with its metadata, and the `managedFields` of one who wrote all of it.
fn object(api_version: &str, kind: &str, identity: &Identity, manager: &str, more: &Value, parts: Value) -> Value {
    let mut metadata = json!({"name": identity.name, "uid": identity.uid, "creationTimestamp": identity.created});
    if !identity.namespace.is_empty() {
        metadata["namespace"] = json!(identity.namespace);
    }
    let mut object = json!({"apiVersion": api_version, "kind": kind});
    merge(&mut metadata, more);
    let fields = fields(&json!({"metadata": more}), &parts);
    metadata["managedFields"] = json!([managed(api_version, manager, &identity.created, None, fields)]);
    object["metadata"] = metadata;
    merge(&mut object, &parts);
    object
}

fn merge(into: &mut Value, from: &Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

fn managed(api_version: &str, manager: &str, time: &str, subresource: Option<&str>, fields: Value) -> Value {
    let mut entry = json!({"apiVersion": api_version, "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": manager, "operation": "Update", "time": time});
    if let Some(subresource) = subresource {
        entry["subresource"] = json!(subresource);
    }
    entry
}

/// The fields of two parts of an object as a set of field paths.
fn fields(first: &Value, second: &Value) -> Value {
    let mut set = field_set(first);
    merge(&mut set, &field_set(second));
    set
}

fn field_set(value: &Value) -> Value {
    let mut set = Map::new();
    match value {
        Value::Object(members) => set.extend(members.iter().map(|(name, value)| (format!("f:{name}"), field_set(value)))),
        Value::Array(items) if items.iter().all(|item| item["name"].is_string()) => {
            set.insert(".".to_owned(), json!({}));
            set.extend(items.iter().map(|item| (format!("k:{{\"name\":{}}}", item["name"]), field_set(item))));
        }
        _ => {}
    }
    Value::Object(set)
}

/// Puts a status into an object, with what its writer manages.
pub(crate) fn with_status(object: &mut Value, manager: &str, revision: i64, status: Value) {
    let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let entry = managed(&api_version, manager, &time(revision), Some("status"), json!({"f:status": field_set(&status)}));
    if let Some(managers) = object["metadata"]["managedFields"].as_array_mut() {
        managers.retain(|known| known["manager"] != manager || known["subresource"] != "status");
        managers.push(entry);
    }
    object["status"] = status;
}

pub(crate) fn namespace(identity: &Identity) -> Value {
    let labels = json!({"labels": {"kubernetes.io/metadata.name": identity.name}});
    object(
        "v1",
        "Namespace",
        identity,
        "kubectl-create",
        &labels,
        json!({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}),
    )
}

/// A node of one of three zones; not ready yet.
pub(crate) fn node(identity: &Identity, index: usize, random: &mut Random) -> Value {
    let zone = format!("eu-1{}", ["a", "b", "c"][index % 3]);
    let labels = json!({"labels": {
        "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": identity.name, "node.kubernetes.io/instance-type": "m6.4xlarge",
        "topology.kubernetes.io/region": "eu-1", "topology.kubernetes.io/zone": zone, "node.example.com/pool": "general",
    }});
    let images: Vec<Value> = (0..12)
        .map(|_| {
            let name = format!("registry.example.com/team/app-{}", random.below(400));
            json!({"names": [digest(&format!("{name}@sha256:"), random), format!("{name}:v1.{}", random.below(30))], "sizeBytes": 20_000_000 + random.below(500_000_000)})
        })
        .collect();
    let status = json!({
        "addresses": [{"address": address(10, index), "type": "InternalIP"}, {"address": identity.name, "type": "Hostname"}],
        "allocatable": {"cpu": "63", "ephemeral-storage": "173946175488", "memory": "252Gi", "pods": "110"},
        "capacity": {"cpu": "64", "ephemeral-storage": "188739572Ki", "memory": "256Gi", "pods": "110"},
        "conditions": node_conditions(false, &identity.created), "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}, "images": images,
        "nodeInfo": {
            "architecture": "amd64", "bootID": uid(random), "containerRuntimeVersion": "containerd://2.1.4", "kernelVersion": "6.12.46", "kubeProxyVersion": "",
            "kubeletVersion": KUBELET_VERSION, "machineID": digest("", random)[..32], "operatingSystem": "linux", "osImage": "Linux", "systemUUID": uid(random),
        },
    });
    let spec = json!({"podCIDR": format!("{}/24", address(100, index)), "providerID": format!("cloud:///{zone}/i-{index:017x}")});
    object("v1", "Node", identity, "kubelet", &labels, json!({"spec": spec, "status": status}))
}

/// The conditions of a node.
pub(crate) fn node_conditions(is_ready: bool, time: &str) -> Value {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| json!({"type": kind, "status": status, "reason": reason, "message": message, "lastHeartbeatTime": time, "lastTransitionTime": time});
    json!([
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        match is_ready {
            true => condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
            false => condition("Ready", "False", "KubeletNotReady", "container runtime network not ready"),
        },
    ])
}

/// The heartbeat of a node.
pub(crate) fn lease(identity: &Identity, revision: i64) -> Value {
    let spec = json!({"holderIdentity": identity.name, "leaseDurationSeconds": 40, "renewTime": micro_time(revision)});
    object("coordination.k8s.io/v1", "Lease", identity, "kubelet", &json!({}), json!({"spec": spec}))
}

fn address(first: u8, index: usize) -> String {
    format!("{first}.{}.{}.{}", index >> 16 & 255, index >> 8 & 255, index & 255)
}

/// What a workload is to run.
pub(crate) struct App {
    pub name: String,
    pub replicas: usize,
    template_hash: String,
    image: String,
    variables: Vec<Value>,
}

impl App {
    pub(crate) fn new(index: usize, replicas: usize, random: &mut Random) -> Self {
        const APP_WORDS: [&str; 8] = ["cart", "ledger", "search", "profile", "invoice", "media", "session", "gateway"];
        let name = format!("{}-{index}", APP_WORDS[random.below(APP_WORDS.len())]);
        let variables = (0..8 + random.below(8)).map(|at| match at % 3 {
            0 => json!({"name": format!("URL_{at}"), "value": format!("http://{}.svc.cluster.local:8080", APP_WORDS[random.below(APP_WORDS.len())])}),
            1 => json!({"name": format!("KEY_{at}"), "valueFrom": {"secretKeyRef": {"key": format!("key_{at}"), "name": format!("{name}-credentials")}}}),
            _ => json!({"name": format!("MODE_{at}"), "valueFrom": {"configMapKeyRef": {"key": format!("mode_{at}"), "name": format!("{name}-config")}}}),
        });
        let variables = variables.collect();
        let image = format!("registry.example.com/team/app-{}:v1.{}", random.below(400), random.below(30));
        Self { replicas, template_hash: letters(random.next(), 10), image, variables, name }
    }

    /// The name of its ReplicaSet.
    pub(crate) fn replica_set_name(&self) -> String {
        format!("{}-{}", self.name, self.template_hash)
    }

    /// The name of one of its pods.
    pub(crate) fn pod_name(&self, index: usize, random: &mut Random) -> String {
        // Two letters of the five are the index, so that no two pods have one name.
        format!("{}-{}{}", self.replica_set_name(), letters(random.next(), 3), letters(index as u64, 2))
    }

    fn labels(&self) -> Value {
        json!({"app.kubernetes.io/name": self.name, "app.kubernetes.io/component": "backend", "pod-template-hash": self.template_hash, "tier": "1"})
    }

    fn spec(&self) -> Value {
        let resources = json!({"limits": {"memory": "512Mi"}, "requests": {"cpu": "250m", "memory": "256Mi"}});
        let probe = |path: &str| json!({"failureThreshold": 3, "httpGet": {"path": path, "port": "http", "scheme": "HTTP"}, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 2});
        let token = json!({"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access", "readOnly": true});
        let app = json!({
            "name": "app", "image": self.image, "imagePullPolicy": "IfNotPresent", "env": self.variables, "resources": resources,
            "livenessProbe": probe("/healthz"), "readinessProbe": probe("/ready"),
            "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}, {"containerPort": 9090, "name": "metrics", "protocol": "TCP"}],
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true, "runAsNonRoot": true},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "volumeMounts": [{"mountPath": "/etc/app", "name": "config", "readOnly": true}, {"mountPath": "/tmp", "name": "tmp"}, token],
        });
        let proxy = json!({
            "name": "proxy", "image": "registry.example.com/mesh/proxy:v1.28", "imagePullPolicy": "IfNotPresent", "args": ["proxy", "sidecar", "--log-level=warning"],
            "ports": [{"containerPort": 15090, "name": "stats", "protocol": "TCP"}], "resources": {"requests": {"cpu": "10m", "memory": "40Mi"}},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "volumeMounts": [token],
        });
        json!({
            "containers": [app, proxy], "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {"fsGroup": 1000, "runAsUser": 1000}, "serviceAccount": "default", "serviceAccountName": "default", "terminationGracePeriodSeconds": 30,
            "volumes": [
                {"name": "config", "configMap": {"defaultMode": 420, "name": format!("{}-config", self.name)}}, {"name": "tmp", "emptyDir": {}},
                {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}, {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
                ]}},
            ],
        })
    }

    fn workload_spec(&self) -> Value {
        let labels = self.labels();
        json!({
            "replicas": self.replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"creationTimestamp": null, "labels": labels}, "spec": self.spec()},
        })
    }

    pub(crate) fn deployment(&self, identity: &Identity) -> Value {
        let mut spec = self.workload_spec();
        merge(
            &mut spec,
            &json!({"revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}}),
        );
        let more = json!({"generation": 1, "labels": self.labels(), "annotations": {"deployment.kubernetes.io/revision": "1"}});
        object("apps/v1", "Deployment", identity, "kubectl-client-side-apply", &more, json!({"spec": spec}))
    }

    pub(crate) fn replica_set(&self, identity: &Identity, owner: &Identity) -> Value {
        let more = json!({"generation": 1, "labels": self.labels(), "ownerReferences": owned_by("Deployment", owner)});
        object("apps/v1", "ReplicaSet", identity, "kube-controller-manager", &more, json!({"spec": self.workload_spec()}))
    }

    /// A pod, on a node or not yet.
    pub(crate) fn pod(&self, identity: &Identity, owner: &Identity, node: Option<&str>) -> Value {
        let generate_name = format!("{}-", owner.name);
        let more = json!({"generateName": generate_name, "generation": 1, "labels": self.labels(), "ownerReferences": owned_by("ReplicaSet", owner),
            "annotations": {"prometheus.io/port": "9090", "prometheus.io/scrape": "true"}});
        let mut spec = self.spec();
        let evicted_after = |key: &str| json!({"effect": "NoExecute", "key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "tolerationSeconds": 300});
        spec["tolerations"] = json!([evicted_after("not-ready"), evicted_after("unreachable")]);
        merge(&mut spec, &json!({"preemptionPolicy": "PreemptLowerPriority", "priority": 0}));
        if let Some(node) = node {
            spec["nodeName"] = json!(node);
        }
        object(
            "v1",
            "Pod",
            identity,
            "kube-controller-manager",
            &more,
            json!({"spec": spec, "status": {"phase": "Pending", "qosClass": "Burstable"}}),
        )
    }

    /// The status of a pod that runs.
    pub(crate) fn running(&self, revision: i64, index: usize, node: usize, random: &mut Random) -> Value {
        let time = time(revision);
        let container = |name: &str, image: &str, random: &mut Random| {
            json!({"name": name, "image": image, "imageID": digest("registry.example.com/team/app@sha256:", random), "containerID": digest("containerd://", random),
                "lastState": {}, "ready": true, "restartCount": 0, "started": true, "state": {"running": {"startedAt": time}}})
        };
        let statuses = [container("app", &self.image, random), container("proxy", "registry.example.com/mesh/proxy:v1.28", random)];
        let kinds = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
        let (host, own) = (address(10, node), address(172, index));
        json!({
            "phase": "Running", "conditions": kinds.map(|kind| condition(kind, "True", &time)), "containerStatuses": statuses, "hostIP": host, "hostIPs": [{"ip": host}],
            "podIP": own, "podIPs": [{"ip": own}], "qosClass": "Burstable", "startTime": time, "observedGeneration": 1,
        })
    }
}

fn condition(kind: &str, status: &str, time: &str) -> Value {
    json!({"type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": time})
}

fn owned_by(kind: &str, owner: &Identity) -> Value {
    json!([{"apiVersion": "apps/v1", "blockOwnerDeletion": true, "controller": true, "kind": kind, "name": owner.name, "uid": owner.uid}])
}

/// The condition of a pod that was bound.
pub(crate) fn bound(revision: i64) -> Value {
    json!({"phase": "Pending", "qosClass": "Burstable", "conditions": [condition("PodScheduled", "True", &time(revision))]})
}

/// The status of a pod whose node selector no node has.
pub(crate) fn refused(nodes: usize, revision: i64) -> Value {
    let mut scheduled = condition("PodScheduled", "False", &time(revision));
    let message = format!(
        "0/{nodes} nodes are available: {nodes} node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/{nodes} nodes are available: \
         {nodes} Preemption is not helpful for scheduling."
    );
    merge(&mut scheduled, &json!({"reason": "Unschedulable", "message": message}));
    json!({"phase": "Pending", "qosClass": "Burstable", "conditions": [scheduled]})
}

/// How many pods of a workload are ready.
pub(crate) fn replicas(ready: usize) -> Value {
    json!({"observedGeneration": 1, "replicas": ready, "readyReplicas": ready, "availableReplicas": ready, "updatedReplicas": ready})
}

/// [`replicas`] of a ReplicaSet.
pub(crate) fn replicas_of_set(ready: usize) -> Value {
    json!({"observedGeneration": 1, "replicas": ready, "readyReplicas": ready, "availableReplicas": ready, "fullyLabeledReplicas": ready})
}

pub(crate) fn config_map(identity: &Identity, random: &mut Random) -> Value {
    let data: Map<String, Value> = (0..20).map(|at| (format!("mode_{at}"), json!(digest("value-", random)))).collect();
    object("v1", "ConfigMap", identity, "kubectl-client-side-apply", &json!({}), json!({"data": data}))
}

pub(crate) fn service(identity: &Identity, app: &App, index: usize) -> Value {
    let own = address(11, index);
    let spec = json!({
        "clusterIP": own, "clusterIPs": [own], "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "selector": app.labels(),
        "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": "http"}], "sessionAffinity": "None", "type": "ClusterIP",
    });
    object(
        "v1",
        "Service",
        identity,
        "kubectl-client-side-apply",
        &json!({"labels": app.labels()}),
        json!({"spec": spec, "status": {"loadBalancer": {}}}),
    )
}

/// An Event of a kubelet about a pod.
pub(crate) fn event(identity: &Identity, pod: &Identity, node: &str, is_warning: bool) -> Value {
    let (kind, reason, message) = match is_warning {
        true => ("Warning", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"),
        false => ("Normal", "Started", "Container started"),
    };
    let parts = json!({
        "involvedObject": {"apiVersion": "v1", "fieldPath": "spec.containers{app}", "kind": "Pod", "name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "type": kind, "reason": reason, "message": message, "count": 1, "firstTimestamp": identity.created, "lastTimestamp": identity.created, "eventTime": null,
        "reportingComponent": "kubelet", "reportingInstance": node, "source": {"component": "kubelet", "host": node},
    });
    object("v1", "Event", identity, "kubelet", &json!({}), parts)
}

/// Letters as the API server makes generated names of.
pub(crate) fn letters(mut number: u64, count: usize) -> String {
    const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let letter = |_| {
        let letter = NAME_LETTERS[(number % NAME_LETTERS.len() as u64) as usize];
        number /= NAME_LETTERS.len() as u64;
        char::from(letter)
    };
    (0..count).map(letter).collect()
}
