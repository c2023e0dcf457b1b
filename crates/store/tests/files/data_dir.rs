//! Data dirs: database and write-ahead log together, whole, damaged and cut; and several files as one history.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use ketcd_store::{At, Checksum, Event, EventKind, KeyRange, KeyValue, Origin, Revision, SourceKind, Want};
use ketcd_testing::data_dir::data_dir;
use ketcd_testing::wal::{ENTRY_RECORD, log_of, records, without_first};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{alive, capture, decompressed, events, open, open_bytes, status, wait};

const FIRST_LOG_PATH: &str = "member/wal/0000000000000000-0000000000000000.wal";

/// Puts another file in a file's place; the old one may still be mapped.
fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(new, path).unwrap();
}

fn sha(value: &[u8]) -> String {
    Sha256::digest(value).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A member killed while its API server compacted every 30 s: all that a watcher saw meanwhile is there.
#[test]
fn the_log_gives_back_what_was_compacted_and_what_the_database_did_not_have_yet() {
    let directory = data_dir("k136-live/member.tar.zst");
    let source = open(&[directory.path()]).unwrap();
    let events = events(&*source);
    let ours: HashMap<(i64, &str), Option<String>> = events
        .iter()
        .map(|event| {
            let value = (event.kind == EventKind::Put).then(|| sha(&event.key_value.value));
            ((event.revision.0, std::str::from_utf8(&event.key_value.key).unwrap()), value)
        })
        .collect();
    let mut seen = 0;
    for line in decompressed("k136-live/times.jsonl.zst").split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let change: Value = serde_json::from_slice(line).unwrap();
        let value = ours[&(change["rev"].as_i64().unwrap(), change["key"].as_str().unwrap())].as_deref();
        assert_eq!(value, change["sha"].as_str(), "{change}");
        seen += 1;
    }
    assert_eq!(seen, 2106);
    let status = status(&*source);
    assert_eq!((status.problems, status.cluster_id.as_deref()), (vec![], Some("5d84e036f4f56740")));
    assert_eq!(status.recoverable_wal as usize, events.iter().filter(|event| event.origin == Origin::Wal).count());
    // What etcd itself made of the same files.
    let after = open(&[&capture("k136-live/after.db.zst")]).unwrap();
    assert_eq!(alive(&*source, At::Newest), alive(&*after, At::Newest));
    assert!(wait(source.range(KeyRange::all(), At::Revision(Revision(2)), Want::Keys)).is_ok(), "the log reaches back to the beginning");
}

#[test]
fn a_log_and_its_database_show_each_change_once() {
    let directory = data_dir("k120-story/member.tar.zst");
    let snapshot = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
    assert_eq!(events(&*open(&[directory.path()]).unwrap()), events(&*snapshot));
    // The member directory itself will do, and so will a database without a log.
    assert_eq!(events(&*open(&[&directory.path().join("member")]).unwrap()), events(&*snapshot));
    fs::remove_dir_all(directory.path().join("member/wal")).unwrap();
    let source = open(&[directory.path()]).unwrap();
    assert_eq!(events(&*source), events(&*snapshot));
    // What the database holds is sound, so nothing is damaged.
    let status = status(&*source);
    assert_eq!(status.problems, ["there is no member/wal next to the database, so changes that only the log has are missing"]);
    assert_eq!(status.checksums, [Checksum::Absent]);
    assert_eq!(source.damage(), &[] as &[String]);
}

/// Old files of a log are removed in time: then it only continues the database.
#[test]
fn a_log_that_begins_later_continues_the_database() {
    let directory = data_dir("k136-story/member.tar.zst");
    let whole = open(&[directory.path()]).unwrap();
    // A database of a little earlier.
    replace(&directory.path().join("member/snap/db"), &decompressed("k136-story/snapshot.db.zst"));
    let last_of_db = wait(open(&[&capture("k136-story/snapshot.db.zst")]).unwrap().span()).unwrap().newest;
    assert_eq!(last_of_db, Revision(3190));
    let wal = directory.path().join(FIRST_LOG_PATH);
    let records = records(&fs::read(&wal).unwrap());
    let entries = records.iter().filter(|record| record.0 == ENTRY_RECORD).count();
    replace(&wal, &without_first(&records, entries / 3));
    let source = open(&[directory.path()]).unwrap();
    assert_eq!(status(&*source).problems, Vec::<String>::new());
    assert_eq!(wait(source.span()).unwrap().newest, Revision(3201));
    for at in [last_of_db, Revision(3195), Revision(3201)] {
        assert_eq!(alive(&*source, At::Revision(at)), alive(&*whole, At::Revision(at)), "{at}");
    }
    let of_log = |event: &Event| event.revision > last_of_db;
    for (event, truth) in events(&*source).iter().zip(events(&*whole)) {
        assert_eq!((event.revision, &event.key_value), (truth.revision, &truth.key_value));
        assert_eq!(event.origin, if of_log(event) { Origin::Wal } else { Origin::Db });
    }
    assert_eq!(status(&*source).recoverable_wal, 11);
}

