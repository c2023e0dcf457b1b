//! The formats of files, one row each: how it is recognised and how it is loaded. A new one is a file of its own, and a row here.

use bytes::Bytes;

use super::checksum::Check;
use super::container::{self, Choice, Chosen, ContainerEntry, name_within};
use super::format::{Format, Loading, Recognised, may_be_one, recognise};
use super::image::Image;
use super::indexed_files::Loaded;
use super::options::{Limits, Reading};
use super::problem::LoadProblem;
#[cfg(feature = "objects")]
use super::sql_dump;
use super::{bolt, data_dir, db_file, gardener, key_files, raft_snapshot, unsupported_formats, wal};
#[cfg(feature = "kine")]
use super::{dqlite, kine};
use crate::{Companion, SourceKind};

/// The formats. What may be anything is taken for the last of them. An archive is recognised first: what lies in it looks like itself at some distance
/// from the beginning.
const ALL_FORMATS: &[Format] = &[
    #[cfg(test)]
    Format { kind: Some(SourceKind::Db), recognised: Recognised::Beginning(super::dry_run::is_one), load: super::dry_run::load },
    Format { kind: None, recognised: Recognised::Beginning(container::is_archive), load: load_archive },
    Format { kind: Some(SourceKind::Db), recognised: Recognised::Beginning(bolt::looks_like_bolt), load: load_database },
    #[cfg(feature = "kine")]
    Format { kind: Some(SourceKind::Kine), recognised: Recognised::Beginning(dqlite::is_snapshot), load: load_dqlite_snapshot },
    #[cfg(feature = "kine")]
    Format {
        kind: Some(SourceKind::Kine),
        recognised: Recognised::Beginning(dqlite::is_segment),
        load: |_, _, _| Err(dqlite::segment_alone()),
    },
    #[cfg(feature = "kine")]
    Format { kind: Some(SourceKind::Kine), recognised: Recognised::Beginning(kine::looks_like_sqlite), load: load_kine },
    Format { kind: Some(SourceKind::DataDir), recognised: Recognised::Beginning(wal::looks_like_log), load: load_log },
    Format { kind: Some(SourceKind::Db), recognised: Recognised::Beginning(gardener::begins_so), load: load_delta },
    Format { kind: None, recognised: Recognised::Beginning(container::is_archive_behind_something), load: load_archive },
    #[cfg(feature = "kine")]
    Format {
        kind: Some(SourceKind::Kine),
        recognised: Recognised::Whole { may_begin: is_text, is_one: |bytes| kine::form(bytes).is_some() },
        load: load_kine_export,
    },
    Format {
        kind: Some(SourceKind::DataDir),
        recognised: Recognised::Whole { may_begin: raft_snapshot::begins_so, is_one: raft_snapshot::is_one },
        load: load_raft_snapshot,
    },
    #[cfg(feature = "objects")]
    Format { kind: Some(SourceKind::Objects), recognised: Recognised::Whole { may_begin: is_text, is_one: |_| true }, load: load_objects },
];

/// What these bytes are, if they are anything known.
pub(super) fn format_of(bytes: &Bytes) -> Option<&'static Format> {
    recognise(ALL_FORMATS, bytes)
}

pub(super) fn reading(limits: &Limits) -> Reading<'_> {
    Reading { limits, may_be_known: |beginning| may_be_one(ALL_FORMATS, beginning) }
}

/// Whether bytes begin as a text does. Damage further on does not make another thing of one.
#[cfg(any(feature = "kine", feature = "objects"))]
fn is_text(beginning: &[u8]) -> bool {
    const PROBED_BYTES: usize = 4096;
    let has_mark = beginning.starts_with(&[0xff, 0xfe]) || beginning.starts_with(&[0xfe, 0xff]);
    has_mark || !beginning[..beginning.len().min(PROBED_BYTES)].contains(&0)
}

pub(super) fn load_image(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    if image.bytes.is_empty() {
        return Err(LoadProblem::Format("is empty; take a new snapshot with `etcdctl snapshot save`".to_owned()));
    }
    match format_of(&image.bytes) {
        Some(format) => (format.load)(loading, path, image),
        None => Err(LoadProblem::Format(
            unsupported_formats::recognised(&image.bytes).unwrap_or("is not in a format that ketcd reads").to_owned(),
        )),
    }
}

fn load_archive(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    let choice = container::of_archive(path, &image.bytes, "", &loading.reading)?;
    load_choice(loading, path, Choice { damage: choice.damage.into_iter().chain(image.cut).collect(), ..choice })
}

