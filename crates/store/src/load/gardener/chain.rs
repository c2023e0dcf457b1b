//! A full snapshot and the deltas after it as one history.

use std::path::Path;

use super::super::bolt::Bolt;
use super::super::checksum::Check;
use super::super::container::{Body, ContainerEntry};
use super::super::db_file::{self, DatabaseFacts};
use super::super::image::Image;
use super::super::options::Reading;
use super::super::problem::LoadProblem;
use super::super::spool;
use super::delta::{Deltas, add_alone, verified};
use super::lzw::Lzw;
use super::name::SnapshotName;
use crate::versions::{Layer, VersionsBuilder};
use crate::{PartGap, Result, Revision, RevisionSpan};

/// A full snapshot and the deltas up to the next one; or the deltas before the first.
#[derive(Clone, Default)]
pub(in super::super) struct Chain {
    pub full: Option<ContainerEntry>,
    /// Ascending by their revisions.
    pub deltas: Vec<(SnapshotName, ContainerEntry)>,
}

/// The chain that a file alone is, which only its name says how to decompress; `None` where its first bytes do.
pub(in super::super) fn of_lzw_file(path: &Path) -> Option<Chain> {
    let name = path.file_name()?.to_str()?;
    let snapshot = SnapshotName::of(name).filter(|snapshot| snapshot.is_lzw)?;
    let entry = ContainerEntry { name: name.to_owned(), body: Body::File(path.to_owned()) };
    Some(if snapshot.is_full {
        Chain { full: Some(entry), deltas: Vec::new() }
    } else {
        Chain { full: None, deltas: vec![(snapshot, entry)] }
    })
}

/// Reads an entry, which only its name may say how to decompress.
fn image(entry: &ContainerEntry, snapshot: Option<SnapshotName>, reading: &Reading<'_>) -> Result<Image> {
    let image = entry.image(reading)?;
    if !snapshot.is_some_and(|snapshot| snapshot.is_lzw) {
        return Ok(image);
    }
    let anything = Reading { may_be_known: |_| true, ..*reading };
    let unpacked = spool::unpack(&entry.name, "LZW", &mut Lzw::new(image.bytes), &anything)?;
    Ok(Image { digest: unpacked.digest, cut: image.cut.or(unpacked.cut), ..Image::plain(unpacked.bytes) })
}

/// Whether a file has what its name says: it is decompressed to its end, and its checksum holds.
pub(in super::super) fn is_whole(path: &Path, reading: &Reading<'_>) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(snapshot) = SnapshotName::of(&name) else { return false };
    let entry = ContainerEntry { name, body: Body::File(path.to_owned()) };
    let Ok(image) = image(&entry, Some(snapshot), reading) else { return false };
    let is_sound = || match snapshot.is_full {
        true => {
            image.database().is_ok_and(|bolt| bolt.problems.is_empty() && checksum(&bolt, image.digest).is_none_or(|check| check.holds()))
        }
        false => verified(&image.bytes).is_ok(),
    };
    image.cut.is_none() && is_sound()
}

/// The check of a snapshot's checksum, if it has one; `digest` is that of its bytes, where it is known.
fn checksum(bolt: &Bolt, digest: Option<[u8; 32]>) -> Option<Check> {
    bolt.checksum.map(|expected| match digest {
        Some(digest) => Check::done(digest == expected),
        None => Check::new(bolt.image.clone(), expected),
    })
}

/// Puts a full snapshot into the index; returns its layer, what it says, and its checksum.
///
/// # Errors
///
/// Nothing of it can be read.
fn read_full(
    full: &ContainerEntry,
    reading: &Reading<'_>,
    builder: &mut VersionsBuilder,
) -> std::result::Result<(usize, DatabaseFacts, Option<Check>), LoadProblem> {
    let named = |problem: String| LoadProblem::Format(format!("{}: {problem}", full.name));
    let image = image(full, SnapshotName::of(full.file_name()), reading)?;
    let mut bolt = image.database().map_err(named)?;
    let (layer, mut facts) = db_file::read(&mut bolt, builder).map_err(named)?;
    let checksum = checksum(&bolt, image.digest);
    facts.damage.extend(image.cut);
    Ok((layer, facts, checksum))
}

/// Puts a chain into the index; returns what else it says.
///
/// # Errors
///
/// Nothing of it can be read.
pub(in super::super) fn load(
    chain: &Chain,
    reading: &Reading<'_>,
    builder: &mut VersionsBuilder,
) -> std::result::Result<(DatabaseFacts, Option<Check>), LoadProblem> {
    let no_room = |cause: std::io::Error| format!("cannot be unpacked: {cause}; set TMPDIR to a directory with more space");
    let (mut deltas, mut file_bytes, mut damage, mut read) =
        (Deltas::new(&reading.limits.budget()).map_err(no_room)?, 0, Vec::new(), Vec::new());
    for (snapshot, entry) in &chain.deltas {
        let problem = match image(entry, Some(*snapshot), reading) {
            Ok(Image { cut: Some(cut), .. }) => Some(cut),
            Ok(image) => {
                file_bytes += image.bytes.len() as u64;
                deltas.read(&image.bytes).err()
            }
            Err(problem) => Some(problem.to_string()),
        };
        match problem {
            Some(problem) => damage.push(format!("{}: {problem}; its changes are left out", entry.name)),
            None => read.push((*snapshot, entry.name.as_str())),
        }
    }
    let name = chain.full.as_ref().map_or("", |full| full.name.as_str());
    let full = match chain.full.as_ref().map(|full| read_full(full, reading, builder)).transpose() {
        Err(problem) if !read.is_empty() => {
            damage.push(format!("{problem}; only the deltas after it are read"));
            None
        }
        full => full?,
    };
    let Some((layer, mut facts, checksum)) = full else {
        let mut facts = add_alone(deltas, file_bytes, builder)?;
        facts.damage.extend(damage);
        let (first, name) = read.first().map_or((0, ""), |(snapshot, name)| (snapshot.first - 1, *name));
        facts.gaps = gaps(first, name, &read);
        return Ok((facts, None));
    };
    facts.damage.extend(damage);
    facts.gaps = gaps(facts.span.map_or(0, |span| span.newest.0), name, &read);
    facts.file_bytes += file_bytes;
    facts.in_use_bytes += file_bytes;
    let changes = deltas.finish(builder)?;
    let Some((span, last)) = facts.span.zip(changes.last().map(|last| Revision(last.main))) else { return Ok((facts, checksum)) };
    let newest = span.newest.max(last);
    facts.span = Some(RevisionSpan { newest, ..span });
    builder.set_span(layer, RevisionSpan { newest, ..span });
    let log = builder.layer(Layer::default()).ok_or_else(|| "too many files at once".to_owned())?;
    for change in changes {
        if change.main > span.newest.0 {
            builder.push(layer, change.clone());
        }
        builder.push(log, change);
    }
    Ok((facts, checksum))
}

/// The revisions after `upto`, the last of the file of a name, that no delta has, by what the deltas' names say that they hold.
fn gaps<'n>(mut upto: i64, mut name: &'n str, read: &[(SnapshotName, &'n str)]) -> Vec<PartGap> {
    let mut gaps = Vec::new();
    for (snapshot, delta) in read {
        if snapshot.first > upto + 1 {
            let (from, to) = (Revision(upto + 1), Revision(snapshot.first - 1));
            gaps.push(PartGap { from, to, after: name.to_owned(), before: (*delta).to_owned() });
        }
        if snapshot.last > upto {
            (upto, name) = (snapshot.last, *delta);
        }
    }
    gaps
}