/// Whether all that an event says is so; its version may be unknown.
fn assert_true(event: &Event, truth: &Event) {
    let (ours, theirs) = (&event.key_value, &truth.key_value);
    assert_eq!((event.kind, &ours.key, &ours.value, ours.lease), (truth.kind, &theirs.key, &theirs.value, theirs.lease));
    let versions = |kv: &KeyValue| (kv.version, kv.create_revision);
    assert!(versions(ours) == versions(theirs) || versions(ours) == (0, Revision(0)), "{:?} {:?}", versions(ours), versions(theirs));
}

/// What a log holds of compacted revisions when its own beginning is gone: whatever is shown is true, and most is shown.
#[test]
fn a_log_that_begins_later_still_shows_what_was_compacted() {
    let directory = data_dir("k136-live/member.tar.zst");
    let place = |event: &Event| (event.revision, event.sub_revision);
    let truth: HashMap<_, _> = events(&*open(&[directory.path()]).unwrap()).into_iter().map(|event| (place(&event), event)).collect();
    let wal = directory.path().join(FIRST_LOG_PATH);
    let whole = records(&fs::read(&wal).unwrap());
    let entries = whole.iter().filter(|record| record.0 == ENTRY_RECORD).count();
    for (share, least) in [(10, 900), (3, 600), (2, 400)] {
        replace(&wal, &without_first(&whole, entries / share));
        let source = open(&[directory.path()]).unwrap();
        let (mut recovered, mut unknown) = (0, 0);
        for event in events(&*source).into_iter().filter(|event| event.origin == Origin::Wal) {
            assert_true(&event, &truth[&place(&event)]);
            recovered += 1;
            unknown += u32::from(event.key_value.version == 0 && event.kind == EventKind::Put);
        }
        assert!(recovered >= least, "1/{share} dropped: {recovered} recovered, {unknown} of unknown version");
    }
}

#[test]
fn a_damaged_log_is_reported_and_never_shows_wrong_values() {
    let directory = data_dir("k136-live/member.tar.zst");
    let place = |event: &Event| (event.revision, event.sub_revision);
    let truth: HashMap<_, _> = events(&*open(&[directory.path()]).unwrap()).into_iter().map(|event| (place(&event), event)).collect();
    let wal = directory.path().join(FIRST_LOG_PATH);
    let mut whole = fs::read(&wal).unwrap();
    let written = whole.iter().rposition(|&byte| byte != 0).unwrap();
    whole.truncate(written + 4096);
    for n in 1..12 {
        for flip in [true, false] {
            let mut log = whole.clone();
            if flip {
                log[written * n / 12] ^= 0x40
            } else {
                log.truncate(written * n / 12)
            }
            replace(&wal, &log);
            let source = open(&[directory.path()]).unwrap();
            let events = events(&*source);
            assert!(!status(&*source).problems.is_empty() || events.len() == truth.len() || n == 11, "{n} {flip}");
            for event in &events {
                assert_true(event, &truth[&place(event)]);
            }
        }
    }
}

