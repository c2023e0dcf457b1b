//! Namespaces whose pods preempted one another: what happened in one of them follows from the other.
//!
//! Kubernetes 1.36, pkg/scheduler/framework/preemption/executor.go: the victim's Event says `Preempted by pod UID on node NODE`; up to 1.25 it says
//! `Preempted by NAMESPACE/NAME on node NODE` (pkg/scheduler/framework/preemption/preemption.go).

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use aho_corasick::AhoCorasick;
use futures_util::TryStreamExt;

use ketcd_history::timeline::Note;
use ketcd_store::{KeyRange, Revision, Until};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::read::{Keys, Read, events};

/// The characters of a uid that an API server gives.
const UID_CHARS: usize = 36;

/// Namespaces that belong together, with the slashes after them, as [`super::shelves::Shelves::namespace`] has them.
pub(super) type Joined = Vec<BTreeSet<Vec<u8>>>;

/// Joins the namespaces of victims with those of the pods that preempted them, given the Events of the victims.
pub(super) async fn joined(cluster: &Cluster, preemptions: &[Note], newest: Revision) -> Result<Joined> {
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut by_uid: BTreeMap<&str, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for note in preemptions {
        let own = format!("{}/", note.about.namespace).into_bytes();
        for word in note.message.split_whitespace() {
            match word.split_once('/') {
                Some((namespace, _)) => pairs.push((own.clone(), format!("{namespace}/").into_bytes())),
                None if word.len() == UID_CHARS => _ = by_uid.entry(word).or_default().insert(own.clone()),
                None => {}
            }
        }
    }
    for (uid, namespace) in namespaces_of(cluster, by_uid.keys().copied().collect(), newest).await? {
        pairs.extend(by_uid[uid].iter().map(|own| (own.clone(), namespace.clone())));
    }
    Ok(joined_by(pairs))
}

/// The namespaces of the pods whose values name one of these uids, as they are stored. Sealed values may be of any of them.
async fn namespaces_of<'u>(cluster: &Cluster, uids: Vec<&'u str>, newest: Revision) -> Result<BTreeSet<(&'u str, Vec<u8>)>> {
    let mut found = BTreeSet::new();
    if uids.is_empty() {
        return Ok(found);
    }
    let search = AhoCorasick::new(&uids).map_err(|error| Error::invalid(error.to_string()))?;
    let below = cluster.kinds().await?.find("pods").map_err(Error::from)?.key_prefix(cluster.prefix().await?, None);
    let mut pods = pin!(events(cluster, Keys::many(vec![KeyRange::prefix(&below[..])]), Until::Revision(newest)));
    while let Some(read) = pods.try_next().await? {
        let Read::Item(event) = read else { continue };
        let entry = event.key_value;
        let rest = &entry.key[below.len().min(entry.key.len())..];
        let Some(slash) = rest.iter().position(|&byte| byte == b'/') else { continue };
        let namespace = &rest[..=slash];
        if entry.value.starts_with(b"k8s:enc:") {
            let decoded = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
            let uid = decoded.object().and_then(|pod| pod["metadata"]["uid"].as_str());
            found.extend(uids.iter().filter(|named| uid == Some(**named)).map(|uid| (*uid, namespace.to_vec())));
        } else {
            found.extend(search.find_iter(&entry.value).map(|named| (uids[named.pattern().as_usize()], namespace.to_vec())));
        }
    }
    Ok(found)
}

/// What pairs join, directly or through others.
fn joined_by(pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Joined {
    let mut joined = Joined::new();
    for (one, other) in pairs {
        let (with, mut rest): (Joined, Joined) = joined.into_iter().partition(|set| set.contains(&one) || set.contains(&other));
        rest.push(with.into_iter().flatten().chain([one, other]).collect());
        joined = rest;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_to_one_is_joined_to_all() {
        let pair = |one: &str, other: &str| (one.as_bytes().to_vec(), other.as_bytes().to_vec());
        let joined = joined_by(vec![pair("a/", "b/"), pair("c/", "d/"), pair("e/", "e/"), pair("d/", "b/")]);
        let sizes: Vec<usize> = joined.iter().map(BTreeSet::len).collect();
        assert_eq!(sizes, [1, 4], "{joined:?}");
    }
}
