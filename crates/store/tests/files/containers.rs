//! Folders and archives: what is chosen of them, what is said of it, and archives that are made to do harm.

use std::io::Write;

use ketcd_store::{At, Source, SourceKind, load};
use ketcd_testing::testdata;

use super::{alive, decompressed, events, open, open_bytes, status, wait};

/// An entry of a zip archive as it is written, and what its headers say.
struct Zipped<'t> {
    name: &'t str,
    bytes: &'t [u8],
    method: u16,
    flags: u16,
    /// Unix' mode.
    mode: u32,
    size: Option<u32>,
}

impl<'t> Zipped<'t> {
    fn new(name: &'t str, bytes: &'t [u8]) -> Self {
        Self { name, bytes, method: 8, flags: 0, mode: 0o100_644, size: None }
    }
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(entries: &[Zipped<'_>]) -> Vec<u8> {
    let (mut archive, mut list) = (Vec::new(), Vec::new());
    let number = |value: usize| u32::try_from(value).unwrap().to_le_bytes();
    for entry in entries {
        let packed = if entry.method == 8 { deflated(entry.bytes) } else { entry.bytes.to_vec() };
        let mut crc = flate2::Crc::new();
        crc.update(entry.bytes);
        let mut common = [entry.flags.to_le_bytes(), entry.method.to_le_bytes(), [0; 2], [0; 2]].concat();
        common.extend(crc.sum().to_le_bytes());
        common.extend(number(packed.len()));
        common.extend(entry.size.unwrap_or(u32::try_from(entry.bytes.len()).unwrap()).to_le_bytes());
        common.extend(u16::try_from(entry.name.len()).unwrap().to_le_bytes());
        common.extend([0; 2]);
        list.extend(b"PK\x01\x02\x14\x03\x14\x00");
        list.extend(&common);
        list.extend([0; 6]);
        list.extend((entry.mode << 16).to_le_bytes());
        list.extend(number(archive.len()));
        list.extend(entry.name.as_bytes());
        archive.extend(b"PK\x03\x04\x14\x00");
        archive.extend(&common);
        archive.extend(entry.name.as_bytes());
        archive.extend(packed);
    }
    let (count, start) = (u16::try_from(entries.len()).unwrap().to_le_bytes(), archive.len());
    archive.extend(&list);
    archive.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &number(list.len()), &number(start), &[0; 2]].concat());
    archive
}

fn container(name: &str) -> Vec<u8> {
    std::fs::read(testdata::path(&format!("containers/{name}"))).unwrap()
}

/// The first revisions, 59 changes.
fn small() -> Vec<u8> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut bzip2::read::BzDecoder::new(&container("snapshot.db.bz2")[..]), &mut bytes).unwrap();
    bytes
}

fn said(source: &dyn Source) -> String {
    source.left_out().join("\n")
}

#[track_caller]
fn refused(bytes: &[u8]) -> String {
    open_bytes(bytes).err().unwrap()
}

/// In whatever a database comes, it is the same database.
#[test]
fn a_database_is_read_in_every_compression_and_archive() {
    let bare = open_bytes(&small()).unwrap();
    let wanted = events(&*bare);
    assert_eq!((wanted.len(), wait(bare.span()).unwrap().newest.0, alive(&*bare, At::Newest).len()), (59, 60, 53));
    for name in ["k3s.zip", "prefixed.zip", "snapshot.db.xz", "snapshot.db.lz4", "snapshot.db.bz2"] {
        let path = testdata::path(&format!("containers/{name}"));
        for source in [open(&[&path]).unwrap(), open_bytes(&container(name)).unwrap()] {
            assert_eq!((source.damage(), source.left_out(), source.late_damage()), (&[][..], &[][..], vec![]), "{name}");
            assert_eq!((status(&*source).kind, events(&*source)), (SourceKind::Db, wanted.clone()), "{name}");
        }
    }
    let wide = open_bytes(&container("zip64.zip")).unwrap();
    assert_eq!((events(&*wide).len(), alive(&*wide, At::Newest).len()), (520, 354));
    // Compressed in an archive, and an archive in an archive.
    let (zstd, db) = (zstd::encode_all(&small()[..], 1).unwrap(), small());
    let inner = zip(&[Zipped::new("a/night.db", &db)]);
    assert_eq!(events(&*open_bytes(&zstd::encode_all(&zstd[..], 1).unwrap()).unwrap()), wanted);
    for entry in [Zipped::new("night.db.zst", &zstd), Zipped { method: 0, ..Zipped::new("/abs/night", &db) }, Zipped::new("in.zip", &inner)]
    {
        assert_eq!(events(&*open_bytes(&zip(&[entry])).unwrap()), wanted);
    }
}