/// Four KiB of zeros and a wrong length hide the records there, and no others.
#[test]
fn a_hole_in_the_log_costs_what_was_in_it() {
    let directory = data_dir("k136-live/member.tar.zst");
    let place = |event: &Event| (event.revision, event.sub_revision);
    let truth: HashMap<_, _> = events(&*open(&[directory.path()]).unwrap()).into_iter().map(|event| (place(&event), event)).collect();
    let wal = directory.path().join(FIRST_LOG_PATH);
    let whole = fs::read(&wal).unwrap();
    let written = whole.iter().rposition(|&byte| byte != 0).unwrap();
    for n in 1..8 {
        let middle = written / 8 * n / 4096 * 4096;
        let mut zeroed = whole.clone();
        zeroed[middle..middle + 4096].fill(0);
        let frame = frame_behind(&whole, middle);
        let mut long = whole.clone();
        long[frame..frame + 7].fill(0x7f);
        for (log, most) in [(zeroed, 24), (long, 6)] {
            replace(&wal, &log);
            let source = open(&[directory.path()]).unwrap();
            let told = events(&*source);
            told.iter().for_each(|event| assert_true(event, &truth[&place(event)]));
            assert!(told.len() + most >= truth.len(), "{n}: {} of {}: {:?}", told.len(), truth.len(), status(&*source).problems);
            assert!(source.damage().iter().any(|problem| problem.contains(" is damaged at byte ")), "{n}: {:?}", source.damage());
        }
    }
}

/// A log from the cluster's beginning of which one of the first entries is another than etcd applied: all revisions behind it are off by one.
#[test]
fn a_log_that_contradicts_its_database_says_so_and_keeps_what_is_proved() {
    let directory = data_dir("k136-live/member.tar.zst");
    let place = |event: &Event| (event.revision, event.sub_revision);
    let truth: HashMap<_, _> = events(&*open(&[directory.path()]).unwrap()).into_iter().map(|event| (place(&event), event)).collect();
    let wal = directory.path().join(FIRST_LOG_PATH);
    let mut records = records(&fs::read(&wal).unwrap());
    let writes = |data: &[u8]| data.windows(10).any(|bytes| bytes == b"/registry/");
    let first = records.iter().position(|(kind, data)| *kind == ENTRY_RECORD && writes(data)).unwrap();
    // Term and index alone, without data, confirm a term.
    assert_eq!((records[first].1[0], records[first].1[2], records[first].1[4]), (0x10, 0x18, 0x22));
    records[first].1.truncate(4);
    replace(&wal, &log_of(&records));
    let source = open(&[directory.path()]).unwrap();
    let told = events(&*source);
    told.iter().for_each(|event| assert_true(event, &truth[&place(event)]));
    let db = events(&*open(&[&directory.path().join("member/snap/db")]).unwrap());
    assert!(told.len() > db.len(), "{} of the database, {} told", db.len(), told.len());
    let said = source.damage().iter().filter(|problem| problem.contains("contradicts the database at revision ")).count();
    assert_eq!(said, 1, "{:?}", source.damage());

    // A member that was restored from a snapshot begins so too, which is not a contradiction.
    let members = records.iter().position(|(kind, _)| *kind == ENTRY_RECORD).unwrap();
    let (snapshot, of_first_entry) = (5, vec![0x08, 1, 0x10, 1]);
    records.insert(members + 1, (snapshot, of_first_entry));
    replace(&wal, &log_of(&records));
    let restored = open(&[directory.path()]).unwrap();
    assert_eq!((events(&*restored), restored.damage()), (told, &[][..]));
}

/// Where the first frame at or behind a byte of a log begins.
fn frame_behind(log: &[u8], byte: usize) -> usize {
    let mut at = 0;
    while at < byte {
        let frame = u64::from_le_bytes(log[at..at + 8].try_into().unwrap());
        at += 8 + (frame & ((1 << 56) - 1)) as usize + if frame >> 63 == 1 { (frame >> 56 & 7) as usize } else { 0 };
    }
    at
}

/// The log alone, as a data dir, a folder and a file; and a data dir in an archive.
#[test]
fn parts_of_a_data_dir_and_archives_are_read() {
    let directory = data_dir("k120-story/member.tar.zst");
    let truth = events(&*open(&[directory.path()]).unwrap());
    let archive = open(&[&capture("k120-story/member.tar.zst")]).unwrap();
    assert_eq!((events(&*archive), archive.damage()), (truth.clone(), &[][..]));
    fs::remove_dir_all(directory.path().join("member/snap")).unwrap();
    let renamed = directory.path().join("a-log");
    fs::copy(directory.path().join(FIRST_LOG_PATH), &renamed).unwrap();
    let numbers = |events: &[Event]| events.iter().map(|event| (event.revision, event.kind, event.key_value.clone())).collect::<Vec<_>>();
    for path in [directory.path().to_owned(), directory.path().join("member/wal"), directory.path().join(FIRST_LOG_PATH), renamed] {
        let source = open(&[&path]).unwrap();
        assert_eq!(source.damage(), &[] as &[String], "{}", path.display());
        assert!(source.left_out().iter().any(|note| note.contains("only the log is shown")), "{:?}", source.left_out());
        assert_eq!(numbers(&events(&*source)), numbers(&truth), "{}", path.display());
        assert_eq!(status(&*source).kind, SourceKind::DataDir);
    }
}

