//! Files that cannot all be open at once: what is read is the same, and no more of them is opened than a question needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use ketcd_testing::database;

#[cfg(feature = "live")]
use super::LiveInput;
use super::part::{POOL_BYTES, Part, PartState};
use super::{Fused, plan};
use crate::load::{Limits, open_bytes};
use crate::{
    At, Error, Event, EventKind, KeyRange, KeyValue, LateDamage, Origin, Revision, RevisionSpan, Source, Sources, Until, Want, WatchItem,
};

const KEY_COUNT: i64 = 10;

/// Ten keys in turn, and one that is written once in ten revisions.
fn history(newest: i64) -> Vec<Event> {
    let event = |main: i64| {
        let number = main % KEY_COUNT;
        let create_revision = if number < 2 { number + KEY_COUNT } else { number };
        let key_value = KeyValue {
            key: Bytes::from(format!("/registry/configmaps/lab/c{number}")),
            value: Bytes::from(format!("value {main} {}", "x".repeat(200))),
            create_revision: Revision(create_revision),
            mod_revision: Revision(main),
            version: (main - create_revision) / KEY_COUNT + 1,
            replaced: Revision(0),
            lease: 0,
        };
        let (revision, sources) = (Revision(main), Sources::default());
        Event { revision, sub_revision: 0, kind: EventKind::Put, key_value, origin: Origin::Db, sources }
    };
    (2..=newest).map(event).collect()
}

/// Snapshots, compacted at a revision or at none (0) and up to another, of which two fit the pool; counts how often one is opened.
fn nights(history: &[Event], spans: &[(i64, i64)], keeps_freed: bool) -> (Fused, Arc<AtomicUsize>) {
    let opened = Arc::new(AtomicUsize::new(0));
    let part = |&(compacted, newest): &(i64, i64)| {
        let name = format!("night{newest}.db");
        let compacted = Some(compacted).filter(|&revision| revision > 0);
        let file = Bytes::from(database!(history, newest, compacted, keeps_freed));
        let (count, path) = (Arc::clone(&opened), name.clone());
        let open = move || {
            count.fetch_add(1, Ordering::Relaxed);
            open_bytes(&path, file.clone(), &Limits::default(), &|_| None)
        };
        let oldest = Revision(compacted.unwrap_or(1));
        let span = RevisionSpan { oldest, newest: Revision(newest), compacted: compacted.map(Revision) };
        Part::closed(&name, span, PartState::Closed { bytes: POOL_BYTES / 5 * 2, open: Box::new(open), peek: None })
    };
    (Fused::new(spans.iter().map(part).collect(), None).unwrap(), opened)
}

fn items(fused: &Fused, from: i64, to: i64) -> Vec<WatchItem> {
    let items = fused.watch(KeyRange::all(), Revision(from), Until::Revision(Revision(to)));
    items.map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap()
}

fn split(items: Vec<WatchItem>) -> (Vec<Event>, Vec<(i64, i64)>) {
    let (mut events, mut gaps) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            WatchItem::Event(event) => events.push(event),
            WatchItem::Gap { from, to } => gaps.push((from.0, to.0)),
            WatchItem::Progress(_) => {}
        }
    }
    (events, gaps)
}

fn alive(fused: &Fused, at: i64) -> Result<Vec<i64>, Error> {
    let listing = fused.range(KeyRange::all(), At::Revision(Revision(at)), Want::Values).now_or_never().unwrap()?;
    listing.entries.map_ok(|entry| entry.mod_revision.0).try_collect().now_or_never().unwrap()
}

#[test]
fn files_that_overlap_are_one_history() {
    let history = history(400);
    let spans: Vec<(i64, i64)> = (1..=10).map(|night| (40 * night - 60, 40 * night)).map(|(from, to)| (from.max(1), to)).collect();
    let (fused, opened) = nights(&history, &spans, false);
    assert!(!plan::fits(&fused.parts, 1));
    let (events, gaps) = split(items(&fused, 1, 400));
    assert_eq!(events, history);
    assert_eq!(gaps, []);
    assert!(events.iter().all(|event| !event.sources.names().is_empty()));
    assert!(events.iter().any(|event| event.sources.names().len() == 2), "of two that are open at once both are named");
    let before = opened.load(Ordering::Relaxed);
    let (some, _) = split(items(&fused, 390, 400));
    assert_eq!(some[..], history[388..]);
    assert!(opened.load(Ordering::Relaxed) - before <= 2);
}