#[test]
fn what_is_chosen_of_several_files_is_said() {
    let db = small();
    let archive = zip(&[Zipped::new("/etc/kubernetes/x.rkestate", b"{}"), Zipped::new("/backup/x", &db)]);
    let source = open_bytes(&archive).unwrap();
    let rest = "bytes: not read, as nothing is recognised in it: /etc/kubernetes/x.rkestate";
    assert_eq!(said(&*source), format!("{rest}\nbytes: 1 of the 2 files in it is read: /backup/x"));
    let state = [b"SQLite format 3\0", &[0; 4080][..]].concat();
    let error = refused(&zip(&[Zipped::new("a/etcd.db", &db), Zipped::new("b/kine.db", &state)]));
    assert!(
        error.ends_with("is an archive of 2 databases that are not from one etcd: a/etcd.db, b/kine.db; name one of them: -f PATH::NAME"),
        "{error}"
    );
}

/// A folder of nightly backups is one history, and one of them can be named.
#[test]
fn a_folder_of_backups_is_one_history() {
    let folder = tempfile::tempdir().unwrap();
    let (small, whole) = (small(), decompressed("k120-story/snapshot.db.zst"));
    std::fs::create_dir(folder.path().join("old")).unwrap();
    std::fs::write(folder.path().join("old/1.zip"), container("k3s.zip")).unwrap();
    std::fs::write(folder.path().join("2.db"), &whole).unwrap();
    std::fs::write(folder.path().join("3.db.part"), &whole[..5000]).unwrap();
    std::fs::write(folder.path().join("README"), "backups").unwrap();
    let source = open(&[folder.path()]).unwrap();
    assert_eq!(events(&*source).len(), 1786);
    assert!(said(&*source).contains("3.db.part is not read"), "{}", said(&*source));
    assert!(said(&*source).contains("2 of the 4 files in it are read: 2.db, old/1.zip::"), "{}", said(&*source));
    let named = format!("{}::2.db", folder.path().display());
    assert_eq!(events(&*load::open(&[named], &|_| None).unwrap()).len(), 1786);
    let archive = folder.path().join("all.zip");
    std::fs::write(&archive, zip(&[Zipped::new("m/1", &small), Zipped::new("m/2", &whole)])).unwrap();
    for (within, count) in [("", 1786), ("::m/1", 59), ("::m", 1786)] {
        let source = load::open(&[format!("{}{within}", archive.display())], &|_| None).unwrap();
        assert_eq!(events(&*source).len(), count, "{within}");
    }
    let error = load::open(&[format!("{}::n", archive.display())], &|_| None).err().unwrap().to_string();
    assert!(error.contains("neither a database"), "{error}");
}

#[test]
fn databases_of_several_clusters_are_refused_with_their_names() {
    let (one, other) = (small(), decompressed("k136-story/snapshot.db.zst"));
    let error = refused(&zip(&[Zipped::new("b/main/1", &one), Zipped::new("b/events/1", &other)]));
    assert!(error.contains("holds events, main: ") && error.contains("not from one etcd cluster"), "{error}");
}

#[test]
fn what_cannot_be_opened_is_named_with_what_to_do() {
    assert!(refused(&container("snapshot.zst.age")).contains("is encrypted with age"), "{}", refused(&container("snapshot.zst.age")));
    for (entry, wanted) in [
        (Zipped { flags: 1, ..Zipped::new("night.db", b"secret") }, "is encrypted; unpack the archive with its password"),
        (Zipped { method: 9, ..Zipped::new("night.db", b"x") }, "Deflate64"),
        (Zipped::new("night.db", b"version https://git-lfs.github.com/spec/v1\n"), "git lfs pull"),
        (Zipped::new("night.db", b"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"), "download it again"),
    ] {
        let error = refused(&zip(&[entry]));
        assert!(error.contains(wanted), "{wanted}: {error}");
    }
    let error = refused(&container("empty.tar.xz"));
    assert!(error.contains("holds neither a database or log of etcd or kine nor API objects"), "{error}");
}