/// etcd keeps unused space behind a log's last record, so the end of a file without it is not certainly the log's.
#[test]
fn a_log_that_may_have_been_cut_says_so() {
    let directory = data_dir("k120-story/member.tar.zst");
    let log = fs::read(directory.path().join(FIRST_LOG_PATH)).unwrap();
    let file = directory.path().join("a-log");
    let told = |bytes: &[u8]| {
        replace(&file, bytes);
        let source = open(&[&file]).unwrap();
        (source.damage().join("\n"), source.left_out().join("\n"), wait(source.span()).unwrap().newest)
    };
    let (damage, notes, newest) = told(&log);
    assert_eq!((&*damage, notes.contains("may have been cut short"), newest), ("", false, Revision(1787)));
    // Where each record begins, and where the last one ends.
    let mut ends = vec![0];
    while let Some(frame) =
        log.get(ends[ends.len() - 1]..).and_then(|rest| rest.get(..8)).map(|frame| u64::from_le_bytes(frame.try_into().unwrap()))
    {
        if frame == 0 {
            break;
        }
        let padding = if frame >> 63 == 1 { frame >> 56 & 7 } else { 0 };
        ends.push(ends[ends.len() - 1] + 8 + ((frame & ((1 << 56) - 1)) + padding) as usize);
    }
    for at in [ends.len() / 2, ends.len() - 20, ends.len() - 1] {
        let (damage, notes, newest) = told(&log[..ends[at]]);
        assert!(damage.is_empty() || damage.contains("were committed; the later ones are missing"), "{damage}");
        assert!(notes.contains("it may have been cut short there or go on in another file"), "{notes}");
        assert!(at + 1 == ends.len() || newest < Revision(1787), "{newest}");
        for within in [1, 7, 9, 40] {
            if at + 1 < ends.len() && ends[at] + within < ends[at + 1] {
                let (damage, ..) = told(&log[..ends[at] + within]);
                let wanted = format!("ends within a record, at byte {}: it was cut short", ends[at]);
                assert!(damage.contains(&wanted), "{within} bytes behind record {at}: {damage}");
            }
        }
    }
    // Records of a log in which nothing was written yet.
    let Err(error) = open_bytes(&log[..ends[2]]) else { panic!("a log without entries was read") };
    assert!(
        error.contains("is a write-ahead log without entries, and there is no member/snap/db next to it, so there is nothing to read")
            && error.lines().count() == 1,
        "{error}"
    );
}

