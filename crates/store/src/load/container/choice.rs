//! Which of the entries of a folder or an archive are read: a member, databases of one kind, or objects. What is left out is said.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bytes::Bytes;

use super::super::data_dir::Parts;
use super::super::gardener::{Chain, SnapshotName, cluster_of};
use super::super::image::Image;
use super::super::key_files::Keys;
use super::super::options::Reading;
use super::super::problem::LoadProblem;
use super::super::wal;
#[cfg(feature = "kine")]
use super::super::{dqlite, kine};
use super::companions;
use super::entry::{Body, ContainerEntry, ENTRY_SEPARATOR, listed, shown};
use super::gather::{Found, Gathered, places};
use super::kind::{EntryKind, SQLITE_SUFFIXES};
#[cfg(feature = "kine")]
use super::nodes;
use super::objects::{self, ObjectSets};
use super::{messages, numbered_files};
use crate::Companion;

/// How k3s calls its database.
const K3S_DATABASE: &str = "state.db";

/// What is read of a folder or an archive.
pub(in super::super) struct Choice {
    pub chosen: Chosen,
    /// Where the one database lies that is read, if there is one: a name as `-f` takes it.
    pub database: Option<String>,
    /// What is damaged, each a sentence.
    pub damage: Vec<String>,
    /// What is not read and may be missing, each a sentence.
    pub unread: Vec<String>,
    /// The same of files that were not written to their end.
    pub unfinished: Vec<String>,
    /// What is read and what is not, each a sentence.
    pub said: Vec<String>,
    /// Configuration of the cluster's programs, with the names of its entries as places.
    pub companions: Vec<Companion>,
}

pub(in super::super) enum Chosen {
    /// A member's data dir, or a part of it.
    Member(Parts),
    /// The same, in a folder.
    MemberFolder(PathBuf),
    /// A database of kine and its log.
    #[cfg(feature = "kine")]
    Kine(kine::Files),
    /// kine's table as text.
    #[cfg(feature = "kine")]
    KineTable(Image),
    #[cfg(feature = "kine")]
    Dqlite(dqlite::Node),
    Database(Image),
    /// Several databases of etcd.
    Databases(Vec<ContainerEntry>),
    /// Several members' data dirs, with the folders that they lie in.
    Members(Vec<(String, Chosen)>),
    /// A full snapshot of Gardener's and the deltas after it.
    Chain(Chain),
    /// Several of them.
    Chains(Vec<Chain>),
    Objects(Vec<ContainerEntry>),
    /// API objects of several moments, with the names of the archives that they lie in.
    Moments(Vec<(String, Vec<ContainerEntry>)>),
    /// The keys of etcd, each in an entry of its own.
    Keys(Keys),
}

impl Choice {
    /// What was chosen, with nothing to say of it.
    pub(in super::super) fn of(chosen: Chosen) -> Self {
        Self {
            chosen,
            database: None,
            damage: Vec::new(),
            unread: Vec::new(),
            unfinished: Vec::new(),
            said: Vec::new(),
            companions: Vec::new(),
        }
    }

    /// Whether it is several sources.
    pub(in super::super) fn is_several(&self) -> bool {
        matches!(self.chosen, Chosen::Databases(_) | Chosen::Members(_) | Chosen::Chains(_) | Chosen::Moments(_))
    }
}

/// Chooses among entries; `what` they lie in is a folder or an archive.
///
/// # Errors
///
/// Nothing of it can be read, or it is not clear what is meant.
pub(super) fn choose(gathered: Gathered, what: &str, reading: &Reading<'_>) -> Result<Choice, LoadProblem> {
    let Gathered { found, mut damage, unopened, memory: _memory } = gathered;
    let total = found.len();
    let (mut unread, mut said): (Vec<String>, _) = (Vec::new(), Vec::new());
    if !unopened.is_empty() {
        damage.push(format!("archives in it that are not read: {}", listed(unopened.iter().map(String::as_str))));
    }
    let (chosen, mut read) = of_kind(&found, what, &[&damage[..], &messages::broken(&found, &[])].concat(), reading)?;
    let database = database(&found, &chosen, &read);
    let (companions, places) = match chosen {
        Chosen::Objects(_) | Chosen::Moments(_) | Chosen::Keys(..) => (Vec::new(), Vec::new()),
        _ => companions::among(&found, reading),
    };
    read.extend(places);
    damage.extend(messages::broken(&found, &read));
    said.extend(messages::of_others(&found, &read));
    said.extend(messages::sentence(&found, &read, total));
    unread.extend(messages::of_the_rest(&found, &read));
    if let Chosen::Moments(_) = chosen {
        said.push("each backup is the state of what it selected: an object that a later one lacks was deleted, or not selected".to_owned());
    }
    Ok(Choice { chosen, database, damage, unread, unfinished: messages::unfinished(&found).into_iter().collect(), said, companions })
}

