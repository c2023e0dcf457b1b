//! Members of clusters, killed: followers, learners, and logs of several files tell what etcd sent, as far as each came. `KETCD_KILLS=50` kills
//! fifty of each release, and leaves the files of one that is told wrong.

use std::fs;
use std::time::Duration;

use crate::cluster::{cluster, learner};
use crate::etcd::{Etcd, Release, Transport};
use crate::ketcd::{self, ketcd, stderr};
use crate::kill_load::{Load, run};
use crate::killed::{Changes, Watcher, are_many, differences, newest, random_time, rounds, told, told_of_rounds};
use crate::random::Random;

/// What a member that was killed tells is true, complete up to where it came, and no damage.
fn tells_the_truth(what: &str, member: &Etcd, truth: &Changes) -> i64 {
    let directory = member.data_dir();
    let (what, sent) = (format!("{what} in {}", directory.display()), newest(truth));
    let (changes, _, said) = told(&directory);
    let wrong = differences(&changes, truth, sent);
    assert!(wrong.is_empty(), "{what}: {wrong:?} {said:?}");
    let upto = newest(&changes);
    let missing: Vec<_> = truth.keys().filter(|place| place.0 < upto && !changes.contains_key(place)).take(5).collect();
    assert!(missing.is_empty(), "{what}: of {} up to {upto} are missing {missing:?}: {said:?}", truth.len());
    // The end of its log, of which it never heard whether it was committed, is no damage.
    let output = ketcd::run(ketcd().arg("-f").arg(&directory).args(["status", "-o", "json"]));
    assert_eq!(output.status.code(), Some(0), "{what}: {}", stderr(&output));
    told_of_rounds(&format!("{what}: {} changes told up to {upto}, {} sent up to {sent}", changes.len(), truth.len()));
    upto
}

/// Lets six clients write for a while; returns what a watcher of the first member was sent until all members were killed.
async fn kill_under_load(members: &mut [&mut Etcd], seed: u64) -> Changes {
    let clients = Load::Members.prepare(members[0]).await;
    let watcher = Watcher::start(clients.root.clone(), 2).await;
    let _ = tokio::time::timeout(random_time(&mut Random(seed)), run(Load::Members, members[0], &clients, seed)).await;
    // The others first, so that they are behind and have what was not committed yet.
    members.iter_mut().rev().for_each(|member| member.stop());
    watcher.end().await
}

fn keep_files(members: &mut [&mut Etcd], are_kept: bool) {
    members.iter_mut().for_each(|member| member.keep_files(are_kept));
}

async fn members_of(release: Release, seed: u64) {
    let mut members = cluster(release, 3, || Transport::Plain).await;
    keep_files(&mut members.iter_mut().collect::<Vec<_>>(), are_many());
    let truth = kill_under_load(&mut members.iter_mut().collect::<Vec<_>>(), seed).await;
    let what = format!("{release:?} {seed}");
    assert!(newest(&truth) > 30, "{what}: only {} changes were made", truth.len());
    let came: Vec<i64> = members.iter().map(|member| tells_the_truth(&format!("{what} {}", member.name), member, &truth)).collect();
    assert!(came.iter().all(|&upto| upto > newest(&truth) / 2), "{what}: members came to {came:?} of {}", newest(&truth));
    keep_files(&mut members.iter_mut().collect::<Vec<_>>(), false);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_member_of_a_killed_cluster_tells_what_was_sent() {
    for (release, seed) in rounds() {
        members_of(release, seed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_learner_tells_what_was_sent() {
    for (release, seed) in rounds() {
        let mut voter = Etcd::start_with(release, Transport::Plain, &[]).await;
        let mut learner = learner(&voter, Transport::Plain).await;
        keep_files(&mut [&mut voter, &mut learner], are_many());
        let truth = kill_under_load(&mut [&mut voter, &mut learner], seed).await;
        let upto = tells_the_truth(&format!("{release:?} {seed} learner"), &learner, &truth);
        assert!(upto > newest(&truth) / 2, "{release:?}: the learner came to {upto} of {}", newest(&truth));
        tells_the_truth(&format!("{release:?} {seed} voter"), &voter, &truth);
        keep_files(&mut [&mut voter, &mut learner], false);
    }
}

/// A file of the log is ended at 64 MB; snapshots of raft are taken meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_several_files_is_one() {
    for (release, seed) in rounds() {
        let mut etcd = Etcd::start_with(release, Transport::Plain, Load::Files.flags()).await;
        etcd.keep_files(are_many());
        let clients = Load::Files.prepare(&etcd).await;
        let watcher = Watcher::start(clients.root.clone(), 2).await;
        let goes_on = Duration::from_millis(Random(seed).below(1500) as u64);
        tokio::select! {
            () = run(Load::Files, &etcd, &clients, seed) => {}
            () = several_files(&etcd, goes_on) => {}
        }
        etcd.stop();
        let truth = watcher.end().await;
        let upto = tells_the_truth(&format!("{release:?} {seed} several files"), &etcd, &truth);
        assert!(upto - newest(&truth) < 20, "{release:?} {seed}: a watcher was sent {} of {upto} revisions", newest(&truth));
        etcd.keep_files(false);
    }
}

/// Waits until the log is of two files and then for some time.
async fn several_files(etcd: &Etcd, goes_on: Duration) {
    let wal = etcd.data_dir().join("member/wal");
    let is_log = |file: &fs::DirEntry| file.path().extension().is_some_and(|extension| extension == "wal");
    while fs::read_dir(&wal).unwrap().filter(|file| is_log(file.as_ref().unwrap())).count() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(goes_on).await;
}
