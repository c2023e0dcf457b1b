//! Configuration of the cluster's programs among the entries of a folder or an archive: what kube-apiserver encrypts with, and kube-scheduler's.
//!
//! It is recognised by what it says of itself. Distributions keep it in many places: OpenShift in the `static_kuberesources` of a backup
//! (cluster-etcd-operator b4786ae, `bindata/etcd/cluster-backup.sh`), k3s in `cred`, k0s and kubeadm where the arguments of their programs say.

use std::path::Path;

use serde_json::Value;

use super::super::options::Reading;
use super::entry::ContainerEntry;
use super::folder;
use super::gather::Found;
use super::kind::{LONGEST_CONFIGURATION, may_configure};
use crate::{Companion, CompanionKind};

/// The configuration among what was found, with the places of its entries.
pub(super) fn among(found: &[Found], reading: &Reading<'_>) -> (Vec<Companion>, Vec<usize>) {
    let candidates = found.iter().enumerate().filter(|(_, found)| found.may_configure);
    let all = candidates.filter_map(|(place, found)| Some((place, of_entry(&found.entry, reading)?))).collect::<Vec<_>>();
    let is_newest = |one: &Companion| {
        let Some((before, revision)) = static_revision(&one.place) else { return true };
        let newer = |other: &Companion| static_revision(&other.place).is_some_and(|(of, newer)| of == before && newer > revision);
        !all.iter().any(|(_, other)| other.kind == one.kind && newer(other))
    };
    let (places, companions) = all.iter().filter(|(_, one)| is_newest(one)).cloned().unzip();
    (companions, places)
}

/// The configuration in a folder whose databases are in known places, such as a k3s server's. As such a folder may hold much else, only files that are
/// called as configuration is are looked at.
pub(in super::super) fn of_known_folder(path: &Path, reading: &Reading<'_>) -> Vec<Companion> {
    const CONFIG_SUFFIXES: [&str; 4] = [".yaml", ".yml", ".json", ".conf"];
    let is_called_so = |entry: &ContainerEntry| {
        CONFIG_SUFFIXES.iter().any(|suffix| entry.name.ends_with(suffix)) || entry.file_name().contains("encryption")
    };
    let entries = folder::entries(path).unwrap_or_default();
    let budget = reading.limits.budget();
    let may_be = |entry: &&ContainerEntry| is_called_so(entry) && entry.look(&budget).is_ok_and(|look| may_configure(&look.bytes));
    entries.iter().filter(may_be).filter_map(|entry| of_entry(entry, reading)).collect()
}

/// What a file configures, if it is such a configuration.
fn of_entry(entry: &ContainerEntry, reading: &Reading<'_>) -> Option<Companion> {
    let image = entry.image(reading).ok().filter(|image| image.cut.is_none() && image.bytes.len() <= LONGEST_CONFIGURATION)?;
    let text = String::from_utf8(image.bytes.to_vec()).ok()?;
    Some(Companion { kind: kind_of(&text)?, place: entry.name.clone(), text })
}

/// What a text configures, by its outermost `apiVersion` and `kind`.
fn kind_of(text: &str) -> Option<CompanionKind> {
    let (api_version, kind) = match serde_json::from_str::<Value>(text) {
        Ok(value) => (value["apiVersion"].as_str()?.to_owned(), value["kind"].as_str()?.to_owned()),
        Err(_) => (outermost(text, "apiVersion:")?, outermost(text, "kind:")?),
    };
    match (&*api_version, &*kind) {
        ("v1", "EncryptionConfig") => Some(CompanionKind::Encryption),
        (version, "EncryptionConfiguration") if version.starts_with("apiserver.config.k8s.io/") => Some(CompanionKind::Encryption),
        (version, "KubeSchedulerConfiguration")
            if ["kubescheduler.config.k8s.io/", "componentconfig/"].iter().any(|group| version.starts_with(group)) =>
        {
            Some(CompanionKind::Scheduler)
        }
        _ => None,
    }
}

/// The value of a member at the outermost level of YAML, if it is written on its line.
fn outermost(text: &str, member: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(member))?;
    let value = value.split(" #").next().unwrap_or_default().trim();
    Some(value.trim_matches(['"', '\'']).to_owned())
}

/// The static pod in a name, and its revision: OpenShift keeps several, of which the newest runs.
fn static_revision(name: &str) -> Option<(&str, u64)> {
    const STATIC_POD_MARK: &str = "-pod-";
    let (before, after) = name.rsplit_once(STATIC_POD_MARK)?;
    let revision = after.split('/').next()?.parse().ok()?;
    Some((before.rsplit('/').next()?, revision))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::super::options::{Limits, Reading};
    use super::super::entry::{Body, ContainerEntry};
    use super::super::gather::Found;
    use super::super::kind::EntryKind;
    use super::{among, kind_of};
    use crate::CompanionKind;

    #[test]
    fn configuration_is_recognised_by_its_outermost_members() {
        for (text, kind) in [
            ("kind: EncryptionConfiguration\napiVersion: \"apiserver.config.k8s.io/v1\" # new\n", Some(CompanionKind::Encryption)),
            ("{\"kind\":\"EncryptionConfiguration\",\"apiVersion\":\"apiserver.config.k8s.io/v1\"}", Some(CompanionKind::Encryption)),
            ("apiVersion: v1\nkind: EncryptionConfig\n", Some(CompanionKind::Encryption)),
            ("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n", Some(CompanionKind::Scheduler)),
            ("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    kind: EncryptionConfiguration\n", None),
            ("apiVersion: example.com/v1\nkind: EncryptionConfiguration\n", None),
        ] {
            assert_eq!(kind_of(text), kind, "{text}");
        }
    }

    #[test]
    fn of_several_revisions_of_a_static_pod_the_newest_counts() {
        let config = |name: &str| {
            let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
            let entry = ContainerEntry { name: name.to_owned(), body: Body::Bytes(Bytes::from_static(text.as_bytes())) };
            Found { entry, kind: EntryKind::Objects, inner: None, problem: None, may_configure: true }
        };
        let found =
            ["r/kube-scheduler-pod-9/c.yaml", "r/kube-scheduler-pod-10/c.yaml", "r/kube-scheduler-pod-x/c.yaml", "other.yaml"].map(config);
        let limits = Limits::default();
        assert_eq!(among(&found, &Reading { limits: &limits, may_be_known: |_| true }).1, [1, 2, 3]);
    }
}