/// The name of the one database among the entries that are read.
fn database(found: &[Found], chosen: &Chosen, read: &[usize]) -> Option<String> {
    let is_it = |found: &Found| match chosen {
        Chosen::Database(_) => found.kind == EntryKind::Database,
        Chosen::Chain(chain) => chain.full.as_ref().is_some_and(|full| full.name == found.entry.name),
        Chosen::Member(_) | Chosen::MemberFolder(_) => found.is_of_member() && found.kind != EntryKind::Log,
        #[cfg(feature = "kine")]
        Chosen::Kine(_) => found.kind == EntryKind::Sqlite,
        _ => false,
    };
    read.iter().map(|&place| &found[place]).find(|found| is_it(found)).map(|found| found.entry.name.clone())
}

/// What is read, and the places of the entries that it is made of.
fn of_kind(found: &[Found], what: &str, damage: &[String], reading: &Reading<'_>) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    let members = members(found);
    match &members[..] {
        [] => {}
        [only] => return take_member(found, only, reading),
        several => return take_members(found, several, reading),
    }
    if let Some(chains) = chains(found, what)? {
        return Ok(chains);
    }
    let etcd = places(found, EntryKind::Database);
    let kine = kine_databases(found);
    #[cfg(feature = "kine")]
    if let Some((node, read)) = nodes::node(found, &[&etcd[..], &kine].concat(), what)? {
        return Ok((Chosen::Dqlite(node), read));
    }
    match (&etcd[..], &kine[..]) {
        ([], []) => {}
        ([only], []) => return Ok((Chosen::Database(found[*only].entry.image(reading)?), etcd)),
        (_, []) => return Ok((Chosen::Databases(entries(found, &etcd)), etcd)),
        (_, [only]) if etcd.is_empty() || is_of_k3s(&found[*only]) => return take_kine(found, *only, reading),
        _ => {
            let names = listed(etcd.iter().chain(&kine).map(|&place| &*found[place].entry.name));
            let count = etcd.len() + kine.len();
            return Err(
                format!("is {what} of {count} databases that are not from one etcd: {names}; name one of them: -f PATH::NAME").into()
            );
        }
    }
    if let Some(keys) = keys(found, what, reading)? {
        return Ok(keys);
    }
    if let Some((keys, read)) = numbered_files::keys(found, reading)? {
        return Ok((Chosen::Keys(keys), read));
    }
    Ok(match objects::sets(found, what, damage)? {
        ObjectSets::One(read) => (Chosen::Objects(entries(found, &read)), read),
        ObjectSets::Backups(backups) => {
            let read = backups.iter().flat_map(|(_, places)| places).copied().collect();
            (Chosen::Moments(backups.into_iter().map(|(name, places)| (name, entries(found, &places))).collect()), read)
        }
    })
}

fn entries(found: &[Found], places: &[usize]) -> Vec<ContainerEntry> {
    places.iter().map(|&place| found[place].entry.clone()).collect()
}

/// The folder above the one that an entry lies in.
fn member_of(entry: &ContainerEntry) -> &str {
    entry.folder().rsplit_once('/').map_or("", |(member, _)| member)
}

