//! Members of clusters, killed: followers, learners, and logs of several files tell what etcd sent, as far as each came.

use std::path::Path;
use std::time::Duration;

use etcd_client::Client;

use crate::cluster::{cluster, learner};
use crate::etcd::{Etcd, RELEASES, Release, Transport};
use crate::ketcd::{self, ketcd, stderr};
use crate::kill_load::{Load, run};
use crate::killed::{Changes, Watcher, differences, newest, told};

/// What a member that was killed tells is true, complete up to where it came, and no damage.
fn tells_the_truth(what: &str, directory: &Path, truth: &Changes) -> i64 {
    let (changes, _, said) = told(directory);
    let wrong = differences(&changes, truth, newest(truth));
    assert!(wrong.is_empty(), "{what}: {wrong:?} {said:?}");
    let upto = newest(&changes);
    let missing: Vec<_> = truth.keys().filter(|place| place.0 < upto && !changes.contains_key(place)).take(5).collect();
    assert!(missing.is_empty(), "{what}: of {} up to {upto} are missing {missing:?}: {said:?}", truth.len());
    // The end of its log, of which it never heard whether it was committed, is no damage.
    let output = ketcd::run(ketcd().arg("-f").arg(directory).args(["status", "-o", "json"]));
    assert_eq!(output.status.code(), Some(0), "{what}: {}", stderr(&output));
    upto
}

/// Lets six clients write for a while; returns what a watcher of `watched` was sent until all members were killed.
async fn kill_under_load(members: &mut [&mut Etcd], seed: u64) -> Changes {
    let clients = Load::Members.prepare(members[0]).await;
    let watcher = Watcher::start(clients.root.clone(), 2).await;
    let _ = tokio::time::timeout(Duration::from_millis(1500), run(Load::Members, members[0], &clients, seed)).await;
    // The others first, so that they are behind and have what was not committed yet.
    members.iter_mut().rev().for_each(|member| member.stop());
    watcher.end().await
}

async fn members_of(release: Release) {
    let mut members = cluster(release, 3, || Transport::Plain).await;
    let truth = kill_under_load(&mut members.iter_mut().collect::<Vec<_>>(), 5).await;
    assert!(newest(&truth) > 30, "{release:?}: only {} changes were made", truth.len());
    let came: Vec<i64> =
        members.iter().map(|member| tells_the_truth(&format!("{release:?} {}", member.name), &member.data_dir(), &truth)).collect();
    assert!(came.iter().all(|&upto| upto > newest(&truth) / 2), "{release:?}: members came to {came:?} of {}", newest(&truth));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_member_of_a_killed_cluster_tells_what_was_sent() {
    for release in RELEASES {
        members_of(release).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_learner_tells_what_was_sent() {
    for release in RELEASES {
        let mut voter = Etcd::start_with(release, Transport::Plain, &[]).await;
        let mut learner = learner(&voter, Transport::Plain).await;
        let truth = kill_under_load(&mut [&mut voter, &mut learner], 11).await;
        let upto = tells_the_truth(&format!("{release:?} learner"), &learner.data_dir(), &truth);
        assert!(upto > newest(&truth) / 2, "{release:?}: the learner came to {upto} of {}", newest(&truth));
        tells_the_truth(&format!("{release:?} voter"), &voter.data_dir(), &truth);
    }
}

/// A file of the log is ended at 64 MB; snapshots of raft are taken meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_several_files_is_one() {
    let mut etcd = Etcd::start_with(Release::V37, Transport::Plain, &["--snapshot-count", "100", "--max-wals", "0"]).await;
    let mut writer: Client = etcd.writer().await;
    let watcher = Watcher::start(writer.clone(), 2).await;
    for number in 0..180 {
        writer.put(format!("/registry/big/{}", number % 20), vec![b'a' + (number % 26) as u8; 512 << 10], None).await.unwrap();
        if number % 60 == 59 {
            // What is compacted here only the log has.
            writer.compact(i64::from(number), None).await.unwrap();
        }
    }
    etcd.stop();
    let truth = watcher.end().await;
    let files = std::fs::read_dir(etcd.data_dir().join("member/wal")).unwrap();
    let files = files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "wal")).count();
    assert!(files > 1, "{files} files");
    assert_eq!((tells_the_truth("several files", &etcd.data_dir(), &truth), truth.len()), (181, 180));
}
