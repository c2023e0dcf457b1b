//! The index that is kept of a database: the same answers, of the same file alone.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ketcd_store::load::{Cache, Limits, open_within};
use ketcd_store::{At, Checksum, KeyRange, KeyValue, Source, Want};

use super::{decompressed, events, wait};
use futures_util::StreamExt;

/// Opens a file and reads all of it, so that its index is kept.
fn read(path: &Path, cache: &Path) -> (Box<dyn Source>, Vec<ketcd_store::Event>) {
    let limits = Limits { cache: Some(Cache { directory: cache.to_owned(), smallest: 0 }), ..Limits::default() };
    let source = open_within(&[path.to_str().unwrap().to_owned()], &limits, &|_| None).unwrap();
    let events = events(&*source);
    source.late_damage();
    (source, events)
}

fn kept(cache: &Path) -> Vec<PathBuf> {
    fs::read_dir(cache).map_or(Vec::new(), |entries| entries.map(|entry| entry.unwrap().path()).collect())
}

fn alive(source: &dyn Source, at: At) -> Vec<KeyValue> {
    wait(async { source.range(KeyRange::all(), at, Want::Values).await.unwrap().entries.map(Result::unwrap).collect().await })
}

/// The same is said of a file by its kept index, but when its checksum was computed.
fn assert_same_status(first: &dyn Source, again: &dyn Source) {
    let [mut first, mut again] = [first, again].map(|source| wait(source.status()).unwrap());
    let checksums = [&mut first, &mut again].map(|status| std::mem::take(&mut status.checksums));
    assert_eq!(checksums, [[Checksum::Holds], [Checksum::Kept]]);
    assert_eq!(first, again);
}

#[test]
fn a_kept_index_answers_as_the_file_does() {
    for capture in ["k136-story/snapshot.db.zst", "k120-story/compacted.db.zst"] {
        let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (file, cache) = (folder.path().join("db"), cache.path().join("made"));
        fs::write(&file, decompressed(capture)).unwrap();
        let (first, events) = read(&file, &cache);
        let [index] = &kept(&cache)[..] else { panic!("{capture}: {:?}", kept(&cache)) };
        let made = fs::metadata(index).unwrap().modified().unwrap();
        let (again, same) = read(&file, &cache);
        assert_eq!(fs::metadata(index).unwrap().modified().unwrap(), made, "{capture} was read anew");
        assert!(events == same, "{capture}");
        assert_eq!(wait(first.span()).unwrap(), wait(again.span()).unwrap(), "{capture}");
        assert_same_status(&*first, &*again);
        let newest = wait(first.span()).unwrap().newest;
        for at in [At::Newest, At::Revision(newest.before())] {
            assert!(alive(&*first, at) == alive(&*again, at), "{capture} {at:?}");
        }
    }
}

#[test]
fn no_index_is_believed_of_another_file_or_kept_of_a_damaged_one() {
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (file, cache) = (folder.path().join("db"), cache.path());
    let whole = decompressed("k136-story/snapshot.db.zst");
    fs::write(&file, &whole).unwrap();
    let (_, events) = read(&file, cache);
    let index = kept(cache).pop().unwrap();

    // Another database in its place, of the same size.
    let mut changed = whole.clone();
    let at = changed.len() / 2;
    changed[at..at + 64].fill(0xff);
    fs::write(&file, &changed).unwrap();
    let (source, _) = read(&file, cache);
    assert!(!source.damage().is_empty() || !source.late_damage().is_empty());

    // The same again: the index is of another time, and is made anew.
    fs::write(&file, &whole).unwrap();
    let before = fs::read(&index).unwrap();
    assert!(read(&file, cache).1 == events && fs::read(&index).unwrap() != before);

    // An index that was damaged or cut is none.
    let sound = fs::read(&index).unwrap();
    for damaged in [&sound[..sound.len() / 2], &[], &[&sound[..100], &[7], &sound[101..]].concat()] {
        fs::write(&index, damaged).unwrap();
        assert!(read(&file, cache).1 == events);
        assert!(fs::read(&index).unwrap() == sound, "it was not made anew");
    }
}

#[test]
fn a_compressed_file_is_unpacked_while_its_kept_index_is_read() {
    let whole = decompressed("k136-story/snapshot.db.zst");
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&whole).unwrap();
        encoder.finish().unwrap()
    };
    for (name, packed) in [("db.zst", zstd::encode_all(&whole[..], 1).unwrap()), ("db.gz", gzip)] {
        let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (file, cache) = (folder.path().join(name), cache.path());
        fs::write(&file, &packed).unwrap();
        let (first, events) = read(&file, cache);
        let [index] = &kept(cache)[..] else { panic!("{name}: {:?}", kept(cache)) };
        let made = fs::metadata(index).unwrap().modified().unwrap();
        let (again, same) = read(&file, cache);
        assert!(events == same && alive(&*first, At::Newest) == alive(&*again, At::Newest), "{name}");
        assert_same_status(&*first, &*again);
        assert_eq!(fs::metadata(index).unwrap().modified().unwrap(), made, "{name} was read anew");

        // One that ends early is another file, and read as far as it goes.
        fs::write(&file, &packed[..packed.len() - 16]).unwrap();
        assert!(!read(&file, cache).0.damage().is_empty());
    }
}

