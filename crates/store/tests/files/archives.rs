//! Tar archives: what lies in one is not taken for the file itself, whatever its first bytes look like.

use ketcd_store::{KeyRange, Source, SourceKind, load};

use super::{decompressed, items, open_bytes as open, status};

/// A header of an archive.
fn header(name: &str, kind: u8, size: usize, is_of_1979: bool) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[136..148].copy_from_slice(b"00000000000\0");
    header[148..156].fill(b' ');
    header[156] = kind;
    if !is_of_1979 {
        header[257..265].copy_from_slice(b"ustar\x0000");
    }
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// An archive of folders (names that end with a slash) and files.
fn archive(entries: &[(&str, &[u8])], is_of_1979: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, bytes) in entries {
        let kind = if name.ends_with('/') { b'5' } else { b'0' };
        archive.extend(header(name, kind, bytes.len(), is_of_1979));
        archive.extend_from_slice(bytes);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// How much a watch yields.
fn changes(source: &dyn Source) -> usize {
    items(source, KeyRange::all()).len()
}

#[track_caller]
fn assert_whole(bytes: &[u8], kind: SourceKind, wanted: usize) {
    let source = open(bytes).unwrap();
    assert_eq!((source.damage(), source.late_damage()), (&[][..], vec![]));
    assert_eq!((status(&*source).kind, changes(&*source)), (kind, wanted));
}

/// A folder and a file before it put a database where one of small pages would have its second meta page; more folders put it where one of the usual pages
/// has it.
#[test]
fn a_database_in_an_archive_is_read_at_any_depth() {
    let db = decompressed("k120-story/snapshot.db.zst");
    let wanted = changes(&*open(&db).unwrap());
    let folders = ["a/", "a/b/", "a/b/c/", "a/b/c/d/", "a/b/c/d/e/", "a/b/c/d/e/f/", "a/b/c/d/e/f/g/"];
    for depth in [0, 1, 3, 7] {
        let path = format!("{}night.db", if depth == 0 { "" } else { folders[depth - 1] });
        let mut entries: Vec<(&str, &[u8])> = folders[..depth].iter().map(|name| (*name, &b""[..])).collect();
        entries.extend([(&*path, &db[..]), ("notes.txt", b"nothing")]);
        for is_of_1979 in [false, true] {
            assert_whole(&archive(&entries, is_of_1979), SourceKind::Db, wanted);
        }
        let packed = zstd::encode_all(&archive(&entries, false)[..], 1).unwrap();
        assert_whole(&packed, SourceKind::Db, wanted);
    }
}

#[test]
fn an_archive_of_several_databases_is_one_history_or_names_them() {
    let db = decompressed("k120-story/snapshot.db.zst");
    let state = [b"SQLite format 3\0", &[0; 4080][..]].concat();
    let of = |first: &[u8], second: &[u8]| {
        archive(&[("snapshots/", &b""[..]), ("snapshots/monday.db", first), ("snapshots/tuesday.db", second)], false)
    };
    assert_eq!(changes(&*open(&of(&db, &db)).unwrap()), changes(&*open(&db).unwrap()));
    for (first, second) in [(&db, &state), (&state, &db)] {
        let error = open(&of(first, second)).err().unwrap();
        assert!(error.contains("is an archive of 2 databases that are not from one etcd: snapshots/"), "{error}");
    }
    let error = open(&archive(&[("a/", b""), ("a/b.txt", b"text")], false)).err().unwrap();
    let wanted = "is an archive that holds neither a database or log of etcd or kine nor API objects: it has one file (a/b.txt)";
    assert!(error.ends_with(wanted), "{error}");
}

/// It is read as the directory that it was made of.
#[test]
fn an_archive_of_k3s_database_is_read_with_its_log() {
    let flat = decompressed("k136-kine/killed.tar.zst");
    assert_whole(&flat, SourceKind::Kine, 3035 + 1);
    // Its three files, from a directory that was named.
    let mut at = 0;
    let mut moved = header("./db/", b'5', 0, false);
    while flat[at] != 0 {
        let text =
            |range: std::ops::Range<usize>| String::from_utf8(flat[range].split(|&byte| byte == 0).next().unwrap().to_vec()).unwrap();
        let (name, size) = (text(at..at + 100), usize::from_str_radix(text(at + 124..at + 136).trim(), 8).unwrap());
        let end = at + 512 + size.next_multiple_of(512);
        if let Some(file) = name.rsplit('/').next().filter(|file| file.starts_with("state.db")) {
            moved.extend(header(&format!("./db/{file}"), b'0', size, false));
            moved.extend_from_slice(&flat[at + 512..end]);
        }
        at = end;
    }
    moved.resize(moved.len() + 1024, 0);
    assert_whole(&moved, SourceKind::Kine, 3035 + 1);
    let source = open(&moved[..moved.len() - 1024 - 8192]).unwrap();
    assert!(source.damage().iter().any(|damage| damage.contains("tar archive is damaged or cut short")), "{:?}", source.damage());
}

/// Zeros over a header look like the archive's end.
#[test]
fn an_archive_that_goes_on_behind_its_end_is_not_whole() {
    let db = decompressed("k120-story/snapshot.db.zst");
    let mut bytes = archive(&[("a/night.db", &db), ("b.txt", b"text")], false);
    let second = 512 + db.len().next_multiple_of(512);
    bytes[second..second + 512].fill(0);
    let source = open(&bytes).unwrap();
    assert!(source.damage().iter().any(|damage| damage.contains("goes on behind its end")), "{:?}", source.damage());
    assert_eq!(changes(&*source), changes(&*open(&db).unwrap()));
}

/// Nothing of a database's first page can be an archive's: its number is 0, and an entry has a name.
#[test]
fn a_database_is_not_taken_for_an_archive() {
    let mut db = decompressed("k120-story/snapshot.db.zst");
    let wanted = changes(&*open(&db).unwrap());
    let pages = db.len() / 4096 * 4096;
    db.truncate(pages);
    // Behind a meta page, where nothing is looked at.
    db[257..262].copy_from_slice(b"ustar");
    db[148..156].fill(b' ');
    let sum: u32 = db[..512].iter().map(|&byte| u32::from(byte)).sum();
    db[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert_whole(&db, SourceKind::Db, wanted);
}

/// The name of an entry is not the beginning of a database.
#[test]
fn an_archive_is_recognised_whatever_its_first_entry_is_called() {
    let error = open(&archive(&[("SQLite format 3", b"text")], false)).err().unwrap();
    assert!(error.contains("is an archive that holds neither a database"), "{error}");
    let mut broken = archive(&[("tt/", b""), ("tt/a.db", &decompressed("k120-story/snapshot.db.zst"))], false);
    broken[150] ^= 1;
    let error = open(&broken).err().unwrap();
    assert!(error.contains("its tar archive is damaged"), "{error}");
}

/// A size beyond the archive, or one that no number has room for.
#[test]
fn sizes_and_names_of_entries_are_not_believed() {
    let db = decompressed("k120-story/snapshot.db.zst");
    for size in ["77777777777", "00200000000", "99999999999"] {
        let mut bytes = archive(&[("a/night.db", &db), ("b.txt", b"text")], false);
        let second = 512 + db.len().next_multiple_of(512);
        bytes[second + 124..second + 135].copy_from_slice(size.as_bytes());
        mend(&mut bytes[second..]);
        let source = open(&bytes).unwrap();
        assert!(
            source.damage().iter().any(|damage| damage.contains("tar archive is damaged or cut short")),
            "{size}: {:?}",
            source.damage()
        );
        assert_eq!(changes(&*source), changes(&*open(&db).unwrap()));
    }
    // No path is made from a name; links and devices are passed over, wherever they lead.
    for name in ["../../../../tmp/night.db", "/etc/passwd", "./a/../night.db"] {
        assert_eq!(changes(&*open(&archive(&[(name, &db)], false)).unwrap()), changes(&*open(&db).unwrap()), "{name}");
    }
    for kind in [b'1', b'2', b'3', b'4', b'6'] {
        let mut bytes = header("night.db", kind, 0, false);
        bytes[157..168].copy_from_slice(b"/etc/passwd");
        mend(&mut bytes);
        bytes.resize(2048, 0);
        let error = open(&bytes).err().unwrap();
        assert!(error.contains("neither a database"), "{}: {error}", char::from(kind));
    }
}

/// A name, or an extension of a header, of many bytes is read into memory whole: one that is endless is refused before.
#[test]
fn endless_names_are_refused() {
    for kind in [b'L', b'K', b'x', b'g'] {
        let mut bytes = header("././@LongLink", kind, 2 << 20, false);
        bytes.resize(bytes.len() + (2 << 20), b'a');
        bytes.extend(archive(&[("a.txt", b"text")], false));
        let error = open(&bytes).err().unwrap();
        assert!(error.contains("a header of more than 1 MiB"), "{}: {error}", char::from(kind));
    }
    // What fits is a name like others, but for one of more than 4 KiB, which is passed over.
    let db = decompressed("k120-story/snapshot.db.zst");
    for (length, is_read) in [(300, true), (5000, false)] {
        let mut bytes = header("././@LongLink", b'L', length, false);
        bytes.resize((bytes.len() + length).next_multiple_of(512), b'a');
        bytes.extend(archive(&[("night.db", &db)], false));
        assert_eq!(open(&bytes).is_ok(), is_read, "{length}");
    }
}

/// A sparse file of 4 GiB takes 512 bytes of an archive.
#[test]
fn a_sparse_file_takes_no_more_than_the_limit() {
    let mut bytes = header("night.db", b'S', 512, false);
    let number = |bytes: &mut [u8], at: usize, value: u64| bytes[at..at + 12].copy_from_slice(format!("{value:011o}\0").as_bytes());
    bytes[257..265].copy_from_slice(b"ustar  \0");
    number(&mut bytes, 386, (1 << 32) - 512);
    number(&mut bytes, 398, 512);
    number(&mut bytes, 483, 1 << 32);
    mend(&mut bytes);
    bytes.resize(512 + 512 + 1024, 0);
    let limits = load::Limits { unpacked: 1 << 20, ..load::Limits::default() };
    let error = load::open_bytes("bytes", bytes.into(), &limits, &|_| None).err().unwrap().to_string();
    assert!(error.contains("--max-unpacked-size"), "{error}");
}

/// Gives the first header of an archive the checksum that holds.
fn mend(header: &mut [u8]) {
    header[148..156].fill(b' ');
    let sum: u32 = header[..512].iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Who looks for audit logs in an archive unpacks it, and its databases are read of that: also of an archive in a folder.
#[test]
fn an_archive_that_was_looked_into_is_not_unpacked_again() {
    let db = decompressed("k120-story/snapshot.db.zst");
    let wanted = changes(&*open(&db).unwrap());
    let packed = zstd::encode_all(&archive(&[("a/", b""), ("a/night.db", &db)], false)[..], 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("night.tar.zst");
    for path in [&*file, folder.path()] {
        std::fs::write(&file, &packed).unwrap();
        let (paths, limits) = ([path.to_str().unwrap().to_owned()], load::Limits::default());
        let found = load::AuditLogs::among(&paths, &limits).unwrap();
        assert!(found.logs.is_empty() && found.others == paths);
        // What would be unpacked now is an archive that is cut short.
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, &packed[..packed.len() / 2]).unwrap();
        let source = load::open_within(&paths, &limits, &|_| None).unwrap();
        assert_eq!((source.damage(), changes(&*source)), (&[][..], wanted), "{paths:?}");
        let again = load::open_within(&paths, &load::Limits::default(), &|_| None);
        assert!(again.is_err(), "{paths:?}");
    }
}

/// vcluster's snapshot of kine: an entry for each key, in the archive itself, in one within another, and unpacked.
#[test]
fn keys_that_are_entries_are_read_wherever_their_archive_lies() {
    let (map, other) = (br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"x"}}"#, &b"{}"[..]);
    let keys: [(&str, &[u8]); 4] = [
        ("/vcluster/snapshot/skipkeys", b"{}"),
        ("/vcluster/snapshot/revision", b"640\n"),
        ("/registry/configmaps/x/a", map),
        ("/registry/y", other),
    ];
    let bare = archive(&keys, false);
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in keys {
        let path = folder.path().join(format!("kept{name}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let unpacked = load::open(&[folder.path().to_str().unwrap().to_owned()], &|_| None).unwrap();
    let sources = [open(&bare).unwrap(), open(&archive(&[("night.tar", &bare), ("notes.txt", b"kept")], false)).unwrap(), unpacked];
    for source in &sources {
        // Two keys, and the gap before them.
        assert_eq!((source.damage(), changes(&**source), status(&**source).kind), (&[][..], 3, SourceKind::Objects));
    }
    let error = open(&archive(&[("one.tar", &bare), ("two.tar", &bare)], false)).err().unwrap();
    assert!(error.contains("2 snapshots of vcluster: one.tar::/vcluster/snapshot/revision, two.tar"), "{error}");
}
