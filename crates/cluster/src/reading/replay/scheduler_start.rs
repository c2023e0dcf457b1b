//! How the scheduler was started: the arguments in its mirror Pods, and the configuration that OpenShift keeps in a ConfigMap or that lies with the files.
//!
//! kubeadm and others run kube-scheduler as a static Pod of `kube-system`; OpenShift as one of `openshift-kube-scheduler`, whose configuration is a
//! ConfigMap `config`, with a copy `config-N` for the revision N of the Pod (cluster-kube-scheduler-operator, `bindata/assets/kube-scheduler/pod.yaml`).

use serde_json::Value;

use ketcd_store::{CompanionChoice, CompanionKind, KeyRange, Revision};

use super::feed::Feed;
use crate::error::Result;
use crate::notice::{Notice, SchedulerStart};

const OPENSHIFT_SCHEDULER: &str = "openshift-kube-scheduler";

/// What is known of the scheduler's start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    /// Its configuration, and where that was found.
    pub configuration: Option<(String, String)>,
    /// The Pod that shows that it was started without one.
    pub without: Option<String>,
    /// Its feature gates as `--feature-gates` has them, and the Pod that does.
    pub gates: Option<(String, String)>,
}

/// The arguments of a mirror Pod that matter, and which Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Arguments {
    pod: String,
    config: Option<String>,
    gates: Option<String>,
    /// Whether flags of old releases configure it.
    is_legacy: bool,
    /// The revision of OpenShift's static Pod.
    revision: Option<String>,
}

impl Feed<'_> {
    /// How the scheduler was started, as far as the data at a revision and what lies with the files say; its configuration if it is `wanted`.
    pub(super) async fn start(&self, at: Revision, wanted: bool) -> Result<Start> {
        let pod = self.arguments(at).await?;
        let gates = pod.as_ref().and_then(|pod| Some((pod.pod.clone(), pod.gates.clone()?)));
        if !wanted {
            return Ok(Start { gates, ..Start::default() });
        }
        if let Some(Arguments { config: None, is_legacy, pod, .. }) = &pod {
            return Ok(Start { without: (!is_legacy).then(|| pod.clone()), gates, configuration: None });
        }
        let revision = pod.as_ref().and_then(|pod| pod.revision.as_deref());
        let configuration = match self.config_map(revision, at).await? {
            None => self.companion(),
            found => found,
        };
        if let (None, Some(Arguments { pod, config: Some(file), .. })) = (&configuration, pod) {
            self.cluster.note(Notice::SchedulerStart(SchedulerStart::Elsewhere { pod, file }));
        }
        Ok(Start { configuration, without: None, gates })
    }

    /// The arguments of the scheduler's Pods; `None` if there are none, where they differ or cannot be read.
    async fn arguments(&self, at: Revision) -> Result<Option<Arguments>> {
        let mut pods = Vec::new();
        for namespace in ["kube-system", OPENSHIFT_SCHEDULER] {
            match self.entries(KeyRange::prefix(format!("{}pods/{namespace}/", self.prefix)), at).await {
                Err(error) if error.refusal().is_some() => return Ok(None),
                entries => {
                    let entries = entries?;
                    let named = entries.iter().filter(|entry| String::from_utf8_lossy(&entry.key).contains("kube-scheduler"));
                    pods.extend(named.filter_map(|entry| self.object(entry)));
                }
            }
        }
        if pods.iter().any(is_mirror) {
            pods.retain(is_mirror);
        }
        Ok(agreed(&pods))
    }

    /// OpenShift's configuration: that of the Pod's revision, or the newest.
    async fn config_map(&self, revision: Option<&str>, at: Revision) -> Result<Option<(String, String)>> {
        let of_revision = revision.map(|revision| format!("config-{revision}"));
        for name in of_revision.into_iter().chain(["config".to_owned()]) {
            let entries = self.entries(KeyRange::key(format!("{}configmaps/{OPENSHIFT_SCHEDULER}/{name}", self.prefix)), at).await;
            let entries = match entries {
                Err(error) if error.refusal().is_some() => return Ok(None),
                entries => entries?,
            };
            let text = entries.first().and_then(|entry| self.object(entry)?["data"]["config.yaml"].as_str().map(str::to_owned));
            if let Some(text) = text {
                return Ok(Some((format!("configmap/{OPENSHIFT_SCHEDULER}/{name}"), text)));
            }
        }
        Ok(None)
    }

    /// The configuration that lies with the files.
    fn companion(&self) -> Option<(String, String)> {
        match self.cluster.source.companion(CompanionKind::Scheduler) {
            CompanionChoice::None => None,
            CompanionChoice::One(companion) => Some((companion.place.clone(), companion.text.clone())),
            CompanionChoice::Several(one, other) => {
                let [one, other] = [one, other].map(|companion| companion.place.clone());
                self.cluster.note(Notice::SchedulerStart(SchedulerStart::Differ { one, other }));
                None
            }
        }
    }
}

