//! A node's files, put together as dqlite does when it starts (`src/raft/uv.c`): the newest snapshot that is whole, and the log after it. What lies
//! before is history.

use bytes::Bytes;

use super::super::container::{ContainerEntry, shown};
use super::super::db_file::DatabaseFacts;
use super::super::image::Image;
use super::super::kine::{self, Replica};
use super::super::options::Reading;
use super::super::problem::LoadProblem;
use super::super::spool::no_room;
use super::assembly::{Assembled, Assembly, Base};
use super::name::{Name, SnapshotMoment};
use super::segment::{DqliteSegment, SegmentEnd};
use super::snapshot::nodes_of_meta;
use crate::Error;
use crate::versions::VersionsBuilder;

/// The files of a node, all of one folder.
pub(in super::super) struct Node {
    pub files: Vec<ContainerEntry>,
}

/// The answer to a folder in which there is no database.
const FOLDER_ERROR: &str = "is dqlite's folder (MicroK8s, Canonical Kubernetes), and no database can be read in it";

/// Puts a node's database, with all that is known of its history, into the index.
///
/// # Errors
///
/// Nothing of it can be read.
pub(in super::super) fn load(node: &Node, reading: &Reading<'_>, builder: &mut VersionsBuilder) -> Result<DatabaseFacts, LoadProblem> {
    let mut reader = NodeReader { reading: *reading, facts: DatabaseFacts::default() };
    let (base, older, nodes) = reader.snapshots(&node.files);
    let mut assembly = Assembly::new(base.as_ref(), older, &reading.limits.budget()).map_err(no_room_for_pages)?;
    reader.segments(&node.files, base.as_ref(), &mut assembly)?;
    let assembled = assembly.finish().map_err(no_room_for_pages)?;
    if let Some(nodes) = assembled.nodes.or(nodes).filter(|&nodes| nodes > 1) {
        reader.facts.left_out.push(format!(
            "it is one of {nodes} nodes: whether a majority of them has the last entries of its log is not known, and they are shown"
        ));
    }
    if base.is_none() && assembled.committed.is_empty() && assembled.others.is_empty() {
        let why = reader.facts.damage.first().map(|damage| format!(": {damage}")).unwrap_or_default();
        return Err(format!("{FOLDER_ERROR}{why}").into());
    }
    read(base.as_ref(), assembled, reader.facts, builder)
}

/// Puts the database of one snapshot into the index.
///
/// # Errors
///
/// Nothing of it can be read.
pub(in super::super) fn load_snapshot(
    image: Image,
    reading: &Reading<'_>,
    builder: &mut VersionsBuilder,
) -> Result<DatabaseFacts, LoadProblem> {
    let mut facts = DatabaseFacts { file_bytes: image.bytes.len() as u64, ..DatabaseFacts::default() };
    let (base, problem) = Base::of(0, image)?;
    facts.damage.extend(problem);
    facts.notes.push("it is a snapshot of dqlite alone; the segments of its folder hold what was written after it".to_owned());
    let assembled =
        Assembly::new(Some(&base), Vec::new(), &reading.limits.budget()).and_then(Assembly::finish).map_err(no_room_for_pages)?;
    read(Some(&base), assembled, facts, builder)
}

fn no_room_for_pages(cause: std::io::Error) -> Error {
    no_room("its log", &cause)
}

/// Reads the table in what was assembled.
fn read(
    base: Option<&Base>,
    assembled: Assembled,
    mut facts: DatabaseFacts,
    builder: &mut VersionsBuilder,
) -> Result<DatabaseFacts, LoadProblem> {
    facts.damage.extend(assembled.damage);
    let others = assembled.passed_over.iter();
    facts.left_out.extend(others.map(|name| format!("its log changes another database too, {}, which is not read", shown(name))));
    let replica = Replica {
        file: base.map_or_else(Bytes::new, Base::file),
        bytes: assembled.bytes,
        page_size: assembled.page_size,
        committed: assembled.committed,
        others: assembled.others,
        count: assembled.count,
    };
    Ok(kine::read_replica(replica, facts, builder)?)
}

struct NodeReader<'r> {
    reading: Reading<'r>,
    facts: DatabaseFacts,
}

