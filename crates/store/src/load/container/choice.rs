//! Which of the entries of a folder or an archive are read: a member, databases of one kind, or objects. What is left out is said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use bytes::Bytes;

use super::super::data_dir::Parts;
use super::super::foreign;
use super::super::gardener::{Chain, Snapshot, cluster_of};
use super::super::image::Image;
use super::super::keys::Keys;
use super::super::options::Reading;
use super::super::problem::LoadProblem;
use super::super::wal;
#[cfg(feature = "kine")]
use super::super::{dqlite, kine};
use super::companions;
use super::entry::{Body, Entry, WITHIN, listed, shown};
use super::gather::{Found, Gathered};
use super::kind::{BESIDE, Kind};
#[cfg(feature = "kine")]
use super::nodes;
use super::numbered;
use crate::Companion;

/// How k3s calls its database.
const K3S: &str = "state.db";

/// What is read of a folder or an archive.
pub(in super::super) struct Choice {
    pub chosen: Chosen,
    /// What is damaged, each a sentence.
    pub damage: Vec<String>,
    /// What is read and what is not, each a sentence.
    pub said: Vec<String>,
    /// Configuration of the cluster's programs, with the names of its entries as places.
    pub companions: Vec<Companion>,
}

/// What was chosen.
pub(in super::super) enum Chosen {
    /// A member's data dir, or a part of it.
    Member(Parts),
    /// The same, in a folder.
    MemberFolder(PathBuf),
    /// A database of kine and its log.
    #[cfg(feature = "kine")]
    Kine(kine::Files),
    /// The files of a node of dqlite.
    #[cfg(feature = "kine")]
    Dqlite(dqlite::Node),
    /// A database of etcd.
    Database(Image),
    /// Several databases of etcd.
    Databases(Vec<Entry>),
    /// A full snapshot of Gardener's and the deltas after it.
    Chain(Chain),
    /// Several of them.
    Chains(Vec<Chain>),
    /// API objects.
    Objects(Vec<Entry>),
    /// The keys of etcd, each in an entry of its own.
    Keys(Keys),
}

impl Choice {
    /// Whether it is several sources.
    pub(in super::super) fn is_several(&self) -> bool {
        matches!(self.chosen, Chosen::Databases(_) | Chosen::Chains(_))
    }
}

/// Chooses among entries; `what` they lie in is a folder or an archive.
///
/// # Errors
///
/// Nothing of it can be read, or it is not clear what is meant.
pub(super) fn choose(gathered: Gathered, what: &str, reading: &Reading<'_>) -> Result<Choice, LoadProblem> {
    let Gathered { found, damage, unopened } = gathered;
    let total = found.len();
    let mut said = Vec::new();
    if !unopened.is_empty() {
        said.push(format!("archives in it that are not read: {}", listed(unopened.iter().map(String::as_str))));
    }
    said.extend(unfinished(&found));
    let (chosen, mut read) = of_kind(&found, what, &damage, reading)?;
    let (companions, places) = match chosen {
        Chosen::Objects(_) | Chosen::Keys(..) => (Vec::new(), Vec::new()),
        _ => companions::among(&found, reading),
    };
    read.extend(places);
    said.extend(sentence(&found, &read, total));
    Ok(Choice { chosen, damage, said, companions })
}

/// What is read, and the places of the entries that it is made of.
fn of_kind(found: &[Found], what: &str, damage: &[String], reading: &Reading<'_>) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    if let Some(member) = member(found) {
        return take_member(found, &member, reading);
    }
    if let Some(chains) = chains(found, what)? {
        return Ok(chains);
    }
    let etcd = places(found, Kind::Database);
    let kine = kine_databases(found);
    #[cfg(feature = "kine")]
    if let Some((node, read)) = nodes::node(found, &[&etcd[..], &kine].concat(), what)? {
        return Ok((Chosen::Dqlite(node), read));
    }
    match (&etcd[..], &kine[..]) {
        ([], []) => {}
        ([only], []) => return Ok((Chosen::Database(found[*only].entry.image(reading)?), etcd)),
        (_, []) => return Ok((Chosen::Databases(etcd.iter().map(|&place| found[place].entry.clone()).collect()), etcd)),
        (_, [only]) if etcd.is_empty() || is_of_k3s(&found[*only]) => return take_kine(found, *only, reading),
        _ => {
            let names = listed(etcd.iter().chain(&kine).map(|&place| &*found[place].entry.name));
            let count = etcd.len() + kine.len();
            return Err(format!("is {what} of {count} databases that are not of one etcd: {names}; name one of them: -f PATH::NAME").into());
        }
    }
    if let Some(keys) = keys(found, reading)? {
        return Ok(keys);
    }
    if let Some((keys, read)) = numbered::keys(found, reading)? {
        return Ok((Chosen::Keys(keys), read));
    }
    objects(found, what, damage)
}