/// Whether the kubelet made the Pod of a static one.
fn is_mirror(pod: &Value) -> bool {
    !pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null()
}

/// What the Pods say, if each says the same.
fn agreed(pods: &[Value]) -> Option<Arguments> {
    let all: Vec<Option<Arguments>> =
        pods.iter().filter_map(scheduler_container).map(|(pod, container)| arguments(pod, container)).collect();
    let first = all.first()?.clone()?;
    let is_same = |other: &Option<Arguments>| {
        other.as_ref().is_some_and(|other| {
            (&other.config, &other.gates, other.is_legacy) == (&first.config, &first.gates, first.is_legacy)
                && other.revision == first.revision
        })
    };
    all.iter().all(is_same).then_some(first)
}

/// A Pod and its container that runs kube-scheduler.
fn scheduler_container(pod: &Value) -> Option<(&Value, &Value)> {
    let containers = pod["spec"]["containers"].as_array()?;
    containers.iter().find(|container| container["name"] == "kube-scheduler").map(|container| (pod, container))
}

/// The arguments of a container; `None` where a shell makes them.
fn arguments(pod: &Value, container: &Value) -> Option<Arguments> {
    let words = ["command", "args"].into_iter().flat_map(|field| container[field].as_array().into_iter().flatten());
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    let is_program = |word: &&str| *word == "kube-scheduler" || word.ends_with("/kube-scheduler");
    let flags = match words.iter().position(is_program) {
        Some(program) => &words[program + 1..],
        // The image's own program, or a shell.
        None if words.iter().all(|word| word.starts_with("--")) => &words[..],
        None => return None,
    };
    let metadata = &pod["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(Arguments {
        pod: format!("pod/{}/{}", text(&metadata["namespace"]), text(&metadata["name"])),
        config: flag(flags, "--config"),
        gates: flag(flags, "--feature-gates"),
        is_legacy: ["--policy-config-file", "--policy-configmap", "--use-legacy-policy-config", "--algorithm-provider"]
            .iter()
            .any(|name| flag(flags, name).is_some()),
        revision: metadata["labels"]["revision"].as_str().map(str::to_owned),
    })
}