/// The checksum is computed while a file is unpacked; it counts as it does of a plain one.
#[test]
fn a_compressed_snapshot_is_held_against_its_checksum() {
    let mut whole = decompressed("k136-story/snapshot.db.zst");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("db.zst");
    let damage = |data: &[u8]| {
        fs::write(&file, zstd::encode_all(data, 1).unwrap()).unwrap();
        let source = open_within(&[file.to_str().unwrap().to_owned()], &Limits::default(), &|_| None).unwrap();
        source.late_damage()
    };
    assert_eq!(damage(&whole), Vec::<String>::new());
    let last = whole.len() - 1;
    whole[last] ^= 1;
    assert!(damage(&whole)[0].contains("SHA-256"), "{:?}", damage(&whole));
}

/// What is said of a file whose index does not count, and whether all of it is read all the same.
#[cfg(unix)]
#[track_caller]
fn assert_not_used(file: &Path, cache: &Path, wanted: &[ketcd_store::Event], why: &str) {
    let (source, events) = read(file, cache);
    assert!(events == wanted);
    let [note] = source.left_out() else { panic!("{why}: {:?}", source.left_out()) };
    assert!(note.contains("ketcd neither caches nor uses an index of it: ") && note.ends_with(why), "{note}");
    assert_eq!(source.damage(), &[] as &[String]);
}

/// A user who may write an index decides what is shown, as with a `sudo` that keeps the home of another user.
#[cfg(unix)]
#[test]
fn an_index_counts_only_where_nobody_else_can_have_written_it() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (file, cache) = (folder.path().join("db"), cache.path());
    fs::write(&file, decompressed("k120-story/compacted.db.zst")).unwrap();
    let (source, events) = read(&file, cache);
    assert!(source.left_out().is_empty());
    let index = kept(cache).pop().unwrap();
    let (sound, name) = (fs::read(&index).unwrap(), index.file_name().unwrap().to_owned());
    assert_eq!((fs::metadata(&index).unwrap().mode() & 0o777, read(&file, cache).0.left_out().len()), (0o600, 0));

    for of_others in [0o620, 0o602, 0o666] {
        mode(&index, of_others);
        assert_not_used(&file, cache, &events, &format!("other users can write {}", index.display()));
    }
    mode(&index, 0o600);
    for of_others in [0o770, 0o777, 0o1777] {
        mode(cache, of_others);
        assert_not_used(&file, cache, &events, &format!("other users can write {}", cache.display()));
    }
    mode(cache, 0o700);
    // Only root may give a file away.
    if fs::metadata(&index).unwrap().uid() == 0 {
        for given in [&index, cache] {
            chown(given, Some(1), None).unwrap();
            assert_not_used(&file, cache, &events, &format!("{} belongs to another user", given.display()));
            chown(given, Some(0), None).unwrap();
        }
    }
    assert!(fs::read(&index).unwrap() == sound, "what does not count is left as it is");

    // A link, or a file with a second name.
    let other = folder.path().join("other");
    fs::rename(&index, &other).unwrap();
    symlink(&other, &index).unwrap();
    assert_not_used(&file, cache, &events, &format!("{} is a symbolic link", index.display()));
    fs::remove_file(&index).unwrap();
    fs::hard_link(&other, &index).unwrap();
    assert_not_used(&file, cache, &events, &format!("{} is not a plain file", index.display()));
    fs::remove_file(&index).unwrap();
    // A pipe that nobody writes to would be waited for.
    assert!(std::process::Command::new("mkfifo").arg(&index).status().unwrap().success());
    assert_not_used(&file, cache, &events, &format!("{} is not a plain file", index.display()));
    fs::remove_file(&index).unwrap();

    // A link to a directory whose files are another's.
    let linked = folder.path().join("linked");
    symlink(cache, &linked).unwrap();
    (0..12).for_each(|n| fs::write(cache.join(format!("{n}.index")), b"another's").unwrap());
    fs::rename(&other, cache.join(&name)).unwrap();
    assert_not_used(&file, &linked, &events, &format!("{} is a symbolic link", linked.display()));
    assert_eq!(kept(cache).len(), 13);
}

/// The newest of many indexes are kept; a file with such a name that is not this user's stays.
#[cfg(unix)]
#[test]
fn what_is_no_index_of_this_user_is_not_removed() {
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (file, cache) = (folder.path().join("db"), cache.path());
    fs::write(&file, decompressed("k120-story/compacted.db.zst")).unwrap();
    let target = folder.path().join("target");
    fs::write(&target, b"kept").unwrap();
    (0..10).for_each(|n| std::os::unix::fs::symlink(&target, cache.join(format!("{n}.index"))).unwrap());
    fs::create_dir(cache.join("folder.index")).unwrap();
    read(&file, cache);
    assert_eq!((kept(cache).len(), fs::read(&target).unwrap()), (12, b"kept".to_vec()));
}