/// The folders of members: of those that have a database, if there are some.
fn members(found: &[Found]) -> Vec<String> {
    let folders = |takes_log: bool| -> BTreeSet<&str> {
        let parts = found.iter().filter(|found| found.is_of_member() && (takes_log || found.kind != EntryKind::Log));
        parts.map(|found| member_of(&found.entry)).collect()
    };
    let with_database = folders(false);
    let all = if with_database.is_empty() { folders(true) } else { with_database };
    all.into_iter().map(str::to_owned).collect()
}

/// The data dirs of several members: one history, if they are of one cluster.
fn take_members(found: &[Found], members: &[String], reading: &Reading<'_>) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    let (mut chosen, mut read) = (Vec::new(), Vec::new());
    for member in members {
        let (parts, of_it) = take_member(found, member, reading)?;
        chosen.push((member.clone(), parts));
        read.extend(of_it);
    }
    Ok((Chosen::Members(chosen), read))
}

fn take_member(found: &[Found], member: &str, reading: &Reading<'_>) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    let mut read: Vec<usize> =
        (0..found.len()).filter(|&place| found[place].is_of_member() && member_of(&found[place].entry) == member).collect();
    let (mut db, mut log, mut problems) = (None, Vec::new(), Vec::new());
    for &place in &read {
        let Found { entry, kind, .. } = &found[place];
        if let Body::File(path) = &entry.body {
            let folder = path.parent().and_then(|folder| folder.parent()).unwrap_or(path);
            read.extend(beside_member(found, member));
            return Ok((Chosen::MemberFolder(folder.to_owned()), read));
        }
        if *kind != EntryKind::Log {
            db = Some(entry.image(reading)?);
            continue;
        }
        if let Some(image) = beside(entry, reading, &mut problems) {
            log.push((entry.file_name().to_owned(), image));
        }
    }
    read.extend(beside_member(found, member));
    let mut log = wal::RaftLog::of_files(log);
    log.problems.splice(0..0, problems);
    Ok((Chosen::Member(Parts { db, log }), read))
}

/// The bytes of a file next to a database, as far as they are there. What is wrong with it does not take the database away: it goes into `problems`.
fn beside(entry: &ContainerEntry, reading: &Reading<'_>, problems: &mut Vec<String>) -> Option<Bytes> {
    match entry.plain_image(reading) {
        Ok(image) => {
            problems.extend(image.cut.map(|cut| format!("{}: {cut}", shown(&entry.name))));
            Some(image.bytes)
        }
        Err(error) => {
            problems.push(error.to_string());
            None
        }
    }
}

/// Other files of the member: databases that its leader sent, and the files of its snapshots.
fn beside_member<'f>(found: &'f [Found], member: &'f str) -> impl Iterator<Item = usize> + 'f {
    (0..found.len())
        .filter(move |&place| found[place].entry.name.strip_prefix(member).is_some_and(|rest| member.is_empty() || rest.starts_with('/')))
}