/// The value of a flag; the last one counts.
fn flag(words: &[&str], name: &str) -> Option<String> {
    let value = |(place, word): (usize, &&str)| match word.strip_prefix(name)? {
        "" => Some(words.get(place + 1).copied().unwrap_or_default().to_owned()),
        rest => Some(rest.strip_prefix('=')?.trim_matches('"').to_owned()),
    };
    words.iter().enumerate().rev().find_map(value)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use ketcd_store::load::{self, Limits};
    use ketcd_testing::written::Written;

    use super::{Arguments, Start, agreed};
    use crate::cluster::Cluster;
    use crate::notice::{Notice, Notices, SchedulerStart};
    use crate::options::Options;
    use crate::replay::Feed;

    fn pod(node: &str, container: Value) -> Value {
        json!({"metadata": {"namespace": "kube-system", "name": format!("kube-scheduler-{node}")}, "spec": {"containers": [container]}})
    }

    fn of(command: &[&str]) -> Option<Arguments> {
        agreed(&[pod("a", json!({"name": "kube-scheduler", "command": command}))])
    }

    #[test]
    fn arguments_are_read_where_a_program_gets_them() {
        let found = of(&["kube-scheduler", "--config=/etc/a.yaml", "--feature-gates", "A=true,B=false", "--v=2"]).unwrap();
        assert_eq!((found.config.as_deref(), found.gates.as_deref()), (Some("/etc/a.yaml"), Some("A=true,B=false")));
        assert_eq!(found.pod, "pod/kube-system/kube-scheduler-a");
        let found =
            of(&["/go-runner", "--log-file=/var/log/kube-scheduler.log", "/usr/local/bin/kube-scheduler", "--leader-elect=true"]).unwrap();
        assert_eq!((found.config, found.is_legacy), (None, false));
        assert!(of(&["kube-scheduler", "--policy-config-file=/a"]).unwrap().is_legacy);
        assert_eq!(of(&["/bin/sh", "-c", "exec kube-scheduler --config=/a"]), None);
    }

    #[test]
    fn pods_that_differ_say_nothing() {
        let container = |flags: &[&str]| json!({"name": "kube-scheduler", "command": ["hyperkube", "kube-scheduler"], "args": flags});
        let (one, other) = (pod("a", container(&["--config=/a"])), pod("b", container(&["--config=/b"])));
        assert!(agreed(&[one.clone(), one.clone()]).is_some());
        assert_eq!(agreed(&[one, other]), None);
        assert_eq!(agreed(&[pod("a", json!({"name": "guard"}))]), None);
    }

    /// What some objects say of the start, and what is noted.
    async fn start(objects: &[(&str, Value)]) -> (Start, Vec<SchedulerStart>) {
        let mut written = Written::default();
        objects.iter().for_each(|(key, object)| written.put(&format!("/kubernetes.io/{key}"), object.to_string()));
        let file = load::open_bytes("store.db", written.finish().into(), &Limits::default(), &|_| None).unwrap();
        let noted = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&noted);
        let notices = Notices::new(move |notice| {
            if let Notice::SchedulerStart(start) = notice {
                taken.lock().unwrap().push(start.clone());
            }
        });
        let options = Options { notices, prefix: Some("/kubernetes.io".to_owned()), ..Options::default() };
        let cluster = Cluster::open(file, options).await.unwrap();
        let feed = Feed::new(&cluster).await.unwrap();
        let found = feed.start(cluster.revision().await.unwrap(), true).await.unwrap();
        let noted = noted.lock().unwrap().clone();
        (found, noted)
    }

    fn static_pod(namespace: &str, name: &str, flags: &[&str]) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": namespace, "name": name, "labels": {"revision": "6"}, "annotations": {"kubernetes.io/config.mirror": "x"}},
            "spec": {"containers": [{"name": "kube-scheduler", "command": ["hyperkube", "kube-scheduler"], "args": flags}]}})
    }

    fn config_map(name: &str, text: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "openshift-kube-scheduler", "name": name}, "data": {"config.yaml": text}})
    }

    #[tokio::test]
    async fn a_pod_without_config_is_a_fact() {
        let pod = static_pod("kube-system", "kube-scheduler-a", &["--leader-elect=true", "--feature-gates=A=true"]);
        let (found, noted) = start(&[("pods/kube-system/kube-scheduler-a", pod)]).await;
        let address = "pod/kube-system/kube-scheduler-a".to_owned();
        let gates = Some((address.clone(), "A=true".to_owned()));
        assert_eq!((found, noted), (Start { configuration: None, without: Some(address), gates }, Vec::new()));
    }

    #[tokio::test]
    async fn openshifts_configuration_is_that_of_the_pods_revision() {
        let pod = static_pod("openshift-kube-scheduler", "openshift-kube-scheduler-a", &["--config=/etc/kubernetes/config.yaml"]);
        let pods = ("pods/openshift-kube-scheduler/openshift-kube-scheduler-a", pod);
        let newest = ("configmaps/openshift-kube-scheduler/config", config_map("config", "newest"));
        let own = ("configmaps/openshift-kube-scheduler/config-6", config_map("config-6", "own"));
        let place = |name: &str, text: &str| Some((format!("configmap/openshift-kube-scheduler/{name}"), text.to_owned()));
        assert_eq!(start(&[pods.clone(), newest.clone(), own]).await.0.configuration, place("config-6", "own"));
        assert_eq!(start(&[pods.clone(), newest]).await.0.configuration, place("config", "newest"));
        let (found, noted) = start(&[pods]).await;
        let (pod, file) = ("pod/openshift-kube-scheduler/openshift-kube-scheduler-a".to_owned(), "/etc/kubernetes/config.yaml".to_owned());
        assert_eq!((found, noted), (Start::default(), vec![SchedulerStart::Elsewhere { pod, file }]));
    }
}