/// What an archive says of itself is not trusted.
#[test]
fn hostile_archives_do_no_harm() {
    let db = small();
    // More or less comes out of an entry than it says.
    for size in [1000, 1 << 30] {
        let source = open_bytes(&zip(&[Zipped { size: Some(size), ..Zipped::new("night.db", &db) }]));
        let told = source.map(|source| source.damage().join("\n")).unwrap_or_else(|error| error);
        assert!(told.contains("than the archive says"), "{told}");
    }
    // No path is made from a name, and links lead nowhere.
    for name in ["../../../../tmp/night.db", "/etc/passwd", "..\\..\\night.db", "a\u{1b}[31m.db", "C:night.db"] {
        let source = open_bytes(&zip(&[Zipped::new(name, &db)])).unwrap();
        assert_eq!(events(&*source).len(), 59, "{name}");
    }
    let link = Zipped { mode: 0o120_777, ..Zipped::new("night.db", b"/etc/passwd") };
    assert!(refused(&zip(&[link])).contains("neither a database"));
    // Cut anywhere, it is read as far as it goes or refused, and says so.
    let archive = zip(&[Zipped::new("a.txt", b"text"), Zipped::new("night.db", &db)]);
    for end in (1..archive.len()).step_by(97) {
        if let Ok(source) = open_bytes(&archive[..end]) {
            assert!(!source.damage().is_empty(), "{end}");
        }
    }
    let most = load::Limits { unpacked: 100_000, ..load::Limits::default() };
    let mut bomb = b"kind: List\napiVersion: v1\n".to_vec();
    bomb.extend([b'\n'].repeat(1 << 20));
    for bytes in
        [zip(&[Zipped::new("a.yaml", &bomb)]), zip(&[Zipped::new("a.yaml", &bomb[..90_000]), Zipped::new("b.yaml", &bomb[..90_000])])]
    {
        let opened = load::open_bytes("bytes", bytes.into(), &most, &|_| None);
        let told = opened.map(|source| source.damage().join("\n")).unwrap_or_else(|error| error.to_string());
        assert!(told.contains("--max-unpacked-size"), "{told}");
    }
}

/// The state that a folder of objects shows has each object once, and nothing that logs quote.
#[test]
fn objects_in_an_archive_are_one_state() {
    let map = |name: &str, version: u32| {
        format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: x\n  resourceVersion: \"{version}\"\n")
    };
    let list = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{\"metadata\":{\"name\":\"b\",\"namespace\":\"x\",\"resourceVersion\":\"5\"}}]}";
    let log = format!("2026-01-01 apply\n{}", map("never", 3));
    let audit = "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"RequestResponse\"}\n";
    let (one, all) = (map("a", 4), map("a", 4) + &map("c", 6));
    let archive = zip(&[
        Zipped::new("mg/namespaces/x/core/configmaps.yaml", all.as_bytes()),
        Zipped::new("mg/namespaces/x/a.yaml", one.as_bytes()),
        Zipped::new("mg/b.json", list.as_bytes()),
        Zipped::new("mg/pod.log", log.as_bytes()),
        Zipped::new("mg/audit.log", audit.as_bytes()),
    ]);
    let key_of = |object: &serde_json::Value| Some(format!("/registry/configmaps/{}", object["metadata"]["name"].as_str()?).into_bytes());
    let source = load::open_bytes("bytes", archive.into(), &load::Limits::default(), &key_of).unwrap();
    let keys: Vec<String> = alive(&*source, At::Newest).iter().map(|found| String::from_utf8_lossy(&found.key).into_owned()).collect();
    assert_eq!(keys, ["/registry/configmaps/a", "/registry/configmaps/b", "/registry/configmaps/c"]);
    assert_eq!((source.damage(), wait(source.span()).unwrap().newest.0), (&[][..], 9));
}

/// Velero writes each object twice, and Kubernetes' own names hold what separates an archive from an entry of it.
#[test]
fn each_object_of_veleros_backup_is_read_once() {
    let map = |name: &str| {
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"x","resourceVersion":"4"}}}}"#)
    };
    let names = ["a", "system::leader"];
    let mut files = vec![("metadata/version".to_owned(), "1.1.0".to_owned())];
    for folder in ["namespaces/x", "v1-preferredversion/namespaces/x"] {
        files.extend(names.map(|name| (format!("resources/configmaps/{folder}/{name}.json"), map(name))));
    }
    let entries: Vec<Zipped<'_>> = files.iter().map(|(name, text)| Zipped::new(name, text.as_bytes())).collect();
    let (backup, key_of) = (zip(&entries), |object: &serde_json::Value| Some(object["metadata"]["name"].as_str()?.as_bytes().to_vec()));
    for archive in [zip(&[Zipped::new("nightly.zip", &backup)]), backup] {
        let source = load::open_bytes("bytes", archive.into(), &load::Limits::default(), &key_of).unwrap();
        let keys: Vec<String> = alive(&*source, At::Newest).iter().map(|found| String::from_utf8_lossy(&found.key).into_owned()).collect();
        assert_eq!(keys, names);
        assert!(said(&*source).contains("2 of the 5 files in it are read"), "{}", said(&*source));
    }
}

