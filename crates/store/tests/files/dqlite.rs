//! dqlite's folders: a node's snapshots and log are what dqlite itself has in them, older pages are history, and damage is reported.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ketcd_store::{At, Event, Origin, Source, SourceKind, load};
use ketcd_testing::{seeds, testdata};
use tempfile::TempDir;

use super::{alive, events, open, open_bytes, status};

/// Databases of kine with pages of 512 bytes: eight changes; the same after a compaction at revision 8; and three more in a log.
const WHOLE_DATABASE: &[u8] = seeds::KINE_WHOLE;
const COMPACTED_DATABASE: &[u8] = seeds::KINE_COMPACTED;
const BEFORE_LOG: &[u8] = seeds::KINE_BEFORE_LOG;
const LOG_DATABASE: &[u8] = seeds::KINE_LOG;

const PAGE_BYTES: usize = 512;

fn sample(name: &str) -> PathBuf {
    testdata::path(&format!("containers/dqlite/{name}"))
}

/// A node's folder out of a sample.
fn unpacked(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    zstd::Decoder::new(fs::File::open(sample(name)).unwrap()).unwrap().read_to_end(&mut bytes).unwrap();
    tar::Archive::new(&bytes[..]).unpack(folder.path()).unwrap();
    folder
}

/// The changes of the table itself.
fn of_table(source: &dyn Source) -> Vec<Event> {
    events(source).into_iter().filter(|event| event.origin == Origin::Db).collect()
}

/// The revision of each change, and whether a page that the table does not have any more held it.
fn revisions(source: &dyn Source) -> Vec<(i64, bool)> {
    events(source).iter().map(|event| (event.revision.0, event.origin == Origin::FreePage)).collect()
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum >> 31 == 1 { sum << 1 ^ 0x04c1_1db7 } else { sum << 1 };
    bytes.iter().fold(0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte) << 24, step))
}

/// A snapshot of one database and its log.
fn snapshot(database: &[u8], log: &[u8]) -> Vec<u8> {
    let numbers = [database.len() as u64, log.len() as u64].map(u64::to_le_bytes).concat();
    [&1u64.to_le_bytes()[..], &1u64.to_le_bytes(), b"k8s\0\0\0\0\0", &numbers, database, log].concat()
}

/// The command that writes these pages, the first with this number.
fn frames(first: u64, pages: &[u8]) -> Vec<u8> {
    let count = u32::try_from(pages.len() / PAGE_BYTES).unwrap();
    let mut payload = b"\x01\x02\0\0\0\0\0\0k8s\0\0\0\0\0\x07\0\0\0\0\0\0\0".to_vec();
    payload.extend(count.to_le_bytes());
    payload.extend([1, 0, 0, 0]);
    payload.extend(count.to_le_bytes());
    payload.extend([0, 2, 0, 0]);
    (first..first + u64::from(count)).for_each(|page| payload.extend(page.to_le_bytes()));
    [&payload[..], pages].concat()
}

/// A segment of one batch for each entry.
fn segment(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = 1u64.to_le_bytes().to_vec();
    for entry in entries {
        let mut header = 1u64.to_le_bytes().to_vec();
        header.extend(5u64.to_le_bytes());
        header.extend([1, 0, 0, 0]);
        header.extend(u32::try_from(entry.len()).unwrap().to_le_bytes());
        bytes.extend(crc32(&header).to_le_bytes());
        bytes.extend(crc32(entry).to_le_bytes());
        bytes.extend([&header[..], entry].concat());
    }
    bytes
}