/// Gardener's full snapshots, each with the deltas up to the next, where there are deltas or what only their names tell how to decompress.
fn chains(found: &[Found], what: &str) -> Result<Option<(Chosen, Vec<usize>)>, String> {
    let named = |place: usize| SnapshotName::of(found[place].entry.file_name()).filter(|_| found[place].kind != EntryKind::Unfinished);
    let mut snapshots: Vec<(SnapshotName, usize)> = (0..found.len()).filter_map(|place| Some((named(place)?, place))).collect();
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
        let is_within = move |snapshot: &SnapshotName| snapshot.last > after && snapshot.first <= upto;
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

/// The databases of SQLite, the logs of those that are lost, and tables of kine that were printed.
fn kine_databases(found: &[Found]) -> Vec<usize> {
    let names: BTreeSet<&str> = found.iter().map(|found| &*found.entry.name).collect();
    let is_lost = |name: &str| name.strip_suffix(SQLITE_SUFFIXES[0]).is_some_and(|database| !names.contains(database));
    let is_one = |found: &Found| match found.kind {
        EntryKind::Sqlite => true,
        #[cfg(feature = "kine")]
        EntryKind::KineTable => true,
        EntryKind::BesideSqlite => is_lost(&found.entry.name),
        // A damaged one is only named.
        EntryKind::Other => found.entry.file_name() == K3S_DATABASE,
        _ => false,
    };
    let all: Vec<usize> = (0..found.len()).filter(|&place| is_one(&found[place])).collect();
    let of_k3s: Vec<usize> = all.iter().copied().filter(|&place| is_of_k3s(&found[place])).collect();
    if of_k3s.len() == 1 { of_k3s } else { all }
}

fn is_of_k3s(found: &Found) -> bool {
    found.entry.file_name().starts_with(K3S_DATABASE)
}

#[cfg(feature = "kine")]
fn take_kine(found: &[Found], place: usize, reading: &Reading<'_>) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    let entry = &found[place].entry;
    if found[place].kind == EntryKind::KineTable {
        return Ok((Chosen::KineTable(entry.image(reading)?), vec![place]));
    }
    let places = SQLITE_SUFFIXES.map(|suffix| {
        let name = format!("{}{suffix}", entry.name);
        found.iter().position(|found| found.entry.name == name)
    });
    let read = std::iter::once(place).chain(places.iter().copied().flatten()).collect();
    let image = entry.image(reading)?;
    if let Body::File(path) = &entry.body {
        return Ok((Chosen::Kine(kine::Files::with_log(&path.to_string_lossy(), image, reading)?), read));
    }
    let mut problems: Vec<String> = image.cut.into_iter().collect();
    let files = places.map(|place| beside(&found[place?].entry, reading, &mut problems));
    Ok((Chosen::Kine(kine::Files::of_archive(image.bytes, files, problems)), read))
}

#[cfg(not(feature = "kine"))]
fn take_kine(_: &[Found], _: usize, _: &Reading<'_>) -> Result<(Chosen, Vec<usize>), LoadProblem> {
    Err("is an archive of a database of kine, which is not read without the feature kine".to_owned().into())
}

/// Where vcluster's snapshots have the revision of the keys that are their other entries (vcluster 4876675, `pkg/snapshot`).
const KEYS_REVISION: &str = "vcluster/snapshot/revision";

/// The keys of a snapshot that vcluster made of kine, if these are one: in an archive of its own, or unpacked.
fn keys(found: &[Found], what: &str, reading: &Reading<'_>) -> Result<Option<(Chosen, Vec<usize>)>, LoadProblem> {
    let above = |found: &Found| Some(found.entry.name.strip_suffix(KEYS_REVISION)?.trim_end_matches('/').to_owned());
    let snapshots: Vec<(&Found, String)> = found.iter().filter_map(|found| Some((found, above(found)?))).collect();
    let (revision, above) = match &snapshots[..] {
        [] => return Ok(None),
        [only] => only,
        several => {
            let names = listed(several.iter().map(|(found, _)| &*found.entry.name));
            return Err(format!("is {what} of {} snapshots of vcluster: {names}; name one of them: -f PATH::NAME", several.len()).into());
        }
    };
    let text = revision.entry.image(reading)?.bytes;
    let revision = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok()).filter(|&revision: &i64| revision > 0);
    let Some(revision) = revision else { return Err(format!("{KEYS_REVISION} in it is not a revision").into()) };
    // What is unpacked lacks the slash that keys begin with.
    let is_outermost = above.is_empty() || above.ends_with(ENTRY_SEPARATOR);
    let key = |found: &Found| {
        let below = found.entry.name.strip_prefix(&**above).filter(|below| is_outermost || below.starts_with('/'))?;
        Some(format!("/{}", below.trim_start_matches('/')))
    };
    let (mut pairs, mut read) = (Vec::new(), Vec::new());
    for (place, found) in found.iter().enumerate() {
        let Some(key) = key(found) else { continue };
        read.push(place);
        if key.starts_with("/vcluster/snapshot/") {
            continue;
        }
        // As it was stored, compressed or not.
        let value = match &found.entry.body {
            Body::Bytes(bytes) => bytes.clone(),
            _ => found.entry.image(reading)?.bytes,
        };
        pairs.push((Bytes::from(key), value));
    }
    let keys = Keys { pairs, revision: Some(revision), damage: Vec::new() };
    Ok(Some((Chosen::Keys(keys), read)))
}