/// Folders may contain themselves by a link, and lead elsewhere; a pipe in one never ends.
#[cfg(unix)]
#[test]
fn links_and_pipes_in_a_folder_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("night.db"), small()).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("again")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("secret.yaml")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(folder.path().join("pipe.db")).status().unwrap();
    assert!(pipe.success());
    let source = open(&[folder.path()]).unwrap();
    assert_eq!((events(&*source).len(), source.damage(), source.left_out()), (59, &[][..], &[][..]));
}

/// Archives in archives are opened twice; one that holds itself, or nothing but archives, ends.
#[test]
fn archives_are_not_opened_without_end() {
    let mut nested = zip(&[Zipped::new("night.db", &small())]);
    for depth in 0..5 {
        let opened = open_bytes(&nested);
        assert_eq!(opened.is_ok(), depth < 3, "{depth}");
        nested = zip(&[Zipped { method: 0, ..Zipped::new("in.zip", &nested) }]);
    }
    // Two entries of the list at the same place of the archive, and a list that points into itself.
    let mut twice = zip(&[Zipped::new("one.db", &small()), Zipped::new("two.db", &small())]);
    let list = twice.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    twice[list + 42..list + 46].fill(0);
    assert!(open_bytes(&twice).err().unwrap().contains("entries overlap, from byte 0 on"));
    let start = u32::try_from(list).unwrap().to_le_bytes();
    twice[list + 42..list + 46].copy_from_slice(&start);
    let told = open_bytes(&twice).map_or_else(|error| error, |source| source.damage().join("\n") + &said(&*source));
    assert!(told.contains("two.db lies beyond the archive's end"), "{told}");
}

/// Counts in a zip's end that no archive has.
#[test]
fn a_zips_counts_are_not_believed() {
    let whole = zip(&[Zipped::new("night.db", &small())]);
    let end = whole.len() - 22;
    for (at, number) in [(10, &[0xff, 0xff][..]), (12, &[0xff; 4]), (16, &[0xff; 4]), (8, &[9, 0, 9, 0])] {
        let mut bytes = whole.clone();
        bytes[end + at..end + at + number.len()].copy_from_slice(number);
        let opened = open_bytes(&bytes).unwrap();
        assert_eq!(events(&*opened).len(), 59, "{at}");
        assert!(!opened.damage().is_empty(), "{at}");
    }
}