/// Loads what was chosen of a folder or an archive.
pub(super) fn load_choice(loading: &mut Loading<'_, '_>, path: &str, choice: Choice) -> Result<Loaded, LoadProblem> {
    let mut loaded = match choice.chosen {
        Chosen::Member(parts) => load_parts(loading, path, parts, None)?,
        Chosen::MemberFolder(member) => {
            let (facts, cluster_id) = data_dir::read(&member, &loading.reading, loading.builder)?;
            Loaded { cluster_id, ..Loaded::new(SourceKind::DataDir, path.to_owned(), facts) }
        }
        #[cfg(feature = "kine")]
        Chosen::Kine(files) => kine(loading, path, files)?,
        #[cfg(feature = "kine")]
        Chosen::KineTable(image) => load_kine_export(loading, path, image)?,
        #[cfg(feature = "kine")]
        Chosen::Dqlite(node) => {
            let facts = dqlite::load(&node, &loading.reading, loading.builder)?;
            Loaded::new(SourceKind::Kine, path.to_owned(), facts)
        }
        Chosen::Database(image) => load_database(loading, path, image)?,
        Chosen::Chain(chain) => {
            let (facts, checksum) = gardener::load(&chain, &loading.reading, loading.builder)?;
            Loaded { checksum, ..Loaded::new(SourceKind::Db, path.to_owned(), facts) }
        }
        Chosen::Databases(entries) => {
            return Err(LoadProblem::Format(format!("holds {} databases where one is expected", entries.len())));
        }
        Chosen::Members(members) => {
            return Err(LoadProblem::Format(format!("holds the data dirs of {} members where one is expected", members.len())));
        }
        Chosen::Moments(moments) => {
            return Err(LoadProblem::Format(format!("holds {} backups of API objects where one is expected", moments.len())));
        }
        Chosen::Chains(chains) => {
            return Err(LoadProblem::Format(format!("holds {} full snapshots where one is expected", chains.len())));
        }
        Chosen::Objects(entries) => load_entries(loading, path, &entries)?,
        Chosen::Keys(keys) => Loaded::new(SourceKind::Objects, path.to_owned(), key_files::load(keys, loading.builder)?),
    };
    loaded.facts.damage.extend(choice.damage);
    loaded.facts.left_out.extend(choice.unfinished.iter().cloned().chain(choice.unread));
    loaded.facts.notes.extend(choice.said);
    let companions = choice.companions.into_iter().map(|one| Companion { place: name_within(path, &one.place), ..one }).collect();
    Ok(Loaded { is_archived: true, database: choice.database, unfinished: choice.unfinished, companions, ..loaded })
}

fn load_database(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    let mut bolt = image.database()?;
    let (_, mut facts) = db_file::read(&mut bolt, loading.builder)?;
    facts.damage.extend(image.cut);
    facts.damage.extend(facts.newest_unreached.map(newer_unreached));
    let checksum = bolt.checksum.map(|expected| match image.digest {
        Some(digest) => Check::done(digest == expected),
        None => Check::new(bolt.image.clone(), expected),
    });
    Ok(Loaded { checksum, ..Loaded::new(SourceKind::Db, path.to_owned(), facts) })
}

/// A snapshot may have such pages, of changes that were made while it was taken; there the checksum vouches for the tree.
fn newer_unreached(newest: i64) -> String {
    format!(
        "pages that its tree does not reach hold revisions up to {newest}: the tree has lost them, or the file was copied while etcd wrote to it; \
         what is shown may be older than it looks"
    )
}

#[cfg(feature = "kine")]
fn load_kine(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    let files = match loading.has_path {
        true => kine::Files::with_log(path, image, &loading.reading)?,
        false => kine::Files::of_bytes(image.bytes, image.cut),
    };
    kine(loading, path, files)
}

#[cfg(feature = "kine")]
pub(super) fn kine(loading: &mut Loading<'_, '_>, path: &str, files: kine::Files) -> Result<Loaded, LoadProblem> {
    let facts = kine::read(files, loading.builder)?;
    Ok(Loaded::new(SourceKind::Kine, path.to_owned(), facts))
}

#[cfg(feature = "kine")]
fn load_dqlite_snapshot(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    Ok(Loaded::new(SourceKind::Kine, path.to_owned(), dqlite::load_snapshot(image, &loading.reading, loading.builder)?))
}

#[cfg(feature = "kine")]
fn load_kine_export(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    let form = kine::form(&image.bytes).ok_or_else(|| "is not kine's table".to_owned())?;
    let facts = kine::read_export(&image.bytes, image.cut, form, loading.builder)?;
    Ok(Loaded::new(SourceKind::Kine, path.to_owned(), facts))
}

fn load_delta(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    if let Some(cut) = image.cut {
        return Err(LoadProblem::Format(cut));
    }
    Ok(Loaded::new(SourceKind::Db, path.to_owned(), gardener::load_alone(&image.bytes, &loading.reading.limits.budget(), loading.builder)?))
}

fn load_log(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    load_parts(loading, path, data_dir::Parts { db: None, log: wal::RaftLog::of_file(image.bytes) }, image.cut)
}

