//! `ketcd record` on an etcd that was restored from a backup: it has another history with the same revisions and the same cluster id, and the two are not
//! joined, whether the recorder runs meanwhile or not.

use std::fs;
use std::path::Path;

use ketcd_store::Revision;
use ketcd_testing::on_each_release;
use tempfile::TempDir;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{run, stderr};
use crate::load::config_map;
use crate::record::{reaches, recorder};
use crate::watcher::Watching;

async fn put(etcd: &Etcd, what: &str, count: usize) {
    let mut writer = etcd.writer().await;
    for number in 0..count {
        writer.put(format!("/registry/configmaps/lab/{what}-{}", number % 5), config_map(what, number), None).await.unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy(&path, &to)
        } else {
            let _ = fs::copy(&path, &to).unwrap();
        }
    }
}

/// An etcd with ten changes, and a copy of it.
async fn backed_up(etcd: &mut Etcd) -> TempDir {
    put(etcd, "both", 10).await;
    etcd.stop();
    let backup = TempDir::new().unwrap();
    copy(&etcd.data_dir(), &backup.path().join("data"));
    etcd.resume().await;
    backup
}

fn restore(etcd: &mut Etcd, backup: &TempDir) {
    etcd.stop();
    fs::remove_dir_all(etcd.data_dir()).unwrap();
    copy(&backup.path().join("data"), &etcd.data_dir());
}

async fn a_recording_does_not_go_on_with_another_history(release: EtcdRelease) {
    let mut etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let (backup, directory) = (backed_up(&mut etcd).await, TempDir::new().unwrap());
    put(&etcd, "first", 20).await;
    let following = Watching::run(&mut recorder(&etcd, directory.path()));
    reaches(directory.path(), Revision(31)).await;
    following.end();
    // The same history is gone on with.
    let mut following = Watching::run(&mut recorder(&etcd, directory.path()));
    following.says("recording from revision 32 on");
    assert!(!following.end().contains("nothing that"), "the history is known");
    restore(&mut etcd, &backup);
    etcd.resume().await;
    put(&etcd, "once", 1).await;
    put(&etcd, "second", 40).await;
    let refused = run(&mut recorder(&etcd, directory.path()));
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("they disagree about revision 12:") && said.contains("record into another directory"), "{said}");
    // Nor where etcd has compacted all that was recorded, and a key is left of that time.
    etcd.writer().await.compact(45, None).await.unwrap();
    let refused = run(&mut recorder(&etcd, directory.path()));
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("does not continue the history"), "{}", stderr(&refused));
}

on_each_release!(a_recording_does_not_go_on_with_another_history);

async fn a_running_recorder_notices_that_etcd_was_restored(release: EtcdRelease) {
    let mut etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let (backup, directory) = (backed_up(&mut etcd).await, TempDir::new().unwrap());
    put(&etcd, "first", 20).await;
    let mut following = Watching::run(&mut recorder(&etcd, directory.path()));
    reaches(directory.path(), Revision(31)).await;
    restore(&mut etcd, &backup);
    // When its clients find it again it is ahead of what they have seen.
    etcd.resume_in_hiding().await;
    put(&etcd, "second", 40).await;
    etcd.stop();
    etcd.resume().await;
    let said = following.says("was restored from a backup");
    assert!(said.contains("revision 31 (/registry/configmaps/lab/first-4) is gone"), "{said}");
    let said = following.end();
    assert!(!said.contains("nothing missed"), "{said}");
    reaches(directory.path(), Revision(31)).await;
}

on_each_release!(a_running_recorder_notices_that_etcd_was_restored);
