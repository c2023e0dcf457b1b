//! Which API objects of a folder or an archive are read: one state, or those of several backups.

use std::collections::{BTreeMap, BTreeSet};

use super::super::problem::LoadProblem;
use super::entry::{ENTRY_SEPARATOR, listed};
use super::gather::{Found, places};
use super::kind::EntryKind;
use super::messages;

/// The places of API objects.
pub(super) enum ObjectSets {
    /// Those of one state.
    One(Vec<usize>),
    /// Those of several backups, with the names of these.
    Backups(Vec<(String, Vec<usize>)>),
}

/// The API objects among the entries: of several archives of them none is preferred.
///
/// # Errors
///
/// There are none, or of several moments.
pub(super) fn sets(found: &[Found], what: &str, damage: &[String]) -> Result<ObjectSets, LoadProblem> {
    let mut sets: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for place in places(found, EntryKind::Objects) {
        sets.entry(found[place].inner).or_default().push(place);
    }
    // What lies next to one archive of them describes it.
    if sets.len() == 2 && sets.contains_key(&None) {
        let (loose, packed) = (sets[&None].len(), sets.values().map(Vec::len).sum::<usize>());
        let smaller = sets.keys().copied().find(|set| set.is_none() == (2 * loose <= packed));
        smaller.iter().for_each(|set| drop(sets.remove(set)));
    }
    if sets.len() > 1 {
        if let Some(backups) = of_veleros_bucket(found, &sets) {
            return Ok(backups);
        }
        let names: BTreeSet<&str> =
            sets.values().flatten().map(|&place| found[place].entry.name.split(ENTRY_SEPARATOR).next().unwrap_or_default()).collect();
        let names = listed(names.into_iter());
        return Err(
            format!("is {what} of several sets of API objects, of which each is a state of its own: {names}; name one of them").into()
        );
    }
    let Some(set) = sets.into_values().next() else { return Err(messages::nothing(found, what, damage).into()) };
    Ok(ObjectSets::One(of_velero(found, set)))
}

/// Velero writes each object twice: once below the API version that it prefers (velero d30d389, `pkg/backup/item_backupper.go`). With all versions, the
/// others are the same objects too.
fn of_velero(found: &[Found], set: Vec<usize>) -> Vec<usize> {
    let below = |name: &str| {
        let inner = || Some(name.split_once("::resources/")?.1);
        let rest = name.strip_prefix("resources/").or_else(inner).or_else(|| Some(name.split_once("/resources/")?.1))?;
        Some(rest.split_once('/')?.1.to_owned())
    };
    let is_velero = found.iter().any(|found| found.entry.name.ends_with("metadata/version"));
    let without_version = |place: &usize| {
        below(&found[*place].entry.name).is_some_and(|rest| rest.starts_with("namespaces/") || rest.starts_with("cluster/"))
    };
    if is_velero && set.iter().any(without_version) { set.into_iter().filter(without_version).collect() } else { set }
}

/// The folder or archive that an entry lies in, if that is a backup of Velero's.
fn backup_of<'f>(found: &'f [Found], set: &[usize]) -> Option<&'f str> {
    let is_one = |found: &&Found, archive| found.inner == archive && found.entry.name.ends_with("::metadata/version");
    let archive = found[*set.first()?].inner;
    let version = found.iter().find(|found| archive.is_some() && is_one(found, archive))?;
    version.entry.name.strip_suffix("::metadata/version")
}

/// The backups of a bucket of Velero's, each a moment of its own, if all archives are such. What lies next to them describes them.
fn of_veleros_bucket(found: &[Found], sets: &BTreeMap<Option<usize>, Vec<usize>>) -> Option<ObjectSets> {
    let packed = sets.iter().filter(|(archive, _)| archive.is_some()).map(|(_, set)| set);
    let backups = packed.map(|set| Some((backup_of(found, set)?.to_owned(), of_velero(found, set.clone()))));
    let mut backups = backups.collect::<Option<Vec<_>>>()?;
    Some(if backups.len() == 1 { ObjectSets::One(backups.remove(0).1) } else { ObjectSets::Backups(backups) })
}