/// The places of the entries of a kind.
fn places(found: &[Found], kind: Kind) -> Vec<usize> {
    (0..found.len()).filter(|&place| found[place].kind == kind).collect()
}

/// Whether an entry is a part of a member's data dir, and not in it by chance.
fn is_of_member(found: &Found) -> bool {
    found.kind == Kind::Log || found.entry.name == "snap/db" || found.entry.name.ends_with("/snap/db")
}

/// The folder above the one that an entry lies in.
fn member_of(entry: &Entry) -> &str {
    entry.folder().rsplit_once('/').map_or("", |(member, _)| member)
}

/// The folder of the first member.
fn member(found: &[Found]) -> Option<String> {
    let first = found
        .iter()
        .find(|found| is_of_member(found) && found.kind != Kind::Log)
        .or_else(|| found.iter().find(|found| is_of_member(found)))?;
    Some(member_of(&first.entry).to_owned())
}

fn take_member(found: &[Found], member: &str, reading: &Reading<'_>) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    let mut read: Vec<usize> =
        (0..found.len()).filter(|&place| is_of_member(&found[place]) && member_of(&found[place].entry) == member).collect();
    let (mut db, mut log) = (None, Vec::new());
    for &place in &read {
        let Found { entry, kind, .. } = &found[place];
        if let Body::File(path) = &entry.body {
            let folder = path.parent().and_then(|folder| folder.parent()).unwrap_or(path);
            read.extend(beside_member(found, member));
            return Ok((Chosen::MemberFolder(folder.to_owned()), read));
        }
        let image = entry.image(reading)?;
        if *kind == Kind::Log { log.push((entry.file_name().to_owned(), image.bytes)) } else { db = Some(image) }
    }
    read.extend(beside_member(found, member));
    Ok((Chosen::Member(Parts { db, log: wal::Log::of_files(log) }), read))
}

/// Other files of the member: databases that its leader sent, and the files of its snapshots.
fn beside_member<'f>(found: &'f [Found], member: &'f str) -> impl Iterator<Item = usize> + 'f {
    (0..found.len())
        .filter(move |&place| found[place].entry.name.strip_prefix(member).is_some_and(|rest| member.is_empty() || rest.starts_with('/')))
}

/// Gardener's full snapshots, each with the deltas up to the next, where there are deltas or what only their names tell how to decompress.
fn chains(found: &[Found], what: &str) -> Result<Option<(Chosen, Vec<usize>)>, String> {
    let named = |place: usize| Snapshot::of(found[place].entry.file_name()).filter(|_| found[place].kind != Kind::Unfinished);
    let mut snapshots: Vec<(Snapshot, usize)> = (0..found.len()).filter_map(|place| Some((named(place)?, place))).collect();
    if !snapshots.iter().any(|(snapshot, _)| !snapshot.is_full || snapshot.is_lzw) {
        return Ok(None);
    }
    let clusters: BTreeSet<&str> = snapshots.iter().map(|&(_, place)| cluster_of(found[place].entry.folder())).collect();
    if clusters.len() > 1 {
        let names = listed(clusters.into_iter());
        return Err(format!(
            "is {what} of the backups of several etcd clusters, whose revisions are not those of one: {names}; name one of them"
        ));
    }
    snapshots.sort_unstable();
    let (full, mut deltas): (Vec<_>, Vec<_>) = snapshots.iter().copied().partition(|(snapshot, _)| snapshot.is_full);
    deltas.sort_by_key(|(snapshot, _)| (snapshot.first, snapshot.last));
    let last_of = |place: usize| full.get(place).map_or(i64::MAX, |(snapshot, _)| snapshot.last);
    let within = |after: i64, upto: i64| {
        let is_within = move |snapshot: &Snapshot| snapshot.last > after && snapshot.first <= upto;
        deltas
            .iter()
            .filter(move |(snapshot, _)| is_within(snapshot))
            .map(|&(snapshot, place)| (snapshot, found[place].entry.clone()))
            .collect::<Vec<_>>()
    };
    let before: Vec<_> = within(0, last_of(0)).into_iter().filter(|(snapshot, _)| full.is_empty() || snapshot.last <= last_of(0)).collect();
    let mut chains: Vec<Chain> = if before.is_empty() { Vec::new() } else { vec![Chain { full: None, deltas: before }] };
    chains.extend(full.iter().enumerate().map(|(place, (snapshot, entry))| Chain {
        full: Some(found[*entry].entry.clone()),
        deltas: within(snapshot.last, last_of(place + 1)),
    }));
    let read = snapshots.iter().map(|&(_, place)| place).collect();
    Ok(Some(match chains.len() {
        1 => (Chosen::Chain(chains.remove(0)), read),
        _ => (Chosen::Chains(chains), read),
    }))
}