/// A node's folder of these files.
fn node(files: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn damage(path: &Path) -> String {
    open(&[path]).map_or_else(|error| error.to_string(), |source| source.damage().join("\n"))
}

#[test]
fn a_node_holds_what_dqlite_has_in_it() {
    for (name, place, changes) in [("killed", "var/lib/k8s-dqlite", 416), ("started", "backend", 159)] {
        let truth = open(&[&sample(&format!("{name}.db.zst"))]).unwrap();
        assert_eq!(of_table(&*truth).len(), changes, "{name}");
        let archive = format!("{name}.tar.zst");
        let folder = unpacked(&archive);
        for path in [folder.path().to_owned(), folder.path().join(place), sample(&archive)] {
            let source = open(&[&path]).unwrap();
            assert_eq!((source.damage(), status(&*source).kind), (&[][..], SourceKind::Kine), "{name}");
            assert_eq!(of_table(&*source), of_table(&*truth), "{name}");
            assert_eq!(alive(&*source, At::Newest), alive(&*truth, At::Newest), "{name}");
        }
    }
    let truth = open(&[&sample("snapshot.db.zst")]).unwrap();
    let alone = open(&[&sample("snapshot-1-300-5666747")]).unwrap();
    assert_eq!((of_table(&*truth).len(), alone.damage()), (293, &[][..]));
    assert_eq!(of_table(&*alone), of_table(&*truth));
    assert!(alone.left_out().iter().any(|said| said.contains("snapshot of dqlite alone")), "{:?}", alone.left_out());
}

/// What a compaction removed is in the pages before it: in the snapshot below the log, in an older snapshot, and in older entries of the log.
#[test]
fn older_pages_are_history() {
    let (log, gone) = (segment(&[frames(1, COMPACTED_DATABASE)]), segment(&[frames(1, WHOLE_DATABASE)]));
    let wanted = {
        let whole = open_bytes(WHOLE_DATABASE).unwrap();
        events(&*whole).iter().map(|event| event.revision.0).collect::<Vec<_>>()
    };
    let (old, new) = (snapshot(WHOLE_DATABASE, b""), snapshot(COMPACTED_DATABASE, b""));
    for files in [
        vec![("snapshot-1-4-1", old.clone()), ("open-1", log.clone())],
        vec![("snapshot-1-4-1", old.clone()), ("snapshot-1-5-2", new.clone())],
        vec![("snapshot-1-5-2", new.clone()), ("0000000000000004-0000000000000004", gone.clone())],
        vec![("0000000000000001-0000000000000001", gone), ("0000000000000002-0000000000000002", log)],
    ] {
        let folder = node(&files);
        let source = open(&[folder.path()]).unwrap();
        assert_eq!(source.damage(), &[] as &[String]);
        let compacted = open_bytes(COMPACTED_DATABASE).unwrap();
        assert_eq!(of_table(&*source), of_table(&*compacted));
        let found = revisions(&*source);
        assert!(wanted.iter().all(|revision| found.iter().any(|(found, _)| found == revision)), "{wanted:?}: {found:?}");
        assert!(found.iter().any(|(_, is_recovered)| *is_recovered), "{found:?}");
    }
}

#[test]
fn a_log_of_sqlite_in_a_snapshot_counts_as_far_as_it_holds() {
    let folder = node(&[("snapshot-1-4-1", snapshot(BEFORE_LOG, LOG_DATABASE))]);
    let truth = load::open_kine("state.db", BEFORE_LOG.into(), LOG_DATABASE.into()).unwrap();
    let source = open(&[folder.path()]).unwrap();
    assert_eq!((source.damage(), of_table(&*source)), (&[][..], of_table(&*truth)));
    let mut log = LOG_DATABASE.to_vec();
    let last = log.len() - 100;
    log[last] ^= 1;
    let folder = node(&[("snapshot-1-4-1", snapshot(BEFORE_LOG, &log))]);
    assert!(damage(folder.path()).contains("the log of SQLite in its snapshot holds only to its frame"), "{}", damage(folder.path()));
}

/// The newest snapshot is damaged: the one before it and the log give the same state.
#[test]
fn a_damaged_snapshot_is_named_and_the_one_before_it_is_read() {
    let (truth, folder) = (open(&[&sample("killed.db.zst")]).unwrap(), unpacked("killed.tar.zst"));
    let backend = folder.path().join("var/lib/k8s-dqlite");
    let path = backend.join("snapshot-1-360-5667923");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let source = open(&[&backend]).unwrap();
    assert!(
        source.damage().iter().any(|damage| damage.starts_with(&format!("{}: snapshot-1-360-5667923: ", backend.display()))),
        "{:?}",
        source.damage()
    );
    assert_eq!(of_table(&*source), of_table(&*truth));
}

/// A snapshot is one by its name: what another database wrote over it is damage, and no second database.
#[test]
fn a_snapshot_that_begins_as_another_database_is_damaged() {
    let another = [b"SQLite format 3\0".to_vec(), vec![0; 500]].concat();
    let folder = node(&[("snapshot-1-4-1", snapshot(WHOLE_DATABASE, b"")), ("snapshot-1-5-2", another)]);
    let source = open(&[folder.path()]).unwrap();
    assert!(source.damage().iter().any(|damage| damage.contains("snapshot-1-5-2")), "{:?}", source.damage());
    assert_eq!(of_table(&*source), of_table(&*open_bytes(WHOLE_DATABASE).unwrap()));
}

/// The names and the sizes of files, their checksums and their order are not believed.
#[test]
fn damage_is_reported_and_nothing_after_a_gap_counts() {
    let entries: Vec<Vec<u8>> = WHOLE_DATABASE.chunks(PAGE_BYTES).zip(1..).map(|(page, number)| frames(number, page)).collect();
    let (first, rest) = (segment(&entries[..3]), segment(&entries[3..]));
    let files = |first: &[u8], rest: &[u8]| [("0000000000000001-0000000000000003", first.to_vec()), ("open-1", rest.to_vec())];
    let whole = node(&files(&first, &rest));
    assert_eq!((damage(whole.path()), revisions(&*open(&[whole.path()]).unwrap()).len()), (String::new(), 8));
    let mut changed = first.clone();
    changed[700] ^= 1;
    let mut later = rest.clone();
    later[700] ^= 1;
    for (files, wanted) in [
        (files(&changed, &rest), "0000000000000001-0000000000000003: it is damaged at byte"),
        (files(&first[..first.len() - 9], &rest), "2 of its 3 entries can be read"),
        (files(&segment(&entries[..2]), &rest), "it has 2 entries, and by its name 3"),
        (files(b"\x02\0\0\0\0\0\0\0", &rest), "entries 1 to 3 of its log are missing"),
        (files(&first, &later), "open-1: it is damaged at byte"),
        (files(&first, b"\0\0\0\0\0\0\0\0\x01"), "open-1: it is damaged at byte 0"),
    ] {
        let folder = node(&files);
        let told = damage(folder.path());
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    // What follows the last whole entry was never written to its end, as far as anybody can tell.
    let folder = node(&files(&first, &rest[..rest.len() - 9]));
    let source = open(&[folder.path()]);
    let told = source.map_or_else(|error| error.to_string(), |source| source.left_out().join("\n"));
    assert!(told.contains("open-1 has bytes behind its last whole entry") || told.contains("cut short"), "{told}");
    for file in ["snapshot-1-4-1", "open-1", "0000000000000001-0000000000000003"] {
        let whole = if file == "snapshot-1-4-1" { snapshot(WHOLE_DATABASE, b"") } else { first.clone() };
        for end in (0..whole.len()).step_by(61) {
            let folder = node(&[(file, whole[..end].to_vec()), ("metadata1", vec![1; 32])]);
            // It is read as far as it goes, or refused; it never ends otherwise.
            drop(open(&[folder.path()]));
        }
    }
}

/// A closed segment is what its bytes say, whatever they begin with.
#[test]
fn a_segment_is_never_unpacked() {
    let alone = alive(&*open(&[node(&[("snapshot-1-4-1", snapshot(WHOLE_DATABASE, b""))]).path()]).unwrap(), At::Newest);
    for beginning in [&b"\x04\x22\x4d\x18"[..], b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"\x1f\x9d\x90"] {
        for (name, wanted) in [("0000000000000005-0000000000000007", "0 of its 3 entries can be read"), ("open-1", "open-1")] {
            let damaged = [beginning, &segment(&[frames(1, &WHOLE_DATABASE[..PAGE_BYTES])])[beginning.len()..]].concat();
            let folder = node(&[("snapshot-1-4-1", snapshot(WHOLE_DATABASE, b"")), (name, damaged)]);
            let source = open(&[folder.path()]).unwrap();
            let told = [source.damage(), source.left_out()].concat().join("\n");
            assert!(told.contains(wanted), "{name}: {told}");
            assert_eq!(alive(&*source, At::Newest), alone, "{name}");
        }
    }
}

/// The last pages of the table are lost and an older copy is left. What the compaction kept is in the index of names too, which says what of the copy
/// is part of the newest state.
#[test]
fn a_lost_row_that_the_index_of_names_has_is_shown() {
    let page = |number: usize| &COMPACTED_DATABASE[(number - 1) * PAGE_BYTES..number * PAGE_BYTES];
    let (compaction, last) = (8, 13);
    let mut compacted_later = page(compaction).to_vec();
    let name = compacted_later.windows(15).position(|bytes| bytes == b"compact_rev_key").unwrap();
    compacted_later[name + 15] += 1;
    let entries = [frames(compaction as u64, &compacted_later), frames(last as u64, &[0; PAGE_BYTES])];
    let folder = node(&[("snapshot-1-4-1", snapshot(COMPACTED_DATABASE, b"")), ("open-1", segment(&entries))]);
    let source = open(&[folder.path()]).unwrap();
    let shown = alive(&*source, At::Newest);
    let of_key = shown.iter().find(|entry| entry.key.ends_with(b"/lab/a")).unwrap();
    assert!(of_key.mod_revision.0 == 9 && of_key.value.ends_with(b"{\"c\":\"11\"}}"), "{of_key:?}");
    let told = source.damage().join("\n");
    assert!(told.contains("the row of revision 9 is lost") && told.contains("hold; they are shown"), "{told}");
}

#[test]
fn impossible_commands_and_other_databases_are_told() {
    let mut endless = frames(1, WHOLE_DATABASE);
    endless[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut other = frames(1, WHOLE_DATABASE);
    other[8..11].copy_from_slice(b"abc");
    let base = ("snapshot-1-4-1", snapshot(WHOLE_DATABASE, b""));
    for (entry, wanted) in
        [(endless, "entry 5 of its log cannot be read"), (b"\x01\x09\0\0\0\0\0\0".to_vec(), "a command that is not known")]
    {
        let folder = node(&[base.clone(), ("open-1", segment(&[entry]))]);
        assert!(damage(folder.path()).contains(wanted), "{wanted}: {}", damage(folder.path()));
        assert_eq!(revisions(&*open(&[folder.path()]).unwrap()).len(), 8);
    }
    let folder = node(&[base, ("open-1", segment(&[other]))]);
    let source = open(&[folder.path()]).unwrap();
    assert!(source.left_out().iter().any(|said| said.contains("another database too, abc")), "{:?}", source.left_out());
}

#[test]
fn what_is_not_one_node_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("snapshot-1-4-1"), snapshot(WHOLE_DATABASE, b"")).unwrap();
    }
    assert!(
        damage(folder.path()).contains("is a folder of 2 nodes of dqlite, each with a log of its own: one, two"),
        "{}",
        damage(folder.path())
    );
    let one = load::open(&[format!("{}::one", folder.path().display())], &|_| None).unwrap();
    assert_eq!(events(&*one).len(), 8);
    fs::remove_dir_all(folder.path().join("two")).unwrap();
    fs::write(folder.path().join("other.db"), WHOLE_DATABASE).unwrap();
    assert!(damage(folder.path()).contains("2 databases that are not from one etcd: one, other.db"), "{}", damage(folder.path()));
    let error = open_bytes(&segment(&[frames(1, WHOLE_DATABASE)])).err().unwrap();
    assert!(error.contains("is a segment of dqlite's log, which needs the snapshot"), "{error}");
    let empty = node(&[("metadata1", vec![1; 32]), ("open-1", vec![0; 4096])]);
    assert!(damage(empty.path()).contains("no database can be read in it"), "{}", damage(empty.path()));
}

