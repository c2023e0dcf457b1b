//! Members killed under load: what their data dirs tell is what etcd sent to a watcher, or is said to be unknown. `KETCD_KILLS=50` kills
//! fifty members of each release under each load, and leaves the files of one that is told wrong; `KETCD_SEED` does one of them again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use etcd_client::{Client, ConnectOptions, Event, EventType, GetOptions, WatchOptions};
use futures_util::StreamExt;
use ketcd_store::{EventKind, KeyRange, Origin, Revision, Until, WatchItem, load};
use ketcd_testing::on_each_release;
use ketcd_testing::wait::until_async;
use tokio::sync::watch;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::kill_load::{Clients, Load, run};
use crate::random::Random;
use crate::wal::{ENTRY_RECORD, records, without_first};

/// A change without its place: key, value (`None`: deleted), create revision, version and lease.
pub(crate) type Change = (String, Option<Vec<u8>>, i64, i64, i64);

/// Changes by revision and sub-revision.
pub(crate) type Changes = BTreeMap<(i64, i64), Change>;

/// What a watcher was sent, as it comes.
pub(crate) struct Watcher {
    sent: watch::Receiver<Changes>,
    task: tokio::task::JoinHandle<()>,
}

impl Watcher {
    /// Watches all keys from `revision` on, or from the first that is not compacted, until etcd ends.
    pub(crate) async fn start(client: Client, revision: i64) -> Self {
        let mut client = client.watch_client().max_decoding_message_size(usize::MAX);
        let (changes, sent) = watch::channel(Changes::new());
        let watch = |revision| WatchOptions::new().with_all_keys().with_start_revision(revision);
        let mut stream = client.watch("\0", Some(watch(revision))).await.unwrap();
        let task = tokio::spawn(async move {
            while let Ok(Some(response)) = stream.message().await {
                if response.compact_revision() > 0 {
                    let Ok(behind) = client.watch("\0", Some(watch(response.compact_revision()))).await else { break };
                    stream = behind;
                    continue;
                }
                changes.send_modify(|changes| response.events().iter().for_each(|event| take(changes, event)));
            }
        });
        Self { sent, task }
    }

    /// Waits until etcd's end has ended the watch; returns all that it was sent.
    pub(crate) async fn end(self) -> Changes {
        self.task.await.unwrap();
        self.sent.borrow().clone()
    }

    /// Waits until what was sent `is_enough`.
    pub(crate) async fn until(&self, is_enough: impl FnMut(&Changes) -> bool) {
        self.sent.clone().wait_for(is_enough).await.expect("etcd sends what it writes");
    }

    /// Waits for this many revisions more than there are.
    pub(crate) async fn goes_on(&self, revisions: i64) {
        let least = newest(&self.sent.borrow()) + revisions;
        self.until(|sent| newest(sent) >= least).await;
    }
}

fn take(changes: &mut Changes, event: &Event) {
    let kv = event.kv().unwrap();
    let value = (event.event_type() == EventType::Put).then(|| kv.value().to_vec());
    let change = (kv.key_str().unwrap().to_owned(), value, kv.create_revision(), kv.version(), kv.lease());
    let revision = kv.mod_revision();
    let sub = changes.range((revision, 0)..).count() as i64;
    changes.insert((revision, sub), change);
}

pub(crate) fn newest(changes: &Changes) -> i64 {
    changes.keys().next_back().map_or(1, |place| place.0)
}

/// The changes that a data dir tells, and what is said beside them.
pub(crate) fn told(directory: &Path) -> (Changes, Vec<Origin>, Vec<String>) {
    let source = load::open(&[directory.to_str().unwrap().to_owned()], &|_| None).unwrap();
    let said = [source.damage(), source.left_out()].concat();
    let (mut changes, mut origins) = (Changes::new(), Vec::new());
    let items = source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect::<Vec<_>>();
    for item in futures_util::FutureExt::now_or_never(items).unwrap() {
        let WatchItem::Event(event) = item else { continue };
        let kv = event.key_value;
        let value = (event.kind == EventKind::Put).then(|| kv.value.to_vec());
        let change = (String::from_utf8(kv.key.to_vec()).unwrap(), value, kv.create_revision.0, kv.version, kv.lease);
        changes.insert((event.revision.0, event.sub_revision), change);
        origins.push(event.origin);
    }
    (changes, origins, said)
}

