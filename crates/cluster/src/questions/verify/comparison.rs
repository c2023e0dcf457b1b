//! What an earlier backup had and this one lacks: whole namespaces, and kinds of which there are far fewer.

use std::collections::BTreeMap;

use futures_util::TryStreamExt;

use ketcd_kube::{KeyResource, RegistryKey};
use ketcd_store::{At, KeyRange, Revision, Want};

use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;
use crate::cluster::Cluster;
use crate::error::Result;

/// Which percentage of the keys may have gone since an earlier backup.
pub const KEYS_WITHIN: u8 = 20;

/// Kinds whose objects come and go by themselves.
const FLEETING_RESOURCES: [&str; 4] = ["events", "events.events.k8s.io", "leases.coordination.k8s.io", "pods"];

/// What a backup holds, as far as two of them are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Its newest revision.
    pub revision: Revision,
    /// The uid of the namespace kube-system, which a cluster keeps for ever.
    pub cluster: Option<String>,
    /// Objects by namespace.
    namespaces: BTreeMap<String, u64>,
    /// Objects by resource.
    resources: BTreeMap<String, u64>,
}

impl Cluster {
    /// Counts what a later backup is compared with.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn holdings(&self) -> Result<Holdings> {
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let revision = self.revision().await?;
        let mut holdings = Holdings { revision, ..Holdings::default() };
        let mut entries = self.source.range(KeyRange::all(), At::Revision(revision), Want::Keys).await?.entries;
        while let Some(entry) = entries.try_next().await? {
            let Some(path) = RegistryKey::parse(prefix, &entry.key, kinds).object() else { continue };
            let resource = match path.resource {
                KeyResource::Known(kind) => kind.resource(),
                KeyResource::Unlisted { group, plural } => ketcd_kube::api::qualified(plural, group),
            };
            if !FLEETING_RESOURCES.contains(&resource.as_str()) {
                *holdings.resources.entry(resource).or_default() += 1;
                path.namespace.into_iter().for_each(|namespace| *holdings.namespaces.entry(namespace.to_owned()).or_default() += 1);
            }
        }
        let kube_system = KeyRange::key(format!("{prefix}/namespaces/kube-system"));
        for entry in self.source.first(kube_system, At::Revision(revision), Want::Values, 1).await? {
            let decoded = self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
            holdings.cluster = decoded.object().and_then(|object| object["metadata"]["uid"].as_str()).map(str::to_owned);
        }
        Ok(holdings)
    }
}

/// Returns what has gone since an earlier backup, called `name`: what fell by more than this many percent.
pub(super) fn check(before: &Holdings, now: &Holdings, name: &str, within: Option<u8>) -> Part {
    let mut part = Part::default();
    let found = |says: String| Finding::new(FindingKind::Comparison, Weight::Medium, says).because(format!("compared with {name}"));
    if let (Some(one), Some(other)) = (&before.cluster, &now.cluster)
        && one != other
    {
        let says = "it is of another cluster: the namespace kube-system has another uid".to_owned();
        part.findings.push(found(says).because(format!("{one} before, {other} now")));
        return part;
    }
    if now.revision < before.revision {
        let says = format!("its newest revision {} is before revision {}, which the earlier backup has", now.revision, before.revision);
        part.findings.push(found(says));
    }
    let within = within.unwrap_or(KEYS_WITHIN);
    let fell = |before: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>| -> Vec<(String, u64, u64)> {
        let left = |name: &str| now.get(name).copied().unwrap_or(0);
        let fell = before.iter().filter(|(name, had)| has_fallen(**had, left(name), within));
        fell.map(|(name, had)| (name.clone(), *had, left(name))).collect()
    };
    for (namespace, had, left) in fell(&before.namespaces, &now.namespaces) {
        let what = if left == 0 { "has nothing left".to_owned() } else { format!("has {left} objects left") };
        part.findings.push(found(format!("namespace {namespace} {what} of {had}")));
    }
    for (resource, had, left) in fell(&before.resources, &now.resources) {
        part.findings.push(found(format!("{left} {resource} are left of {had}")));
    }
    if part.findings.is_empty() {
        part.checked.push(format!("no namespace and no kind fell by more than {within} % since {name}"));
    }
    part
}

/// Whether so few are left that more than `within` percent have gone.
fn has_fallen(had: u64, left: u64, within: u8) -> bool {
    had > left && (had - left).saturating_mul(100) > had.saturating_mul(u64::from(within))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(revision: i64, namespaces: &[(&str, u64)], resources: &[(&str, u64)]) -> Holdings {
        let map = |rows: &[(&str, u64)]| rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let cluster = Some("1-2".to_owned());
        Holdings { revision: Revision(revision), cluster, namespaces: map(namespaces), resources: map(resources) }
    }

    fn says(before: &Holdings, now: &Holdings) -> Vec<String> {
        check(before, now, "old.db", None).findings.into_iter().map(|finding| finding.says).collect()
    }

    #[test]
    fn what_fell_is_named_and_what_grew_is_not() {
        let before = holding(10, &[("shop", 100), ("lab", 4)], &[("configmaps", 10), ("secrets", 10)]);
        assert_eq!(says(&before, &holding(20, &[("shop", 80), ("lab", 9)], &[("configmaps", 8), ("secrets", 50)])), Vec::<String>::new());
        let now = holding(20, &[("shop", 79)], &[("configmaps", 7), ("secrets", 10)]);
        assert_eq!(
            says(&before, &now),
            ["namespace lab has nothing left of 4", "namespace shop has 79 objects left of 100", "7 configmaps are left of 10"]
        );
    }

    #[test]
    fn another_cluster_and_an_older_state_are_named() {
        let before = holding(10, &[], &[]);
        assert_eq!(says(&before, &holding(9, &[], &[])).len(), 1);
        let other = Holdings { cluster: Some("3-4".to_owned()), ..holding(20, &[], &[]) };
        assert!(says(&before, &other)[0].starts_with("it is of another cluster"));
    }
}