#[test]
fn what_lies_between_files_is_what_they_still_have() {
    let history = history(400);
    for keeps_freed in [false, true] {
        let spans: Vec<(i64, i64)> = (1..=10).map(|night| (40 * night - 15, 40 * night)).collect();
        let (fused, _) = nights(&history, &spans, keeps_freed);
        let (events, gaps) = split(items(&fused, 1, 400));
        let revisions: Vec<i64> = events.iter().map(|event| event.revision.0).collect();
        assert!(revisions.is_sorted_by(|one, next| one < next), "{revisions:?}");
        assert!(events.iter().all(|event| history.contains(&Event { origin: Origin::Db, ..event.clone() })));
        let missing: Vec<i64> = gaps.iter().flat_map(|&(from, to)| from..=to).collect();
        let told: Vec<i64> = events.iter().map(|event| event.revision.0).collect();
        assert!((2..=400).all(|revision| told.contains(&revision) != missing.contains(&revision)), "{gaps:?}");
        if keeps_freed {
            assert_eq!((told.len(), missing.len()), (399, 0));
            assert!(events.iter().any(|event| event.origin == Origin::FreePage));
        } else {
            // Ten keys outlive each compaction.
            let lost: i64 = fused.gaps.iter().map(|gap| gap.to.0 - gap.from.0 + 1).sum();
            assert_eq!((fused.gaps.len(), lost), (9, 9 * 24));
            assert_eq!(missing.len(), (24 - 10) + 15 * 9);
            assert_eq!(fused.late_damage().len(), 1, "{:?}", fused.late_damage());
        }
    }
}

/// Free pages hold what compactions removed: files without one are not opened for theirs.
#[test]
fn of_copies_of_a_file_two_are_opened() {
    let history = history(400);
    let (fused, opened) = nights(&history, &[(0, 400); 7], false);
    assert!(!plan::fits(&fused.parts, 1));
    assert_eq!(split(items(&fused, 1, 400)), (history.clone(), vec![]));
    assert_eq!(opened.load(Ordering::Relaxed), 2);
    let (fused, opened) = nights(&history, &[(200, 400); 7], false);
    assert_eq!(split(items(&fused, 201, 400)).0, history[199..]);
    assert_eq!(opened.load(Ordering::Relaxed), 2);
}

#[test]
fn a_state_is_read_from_one_file() {
    let history = history(400);
    let spans: Vec<(i64, i64)> = (1..=10).map(|night| (40 * night - 15, 40 * night)).collect();
    let (fused, opened) = nights(&history, &spans, false);
    assert_eq!(alive(&fused, 110).unwrap(), [110, 101, 102, 103, 104, 105, 106, 107, 108, 109]);
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    assert_eq!(alive(&fused, 120).unwrap().len(), 10);
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    match alive(&fused, 90) {
        Err(Error::Between { before: Revision(80), after: Revision(105), ends, begins, .. }) => {
            assert_eq!((ends.as_str(), begins.as_str()), ("night80.db", "night120.db"));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(alive(&fused, 20), Err(Error::Compacted { oldest: Revision(25), .. })));
    assert!(matches!(alive(&fused, 401), Err(Error::Future { newest: Revision(400), .. })));
}

/// A source that asked a file instead of the etcd that it is read with would say that every key may be read.
#[cfg(feature = "live")]
#[tokio::test]
async fn the_facts_of_a_live_etcd_are_those_of_it_and_files() {
    use crate::etcd::{EtcdConfig, EtcdSource};
    let config = || EtcdConfig { endpoints: vec!["http://127.0.0.1:1".to_owned()], ..EtcdConfig::default() };
    let etcd = EtcdSource::new(config(), Arc::new(|_| ())).unwrap();
    let member = etcd.facts().live.unwrap().member();
    let beside = LiveInput { name: "etcd".to_owned(), source: Box::new(etcd), tell: Arc::new(|_| ()) };
    let fused: Box<dyn Source> = Box::new(Fused::new(Vec::new(), Some(beside)).unwrap());
    assert!(fused.is_shared() && fused.facts().has_all_keys);
    assert_eq!((fused.member(), member.is_some()), (member, true));
    let files: Box<dyn Source> = Box::new(nights(&history(40), &[(1, 20), (10, 40)], false).0);
    assert!(!files.is_shared() && files.member().is_none() && files.serves_watches().await);
    assert_eq!(files.bounded_watch_reads(KeyRange::key("/a")).await.unwrap(), KeyRange::key("/a"));
}