/// The databases of SQLite, and the logs of those that are lost.
fn kine_databases(found: &[Found]) -> Vec<usize> {
    let names: BTreeSet<&str> = found.iter().map(|found| &*found.entry.name).collect();
    let is_lost = |name: &str| name.strip_suffix(BESIDE[0]).is_some_and(|database| !names.contains(database));
    let is_one = |found: &Found| match found.kind {
        Kind::Sqlite => true,
        Kind::BesideSqlite => is_lost(&found.entry.name),
        // A damaged one is only named.
        Kind::Other => found.entry.file_name() == K3S,
        _ => false,
    };
    let all: Vec<usize> = (0..found.len()).filter(|&place| is_one(&found[place])).collect();
    let of_k3s: Vec<usize> = all.iter().copied().filter(|&place| is_of_k3s(&found[place])).collect();
    if of_k3s.len() == 1 { of_k3s } else { all }
}

fn is_of_k3s(found: &Found) -> bool {
    found.entry.file_name().starts_with(K3S)
}

#[cfg(feature = "kine")]
fn take_kine(found: &[Found], place: usize, reading: &Reading<'_>) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    let entry = &found[place].entry;
    let beside = BESIDE.map(|suffix| {
        let name = format!("{}{suffix}", entry.name);
        found.iter().position(|found| found.entry.name == name)
    });
    let read = std::iter::once(place).chain(beside.iter().copied().flatten()).collect();
    let image = entry.image(reading)?;
    if let Body::File(path) = &entry.body {
        return Ok((Chosen::Kine(kine::Files::with_log(&path.to_string_lossy(), image, reading)?), read));
    }
    let mut files = [None, None, None];
    for (file, place) in files.iter_mut().zip(beside) {
        *file = place.map(|place| found[place].entry.image(reading)).transpose()?.map(|image| image.bytes);
    }
    Ok((Chosen::Kine(kine::Files::of_archive(image.bytes, files)), read))
}

#[cfg(not(feature = "kine"))]
fn take_kine(_: &[Found], _: usize, _: &Reading<'_>) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    Err("is an archive of a database of kine, which is not read without the feature kine".to_owned().into())
}

/// Where vcluster's snapshots have the revision of the keys that are their other entries (vcluster 4876675, `pkg/snapshot`).
const KEYS_REVISION: &str = "vcluster/snapshot/revision";

/// The keys of a snapshot that vcluster made of kine, if these are one.
fn keys(found: &[Found], reading: &Reading<'_>) -> Result<Option<(Chosen, Vec<usize>)>, LoadProblem> {
    let revision = found.iter().find(|found| found.entry.name.trim_start_matches('/') == KEYS_REVISION);
    let Some(revision) = revision else { return Ok(None) };
    let text = revision.entry.image(reading)?.bytes;
    let revision = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok()).filter(|&revision: &i64| revision > 0);
    let Some(revision) = revision else { return Err(format!("{KEYS_REVISION} in it is no revision").into()) };
    let is_key = |found: &&Found| found.entry.name.starts_with('/') && !found.entry.name.starts_with("/vcluster/snapshot/");
    let keys = found.iter().filter(is_key).map(|found| match &found.entry.body {
        // As it was stored, compressed or not.
        Body::Bytes(bytes) => Ok((Bytes::from(found.entry.name.clone()), bytes.clone())),
        _ => Ok((Bytes::from(found.entry.name.clone()), found.entry.image(reading)?.bytes)),
    });
    let keys = keys.collect::<Result<Vec<_>, LoadProblem>>()?;
    let keys = Keys { pairs: keys, revision: Some(revision), damage: Vec::new() };
    Ok(Some((Chosen::Keys(keys), (0..found.len()).collect())))
}

