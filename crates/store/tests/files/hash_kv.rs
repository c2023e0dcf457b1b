//! etcd's HashKV of files, as etcdutl 3.7.3 gives it of the same ones.

use ketcd_store::{HashKv, Revision};

use super::{capture, decompressed, open, open_bytes, wait};

/// What `etcdutl hashkv` prints: the revision, the hash and the compacted revision.
const HASH_TABLE: [(&str, i64, u32, Option<i64>); 10] = [
    ("k120-story/snapshot.db.zst", 1787, 2_639_838_306, None),
    ("k120-story/snapshot.db.zst", 1500, 1_296_576_150, None),
    ("k120-story/compacted.db.zst", 1787, 1_708_927_315, Some(1072)),
    ("k120-story/compacted.db.zst", 1500, 3_458_023_581, Some(1072)),
    ("k136-story/snapshot.db.zst", 3190, 56_161_573, None),
    ("k136-story/snapshot.db.zst", 1500, 2_970_180_682, None),
    ("k136-story/compacted.db.zst", 3201, 1_508_751_103, Some(1920)),
    ("k136-random/snapshot.db.zst", 4887, 1_030_790_381, None),
    ("k120-random/snapshot.db.zst", 4591, 68_902_978, None),
    ("matrix-1.31/snapshot.db.zst", 3875, 309_958_695, None),
];

#[test]
fn hashes_are_etcdutls() {
    for (name, revision, wanted, compacted) in HASH_TABLE {
        let source = open(&[&capture(name)]).unwrap();
        let found = wait(HashKv::of(&*source, Revision(revision))).unwrap().unwrap_or_else(|| panic!("{name} has no hash"));
        assert_eq!((found.hash, found.revision, found.compacted), (wanted, Revision(revision), compacted.map(Revision)), "{name}");
    }
}

/// The member's files and its snapshot hold the same, the newest of it in the log alone.
#[test]
fn a_data_dir_has_the_hash_of_its_snapshot_at_the_same_revision() {
    let (member, snapshot) =
        (open(&[&capture("k136-story/member.tar.zst")]).unwrap(), open(&[&capture("k136-story/snapshot.db.zst")]).unwrap());
    let hash = |source| wait(HashKv::of(source, Revision(3190))).unwrap().unwrap();
    assert_eq!(hash(&*member).hash, hash(&*snapshot).hash);
}

#[test]
fn a_file_that_lacks_changes_has_no_hash_of_etcds() {
    let whole = decompressed("k120-story/snapshot.db.zst");
    let expected = Some(2_639_838_306);
    let (mut refused, mut other) = (0, 0);
    // The beginning of a page, one at a time, is overwritten.
    for page in (4..whole.len() / 4096).step_by(40) {
        let mut bytes = whole.clone();
        bytes[page * 4096..page * 4096 + 64].fill(0xff);
        let Ok(source) = open_bytes(&bytes) else { continue };
        match wait(HashKv::of(&*source, wait(source.span()).unwrap().newest)) {
            Ok(Some(found)) if Some(found.hash) == expected => other += 1,
            _ => refused += 1,
        }
    }
    // A page that the tree does not reach changes nothing.
    assert!(refused > 5, "{refused} refused, {other} as before");
}