impl NodeReader<'_> {
    fn image(&mut self, file: &ContainerEntry) -> crate::Result<Image> {
        self.image_by(file, ContainerEntry::image)
    }

    fn image_by(&mut self, file: &ContainerEntry, open: fn(&ContainerEntry, &Reading<'_>) -> crate::Result<Image>) -> crate::Result<Image> {
        let image = open(file, &self.reading)?;
        self.facts.file_bytes += image.bytes.len() as u64;
        Ok(image)
    }

    fn damaged(&mut self, file: &ContainerEntry, problem: &str) {
        self.facts.damage.push(format!("{}: {problem}", shown(file.file_name())));
    }

    /// The newest snapshot that is whole, those before it, the oldest last, and how many nodes the cluster had.
    fn snapshots(&mut self, files: &[ContainerEntry]) -> (Option<Base>, Vec<Base>, Option<u64>) {
        let named = |wanted: fn(Name) -> Option<SnapshotMoment>| {
            files.iter().filter_map(move |file| Some((wanted(Name::of(file.file_name())?)?, file))).collect::<Vec<_>>()
        };
        let mut snapshots = named(|name| if let Name::Snapshot(moment) = name { Some(moment) } else { None });
        let metas = named(|name| if let Name::Meta(moment) = name { Some(moment) } else { None });
        let meta_of = |wanted: SnapshotMoment| metas.iter().find(|(moment, _)| *moment == wanted).map(|(_, file)| *file);
        snapshots.sort_unstable_by_key(|&(moment, _)| std::cmp::Reverse(moment));
        let (mut newest, mut partial, mut older, mut nodes) = (None, None, Vec::new(), None);
        for (moment, file) in snapshots {
            let meta = meta_of(moment);
            let Some((found, problem)) = self.snapshot(moment, file, meta.is_some() || metas.is_empty()) else { continue };
            match problem {
                _ if newest.is_some() => older.push(found),
                Some(problem) => {
                    self.damaged(file, &problem);
                    partial.get_or_insert(found);
                }
                None => {
                    nodes = meta.and_then(|meta| self.nodes(meta));
                    newest = Some(found);
                }
            }
        }
        let newest = newest.or(partial);
        let upto = newest.as_ref().map_or(0, |newest| newest.index);
        older.retain(|older| older.index < upto);
        (newest, older, nodes)
    }

    /// A snapshot, and what is wrong with it; `None` where dqlite would not read it, or nothing of it can be read.
    fn snapshot(&mut self, moment: SnapshotMoment, file: &ContainerEntry, has_meta: bool) -> Option<(Base, Option<String>)> {
        let image = match self.image(file) {
            Ok(image) => image,
            Err(problem) => {
                self.damaged(file, &problem.to_string());
                return None;
            }
        };
        if image.bytes.is_empty() || !has_meta {
            let name = shown(file.file_name());
            self.facts
                .left_out
                .push(format!("{name} is not read, as dqlite does not read it: it was stopped while it wrote that snapshot"));
            return None;
        }
        Base::of(moment.index, image).map_err(|problem| self.damaged(file, &problem)).ok()
    }

    fn nodes(&mut self, meta: &ContainerEntry) -> Option<u64> {
        let found = self.image_by(meta, ContainerEntry::plain_image).map_err(|problem| problem.to_string());
        let nodes = found.and_then(|image| nodes_of_meta(&image.bytes).map_err(str::to_owned));
        nodes.map_err(|problem| self.damaged(meta, &problem)).ok()
    }

    /// Adds the log: the segments that are complete, and after them those that were being written.
    fn segments(&mut self, files: &[ContainerEntry], base: Option<&Base>, assembly: &mut Assembly) -> Result<(), LoadProblem> {
        let (mut closed, mut open) = (Vec::new(), Vec::new());
        for file in files {
            match Name::of(file.file_name()) {
                Some(Name::Closed { first, last }) => closed.push((first, last, file)),
                Some(Name::Open(number)) => open.push((number, file)),
                _ => {}
            }
        }
        closed.sort_unstable_by_key(|&(first, last, _)| (first, last));
        open.sort_unstable_by_key(|&(number, _)| number);
        let mut next = base.map_or(1, |base| base.index + 1);
        for (first, last, file) in closed {
            self.closed(file, first, last, assembly)?;
            next = last + 1;
        }
        let mut unfinished = None;
        for (_, file) in open {
            // A running dqlite shortens it when it is complete.
            let Some((bytes, segment)) = self.segment(file, ContainerEntry::copied_image) else {
                assembly.interrupt();
                continue;
            };
            if let Some((file, at)) = unfinished.take_if(|_| !segment.entries.is_empty()) {
                self.damaged(file, &format!("it is damaged at byte {at}: later segments hold entries, and those between are missing"));
                assembly.interrupt();
            }
            for entry in &segment.entries {
                assembly.entry(next, entry.kind, &bytes[entry.payload.clone()]).map_err(no_room_for_pages)?;
                next += 1;
            }
            match segment.end {
                SegmentEnd::Whole => {}
                SegmentEnd::Unfinished(at) => unfinished = Some((file, at)),
                SegmentEnd::Damaged(at) => {
                    self.damaged(file, &format!("it is damaged at byte {at}, and what lies behind does not count"));
                    assembly.interrupt();
                }
            }
        }
        if let Some((file, at)) = unfinished {
            let name = shown(file.file_name());
            self.facts.left_out.push(format!(
                "{name} has bytes behind its last whole entry, from byte {at} on: an entry that was never written to its end, or the file was cut short \
                 or damaged there; like dqlite itself, ketcd leaves them out"
            ));
        }
        Ok(())
    }

    /// Adds a segment that is complete.
    fn closed(&mut self, file: &ContainerEntry, first: u64, last: u64, assembly: &mut Assembly) -> Result<(), LoadProblem> {
        let Some((bytes, segment)) = self.segment(file, ContainerEntry::plain_image) else { return Ok(()) };
        let (wanted, found) = (last - first + 1, segment.entries.len() as u64);
        if let SegmentEnd::Unfinished(at) | SegmentEnd::Damaged(at) = segment.end {
            self.damaged(file, &format!("it is damaged at byte {at}: {found} of its {wanted} entries can be read"));
        } else if found != wanted {
            self.damaged(file, &format!("it has {found} entries, and by its name {wanted}"));
        }
        for (index, entry) in (first..=last).zip(&segment.entries) {
            assembly.entry(index, entry.kind, &bytes[entry.payload.clone()]).map_err(no_room_for_pages)?;
        }
        Ok(())
    }

    /// The bytes of a segment, and what they are; `None` where they cannot be read.
    fn segment(
        &mut self,
        file: &ContainerEntry,
        open: fn(&ContainerEntry, &Reading<'_>) -> crate::Result<Image>,
    ) -> Option<(Bytes, DqliteSegment)> {
        match self.image_by(file, open) {
            Ok(image) => {
                if let Some(cut) = image.cut {
                    self.damaged(file, &cut);
                }
                let segment = DqliteSegment::read(&image.bytes);
                Some((image.bytes, segment))
            }
            Err(problem) => {
                self.damaged(file, &problem.to_string());
                None
            }
        }
    }
}