/// Whether a change that was told is the true one. A deletion has no numbers in a watch; a version may be unknown.
fn is_true(told: &Change, truth: &Change) -> bool {
    let numbers = |change: &Change| (change.2, change.3);
    (&told.0, &told.1) == (&truth.0, &truth.1)
        && (told.1.is_none() || (told.4 == truth.4 && (numbers(told) == numbers(truth) || numbers(told) == (0, 0))))
}

/// What differs between what was told and the truth up to revision `last`; the first few.
pub(crate) fn differences(told: &Changes, truth: &Changes, last: i64) -> Vec<String> {
    let wrong = told
        .iter()
        .filter(|(place, _)| place.0 <= last)
        .filter(|(place, change)| !truth.get(place).is_some_and(|truth| is_true(change, truth)));
    let short = |change: &Change| {
        let value = change.1.as_ref().map(|value| String::from_utf8_lossy(&value[..value.len().min(20)]).into_owned());
        (change.0.clone(), value, change.2, change.3, change.4)
    };
    wrong.map(|(place, change)| format!("{place:?}: {:?}, etcd sent {:?}", short(change), truth.get(place).map(short))).take(5).collect()
}

/// Copies a data dir.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// One member, loaded and killed.
async fn kill(release: EtcdRelease, load: Load, seed: u64) {
    let mut random = Random(seed);
    let mut etcd = Etcd::start_with(release, Transport::Plain, load.flags()).await;
    let clients = load.prepare(&etcd).await;
    let watcher = Watcher::start(clients.root.clone(), 2).await;
    under_load(load, &etcd, &clients, seed, &watcher, random.below(MAX_REVISIONS)).await;
    etcd.stop();
    let truth = watcher.end().await;
    let what = format!("{release:?} {load:?} {seed}");
    let mut folder = tempfile::tempdir().unwrap();
    folder.disable_cleanup(are_many());
    let killed = folder.path().join("killed");
    copy(&etcd.data_dir(), &killed);
    let sent = newest(&truth);
    let (truth, said_again) = recovered(&mut etcd, truth, &clients.user).await;
    // What was logged but not sent is what etcd makes of it when it starts again, if that can be trusted.
    let last = if release == EtcdRelease::V37 { said_again } else { sent };
    assert!(release != EtcdRelease::V37 || said_again >= sent, "{what}: etcd contradicts from revision {} on what it sent", said_again + 1);
    whole(&what, &killed, &truth, sent, last);
    later(&what, &killed, &truth, last.min(said_again), &mut random);
    folder.disable_cleanup(false);
}

/// What a watcher was sent before the kill and, behind that, what etcd itself made of its files after it; and up to which revision it then said
/// again what it had sent.
///
/// Until 3.5 it may not: it writes down how far its log was applied only with a change of keys, or (3.5.0 to 3.5.2) before the change is made, and a
/// put that was refused for its lease is done when it is applied again, or one that was done is passed over.
async fn recovered(etcd: &mut Etcd, mut truth: Changes, user: &Option<ConnectOptions>) -> (Changes, i64) {
    etcd.spawn();
    let (client, last) = until_async(async || answer(etcd, user).await).await;
    let sent = newest(&truth);
    let again = Watcher::start(client, 2).await;
    again.until(|changes| newest(changes) >= last).await;
    etcd.stop();
    let mut again = again.end().await;
    // What marked the end is none of it.
    again.retain(|place, _| place.0 < last);
    let contradicted =
        again.iter().find(|(place, change)| place.0 <= sent && !truth.get(place).is_some_and(|truth| is_true(change, truth)));
    let said_again = contradicted.map_or(i64::MAX, |(place, _)| place.0 - 1);
    truth.extend(again.into_iter().filter(|(place, _)| place.0 > sent));
    (truth, said_again)
}

/// Prints what is of interest where many members are killed.
#[allow(clippy::print_stderr)]
pub(crate) fn told_of_rounds(sentence: &str) {
    if are_many() {
        eprintln!("{sentence}");
    }
}

/// A client, once etcd answers, and the revision of a change that comes after all that was logged before: the deletion of a key, which a full database allows
/// too.
async fn answer(etcd: &Etcd, user: &Option<ConnectOptions>) -> Option<(Client, i64)> {
    let mut client = Client::connect([etcd.plain_endpoint()], user.clone()).await.ok()?;
    let first = client.get("", Some(GetOptions::new().with_all_keys().with_limit(1))).await.ok()?;
    let written = match first.kvs().first() {
        Some(key) => client.delete(key.key(), None).await.ok()?.header().unwrap().revision(),
        None => client.put("/end", "", None).await.ok()?.header().unwrap().revision(),
    };
    Some((client, written))
}