/// A raft snapshot, as etcd writes it: a checksum, then data and metadata.
#[test]
fn a_raft_snapshot_names_members() {
    let attributes = r#"{\"name\":\"one\",\"clientURLs\":[\"http://10.0.0.1:2379\"]}"#;
    let node = format!(r#"{{"Path":"/0/members/8e9e05c52164694d/attributes","Value":"{attributes}","Children":null}}"#);
    let json = format!(r#"{{"Root":{{"Path":"/","Children":{{"0":{{"Path":"/0","Children":{{"x":{node}}}}}}}}}}}"#);
    let inner = [&[0x0a][..], &varint(json.len()), json.as_bytes(), &[0x12, 2, 0x10, 9]].concat();
    let outer = [&[0x08][..], &varint(crc32c::crc32c(&inner) as usize), &[0x12], &varint(inner.len()), &inner].concat();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &outer).unwrap();
    let source = open(&[file.path()]).unwrap();
    let members: Vec<_> = status(&*source).members.into_iter().map(|member| (member.id, member.endpoint)).collect();
    assert_eq!(members, [("8e9e05c52164694d".to_owned(), "http://10.0.0.1:2379".to_owned())]);
    assert!(
        source.left_out()[0].contains("is a raft snapshot of entry 9: it names 1 members and holds no keys"),
        "{:?}",
        source.left_out()
    );
    assert!(events(&*source).is_empty());
    fs::write(file.path(), &outer[..outer.len() - 1]).unwrap();
    assert!(open(&[file.path()]).is_err());
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Values of the database that were damaged are refuted by the log, and take nothing else with them.
#[test]
fn damaged_values_of_the_database_cost_nothing_else() {
    let directory = data_dir("k136-live/member.tar.zst");
    let place = |event: &Event| (event.revision, event.sub_revision);
    let truth: HashMap<_, _> = events(&*open(&[directory.path()]).unwrap()).into_iter().map(|event| (place(&event), event)).collect();
    let of_db = events(&*open(&[&directory.path().join("member/snap/db")]).unwrap());
    let db = fs::read(directory.path().join("member/snap/db")).unwrap();
    let mut damaged = db.clone();
    let long: Vec<&Event> = of_db.iter().filter(|event| event.origin == Origin::Db && event.key_value.value.len() > 200).collect();
    for event in long.iter().step_by(long.len() / 10).take(10) {
        let value = &event.key_value.value[..];
        let at = db.windows(value.len()).position(|bytes| bytes == value).unwrap();
        damaged[at + 100] ^= 0x55;
    }
    replace(&directory.path().join("member/snap/db"), &damaged);
    let source = open(&[directory.path()]).unwrap();
    let told = events(&*source);
    assert_eq!(told.len(), truth.len(), "{:?}", source.damage());
    told.iter().for_each(|event| assert_true(event, &truth[&place(event)]));
    let named = source.damage().iter().filter(|problem| problem.contains("the database is damaged at revision ")).count();
    assert!((8..=10).contains(&named), "{:?}", source.damage());
}

#[test]
fn a_directory_without_a_member_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let error = open(&[directory.path()]).err().unwrap();
    assert!(
        error.to_string().ends_with("is a folder that holds neither a database or log of etcd or kine nor API objects: it has no file"),
        "{error}"
    );
}

#[test]
fn two_files_of_a_cluster_are_one_history() {
    let (full, compacted) = (capture("k120-story/snapshot.db.zst"), capture("k120-story/compacted.db.zst"));
    let wanted = events(&*open(&[&full]).unwrap());
    for order in [[full.as_path(), &compacted], [&compacted, &full]] {
        let both = open(&order).unwrap();
        assert_eq!(events(&*both), wanted);
        assert_eq!(wait(both.span()).unwrap().oldest, Revision(1));
        assert_eq!(alive(&*both, At::Revision(Revision(900))), alive(&*open(&[&full]).unwrap(), At::Revision(Revision(900))));
    }
    let other = capture("k136-story/snapshot.db.zst");
    let error = open(&[&full, &other]).err().unwrap().to_string();
    assert!(error.contains("these are not from one etcd cluster"), "{error}");
}

/// An older leaf in the place of the last one is a leaf like any other: that it lacks the newest revision, the index of the last entry applied tells.
#[test]
fn a_database_has_the_revisions_of_the_entries_that_it_says_are_applied() {
    const PAGE_BYTES: usize = 4096;
    let directory = data_dir("k120-story/member.tar.zst");
    let path = directory.path().join("member/snap/db");
    let mut db = fs::read(&path).unwrap();
    let newest = wait(open(&[&path]).unwrap().span()).unwrap().newest;
    let number = |at: usize| u32::from_le_bytes(db[at..at + 4].try_into().unwrap()) as usize;
    let revision = |page: usize, index: usize| {
        let element = page + 16 + 16 * index;
        let key = db.get(element + number(element + 4)..)?.get(..8)?;
        Some(i64::from_be_bytes(key.try_into().unwrap()))
    };
    let leaves = (0..db.len()).step_by(PAGE_BYTES).filter(|page| db[page + 8..page + 10] == [2, 0] && db[page + 10] > 0);
    let ends: Vec<(usize, Option<i64>, Option<i64>)> =
        leaves.map(|page| (page, revision(page, 0), revision(page, usize::from(db[page + 10]) - 1))).collect();
    let ending = |last: Revision| ends.iter().filter(move |(.., end)| *end == Some(last.0));
    let (target, first, _) = ending(newest).next().unwrap();
    let (source, ..) = ending(newest.before()).find(|(_, begin, _)| begin == first).unwrap();
    db.copy_within(source + 8..source + PAGE_BYTES, target + 8);
    replace(&path, &db);
    let damage = open(&[directory.path()]).unwrap().damage().join("; ");
    assert!(damage.contains(&format!("which made revision {newest}, but its newest revision is {}", newest.before())), "{damage}");
}