/// `microk8s dbctl backup`: keys and values alone.
#[test]
fn numbered_keys_and_values_are_the_state_of_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup-2026");
    fs::create_dir(&backup).unwrap();
    let map = r#"{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"}}"#;
    for (number, key, value) in [(0, "/registry/b", "k8s\0b"), (1, "/registry/a", map), (2, "/registry/c", "")] {
        fs::write(backup.join(format!("{number}.key")), key).unwrap();
        fs::write(backup.join(format!("{number}.data")), value).unwrap();
    }
    let source = open(&[folder.path()]).unwrap();
    let found: Vec<(String, Vec<u8>)> =
        alive(&*source, At::Newest).into_iter().map(|kv| (String::from_utf8(kv.key.to_vec()).unwrap(), kv.value.to_vec())).collect();
    let wanted = [("/registry/a", map.as_bytes()), ("/registry/b", b"k8s\0b"), ("/registry/c", b"")];
    assert_eq!(found, wanted.map(|(key, value)| (key.to_owned(), value.to_vec())));
    assert_eq!(source.damage(), &[] as &[String]);
    assert!(source.left_out().iter().any(|said| said.contains("keys and values without revisions")), "{:?}", source.left_out());
    fs::remove_file(backup.join("1.data")).unwrap();
    assert!(damage(folder.path()).contains("1.data is missing, so the key of 1.key is left out"), "{}", damage(folder.path()));
    fs::remove_file(backup.join("1.key")).unwrap();
    assert!(damage(folder.path()).contains("1 of its 3 keys are missing, the first of them 1.key"), "{}", damage(folder.path()));
}

