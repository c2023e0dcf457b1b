//! Members of clusters, killed: followers, learners, members that join and leave, and logs of several files tell what etcd sent, as far as each came. `KETCD_KILLS=50` kills
//! fifty of each release, and leaves the files of one that is told wrong.

use std::fs;
use std::net::SocketAddr;

use etcd_client::{Client, GetOptions, Member};
use futures_util::FutureExt;
use ketcd_testing::on_each_release;
use ketcd_testing::wait::until_async;

use crate::cluster::{cluster, learner};
use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{self, ketcd, stderr};
use crate::kill_load::{Load, run};
use crate::killed::{Changes, MAX_REVISIONS, Watcher, are_many, differences, newest, seeds, told, told_of_rounds, under_load};
use crate::random::Random;

/// What a member that was killed tells is true, complete up to where it came, and no damage.
fn tells_the_truth(what: &str, member: &Etcd, truth: &Changes) -> i64 {
    tells_the_truth_from(|_| 2, what, member, truth)
}

/// The same of a member that joined: if the leader sent it a snapshot, its log begins after that, and what it tells is complete from the compaction on.
fn joined_tells_the_truth(what: &str, member: &Etcd, truth: &Changes) -> i64 {
    let snapshots = fs::read_dir(member.data_dir().join("member/snap")).unwrap().map(|file| file.unwrap().path());
    let was_sent_one = snapshots.into_iter().any(|path| path.extension().is_some_and(|extension| extension == "snap"));
    tells_the_truth_from(|compacted| if was_sent_one { compacted + 1 } else { 2 }, what, member, truth)
}

/// As [`tells_the_truth`], complete from a revision on that depends on the compacted one.
fn tells_the_truth_from(begins: impl Fn(i64) -> i64, what: &str, member: &Etcd, truth: &Changes) -> i64 {
    let directory = member.data_dir();
    let (what, sent) = (format!("{what} in {}", directory.display()), newest(truth));
    let (changes, _, said) = told(&directory);
    let wrong = differences(&changes, truth, sent);
    assert!(wrong.is_empty(), "{what}: {wrong:?} {said:?}");
    // The end of its log, of which it never heard whether it was committed, is no damage.
    let output = ketcd::run(ketcd().arg("-f").arg(&directory).args(["status", "-o", "json"]));
    assert_eq!(output.status.code(), Some(0), "{what}: {}", stderr(&output));
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let (begins, upto) = (begins(status["revisions"]["compacted"].as_i64().unwrap_or(1)), newest(&changes));
    let missing = truth.keys().filter(|place| (begins..upto).contains(&place.0) && !changes.contains_key(place));
    let missing: Vec<_> = missing.take(5).collect();
    assert!(missing.is_empty(), "{what}: of {} from {begins} up to {upto} are missing {missing:?}: {said:?}", truth.len());
    told_of_rounds(&format!("{what}: {} changes told, all from {begins} up to {upto}, {} sent up to {sent}", changes.len(), truth.len()));
    upto
}

/// Lets six clients write for a while; returns what a watcher of the first member was sent until all members were killed.
async fn kill_under_load(members: &mut [&mut Etcd], seed: u64) -> Changes {
    let clients = Load::Members.prepare(members[0]).await;
    let watcher = Watcher::start(clients.root.clone(), 2).await;
    under_load(Load::Members, members[0], &clients, seed, &watcher, Random(seed).below(MAX_REVISIONS)).await;
    // The others first, so that they are behind and have what was not committed yet.
    members.iter_mut().rev().for_each(|member| member.stop());
    watcher.end().await
}

fn keep_files(members: &mut [&mut Etcd], are_kept: bool) {
    members.iter_mut().for_each(|member| member.keep_files(are_kept));
}

async fn members_of(release: EtcdRelease, seed: u64) {
    let mut members = cluster(release, 3, || Transport::Plain, &[]).await;
    keep_files(&mut members.iter_mut().collect::<Vec<_>>(), are_many());
    let truth = kill_under_load(&mut members.iter_mut().collect::<Vec<_>>(), seed).await;
    let what = format!("{release:?} {seed}");
    assert!(newest(&truth) > 30, "{what}: only {} changes were made", truth.len());
    let came: Vec<i64> = members.iter().map(|member| tells_the_truth(&format!("{what} {}", member.name), member, &truth)).collect();
    assert!(came.iter().all(|&upto| upto > newest(&truth) / 2), "{what}: members came to {came:?} of {}", newest(&truth));
    keep_files(&mut members.iter_mut().collect::<Vec<_>>(), false);
}

async fn every_member_of_a_killed_cluster_tells_what_was_sent(release: EtcdRelease) {
    for seed in seeds() {
        members_of(release, seed).await;
    }
}

on_each_release!(every_member_of_a_killed_cluster_tells_what_was_sent);

