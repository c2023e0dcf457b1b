//! `ketcd record` while etcd and the recorder are killed: what is recorded is etcd's own history, each change once. `KETCD_RECORD_ROUNDS=20` kills
//! each of them twenty times.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use etcd_client::{Client, Compare, CompareOp, DeleteOptions, PutOptions, Txn, TxnOp};
use futures_util::{StreamExt, TryStreamExt};
use ketcd_store::etcd::EtcdConfig;
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Source, Until, Want, WatchItem, load};
use ketcd_testing::on_each_release;
use ketcd_testing::wait::{pause, until_async};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{ketcd, on, open, patient, run, stderr};
use crate::load::{config_map, writer};
use crate::random::Random;
use crate::watcher::Watching;

/// The recorder, with small files so that there are many.
pub(crate) fn recorder(etcd: &Etcd, directory: &Path) -> Command {
    let mut command = ketcd();
    command.arg("record").arg(directory).args(["--endpoints", &etcd.endpoint(), "--file-size", "20000", "--file-age", "3s"]);
    command
}

/// A recorder that is killed when it is dropped.
struct Recording(Child);

impl Recording {
    fn start(etcd: &Etcd, directory: &Path) -> Self {
        Self(recorder(etcd, directory).arg("--show-secrets").stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Waits until a revision is recorded. One that ended, because it was started while etcd was down, is started again, as a service manager would.
    async fn reaches(&mut self, etcd: &Etcd, directory: &Path, revision: Revision) {
        until_async(async || {
            if self.0.try_wait().unwrap().is_some() {
                *self = Self::start(etcd, directory);
            }
            has_reached(directory, revision).await.then_some(())
        })
        .await;
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn live(etcd: &Etcd) -> impl Source {
    open(EtcdConfig { endpoints: vec![etcd.endpoint()], ..patient() })
}

fn recorded(directory: &Path) -> ketcd_store::Result<Box<dyn Source>> {
    load::open(&[directory.to_str().unwrap().to_owned()], &|_| None)
}

async fn newest(source: &dyn Source) -> Revision {
    source.span().await.unwrap().newest
}

/// Waits until a revision is recorded, or is in the database of a running etcd.
pub(crate) async fn reaches(directory: &Path, revision: Revision) {
    until_async(async || has_reached(directory, revision).await.then_some(())).await;
}

async fn has_reached(directory: &Path, revision: Revision) -> bool {
    let Ok(source) = recorded(directory) else { return false };
    source.span().await.is_ok_and(|span| span.newest >= revision)
}

/// All changes up to a revision, and the gaps.
async fn told(source: &dyn Source, until: Revision) -> (Vec<Event>, Vec<(i64, i64)>) {
    let items: Vec<WatchItem> = source.watch(KeyRange::all(), Revision(1), Until::Revision(until)).try_collect().await.unwrap();
    let (mut events, mut gaps) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            WatchItem::Event(event) => events.push(Event { origin: Origin::Live, ..event }),
            WatchItem::Gap { from, to } => gaps.push((from.0, to.0)),
            WatchItem::Progress(_) => {}
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
    (events, gaps)
}

async fn alive(source: &dyn Source, at: Revision) -> Vec<KeyValue> {
    source.range(KeyRange::all(), At::Revision(at), Want::Values).await.unwrap().entries.try_collect().await.unwrap()
}

/// How often a load wrote, and failed to.
#[derive(Default)]
struct Tries {
    written: AtomicUsize,
    failed: AtomicUsize,
}

/// Waits until one of these has been counted so many times more.
async fn more(counted: &AtomicUsize, times: usize) {
    let least = counted.load(Ordering::SeqCst) + times;
    until_async(async || (counted.load(Ordering::SeqCst) >= least).then_some(())).await;
}

/// Writes until it is aborted, whether etcd answers or not: puts, deletions, transactions of several keys, leases.
async fn load(endpoint: String, number: u64, tries: Arc<Tries>) {
    let mut random = Random(number);
    let mut writer = Client::connect([endpoint], None).await.unwrap();
    loop {
        let (key, value) = (format!("/registry/configmaps/lab/c-{}", random.below(12)), config_map("c", random.below(1000)));
        let other = format!("/registry/secrets/lab/s-{}", random.below(4));
        let written = match random.below(8) {
            0 => writer.delete(key, None).await.map(drop),
            1 => writer.delete("/registry/configmaps/lab/c-1", Some(DeleteOptions::new().with_prefix())).await.map(drop),
            2 => {
                let is_there = Compare::version(key.as_str(), CompareOp::Greater, 0);
                let both = [TxnOp::put(key.as_str(), value.as_str(), None), TxnOp::put(other.as_str(), value.as_str(), None)];
                let txn = Txn::new().when([is_there]).and_then(both).or_else([TxnOp::put(key, value, None), TxnOp::delete(other, None)]);
                writer.txn(txn).await.map(drop)
            }
            3 => match writer.lease_grant(1, None).await {
                Ok(lease) => writer.put(key, value, Some(PutOptions::new().with_lease(lease.id()))).await.map(drop),
                Err(error) => Err(error),
            },
            _ => writer.put(key, value, None).await.map(drop),
        };
        if written.is_ok() {
            tries.written.fetch_add(1, Ordering::SeqCst);
            continue;
        }
        while writer.status().await.is_err() {
            tries.failed.fetch_add(1, Ordering::SeqCst);
            pause().await;
        }
    }
}

/// Kills etcd and the recorder in turn, after any number of writes, while others write. `KETCD_SEED` chooses other numbers.
async fn a_recording_through_kills_is_etcds_history(release: EtcdRelease) {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |number| number.parse().expect(name));
    let (rounds, seed) = (number("KETCD_RECORD_ROUNDS", 3), number("KETCD_SEED", 7));
    let mut etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let directory = TempDir::new().unwrap();
    let tries = Arc::new(Tries::default());
    let loads: Vec<_> = (0..3).map(|number| tokio::spawn(load(etcd.plain_endpoint(), seed ^ number, Arc::clone(&tries)))).collect();
    let mut random = Random(seed);
    let mut recording = Recording::start(&etcd, directory.path());
    for _ in 0..rounds {
        more(&tries.written, 50).await;
        let newest = newest(&live(&etcd)).await;
        recording.reaches(&etcd, directory.path(), Revision(newest.0 + random.below(300) as i64)).await;
        drop(recording);
        recording = Recording::start(&etcd, directory.path());
        more(&tries.written, random.below(300)).await;
        etcd.stop();
        more(&tries.failed, random.below(20)).await;
        etcd.resume().await;
    }
    more(&tries.written, 50).await;
    for load in loads {
        load.abort();
        let _ = load.await;
    }
    // Leases end by themselves, and delete their keys.
    let mut client = etcd.writer().await;
    until_async(async || client.leases().await.unwrap().leases().is_empty().then_some(())).await;
    let etcd_source = live(&etcd);
    let last = newest(&etcd_source).await;
    recording.reaches(&etcd, directory.path(), last).await;
    drop(recording);
    let recording = recorded(directory.path()).unwrap();
    let (truth, _) = told(&etcd_source, last).await;
    let (told, gaps) = told(&*recording, last).await;
    assert!(truth.len() as u64 > 50 * rounds, "{release:?}: only {} changes", truth.len());
    let first_wrong = told.iter().zip(&truth).find(|(told, truth)| told != truth);
    assert_eq!(first_wrong, None, "{release:?}");
    assert_eq!((told.len(), &gaps[..]), (truth.len(), &[][..]), "{release:?}");
    for at in (1..=last.0).step_by(1 + last.0 as usize / 20) {
        assert_eq!(alive(&*recording, Revision(at)).await, alive(&etcd_source, Revision(at)).await, "{release:?} at {at}");
    }
    assert_eq!((recording.damage(), recording.left_out(), recording.late_damage()), (&[][..], &[][..], Vec::new()));
    let files = fs::read_dir(directory.path()).unwrap().count();
    let _ = writeln!(std::io::stderr(), "{release:?}: {} changes in {files} files after {rounds} kills of each", truth.len());
}

on_each_release!(a_recording_through_kills_is_etcds_history);

async fn what_a_compaction_took_is_a_gap_that_is_told(release: EtcdRelease) {
    let etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let directory = TempDir::new().unwrap();
    let mut client = etcd.writer().await;
    let put = async |client: &mut Client, numbers: std::ops::Range<usize>| {
        for number in numbers {
            client.put(format!("/registry/configmaps/lab/c-{}", number % 5), config_map("c", number), None).await.unwrap();
        }
    };
    put(&mut client, 0..50).await;
    let recording = Recording::start(&etcd, directory.path());
    reaches(directory.path(), Revision(51)).await;
    drop(recording);
    // A deletion at the very revision of the compaction leaves no trace in etcd's history.
    put(&mut client, 50..80).await;
    client.delete("/registry/configmaps/lab/c-3", None).await.unwrap();
    client.compact(82, None).await.unwrap();
    put(&mut client, 80..90).await;
    let mut following = Watching::run(recorder(&etcd, directory.path()).arg("--show-secrets").args(["--metrics", "127.0.0.1:0"]));
    let served = following.says("metrics on ");
    let said = following.says("were compacted before");
    assert!(said.ends_with("revisions 52 to 82 were compacted before they could be recorded: a gap"), "{said}");
    reaches(directory.path(), Revision(92)).await;
    let state_behind =
        async || recorded(directory.path()).unwrap().range(KeyRange::all(), At::Revision(Revision(82)), Want::Keys).await.ok().map(drop);
    until_async(state_behind).await;
    let metrics = ureq::get(served.split_once("metrics on ").unwrap().1).call().unwrap().body_mut().read_to_string().unwrap();
    assert!(metrics.contains("\nketcd_record_missing_revisions_total 31\n"), "{metrics}");
    following.end();
    let (etcd_source, recording) = (live(&etcd), recorded(directory.path()).unwrap());
    let (told, gaps) = told(&*recording, Revision(92)).await;
    let survivors = alive(&etcd_source, Revision(82)).await;
    assert!(gaps.iter().all(|gap| gap.0 >= 52 && gap.1 <= 82), "{gaps:?}");
    let in_gap: Vec<&KeyValue> =
        told.iter().map(|event| &event.key_value).filter(|entry| (52..=82).contains(&entry.mod_revision.0)).collect();
    let mut expected: Vec<&KeyValue> = survivors.iter().collect();
    expected.sort_by_key(|entry| entry.mod_revision);
    assert_eq!(in_gap, expected);
    assert_eq!(told.iter().filter(|event| event.revision.0 > 82).count(), 10);
    for at in [51, 82, 85, 92] {
        let entries = alive(&*recording, Revision(at)).await;
        let expected = if at == 51 { 5 } else { alive(&etcd_source, Revision(at)).await.len() };
        assert_eq!(entries.len(), expected, "at {at}");
    }
    assert!(matches!(
        recording.range(KeyRange::all(), At::Revision(Revision(60)), Want::Keys).await.err(),
        Some(ketcd_store::Error::Compacted { oldest: Revision(82), .. })
    ));
    let status = run(&mut on(directory.path(), "status"));
    let printed = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(
        status.status.code() == Some(2) && printed.contains("revisions 52 to 82 were not recorded: etcd had compacted them"),
        "{printed}"
    );
}

on_each_release!(what_a_compaction_took_is_a_gap_that_is_told);

/// Puts keys in turn, each a revision.
async fn burst(etcd: &Etcd, count: usize) {
    let writer = etcd.writer().await;
    let put = |number: usize| {
        let mut writer = writer.clone();
        async move { writer.put(format!("/registry/configmaps/lab/c-{}", number % 50), config_map("c", number), None).await.unwrap() }
    };
    futures_util::stream::iter((0..count).map(put)).buffer_unordered(8).for_each(|_| std::future::ready(())).await;
}

/// `tools/soak` does it for an hour, with bursts of every size from 990 to 1,010.
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_a_thousand_changes_and_quiet_behind_it_is_recorded_whole() {
    let etcd = Etcd::start(Transport::Plain).await;
    let (directory, etcd_source) = (TempDir::new().unwrap(), live(&etcd));
    for count in [999, 1000, 1001, 1000] {
        burst(&etcd, count).await;
        let last = newest(&etcd_source).await;
        let mut recording = Recording::start(&etcd, directory.path());
        reaches(directory.path(), last).await;
        assert!(Command::new("kill").args(["-INT", &recording.0.id().to_string()]).status().unwrap().success());
        assert!(recording.0.wait().unwrap().success());
        let recording = recorded(directory.path()).unwrap();
        assert_eq!(told(&*recording, last).await, told(&etcd_source, last).await);
        assert_eq!((recording.damage(), recording.late_damage()), (&[][..], Vec::new()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_ends_it_with_a_sentence_and_it_goes_on_later() {
    let etcd = Etcd::start(Transport::Plain).await;
    let directory = TempDir::new().unwrap();
    let writing = writer(&etcd).await;
    // A file may not grow beyond 16 blocks of 512 bytes (1,024 in some shells): what write(2) says then is not far from what a full disk says.
    let limited = r#"trap "" XFSZ; ulimit -f 16; exec "$0" "$@""#;
    let inner = ketcd();
    let mut command = Command::new("sh");
    command.args(["-c", limited]).arg(inner.get_program()).arg("record").arg(directory.path());
    let output = run(command.args(["--endpoints", &etcd.endpoint()]));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("error: cannot write ") && said.contains("free some space, or keep less with --keep, and start it again"),
        "{said}"
    );
    let full = recorded(directory.path()).unwrap();
    let before = newest(&*full).await;
    assert!(before > Revision(10), "{before}");
    writing.end().await;
    let etcd_source = live(&etcd);
    // Nothing is claimed that is not there.
    assert_eq!(told(&*full, before).await, told(&etcd_source, before).await);
    assert_eq!((full.damage(), full.late_damage()), (&[][..], Vec::new()));
    let last = newest(&etcd_source).await;
    let recording = Recording(recorder(&etcd, directory.path()).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    reaches(directory.path(), last).await;
    drop(recording);
    let recording = recorded(directory.path()).unwrap();
    assert_eq!(told(&*recording, last).await, told(&etcd_source, last).await);
    assert!(recording.damage().is_empty(), "{:?}", recording.damage());
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_recorded_only_where_that_is_asked_for() {
    let etcd = Etcd::start(Transport::Plain).await;
    let mut client = etcd.writer().await;
    for (key, value) in [("secrets/lab/s", "s3cr3t"), ("pods/lab/p", "pod"), ("configmaps/lab/c", "c"), ("secrets/lab/s", "s3cr3t2")] {
        client.put(format!("/registry/{key}"), value, None).await.unwrap();
    }
    client.delete("/registry/secrets/lab/s", None).await.unwrap();
    let keys = async |flags: &[&str]| {
        let directory = TempDir::new().unwrap();
        let following = Watching::run(recorder(&etcd, directory.path()).args(flags));
        reaches(directory.path(), Revision(6)).await;
        following.end();
        let recording = recorded(directory.path()).unwrap();
        let (events, gaps) = told(&*recording, Revision(6)).await;
        assert_eq!(gaps, []);
        let keys: Vec<String> =
            events.iter().map(|event| String::from_utf8_lossy(&event.key_value.key["/registry/".len()..]).into_owned()).collect();
        assert_eq!(events.iter().filter(|event| event.kind == EventKind::Delete).count(), usize::from(keys.len() == 5));
        let watch = recording.watch(KeyRange::prefix("/registry/secrets/"), Revision(1), Until::Forever);
        assert_eq!(
            watch.filter(|item| std::future::ready(matches!(item, Ok(WatchItem::Event(_))))).count().await,
            keys.iter().filter(|key| key.starts_with("secrets")).count()
        );
        assert_eq!(recording.left_out(), [""; 0], "a promise that is kept is no problem");
        (keys, recording.status().await.unwrap().not_recorded.join("\n"))
    };
    let (without, said) = keys(&[]).await;
    assert_eq!(without, ["pods/lab/p", "configmaps/lab/c"]);
    assert_eq!(said, "Secrets (record --show-secrets records them)");
    let (with, said) = keys(&["--show-secrets"]).await;
    assert_eq!((with.len(), said.as_str()), (5, ""));
    // Where they are looked for it is said.
    let directory = TempDir::new().unwrap();
    let following = Watching::run(&mut recorder(&etcd, directory.path()));
    reaches(directory.path(), Revision(6)).await;
    following.end();
    let asked = |words: &[&str]| run(ketcd().arg("-f").arg(directory.path()).args(words));
    let (status, secrets, pods) = (asked(&["status"]), asked(&["get", "secrets", "-n", "lab"]), asked(&["ls", "/registry/pods/"]));
    let printed = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(
        printed.contains("\nnot recorded  Secrets (record --show-secrets records them)\n") && !printed.contains("problem"),
        "{printed}"
    );
    assert!(stderr(&secrets).contains("not recorded: Secrets"), "{}", stderr(&secrets));
    assert_eq!(stderr(&pods), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_were_not_asked_for_are_not_recorded() {
    let etcd = Etcd::start(Transport::Plain).await;
    let mut client = etcd.writer().await;
    for key in ["pods/lab/a", "nodes/n", "services/lab/s", "pods/lab/b"] {
        client.put(format!("/registry/{key}"), "value", None).await.unwrap();
    }
    let directory = TempDir::new().unwrap();
    let words = ["--keys", "/registry/pods/", "--keys", "/registry/services/"];
    let following = Watching::run(recorder(&etcd, directory.path()).args(words));
    reaches(directory.path(), Revision(5)).await;
    let recording = recorded(directory.path()).unwrap();
    let keys: Vec<_> = told(&*recording, Revision(5)).await.0.into_iter().map(|event| event.key_value.key).collect();
    assert_eq!(keys, ["/registry/pods/lab/a", "/registry/services/lab/s", "/registry/pods/lab/b"]);
    assert_eq!(recording.status().await.unwrap().not_recorded[0], "keys that are not under /registry/pods/, /registry/services/");
    // A second recorder, and one of other keys, are refused.
    let second = run(recorder(&etcd, directory.path()).args(words));
    assert!(stderr(&second).contains("another ketcd record writes to it"), "{}", stderr(&second));
    following.end();
    let other = run(&mut recorder(&etcd, directory.path()));
    assert!(
        other.status.code() == Some(2) && stderr(&other).contains("is a recording of keys under /registry/pods/"),
        "{}",
        stderr(&other)
    );
}

/// A recorder ends as it should when it is asked to, and when its terminal is closed: all is in place, and another can go on at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_recorder_that_is_told_to_end_leaves_nothing_undone() {
    let etcd = Etcd::start(Transport::Plain).await;
    let folder = TempDir::new().unwrap();
    let directory = folder.path().join("recording");
    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        etcd.writer().await.put("/registry/configmaps/lab/c", config_map("c", 1), None).await.unwrap();
        let newest = newest(&live(&etcd)).await;
        let mut child = recorder(&etcd, &directory).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        reaches(&directory, newest).await;
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = tokio::task::spawn_blocking(move || {
            let status = child.wait().unwrap();
            (status.code(), std::io::read_to_string(child.stderr.take().unwrap()).unwrap())
        });
        let (code, told) = output.await.unwrap();
        assert_eq!(code, Some(0), "{signal:?}: {told}");
        assert!(told.contains(&format!("recorded up to revision {newest}")), "{signal:?}: {told}");
    }
}

/// The objects carry no time: only the recorder knows when they were written. A machine that stands still for longer than the way of a change
/// may take makes one late, which nobody can see; writing runs until one is not.
#[tokio::test(flavor = "multi_thread")]
async fn what_arrived_while_it_was_recorded_is_dated_by_that() {
    let etcd = Etcd::start(Transport::Plain).await;
    let directory = TempDir::new().unwrap();
    let mut writer = etcd.writer().await;
    let put = async |writer: &mut Client, name: &str| {
        let object = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "lab"}});
        let before = jiff::Timestamp::now();
        let answer = writer.put(format!("/registry/configmaps/lab/{name}"), object.to_string(), None).await.unwrap();
        Written { revision: answer.header().unwrap().revision(), before, after: jiff::Timestamp::now() }
    };
    put(&mut writer, "first").await;
    let recording = Recording::start(&etcd, directory.path());
    reaches(directory.path(), newest(&live(&etcd)).await).await;
    let mut count = 0;
    until_async(async || {
        let mut written = Vec::new();
        for _ in 0..20 {
            count += 1;
            written.push(put(&mut writer, &format!("c-{count}")).await);
        }
        reaches(directory.path(), newest(&live(&etcd)).await).await;
        let changes = recorded_changes(directory.path());
        let late = written.iter().filter(|written| written.is_late_in(&changes)).count();
        (late < written.len()).then_some(())
    })
    .await;
    drop(recording);
}

fn recorded_changes(directory: &Path) -> Vec<serde_json::Value> {
    let output = ketcd().arg("-f").arg(directory).args(["history", "cm", "-n", "lab", "-o", "ndjson"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A change, and when it was written.
struct Written {
    revision: i64,
    before: jiff::Timestamp,
    after: jiff::Timestamp,
}

impl Written {
    /// Whether it is dated later than it was written. It is never dated earlier, and no less exactly than it arrived.
    fn is_late_in(&self, changes: &[serde_json::Value]) -> bool {
        let Self { revision, before, after } = *self;
        let time = |value: &serde_json::Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let change = changes.iter().find(|change| change["revision"] == revision).unwrap();
        let (arrived, dated) = (time(&change["arrived"]["time"]), time(&change["time"]));
        let delay = change["arrived"]["delaySeconds"].as_f64().unwrap();
        // JSON has milliseconds.
        let slack = jiff::SignedDuration::from_millis(1);
        assert!(arrived + slack >= before, "{change} arrived before it was written, at {before}");
        let error = jiff::SignedDuration::try_from_secs_f64(change["timeErrorSeconds"].as_f64().unwrap()).unwrap() + slack;
        assert!(dated + error >= before, "{change} was written from {before} to {after}");
        assert!(error.as_secs_f64() <= delay / 2.0 + 0.003, "{change}");
        dated - error > after
    }
}
