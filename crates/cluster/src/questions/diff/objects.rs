//! What differs between two states of some objects.

use std::borrow::Cow;

use ketcd_history::ObjectVersion;
use ketcd_history::compare::{Difference, join};
use ketcd_kube::Address;
use ketcd_store::{At, KeyValue};

use super::state::ComparedState;
use crate::cluster::Cluster;
use crate::error::{Error, Nothing, Result};
use crate::kinds::KeySubject;
use crate::not_found::{Looked, NotFound};
use crate::read::Keys;
use crate::selection::Selection;

/// What differs between two states.
pub struct Diff {
    /// The objects that differ, in the order of their keys.
    pub differences: Vec<NamedDifference>,
    /// The single objects that were named and that neither of two revisions holds.
    pub absent: Vec<NotFound>,
}

/// A difference, with what its key names.
pub struct NamedDifference {
    /// The object.
    pub subject: KeySubject,
    /// The difference.
    pub difference: Difference,
}

impl NamedDifference {
    /// Returns the object's name, or the whole key if it is not an object's.
    pub fn name(&self) -> Cow<'_, str> {
        match self.subject.name.as_str() {
            "" => String::from_utf8_lossy(&self.difference.key),
            name => Cow::Borrowed(name),
        }
    }
}

/// Compares two states of what the words name and the selection takes in either state; without words, everything in the namespace looked at, or in all.
///
/// # Errors
/// A word that names no kind, a source that cannot be read, or a namespace that neither state has.
pub async fn diff(states: &[ComparedState<'_>; 2], words: &[String], selection: &Selection) -> Result<Diff> {
    let [before, after] = states;
    let keys = keys(states, words).await?;
    let lists = [before.entries(&keys).await?, after.entries(&keys).await?];
    if let (Some(namespace), [], true) = (&before.cluster.options.namespace, words, lists.iter().all(Vec::is_empty)) {
        let states = [before.name.clone(), after.name.clone()];
        return Err(Error::Nothing(Nothing::InEither { namespace: namespace.clone(), states }));
    }
    let absent = match (before.at, after.at) {
        (At::Revision(first), At::Revision(last)) => absent(after.cluster, &keys, &lists, Looked::Between(first, last)).await?,
        _ => Vec::new(),
    };
    let mut differences = Vec::new();
    let [old, new] = lists;
    for (old, new) in join(old, new) {
        differences.extend(named(states, old, new, selection).await?);
    }
    Ok(Diff { differences, absent })
}

/// The keys to compare: of what is named, else of the namespace in either state, else all.
async fn keys([before, after]: &[ComparedState<'_>; 2], words: &[String]) -> Result<Keys> {
    if !words.is_empty() {
        return Keys::of(after.cluster, words).await;
    }
    let Some(namespace) = &after.cluster.options.namespace else { return Ok(Keys::all()) };
    let mut ranges = after.namespace(namespace).await?;
    let mut earlier = before.namespace(namespace).await?;
    earlier.retain(|range| !ranges.contains(range));
    ranges.append(&mut earlier);
    Ok(Keys::many(ranges))
}

/// The single objects that were named and of which nothing was listed.
async fn absent(cluster: &Cluster, keys: &Keys, lists: &[Vec<KeyValue>; 2], looked: Looked) -> Result<Vec<NotFound>> {
    let prefix = cluster.prefix().await?;
    let is_listed = |key: &str| lists.iter().flatten().any(|entry| *entry.key == *key.as_bytes());
    let is_absent = |address: &&Address| matches!(address.key(prefix), (key, true) if !is_listed(&key));
    let mut absent = Vec::new();
    for address in keys.addresses.iter().filter(is_absent) {
        absent.push(NotFound::of(cluster, address, looked).await?);
    }
    Ok(absent)
}

/// The difference of two versions of a key; `None` where both are the same object, or neither is selected.
async fn named(
    states: &[ComparedState<'_>; 2],
    before: Option<KeyValue>,
    after: Option<KeyValue>,
    selection: &Selection,
) -> Result<Option<NamedDifference>> {
    let decode = |state: &ComparedState<'_>, entry: &Option<KeyValue>| match entry {
        Some(entry) => ObjectVersion::from(state.cluster.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body),
        None => ObjectVersion::Absent,
    };
    let (old, new) = (decode(&states[0], &before), decode(&states[1], &after));
    let is_selected =
        selection.takes_all() || [&old, &new].into_iter().filter_map(ObjectVersion::object).any(|object| selection.fits(object));
    if old == new || !is_selected {
        return Ok(None);
    }
    let cluster = states[usize::from(after.is_some())].cluster;
    let Some(entry) = after.or(before) else { return Ok(None) };
    let difference = Difference { key: entry.key.clone(), before: old, after: new, revision: entry.mod_revision };
    Ok(Some(NamedDifference { subject: cluster.subject_of(&entry.key).await?, difference }))
}