async fn a_killed_learner_tells_what_was_sent(release: EtcdRelease) {
    for seed in seeds() {
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

on_each_release!(a_killed_learner_tells_what_was_sent);

/// Makes a learner a voter, gives the voter `moved` a second peer URL and removes the voter `removed`, through the first member. Returns the new
/// voter, and the revision up to which the removed one had everything before.
async fn change_members(members: &[Etcd], moved: usize, removed: usize) -> (Etcd, i64) {
    let mut client = members[0].writer().await;
    let joined = learner(&members[0], Transport::Plain).await;
    let (learner_id, moved_id, removed_id) = (id(&joined).await, id(&members[moved]).await, id(&members[removed]).await);
    // A member is promoted once it has nearly everything, and an election ends each request that is under way.
    while listed(&mut client, learner_id).await.is_none_or(|member| member.is_learner()) {
        let _ = client.member_promote(learner_id).await;
    }
    let peer = members[moved].peer_address();
    let the_same = SocketAddr::from((peer.ip().to_ipv6_mapped(), peer.port()));
    let urls = [SocketAddr::from(peer), the_same].map(|address| format!("http://{address}"));
    while listed(&mut client, moved_id).await.is_none_or(|member| member.peer_urls().len() < urls.len()) {
        let _ = client.member_update(moved_id, urls.clone()).await;
    }
    let itself = GetOptions::new().with_serializable();
    let had = members[removed].writer().await.get("x", Some(itself)).await.unwrap().header().unwrap().revision();
    while listed(&mut client, removed_id).await.is_some() {
        let _ = client.member_remove(removed_id).await;
    }
    (joined, had)
}

async fn id(member: &Etcd) -> u64 {
    member.writer().await.status().await.unwrap().header().unwrap().member_id()
}

/// The member with this id, if the cluster has one.
async fn listed(client: &mut Client, id: u64) -> Option<Member> {
    let list = until_async(async || client.member_list().await.ok()).await;
    list.members().iter().find(|member| member.id() == id).cloned()
}

async fn members_that_join_and_leave_tell_what_was_sent(release: EtcdRelease) {
    for seed in seeds() {
        let mut random = Random(seed);
        // Otherwise etcd refuses changes until all members have been connected for five seconds.
        let mut members = cluster(release, 3, || Transport::Plain, &["--strict-reconfig-check=false"]).await;
        keep_files(&mut members.iter_mut().collect::<Vec<_>>(), are_many());
        let clients = Load::Members.prepare(&members[0]).await;
        let watcher = Watcher::start(clients.root.clone(), 2).await;
        let removed = 1 + random.below(2);
        let changes = async {
            watcher.goes_on(random.below(MAX_REVISIONS) as i64).await;
            let changed = change_members(&members, 3 - removed, removed).await;
            watcher.goes_on(random.below(MAX_REVISIONS) as i64).await;
            changed
        };
        let (joined, had) = tokio::select! {
            () = run(Load::Members, &members[0], &clients, seed) => panic!("clients write until they are given up"),
            changed = changes => changed,
        };
        members.push(joined);
        keep_files(&mut members.iter_mut().collect::<Vec<_>>(), are_many());
        members.iter_mut().rev().for_each(Etcd::stop);
        let truth = watcher.end().await;
        for (index, member) in members.iter().enumerate() {
            let what = format!("{release:?} {seed} member {index}, {removed} was removed");
            let tells = if index == 3 { joined_tells_the_truth } else { tells_the_truth };
            let upto = tells(&what, member, &truth);
            let least = if index == removed { had } else { newest(&truth) / 2 };
            assert!(upto >= least, "{release:?} {seed}: of {} revisions member {index} came to {upto}, not {least}", newest(&truth));
        }
        keep_files(&mut members.iter_mut().collect::<Vec<_>>(), false);
    }
}

on_each_release!(members_that_join_and_leave_tell_what_was_sent);

/// A file of the log is ended at 64 MB; snapshots of raft are taken meanwhile.
async fn a_log_of_several_files_is_one(release: EtcdRelease) {
    for seed in seeds() {
        let mut etcd = Etcd::start_with(release, Transport::Plain, Load::Files.flags()).await;
        etcd.keep_files(are_many());
        let clients = Load::Files.prepare(&etcd).await;
        let watcher = Watcher::start(clients.root.clone(), 2).await;
        let more = Random(seed).below(MAX_REVISIONS) as i64;
        tokio::select! {
            () = run(Load::Files, &etcd, &clients, seed) => {}
            () = several_files(&etcd).then(|()| watcher.goes_on(more)) => {}
        }
        etcd.stop();
        let truth = watcher.end().await;
        let upto = tells_the_truth(&format!("{release:?} {seed} several files"), &etcd, &truth);
        assert!(upto - newest(&truth) < 20, "{release:?} {seed}: a watcher was sent {} of {upto} revisions", newest(&truth));
        etcd.keep_files(false);
    }
}

on_each_release!(a_log_of_several_files_is_one);

/// Waits until the log is of two files.
async fn several_files(etcd: &Etcd) {
    let wal = etcd.data_dir().join("member/wal");
    let is_log = |file: &fs::DirEntry| file.path().extension().is_some_and(|extension| extension == "wal");
    let files = || fs::read_dir(&wal).unwrap().filter(|file| is_log(file.as_ref().unwrap())).count();
    until_async(async || (files() > 1).then_some(())).await;
}
