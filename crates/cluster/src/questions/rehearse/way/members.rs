//! The members of the etcd that is restored: from the command lines of their static pods, else as a database records them.

use ketcd_kube::Object;
use ketcd_store::Member;
use serde_json::Value;

use super::release::EtcdRelease;

/// Where kubeadm keeps etcd's data (kubernetes v1.37, `cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go`, `DefaultEtcdDataDir`).
pub(super) const DEFAULT_DATA_DIR: &str = "/var/lib/etcd";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RestoredMember {
    /// Its name.
    pub name: String,
    /// The URLs that the others reach it at.
    pub peer_urls: Vec<String>,
    /// The node that it runs on; empty where nothing says.
    pub node: String,
    /// Where it keeps its data.
    pub data_dir: String,
    /// Its release.
    pub release: Option<EtcdRelease>,
}

impl RestoredMember {
    /// The member that a pod runs; `None` where its command line does not name it.
    pub(super) fn of_pod(pod: &Object) -> Option<Self> {
        let containers = pod["spec"]["containers"].as_array()?;
        containers.iter().find_map(|container| {
            let flag = |name| flag(container, name);
            Some(Self {
                name: flag("--name")?,
                peer_urls: flag("--initial-advertise-peer-urls")?.split(',').map(str::to_owned).collect(),
                node: pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned(),
                data_dir: flag("--data-dir").unwrap_or_else(|| DEFAULT_DATA_DIR.to_owned()),
                release: container["image"].as_str().and_then(EtcdRelease::of_image),
            })
        })
    }

    pub(super) fn recorded(member: &Member) -> Option<Self> {
        let is_whole = !member.name.is_empty() && !member.peer_urls.is_empty();
        is_whole.then(|| Self {
            name: member.name.clone(),
            peer_urls: member.peer_urls.clone(),
            node: String::new(),
            data_dir: DEFAULT_DATA_DIR.to_owned(),
            release: EtcdRelease::parse(&member.version),
        })
    }

    /// Where it runs, in words.
    pub(super) fn place(&self) -> String {
        format!("on {}", if self.node.is_empty() { &self.name } else { &self.node })
    }
}

/// The value of a flag in a container's command line.
fn flag(container: &Value, name: &str) -> Option<String> {
    let words = ["command", "args"].into_iter().filter_map(|field| container[field].as_array()).flatten();
    let mut words = words.filter_map(Value::as_str);
    while let Some(word) = words.next() {
        match word.strip_prefix(name) {
            Some("") => return words.next().map(str::to_owned),
            Some(value) if value.starts_with('=') => return Some(value[1..].to_owned()),
            _ => {}
        }
    }
    None
}

/// What `--initial-cluster` is given.
pub(super) fn initial_cluster(members: &[RestoredMember]) -> String {
    let urls = members.iter().flat_map(|member| member.peer_urls.iter().map(move |url| format!("{}={url}", member.name)));
    urls.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_static_pod_names_its_member() {
        let pod = json!({"kind": "Pod", "spec": {"nodeName": "cp-1", "containers": [{"image": "registry.k8s.io/etcd:3.5.6-0",
            "command": ["etcd", "--name=cp-1", "--data-dir", "/data/etcd", "--initial-advertise-peer-urls=https://10.0.0.1:2380"]}]}});
        let member = RestoredMember::of_pod(&Object::from(pod)).unwrap();
        assert_eq!((&*member.name, &*member.data_dir, &*member.place()), ("cp-1", "/data/etcd", "on cp-1"));
        assert_eq!((member.release.unwrap().patch, initial_cluster(&[member])), (6, "cp-1=https://10.0.0.1:2380".to_owned()));
        assert_eq!(RestoredMember::of_pod(&Object::from(json!({"spec": {"containers": [{"command": ["sleep"]}]}}))), None);
    }

    #[test]
    fn a_member_without_a_name_is_not_restored() {
        assert_eq!(RestoredMember::recorded(&Member::default()), None);
    }
}
