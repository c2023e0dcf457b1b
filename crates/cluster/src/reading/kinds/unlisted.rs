//! Resources that have objects and no definition: what an aggregated API server keeps, or what a deleted definition left behind. They are found by
//! hopping over the keys from resource to resource.

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::rights::refused::unless_denied;
use ketcd_kube::{KeyResource, Kind, RegistryKey};
use ketcd_store::{At, KeyRange, Want};

/// The most hops: a cluster has some hundred resources.
const MAX_HOPS: usize = 4096;

impl Cluster {
    /// The resources below the prefix that neither Kubernetes nor a definition at the revision looked at knows; none where all keys may not be read.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn unlisted_kinds(&self, at: At) -> Result<Vec<Kind>> {
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let mut rest = KeyRange::prefix(format!("{prefix}/"));
        let mut found: BTreeMap<(String, String), bool> = BTreeMap::new();
        for _ in 0..MAX_HOPS {
            let first = unless_denied(self.source.first(rest.clone(), at, Want::Keys, 1).await)?.unwrap_or_default();
            let Some(entry) = first.first() else { break };
            let folder = match RegistryKey::parse(prefix, &entry.key, kinds).object().map(|object| (object.resource, object.namespace)) {
                Some((KeyResource::Known(kind), _)) => kind.key_prefix(prefix, None).into_bytes(),
                Some((KeyResource::Unlisted { group, plural }, namespace)) => {
                    *found.entry((group.to_owned(), plural.to_owned())).or_default() |= namespace.is_some();
                    let path = if group.is_empty() { plural.to_owned() } else { format!("{group}/{plural}") };
                    format!("{prefix}/{path}/").into_bytes()
                }
                None => Vec::new(),
            };
            rest.start = after(&entry.key, folder);
        }
        Ok(found.into_iter().map(|((group, plural), namespaced)| Kind::unlisted(&group, &plural, namespaced)).collect())
    }
}

/// The first key behind a folder that `key` lies in; the next key where it lies in none.
fn after(key: &[u8], mut folder: Vec<u8>) -> Vec<u8> {
    match folder.pop() {
        Some(slash) if key.starts_with(&folder) && key.get(folder.len()) == Some(&slash) => {
            folder.push(slash + 1);
            folder
        }
        _ => [key, &[0]].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_go_forward() {
        assert_eq!(after(b"/registry/pods/a/b", b"/registry/pods/".to_vec()), b"/registry/pods0");
        assert_eq!(after(b"/registry/x", Vec::new()), b"/registry/x\0");
        assert_eq!(after(b"/registry/x", b"/registry/y/".to_vec()), b"/registry/x\0");
    }
}