/// The number of entries in a segment, and the bytes that they take: it is filled up with zeros.
fn written(segment: &[u8]) -> (u64, usize) {
    let number = |at: usize| u64::from_le_bytes(segment[at..at + 8].try_into().unwrap());
    let (mut entries, mut at) = (0, 8);
    while segment.get(at..at + 16).is_some_and(|batch| batch[8..].iter().any(|&byte| byte != 0)) {
        let count = usize::try_from(number(at + 8)).unwrap();
        let sizes = (0..count).map(|entry| u32::from_le_bytes(segment[at + 16 + entry * 16 + 12..][..4].try_into().unwrap()));
        let payload: usize = sizes.map(|size| (size as usize).next_multiple_of(8)).sum();
        at += 16 + 16 * count + payload;
        entries += count as u64;
    }
    (entries, at)
}

/// A node that stops cleanly gives each open segment the name of its entries and takes the room behind them away (`src/raft/uv_finalize.c`).
#[test]
fn a_node_that_was_stopped_has_closed_segments_alone() {
    let (folder, truth) = (unpacked("killed.tar.zst"), open(&[&sample("killed.db.zst")]).unwrap());
    let place = folder.path().join("var/lib/k8s-dqlite");
    let mut names: Vec<String> = fs::read_dir(&place).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let closed = names.iter().filter_map(|name| name.split_once('-')?.1.parse::<u64>().ok().filter(|_| name.starts_with('0')));
    let (mut last, mut were_open) = (closed.max().unwrap(), 0);
    for name in names.iter().filter(|name| name.starts_with("open-")) {
        let bytes = fs::read(place.join(name)).unwrap();
        let (entries, length) = written(&bytes);
        if entries > 0 {
            fs::write(place.join(format!("{:016}-{:016}", last + 1, last + entries)), &bytes[..length]).unwrap();
            (last, were_open) = (last + entries, were_open + 1);
        }
        fs::remove_file(place.join(name)).unwrap();
    }
    assert!(were_open > 0);
    let source = open(&[&place]).unwrap();
    assert_eq!((source.damage(), of_table(&*source).len()), (&[][..], 416));
    assert_eq!(of_table(&*source), of_table(&*truth));
    // A snapshot alone, as after a restore: the state that it was taken of.
    for file in fs::read_dir(&place).unwrap().map(Result::unwrap).filter(|file| file.file_name().to_string_lossy().starts_with('0')) {
        fs::remove_file(file.path()).unwrap();
    }
    let alone = open(&[&place]).unwrap();
    let (held, all) = (of_table(&*alone), of_table(&*truth));
    assert!(alone.damage().is_empty() && !held.is_empty() && held.len() < all.len(), "{:?}", alone.damage());
    assert_eq!(held, all[..held.len()]);
}