/// A log from the cluster's beginning tells everything.
fn whole(what: &str, killed: &Path, truth: &Changes, sent: i64, last: i64) {
    let (told, _, said) = told(killed);
    let missing: Vec<_> = truth.iter().filter(|(place, _)| place.0 <= sent && !told.contains_key(place)).collect();
    let wrong = differences(&told, truth, last);
    assert!(wrong.is_empty(), "{what}, sent up to {sent}: {wrong:?} {:?} {said:?}", &missing[..missing.len().min(5)]);
    let says = |words: &str| said.iter().any(|sentence| sentence.contains(words));
    let is_stopped = says("of the log did: ");
    assert!(
        // What comes before the entry that is not decided is told.
        missing.is_empty() || (is_stopped && told.contains_key(&(2, 0))) || says("contradicts the database at revision "),
        "{what}: {} of {} are missing, {:?}: {said:?}",
        missing.len(),
        truth.len(),
        &missing[..missing.len().min(9)]
    );
}

/// A log that begins later tells nothing that is not true.
fn later(what: &str, killed: &Path, truth: &Changes, last: i64, random: &mut Random) {
    let mut files: Vec<PathBuf> = fs::read_dir(killed.join("member/wal")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wal"));
    let [file] = &files[..] else { panic!("{what}: {files:?}") };
    let records = records(&fs::read(file).unwrap());
    let entries = records.iter().filter(|record| record.0 == ENTRY_RECORD).count();
    for _ in 0..CUT_COUNT {
        let dropped = 1 + random.below(entries - 1);
        fs::write(file, without_first(&records, dropped)).unwrap();
        let (told, origins, said) = told(killed);
        let wrong = differences(&told, truth, last);
        assert!(wrong.is_empty(), "{what}: without {dropped} of {entries} entries: {wrong:?} {said:?}");
        let of_log = origins.iter().filter(|origin| **origin == Origin::Wal).count();
        let unknown = said.iter().filter(|sentence| sentence.contains(" is unknown: ")).count();
        told_of_rounds(&format!(
            "{what}: without {dropped} of {entries} entries {of_log} of {} revisions from the log, {unknown} unknown",
            truth.len()
        ));
    }
}

/// Logs that begin later, made of each member's.
const CUT_COUNT: usize = 6;

/// Whether many members are killed, and the files of one that is told wrong are to be left.
pub(crate) fn are_many() -> bool {
    env::var_os("KETCD_KILLS").is_some()
}

/// The seeds of a release's rounds, so many as members are to be killed. `KETCD_SEED` is the one to do again.
pub(crate) fn seeds() -> Vec<u64> {
    let number = |name| env::var(name).ok().map(|number: String| number.parse::<u64>().unwrap_or_else(|error| panic!("{name}: {error}")));
    match number("KETCD_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("KETCD_KILLS").unwrap_or(1)).map(|round| round * 7919 + 17).collect(),
    }
}

/// How many revisions a load may go on for when what it is about has happened.
pub(crate) const MAX_REVISIONS: usize = 400;

/// Lets a load go on until what it is about has happened, and for this many revisions more.
pub(crate) async fn under_load(load: Load, etcd: &Etcd, clients: &Clients, seed: u64, watcher: &Watcher, more: usize) {
    let enough = async {
        watcher.until(|sent| load.has_happened(sent)).await;
        watcher.goes_on(MIN_REVISIONS + more as i64).await;
    };
    tokio::select! {
        () = run(load, etcd, clients, seed) => unreachable!("clients write until they are given up"),
        () = enough => {}
    }
}

/// The revisions that are made in any case.
const MIN_REVISIONS: i64 = 150;

async fn kill_under(load: Load, release: EtcdRelease) {
    for seed in seeds() {
        kill(release, load, seed).await;
    }
}

async fn a_killed_member_tells_the_winners_of_races(release: EtcdRelease) {
    kill_under(Load::Races, release).await;
}

on_each_release!(a_killed_member_tells_the_winners_of_races);

async fn a_killed_member_tells_what_leases_ended(release: EtcdRelease) {
    kill_under(Load::Leases, release).await;
}

on_each_release!(a_killed_member_tells_what_leases_ended);

async fn a_killed_member_tells_nothing_that_was_denied(release: EtcdRelease) {
    kill_under(Load::Auth, release).await;
}

on_each_release!(a_killed_member_tells_nothing_that_was_denied);

async fn a_killed_member_tells_nothing_that_had_no_space(release: EtcdRelease) {
    kill_under(Load::NoSpace, release).await;
}

on_each_release!(a_killed_member_tells_nothing_that_had_no_space);