/// Loads the files of a member that came in one.
pub(super) fn load_parts(
    loading: &mut Loading<'_, '_>,
    path: &str,
    parts: data_dir::Parts,
    cut: Option<String>,
) -> Result<Loaded, LoadProblem> {
    let (mut facts, cluster_id) = data_dir::read_files(parts, loading.builder)?;
    facts.damage.extend(cut);
    Ok(Loaded { cluster_id, ..Loaded::new(SourceKind::DataDir, path.to_owned(), facts) })
}

fn load_raft_snapshot(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    let facts = raft_snapshot::read(&image.bytes, loading.builder);
    Ok(Loaded::new(SourceKind::DataDir, path.to_owned(), facts.ok_or_else(|| "is a raft snapshot that cannot be read".to_owned())?))
}

#[cfg(feature = "objects")]
fn load_objects(loading: &mut Loading<'_, '_>, path: &str, image: Image) -> Result<Loaded, LoadProblem> {
    if let Some(problem) =
        sql_dump::recognised(path, &image.bytes).or_else(|| unsupported_formats::recognised(&image.bytes).map(str::to_owned))
    {
        return Err(LoadProblem::Format(problem));
    }
    let damage = match &image.cut {
        None => loading.objects.read(path, &image.bytes)?,
        Some(cut) => loading.objects.read(path, &whole_objects(&image.bytes)).map_err(|problem| format!("{problem}; {cut}"))?,
    };
    let length = image.bytes.len() as u64;
    let damage = damage.into_iter().chain(image.cut).collect();
    let facts = db_file::DatabaseFacts { file_bytes: length, in_use_bytes: length, damage, ..Default::default() };
    Ok(Loaded::new(SourceKind::Objects, path.to_owned(), facts))
}

/// Loads the objects of a folder or an archive.
#[cfg(feature = "objects")]
fn load_entries(loading: &mut Loading<'_, '_>, path: &str, entries: &[ContainerEntry]) -> Result<Loaded, LoadProblem> {
    let mut facts = db_file::DatabaseFacts::default();
    let (mut unread, mut is_one_read, budget) = (Vec::new(), false, loading.reading.limits.budget());
    let refusals = budget.refusals();
    loading.objects.begin(path);
    for (place, entry) in entries.iter().enumerate() {
        let image = match entry.image(&loading.reading) {
            Ok(image) => image,
            Err(problem) => {
                facts.damage.push(problem.to_string());
                if budget.refusals() > refusals {
                    facts.damage.extend(unread_rest(entries.len() - place - 1));
                    break;
                }
                continue;
            }
        };
        facts.file_bytes += image.bytes.len() as u64;
        let named = |problem: String| format!("{}: {problem}", container::shown(&entry.name));
        match loading.objects.read_entry(&entry.name, &if image.cut.is_some() { whole_objects(&image.bytes) } else { image.bytes.clone() })
        {
            Ok(damage) => {
                is_one_read = true;
                facts.damage.extend(damage.into_iter().map(named));
            }
            Err(problem) if loading.objects.was_configuration() => facts.notes.push(named(problem)),
            Err(problem) => unread.push(named(problem)),
        }
        facts.damage.extend(image.cut.map(named));
        if let Some(why) = loading.objects.stopped() {
            return Err(LoadProblem::Format(format!("{}: {why}", container::shown(&entry.name))));
        }
    }
    if let (false, Some(problem)) = (is_one_read, unread.first().or(facts.notes.first())) {
        return Err(LoadProblem::Format(problem.clone()));
    }
    facts.left_out.extend(unread.first().map(|first| format!("{} files in it look like API objects but are not: {first}", unread.len())));
    facts.in_use_bytes = facts.file_bytes;
    Ok(Loaded::new(SourceKind::Objects, path.to_owned(), facts))
}

/// Says that files were left when there was no more room.
#[cfg(feature = "objects")]
fn unread_rest(count: usize) -> Option<String> {
    (count > 0).then(|| format!("{count} more files of API objects in it are not read for the same reason"))
}

#[cfg(not(feature = "objects"))]
fn load_entries(_: &mut Loading<'_, '_>, _: &str, _: &[ContainerEntry]) -> Result<Loaded, LoadProblem> {
    Err(LoadProblem::Format("holds API objects, which are not read without the feature objects".to_owned()))
}

/// The objects of a text cut short, without the last one: lines of JSON, YAML documents, or the items of a list in YAML.
#[cfg(feature = "objects")]
fn whole_objects(text: &Bytes) -> Bytes {
    let last = |separator: &[u8]| text.windows(separator.len()).rposition(|bytes| bytes == separator);
    let end = if text.trim_ascii_start().starts_with(b"{") { last(b"\n") } else { last(b"\n---").max(last(b"\n- ")) };
    text.slice(..end.unwrap_or(text.len()))
}
