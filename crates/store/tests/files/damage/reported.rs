//! The message for each kind of provable damage.

use ketcd_store::load;

use super::{Met, Truth, member, open, open_member, shown};
use crate::decompressed;
use ketcd_testing::mutants::PAGE_BYTES;

const STORY_CAPTURE: &str = "k120-story/snapshot.db.zst";

fn word(db: &[u8], at: usize, length: usize) -> u64 {
    db[at..at + length].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The leaf that holds a revision's first change, the change's place among its elements, and how many there are.
fn leaf_of(db: &[u8], revision: u64) -> (usize, usize, usize) {
    let key = [&revision.to_be_bytes()[..], b"_", &[0; 8]].concat();
    for page in 2..db.len() / PAGE_BYTES {
        let at = page * PAGE_BYTES;
        if word(db, at, 8) != page as u64 || word(db, at + 8, 2) != 2 {
            continue;
        }
        let count = word(db, at + 10, 2) as usize;
        for index in 0..count {
            let element = at + 16 + 16 * index;
            let place = element + word(db, element + 4, 4) as usize;
            if db[place..].starts_with(&key) {
                return (page, index, count);
            }
        }
    }
    panic!("revision {revision} is in no leaf");
}

/// The database without its checksum, and what its copies are held against.
fn original() -> (Vec<u8>, Truth) {
    let whole = decompressed(STORY_CAPTURE);
    let truth = Truth::of(open(whole.clone()).unwrap());
    let pages = whole.len() / PAGE_BYTES * PAGE_BYTES;
    (whole[..pages].to_vec(), truth)
}

fn damage_of(db: Vec<u8>) -> Vec<String> {
    open(db).unwrap().damage().to_vec()
}

#[track_caller]
fn assert_one_of(reported: &[String], wanted: &str) {
    assert!(reported.iter().any(|reported| reported.contains(wanted)), "no {wanted:?} in {reported:#?}");
}

/// It showed the last minute's state as today's.
#[test]
fn a_lowered_count_of_elements_is_reported_and_costs_nothing() {
    let (mut db, truth) = original();
    let (page, _, count) = leaf_of(&db, 1787);
    assert!(count > 1);
    db[page * PAGE_BYTES + 10] -= 1;
    let source = open(db).unwrap();
    let wanted = format!("damaged: page {page} is damaged: its header claims {} elements, it holds {count}", count - 1);
    assert_one_of(source.damage(), &wanted);
    assert_eq!(truth.compare(&shown(&*source)).0, Met::Unharmed);
}

/// It lost 1,784 of 1,786 revisions.
#[test]
fn a_root_moved_to_a_leaf_is_reported() {
    for (revision, wanted) in
        [(2, "pages that its tree does not reach hold revisions up to 1787"), (1787, "its tree has lost"), (900, "its tree has lost")]
    {
        let (mut db, truth) = original();
        let (leaf, ..) = leaf_of(&db, revision);
        let name = db.windows(3).enumerate().filter(|(at, bytes)| *bytes == b"key" && word(&db, at + 3, 8) == 681).map(|(at, _)| at).next();
        let name = name.unwrap();
        db[name + 3..name + 11].copy_from_slice(&(leaf as u64).to_le_bytes());
        let source = open(db).unwrap();
        assert_one_of(source.damage(), wanted);
        // Where the tree provably has lost changes, the pages it does not reach give them back.
        if revision > 2 {
            assert_eq!(truth.compare(&shown(&*source)).0, Met::Unharmed);
        }
    }
}

#[test]
fn missing_revisions_are_reported_unless_another_file_has_them() {
    let (mut db, truth) = original();
    let (page, ..) = leaf_of(&db, 900);
    db[page * PAGE_BYTES..][..PAGE_BYTES].fill(0);
    let sentences = damage_of(db.clone());
    assert_one_of(
        &sentences,
        &format!("page {page} is damaged: it bears another page's number; revisions from 900 to before 902 may be missing"),
    );
    assert_one_of(
        &sentences,
        "revisions 900 to 901 are missing, though nothing was compacted: what is shown from 900 on may be older than it looks",
    );
    let mut files = [tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap()];
    std::io::Write::write_all(&mut files[0], &db).unwrap();
    std::io::Write::write_all(&mut files[1], &decompressed(STORY_CAPTURE)).unwrap();
    let paths: Vec<String> = files.iter().map(|file| file.path().to_str().unwrap().to_owned()).collect();
    for paths in [paths.clone(), paths.iter().rev().cloned().collect()] {
        let both = load::open(&paths, &|_| None).unwrap();
        assert_eq!(both.damage(), &[] as &[String]);
        assert!(both.left_out()[0].contains("has every revision of it"), "{:?}", both.left_out());
        assert_eq!(truth.compare(&shown(&*both)).0, Met::Unharmed);
    }
}

/// The bytes of an entry's value: its key, and the message behind it.
fn entry(db: &[u8], revision: u64) -> (usize, usize) {
    let (page, index, _) = leaf_of(db, revision);
    let element = page * PAGE_BYTES + 16 + 16 * index;
    let place = element + word(db, element + 4, 4) as usize;
    (place, place + word(db, element + 8, 4) as usize)
}

#[test]
fn numbers_that_cannot_be_are_reported() {
    let (db, _) = original();
    // A sub-revision without the ones before it.
    let (key, _) = entry(&db, 900);
    let mut damaged = db.clone();
    damaged[key + 16] = 1;
    assert_one_of(&damage_of(damaged), "revision 900 has lost changes: later ones of it are there, earlier ones are not");
    // A revision that is another's.
    let mut damaged = db.clone();
    damaged[key + 7] ^= 1;
    assert_one_of(
        &damage_of(damaged),
        "revision 900 is missing, though nothing was compacted: what is shown from there on may be older than it looks",
    );
    // A key that is another: its own next version has none before it.
    let lease = b"/registry/leases/kube-node-lease/node1";
    let (_, message) = (2..1787)
        .map(|revision| entry(&db, revision))
        .find(|(_, at)| db[*at..*at + 60].windows(lease.len()).any(|key| key == lease))
        .unwrap();
    let at = message + db[message..].windows(lease.len()).position(|key| key == lease).unwrap() + lease.len() - 1;
    let mut damaged = db.clone();
    damaged[at] = b'9';
    assert_one_of(
        &damage_of(damaged),
        "/registry/leases/kube-node-lease/node1: version 1 is missing, though version 2 was written at revision",
    );
}

#[test]
fn what_a_compaction_removed_cannot_be_there() {
    let mut db = decompressed("k120-story/compacted.db.zst");
    // It claims to have been compacted later than it was.
    for name in [&b"finishedCompactRev"[..], b"scheduledCompactRev"] {
        for start in 0..db.len() - name.len() - 8 {
            if db[start..].starts_with(name) && db[start + name.len()..][..8] == 1072_i64.to_be_bytes() {
                db[start + name.len()..][..8].copy_from_slice(&1200_i64.to_be_bytes());
            }
        }
    }
    assert_one_of(&damage_of(db), ", which the compaction at 1200 removed");
}

/// One damaged value made the whole log unbelievable.
#[test]
fn the_log_is_shown_where_it_proves_the_database_wrong() {
    let (mut db, log) = member("k120-story/member.tar.zst");
    let truth = Truth::of(open_member(db.clone(), log.clone()).unwrap());
    let image = b"example.com/urgent:1";
    let at = db.windows(image.len()).position(|bytes| bytes == image).unwrap();
    db[at] ^= 1;
    let source = open_member(db, log).unwrap();
    assert_eq!(source.damage().len(), 1);
    assert_one_of(source.damage(), "damaged: the database is damaged at revision 838: what it has of /registry/events/lab/urgent.");
    assert_one_of(source.damage(), " is not what the log has, whose checksum matches; the log's is shown");
    assert_eq!(truth.compare(&shown(&*source)).0, Met::Unharmed);
}

/// Its database has lost its newest revisions; the log has them.
#[test]
fn what_the_log_has_is_no_loss() {
    let (mut db, log) = member("k120-story/member.tar.zst");
    let truth = Truth::of(open_member(db.clone(), log.clone()).unwrap());
    let (page, index, _) = leaf_of(&db, 1787);
    // Without the last entry, as if it had never been written.
    assert_eq!(index + 1, usize::from(word(&db, page * PAGE_BYTES + 10, 2) as u16));
    let element = page * PAGE_BYTES + 16 + 16 * index;
    let (from, length) = (element + word(&db, element + 4, 4) as usize, word(&db, element + 8, 4) + word(&db, element + 12, 4));
    let (table, data) = (page * PAGE_BYTES + 16, db[page * PAGE_BYTES + 16 + 16 * (index + 1)..from].to_vec());
    let end = from + length as usize;
    db[table + 16 * index..end].fill(0);
    db[table + 16 * index..][..data.len()].copy_from_slice(&data);
    for element in (0..index).map(|index| table + 16 * index + 4) {
        let place = word(&db, element, 4) as u32 - 16;
        db[element..element + 4].copy_from_slice(&place.to_le_bytes());
    }
    db[page * PAGE_BYTES + 10] -= 1;
    let source = open_member(db, log).unwrap();
    assert!(matches!(source.damage(), [only] if only.contains("which is shown from the log")), "{:?}", source.damage());
    assert_eq!(truth.compare(&shown(&*source)).0, Met::Unharmed);
}