/// Delta files of Gardener that say what no sidecar writes.
#[test]
fn impossible_deltas_are_refused_with_the_reason() {
    use sha2::Digest;
    let delta = |text: &str| [text.as_bytes(), &sha2::Sha256::digest(text)].concat();
    let event = |kv: &str| format!(r#"{{"etcdEvent":{{"kv":{kv}}},"time":""}}"#);
    for (text, wanted) in [
        (format!("[{}]", event(r#"{"key":"YQ==","mod_revision":-1}"#)), "no change that can be read"),
        (format!("[{}]", event(r#"{"key":"","mod_revision":7}"#)), "without a key or a revision"),
        (format!("[{}]", event(r#"{"key":"*","mod_revision":7}"#)), "is not base64"),
        (format!("[{}", event(r#"{"key":"YQ==","mod_revision":7}"#)), "its JSON cannot be read"),
        (
            format!("[{},{}]", event(r#"{"key":"YQ==","mod_revision":7}"#), event(r#"{"key":"YQ==","mod_revision":6}"#)),
            "its revisions do not ascend",
        ),
    ] {
        let error = refused(&delta(&text));
        assert!(error.contains(wanted), "{wanted}: {error}");
    }
}

/// What cannot be opened among backups is named, and the others are read.
#[test]
fn a_backup_that_cannot_be_read_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    file("1.db", &small());
    file("2.db", &small()[..5000]);
    file("3.db", b"");
    file("4.db.age", b"age-encryption.org/v1\n-> X25519 abc\n");
    file("5.db.filepart", &small()[..5000]);
    let (mut tar, mut header) = (tar::Builder::new(Vec::new()), tar::Header::new_gnu());
    header.set_size(small().len() as u64);
    tar.append_data(&mut header, "6.db", &small()[..]).unwrap();
    file("6.tar", &tar.into_inner().unwrap()[..5000]);
    file("notes.txt", b"nothing");
    let source = open(&[folder.path()]).unwrap();
    assert_eq!(events(&*source).len(), 59);
    let (damage, said) = (source.damage().join("\n"), said(&*source));
    for wanted in ["2.db: ", "6.tar (its tar archive is damaged", "3.db is not read: it is empty, damaged at its beginning"] {
        assert!(damage.contains(wanted), "{wanted}: {damage}");
    }
    for wanted in [
        "4.db.age is encrypted with age",
        "5.db.filepart is not read: its name says",
        "not read, as nothing is recognised in it: notes.txt",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    std::fs::remove_file(folder.path().join("1.db")).unwrap();
    let error = open(&[folder.path()]).err().unwrap().to_string();
    assert!(error.contains("nothing of it can be read"), "{error}");
}

/// A dump of SQL, and the folder of a store of Pebble, are named in archives and folders too.
#[test]
fn other_databases_in_archives_are_named() {
    let error = refused(&zip(&[Zipped::new("a/kine.sql", b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")]));
    assert!(error.contains("a/kine.sql is an SQL dump of sqlite3, not a database; load it"), "{error}");
    let error = refused(&zip(&[Zipped::new("t/MANIFEST-000001", b"x"), Zipped::new("t/marker.manifest.000001.MANIFEST-000001", b"")]));
    assert!(error.contains("is a store of Pebble"), "{error}");
}

/// Hidden files are a program's own, unless nothing else is there or one is named.
#[test]
fn hidden_files_are_read_where_they_are_meant() {
    let (db, whole) = (small(), decompressed("k120-story/snapshot.db.zst"));
    assert_eq!(events(&*open_bytes(&zip(&[Zipped::new(".snapshots/1.db", &db)])).unwrap()).len(), 59);
    let both = zip(&[Zipped::new(".old/1.db", &whole), Zipped::new("1.db", &db)]);
    assert_eq!(events(&*open_bytes(&both).unwrap()).len(), 59);
    let archive = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(archive.path(), both).unwrap();
    let named = load::open(&[format!("{}::.old", archive.path().display())], &|_| None).unwrap();
    assert_eq!(events(&*named).len(), 1786);
}

/// The data dirs of several members: one history of one cluster, refused with their names of several.
#[test]
fn members_of_several_clusters_are_refused_with_their_names() {
    let (one, other) = (decompressed("k120-story/snapshot.db.zst"), decompressed("k136-story/snapshot.db.zst"));
    let of = |second: &[u8]| zip(&[Zipped::new("m1/member/snap/db", &one), Zipped::new("m2/member/snap/db", second)]);
    assert_eq!(events(&*open_bytes(&of(&one)).unwrap()).len(), 1786);
    let error = refused(&of(&other));
    assert!(error.contains("holds m1, m2: ") && error.contains("not from one etcd cluster"), "{error}");
}

/// Only a descriptor behind what is stored says how long it is, where the list at the end is lost.
#[test]
fn a_stored_entry_is_as_long_as_its_descriptor_says() {
    let db = small();
    let mut bytes = b"PK\x03\x04\x14\x00\x08\x00\x00\x00".to_vec();
    bytes.extend([0; 16]);
    bytes.extend([1, 0, 0, 0, b'a']);
    bytes.extend(&db);
    bytes.extend(b"PK\x07\x08\0\0\0\0");
    bytes.extend(u32::try_from(db.len()).unwrap().to_le_bytes().repeat(2));
    bytes.extend(&zip(&[Zipped::new("b.txt", b"text")])[..40]);
    let source = open_bytes(&bytes).unwrap();
    assert_eq!(events(&*source).len(), 59);
    assert!(said(&*source).contains("1 of the 2 files in it is read: a"), "{}", said(&*source));
}

/// Velero's bucket: each backup is a state, and an object that changed between two has both versions.
#[test]
fn veleros_backups_are_a_coarse_history() {
    let map = |name: &str, version: u32| {
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"x","resourceVersion":"{version}"}},"data":{{"v":"{version}"}}}}"#
        );
        (format!("resources/configmaps/namespaces/x/{name}.json"), text)
    };
    let backup = |maps: &[(String, String)]| {
        let mut entries = vec![Zipped::new("metadata/version", b"1.1.0")];
        entries.extend(maps.iter().map(|(name, text)| Zipped::new(name, text.as_bytes())));
        zip(&entries)
    };
    let (first, second) = (backup(&[map("a", 4), map("b", 5)]), backup(&[map("a", 4), map("b", 9), map("c", 8)]));
    let describing = b"{\"kind\":\"Backup\",\"apiVersion\":\"velero.io/v1\",\"metadata\":{\"name\":\"n\"}}";
    let bucket = zip(&[
        Zipped::new("backups/1/1.zip", &first),
        Zipped::new("backups/1/velero-backup.json", describing),
        Zipped::new("backups/2/2.zip", &second),
        Zipped::new("backups/2/velero-backup.json", describing),
    ]);
    let key_of = |object: &serde_json::Value| Some(object["metadata"]["name"].as_str()?.as_bytes().to_vec());
    let open = |bytes: Vec<u8>| load::open_bytes("bytes", bytes.into(), &load::Limits::default(), &key_of);
    let source = open(bucket).unwrap();
    let found: Vec<(String, i64)> =
        events(&*source).iter().map(|event| (String::from_utf8_lossy(&event.key_value.key).into_owned(), event.revision.0)).collect();
    assert_eq!(found, [("a".to_owned(), 4), ("b".to_owned(), 5), ("c".to_owned(), 8), ("b".to_owned(), 9)]);
    assert_eq!((alive(&*source, At::Newest).len(), alive(&*source, At::Revision(ketcd_store::Revision(5))).len()), (3, 2));
    assert!(said(&*source).contains("an object that a later one lacks was deleted, or not selected"), "{}", said(&*source));
    // Another cluster's has another object in the same place.
    let mut changed = map("a", 4);
    changed.1 = changed.1.replace("\"v\":\"4\"", "\"v\":\"x\"");
    let other = backup(&[changed, map("d", 12)]);
    let error = open(zip(&[Zipped::new("one.zip", &first), Zipped::new("two.zip", &other)])).err().unwrap().to_string();
    assert!(error.contains("holds one.zip, two.zip: ") && error.contains("not from one etcd cluster"), "{error}");
}

/// A backup whose beginning is damaged is no longer recognised: its name says that it was one.
#[test]
fn a_backup_whose_beginning_is_damaged_is_named() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let (mut tar, mut header) = (tar::Builder::new(Vec::new()), tar::Header::new_gnu());
    header.set_size(small().len() as u64);
    tar.append_data(&mut header, "night.db", &small()[..]).unwrap();
    let tar = tar.into_inner().unwrap();
    let wiped = |mut bytes: Vec<u8>| {
        let end = bytes.len().min(64);
        bytes[..end].fill(0);
        bytes
    };
    let flipped = |mut bytes: Vec<u8>| {
        bytes[51..90].iter_mut().for_each(|byte| *byte ^= 0x55);
        bytes
    };
    let cases = [
        ("2.db.gz", wiped(gzip(&small()))),
        ("2.db.gz", gzip(&small())[..20].to_vec()),
        ("2.db.gz", flipped(gzip(&small()))),
        ("2.db.gz", Vec::new()),
        ("2.db.zst", wiped(zstd::encode_all(&small()[..], 1).unwrap())),
        ("2.tar.gz", gzip(&tar)[..20].to_vec()),
        ("2.tar.gz", wiped(gzip(&tar))),
        ("2.tgz", gzip(&wiped(vec![7; 4096]))),
        ("2.tar", wiped(vec![7; 4096])),
        ("2.zip", wiped(zip(&[Zipped::new("night.db", &small())]))),
        ("2.db", vec![0; 9000]),
    ];
    for (name, bytes) in cases {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        file("1.db", &small());
        file(name, &bytes);
        let log = b"2026-01-01 a line of a log\n";
        file("other.log.gz", &gzip(log));
        let source = open(&[folder.path()]).unwrap();
        let damage = source.damage().join("\n");
        assert!(damage.contains(name) && !damage.contains("other.log.gz"), "{name} of {} bytes: {damage}", bytes.len());
        assert!(said(&*source).contains("not read, as nothing is recognised in it: other.log.gz"), "{}", said(&*source));
        assert_eq!(events(&*source).len(), 59, "{name}");
    }
}
