//! Files next to a database: whatever lies there as its log, the database can be read, and the log's damage is a problem.

use std::fs;
use std::io::Write;
use std::path::Path;

use bytes::Bytes;
use ketcd_store::{At, Event, Origin, Source};
use ketcd_testing::seeds;
use ketcd_testing::wal::{log_of, records};
use tempfile::TempDir;

use super::{alive, events, open};

/// A member's database before a compaction and after it, and the log of both from the cluster's beginning.
const WHOLE_DATABASE: &[u8] = seeds::BOLT_WHOLE;
const COMPACTED_DATABASE: &[u8] = seeds::BOLT_COMPACTED;
const WHOLE_LOG: &[u8] = seeds::WAL_WHOLE;

/// A database of kine, and the log next to it.
const KINE_DATABASE: &[u8] = seeds::KINE_BEFORE_LOG;
const KINE_LOG: &[u8] = seeds::KINE_LOG;

/// What compressed files begin with: LZ4, gzip, zstd, xz, bzip2, zlib, LZW.
const COMPRESSED_BEGINNINGS: [&[u8]; 7] =
    [b"\x04\x22\x4d\x18", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh91AY&SY", b"\x78\x9c", b"\x1f\x9d\x90"];

/// The log with each of these beginnings, and compressed for real.
fn compressed_logs(log: &[u8]) -> Vec<Vec<u8>> {
    let begun = COMPRESSED_BEGINNINGS.iter().map(|beginning| [beginning, &log[beginning.len()..]].concat());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(log).unwrap();
    begun.chain([gzip.finish().unwrap(), zstd::encode_all(log, 1).unwrap()]).collect()
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

/// The same files in a tar archive.
fn archive(files: &[(&str, &[u8])]) -> TempDir {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *bytes).unwrap();
    }
    folder(&[("all.tar", &tar.into_inner().unwrap())])
}

fn member(database: &[u8], log: &[u8]) -> TempDir {
    folder(&[("member/snap/db", database), ("member/wal/0000000000000000-0000000000000000.wal", log)])
}

/// The changes that the database itself has.
fn of_database(source: &dyn Source) -> Vec<Event> {
    events(source).into_iter().filter(|event| event.origin == Origin::Db).collect()
}

/// The revision, the key and the value of each change.
fn changes(source: &dyn Source) -> Vec<(i64, Bytes, Bytes)> {
    events(source).into_iter().map(|event| (event.revision.0, event.key_value.key, event.key_value.value)).collect()
}

fn open_all(path: &Path) -> Box<dyn Source> {
    open(&[path]).unwrap_or_else(|error| panic!("the log takes away the database: {error}"))
}

#[test]
fn the_log_of_sqlite_is_never_unpacked() {
    let alone = open_all(&folder(&[("state.db", KINE_DATABASE)]).path().join("state.db"));
    for log in compressed_logs(KINE_LOG) {
        let files = [("state.db", KINE_DATABASE), ("state.db-wal", &log)];
        let (directory, packed) = (folder(&files), archive(&files));
        for path in [directory.path().join("state.db"), directory.path().to_owned(), packed.path().join("all.tar")] {
            let source = open_all(&path);
            // Where only its header is damaged, its transactions are there too.
            let shown = changes(&*source);
            assert!(changes(&*alone).iter().all(|change| shown.contains(change)), "{}: {shown:?}", path.display());
            let is_said = source.damage().iter().any(|problem| problem.contains("the header of state.db-wal is damaged"));
            assert!(is_said, "{}: {:?}", path.display(), source.damage());
        }
    }
    for suffix in ["-shm", "-journal"] {
        let directory = folder(&[("state.db", KINE_DATABASE), (&format!("state.db{suffix}"), COMPRESSED_BEGINNINGS[0])]);
        let source = open_all(&directory.path().join("state.db"));
        assert_eq!(events(&*source), events(&*alone), "{suffix}");
    }
}

#[test]
fn a_members_log_is_never_unpacked() {
    let alone = open_all(&folder(&[("db", WHOLE_DATABASE)]).path().join("db"));
    for log in compressed_logs(WHOLE_LOG) {
        let files = [("member/snap/db", WHOLE_DATABASE), ("member/wal/0000000000000000-0000000000000000.wal", &log)];
        let (directory, packed) = (folder(&files), archive(&files));
        for path in [directory.path().to_owned(), packed.path().join("all.tar")] {
            let source = open_all(&path);
            assert_eq!(of_database(&*source), of_database(&*alone), "{}", path.display());
            assert!(!source.damage().is_empty(), "{}", path.display());
        }
    }
}

/// What was committed never changes. So where damage is followed by entries that were committed before, with another value in one, these are of
/// another log.
#[test]
fn committed_entries_that_come_twice_do_not_take_the_database_away() {
    let all = records(WHOLE_LOG);
    let place = |index: u8| all.iter().position(|(kind, data)| *kind == 2 && data[5] == index).unwrap();
    // What follows an entry is the state that commits it.
    let first = log_of(&all[..=place(16) + 1]);
    let first = &first[..first.len() - 4096];
    let mut again = all[place(2) - 1..=place(8) + 1].to_vec();
    let of_entry_6 = &mut again[place(6) + 1 - place(2)].1;
    let value = of_entry_6.windows(10).position(|bytes| bytes == b"apiVersion").unwrap();
    of_entry_6[value] = b'x';
    let log = [first, &u64::MAX.to_le_bytes(), &log_of(&again)].concat();
    for database in [WHOLE_DATABASE, COMPACTED_DATABASE] {
        let alone = open_all(&folder(&[("db", database)]).path().join("db"));
        let directory = member(database, &log);
        let source = open_all(directory.path());
        assert_eq!(of_database(&*source), of_database(&*alone));
        assert_eq!(alive(&*source, At::Newest), alive(&*alone, At::Newest));
        let told = source.facts().log.unwrap();
        let sentence =
            "the log has entries from 2 on twice, though those up to 16 were committed and cannot change: the second ones are left out";
        assert_eq!((told.state().last, told.contradictions()), (16, &[sentence.to_owned()][..]));
        assert!(source.damage().iter().any(|problem| problem.ends_with(sentence)), "{:?}", source.damage());
    }
    let cut = member(WHOLE_DATABASE, &log_of(&all[..=place(16) + 1]));
    let told = open_all(cut.path()).facts().log.unwrap().contradictions().to_vec();
    assert_eq!(told, Vec::<String>::new(), "a log that ends early contradicts nothing");
}