/// The API objects among the entries: of several archives of them none is preferred.
fn objects(found: &[Found], what: &str, damage: &[String]) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    let mut sets: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for place in places(found, Kind::Objects) {
        sets.entry(found[place].inner).or_default().push(place);
    }
    // What lies next to one archive of them describes it.
    if sets.len() == 2 && sets.contains_key(&None) {
        let (loose, packed) = (sets[&None].len(), sets.values().map(Vec::len).sum::<usize>());
        let smaller = sets.keys().copied().find(|set| set.is_none() == (2 * loose <= packed));
        smaller.iter().for_each(|set| drop(sets.remove(set)));
    }
    if sets.len() > 1 {
        let names: BTreeSet<&str> =
            sets.values().flatten().map(|&place| found[place].entry.name.split(WITHIN).next().unwrap_or_default()).collect();
        let names = listed(names.into_iter());
        return Err(
            format!("is {what} of several sets of API objects, of which each is a state of its own: {names}; name one of them").into()
        );
    }
    let Some(set) = sets.into_values().next() else { return Err(nothing(found, what, damage).into()) };
    let read = of_velero(found, set);
    Ok((Chosen::Objects(read.iter().map(|&place| found[place].entry.clone()).collect()), read))
}

/// Velero writes each object twice: once below the API version that it prefers (velero d30d389, `pkg/backup/item_backupper.go`). With all versions, the
/// others are the same objects too.
fn of_velero(found: &[Found], set: Vec<usize>) -> Vec<usize> {
    let below = |name: &str| {
        // In an archive within, or not; names of objects may hold what stands between the two (`system::leader-locking-kube-scheduler`).
        let inner = || name.split_once(WITHIN).and_then(|(_, inner)| inner.strip_prefix("resources/"));
        let rest = name.strip_prefix("resources/").or_else(inner).or_else(|| Some(name.split_once("/resources/")?.1))?;
        Some(rest.split_once('/')?.1.to_owned())
    };
    let is_velero = found.iter().any(|found| found.entry.name.ends_with("metadata/version"));
    let without_version = |place: &usize| {
        below(&found[*place].entry.name).is_some_and(|rest| rest.starts_with("namespaces/") || rest.starts_with("cluster/"))
    };
    if is_velero && set.iter().any(without_version) { set.into_iter().filter(without_version).collect() } else { set }
}

/// Why there is nothing to read.
fn nothing(found: &[Found], what: &str, damage: &[String]) -> String {
    if let Some(said) = foreign::of_folder(found.iter().map(|found| found.entry.file_name())) {
        return said.to_owned();
    }
    let foreign = found.iter().find_map(|found| match (found.kind, &found.entry.body) {
        (Kind::Foreign(said), _) | (_, &Body::Sealed(said)) => Some(format!("; {} {said}", shown(&found.entry.name))),
        _ => None,
    });
    let foreign = foreign.or_else(|| damage.first().map(|damage| format!("; {damage}"))).unwrap_or_default();
    let held = match found.len() {
        0 => "no file".to_owned(),
        1 => format!("one file ({})", listed(found.iter().map(|found| &*found.entry.name))),
        count => format!("{count} files ({})", listed(found.iter().map(|found| &*found.entry.name))),
    };
    format!("is {what} that holds neither a database or log of etcd or kine nor API objects: it has {held}{foreign}")
}

/// Says which files were not written to their end.
fn unfinished(found: &[Found]) -> Option<String> {
    let names: Vec<&str> = found.iter().filter(|found| found.kind == Kind::Unfinished).map(|found| &*found.entry.name).collect();
    let said = match names.len() {
        0 => return None,
        1 => "is not read: by its name, the program that writes it was stopped or still writes",
        _ => "are not read: by their names, the programs that write them were stopped or still write",
    };
    Some(format!("{} {said}", listed(names.into_iter())))
}

/// Says what of several files is read, and which databases are not.
fn sentence(found: &[Found], read: &[usize], total: usize) -> Vec<String> {
    let read: BTreeSet<usize> = read.iter().copied().collect();
    let mut said = Vec::new();
    let rest = || (0..found.len()).filter(|place| !read.contains(place));
    if total > read.len() && !read.is_empty() {
        let names = listed(read.iter().map(|&place| &*found[place].entry.name));
        said.push(format!(
            "of {total} files in it {} read: {names}",
            if read.len() == 1 { "one is".to_owned() } else { format!("{} are", read.len()) }
        ));
    }
    let others: Vec<&str> = rest()
        .filter(|&place| matches!(found[place].kind, Kind::Database | Kind::Sqlite) || is_of_member(&found[place]))
        .map(|place| &*found[place].entry.name)
        .collect();
    if !others.is_empty() {
        said.push(format!(
            "it holds other databases too, which are not read: {}; name one with -f PATH::NAME to read it",
            listed(others.into_iter())
        ));
    }
    let foreign = rest().filter_map(|place| match &found[place].entry.body {
        Body::Sealed(why) => Some(format!("{} {why}", shown(&found[place].entry.name))),
        _ => None,
    });
    said.extend(foreign.take(3));
    said
}
