//! Whose etcd it is, as the data show it.

use ketcd_kube::Object;
use ketcd_store::{At, KeyRange, SourceKind, Want};
use serde_json::Value;

use super::super::states::RehearsedState;
use crate::cluster::OPENSHIFT_PREFIX;
use crate::error::Result;

/// Whose etcd it is, which decides how it is restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Distribution {
    /// Static pods of kubeadm, or of what is built on it.
    Kubeadm,
    /// k3s with its embedded etcd.
    K3s,
    /// RKE2.
    Rke2,
    /// OpenShift.
    OpenShift,
    /// A shoot of Gardener.
    Gardener,
    /// k3s, k0s and others over kine's SQLite.
    Kine,
    /// Nothing shows which.
    #[default]
    Unknown,
}

/// What a key that a program keeps says of the distribution.
const PROGRAM_KEYS: [(&str, Distribution); 2] = [
    // k3s v1.37, `pkg/etcd/etcd.go` (learnerProgressKey is version.Program + "/etcd/learnerProgress"); rke2 is the same program under another name.
    ("rke2/", Distribution::Rke2),
    ("k3s/", Distribution::K3s),
];

/// What nodes say: the beginning of a label or an annotation.
const MARKS_OF_NODES: [(&str, Distribution); 5] = [
    // gardener v1.1xx, `pkg/apis/core/v1beta1/constants/types_constants.go` (LabelWorkerPool).
    ("worker.gardener.cloud/", Distribution::Gardener),
    // k3s v1.37, `pkg/nodeconfig/nodeconfig.go` (NodeArgsAnnotation is version.Program + ".io/node-args"), `pkg/etcd/etcd.go` (NodeNameAnnotation).
    ("rke2.io/", Distribution::Rke2),
    ("etcd.rke2.cattle.io/", Distribution::Rke2),
    ("k3s.io/", Distribution::K3s),
    ("etcd.k3s.cattle.io/", Distribution::K3s),
];

/// ConfigMaps that a tool leaves: kubernetes v1.37, `cmd/kubeadm/app/constants/constants.go` (KubeadmConfigConfigMap); gardener v1.1xx,
/// `pkg/apis/core/v1beta1/constants/types_constants.go` (ConfigMapNameShootInfo).
const CONFIG_MAPS: [(&str, Distribution); 2] =
    [("/configmaps/kube-system/shoot-info", Distribution::Gardener), ("/configmaps/kube-system/kubeadm-config", Distribution::Kubeadm)];

/// Returns whose etcd a state is of, and what shows it.
pub(super) async fn distribution(state: &RehearsedState<'_>, kind: SourceKind, name: &str) -> Result<Option<(Distribution, String)>> {
    if kind == SourceKind::Kine {
        return Ok(Some((Distribution::Kine, "the backup is a database of kine".to_owned())));
    }
    if state.prefix == OPENSHIFT_PREFIX {
        return Ok(Some((Distribution::OpenShift, format!("keys begin with {OPENSHIFT_PREFIX}"))));
    }
    let by_name = of_file_name(name);
    for (keys, distribution) in PROGRAM_KEYS {
        if has_key(state, KeyRange::prefix(keys)).await? {
            return Ok(Some((distribution, format!("there are keys that begin with {keys}"))));
        }
    }
    if by_name.is_some() {
        return Ok(by_name);
    }
    if let Some(found) = state.made("/minions/", |node| of_node(&node)).await?.into_iter().next() {
        return Ok(Some(found));
    }
    for (path, distribution) in CONFIG_MAPS {
        if has_key(state, KeyRange::key(format!("{}{path}", state.prefix))).await? {
            return Ok(Some((distribution, format!("there is a ConfigMap {}", path.trim_start_matches("/configmaps/")))));
        }
    }
    Ok(None)
}

async fn has_key(state: &RehearsedState<'_>, keys: KeyRange) -> Result<bool> {
    Ok(!state.cluster.source.first(keys, At::Revision(state.revision), Want::Keys, 1).await?.is_empty())
}

/// etcd-backup-restore v0.43, `pkg/types/snapstore.go` (GenerateSnapshotName): `Full-<start>-<last>-<time>`.
fn of_file_name(name: &str) -> Option<(Distribution, String)> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let numbers = file.strip_prefix("Full-")?.split(['-', '.']).take(3);
    let are_numbers = numbers.map(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())).collect::<Vec<_>>();
    let is_gardeners = are_numbers.len() == 3 && are_numbers.into_iter().all(|is_number| is_number);
    is_gardeners.then(|| (Distribution::Gardener, "the file is named as etcd-backup-restore names full snapshots".to_owned()))
}

fn of_node(node: &Object) -> Option<(Distribution, String)> {
    let metadata = &node["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let instance = metadata["labels"]["node.kubernetes.io/instance-type"].as_str();
    let of_instance = match instance {
        Some("rke2") => Some(Distribution::Rke2),
        Some("k3s") => Some(Distribution::K3s),
        _ => None,
    };
    if let Some((distribution, instance)) = of_instance.zip(instance) {
        return Some((distribution, format!("node {name} has the label node.kubernetes.io/instance-type={instance}")));
    }
    let marks = [&metadata["labels"], &metadata["annotations"]].into_iter().filter_map(Value::as_object).flat_map(|map| map.keys());
    let found = marks.filter_map(|mark| MARKS_OF_NODES.iter().find(|(start, _)| mark.starts_with(start)).map(|(_, of)| (*of, mark))).min();
    found.map(|(distribution, mark)| (distribution, format!("node {name} has {mark}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_show_whose_cluster_it_is() {
        let of = |metadata: Value| of_node(&Object::from(json!({"kind": "Node", "metadata": metadata}))).map(|(of, _)| of);
        assert_eq!(of(json!({"name": "a", "labels": {"node.kubernetes.io/instance-type": "k3s"}})), Some(Distribution::K3s));
        assert_eq!(of(json!({"name": "a", "annotations": {"rke2.io/node-args": "[]"}})), Some(Distribution::Rke2));
        assert_eq!(of(json!({"name": "a", "labels": {"worker.gardener.cloud/pool": "p"}})), Some(Distribution::Gardener));
        assert_eq!(of(json!({"name": "a", "labels": {"node.kubernetes.io/instance-type": "m5.large"}})), None);
    }

    #[test]
    fn file_names_show_gardeners_snapshots() {
        assert!(of_file_name("/b/v2/Full-00000000-11680572-1727038676.gz").is_some());
        assert!(of_file_name("Full-backup-of-monday.db").is_none() && of_file_name("snapshot.db").is_none());
    }
}
