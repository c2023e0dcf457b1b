//! `ketcd rehearse`: the restore that it prints is run as it is printed, and no watcher of the etcd that comes of it sees a revision go back.
//! `tools/rehearsals` does the same with whole control planes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use etcd_client::{GetOptions, WatchOptions};
use ketcd_cluster::rehearse::{MAX_HELD_BYTES, RehearseAsked, rehearse};
use ketcd_cluster::{Cluster, Error, Options, files};
use ketcd_store::etcd::EtcdConfig;
use ketcd_store::load::Limits;
use ketcd_testing::on_each_release;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::fusion::snapshot;
use crate::ketcd::{ketcd, open, patient, run, stderr};
use crate::load::config_map;

/// The etcdutl that tools/test names.
fn etcdutl() -> PathBuf {
    const ADVICE: &str = "this test needs etcdutl: run tools/test, which installs it, or name one in KETCD_TEST_ETCDUTL (tools/program etcdutl prints its path)";
    env::var_os("KETCD_TEST_ETCDUTL").expect(ADVICE).into()
}

/// Writes what shows whose etcd it is and where the member lies: kubeadm's ConfigMap, and the pod of etcd with its command line.
async fn write_kubeadm(etcd: &Etcd) {
    let (name, peer, dir) = (&etcd.name, etcd.peer(), etcd.data_dir());
    let metadata = |name: &str| json!({"name": name, "namespace": "kube-system", "uid": name});
    let command = [
        "etcd".to_owned(),
        format!("--name={name}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--data-dir={}", dir.display()),
    ];
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("etcd-one"),
        "spec": {"nodeName": "one", "containers": [{"name": "etcd", "image": "registry.k8s.io/etcd:3.6.4-0", "command": command}]}});
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("kubeadm-config")});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "of-the-cluster"}});
    let mut writer = etcd.writer().await;
    for (key, object) in [
        ("/registry/namespaces/kube-system", namespace),
        ("/registry/configmaps/kube-system/kubeadm-config", config),
        ("/registry/pods/kube-system/etcd-one", pod),
    ] {
        writer.put(key, object.to_string(), None).await.unwrap();
    }
}

/// Writes ConfigMaps; returns the revision of the last.
async fn write(etcd: &Etcd, what: &str, count: usize) -> i64 {
    let (mut writer, mut last) = (etcd.writer().await, 0);
    for number in 0..count {
        let put = writer.put(format!("/registry/configmaps/lab/{what}-{number}"), config_map(what, number), None).await.unwrap();
        last = put.header().unwrap().revision();
    }
    last
}

/// The commands of the steps that put the member's data aside and restore it, in their order, as they are printed.
fn printed(rehearsal: &Value) -> Vec<&str> {
    let steps = rehearsal["way"]["steps"].as_array().unwrap();
    let commands = steps.iter().flat_map(|step| step["commands"].as_array().unwrap()).map(|command| command.as_str().unwrap());
    commands.filter(|command| command.contains(".before-restore") || command.contains(" snapshot restore ")).collect()
}

/// Runs a printed line in a shell that finds etcdutl.
#[track_caller]
fn run_printed(line: &str, tools: &Path) {
    let path = format!("{}:{}", tools.display(), env::var("PATH").unwrap());
    let output = run(Command::new("sh").args(["-c", line]).env("PATH", path));
    assert!(output.status.success(), "{line}: {}", stderr(&output));
}

async fn what_is_printed_is_run_by_etcdutl(release: EtcdRelease) {
    let folder = TempDir::new().unwrap();
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    std::os::unix::fs::symlink(etcdutl(), tools.join("etcdutl")).unwrap();
    let mut etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    write_kubeadm(&etcd).await;
    write(&etcd, "kept", 5).await;
    let backup = folder.path().join("back up.db");
    snapshot(&etcd, &backup).await;
    let newest_seen = write(&etcd, "lost", 7).await;
    etcd.stop();

    let asked = run(ketcd().arg("rehearse").arg(&backup).arg("--over").arg(etcd.data_dir()).args(["-o", "json"]));
    let rehearsal: Value = serde_json::from_slice(&asked.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&asked)));
    assert_eq!((&rehearsal["lostRevisions"], &rehearsal["way"]["distribution"]), (&json!(7), &json!("kubeadm")), "{rehearsal:#}");
    let commands = printed(&rehearsal);
    assert!(commands.len() == 2 && commands[1].starts_with("etcdutl "), "{commands:?}");
    commands.iter().for_each(|line| run_printed(line, &tools));
    etcd.resume().await;

    let mut client = etcd.writer().await;
    let listed = client.get("/registry/configmaps/lab/", Some(GetOptions::new().with_prefix())).await.unwrap();
    let restored = listed.header().unwrap().revision();
    let names: Vec<&str> = listed.kvs().iter().map(|kv| kv.key_str().unwrap().rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["kept-0", "kept-1", "kept-2", "kept-3", "kept-4"]);
    assert!(restored > newest_seen, "r{restored} is not above r{newest_seen}, the newest that was seen before");

    // A watcher that goes on where it was is told that it has to list anew, and is not left waiting.
    let from = |revision: i64| Some(WatchOptions::new().with_prefix().with_start_revision(revision));
    let mut behind = client.watch("/registry/", from(newest_seen + 1)).await.unwrap();
    let refused = loop {
        let answer = behind.message().await.unwrap().expect("etcd answers");
        if !answer.created() || answer.canceled() {
            break answer;
        }
    };
    assert!(refused.canceled() && refused.compact_revision() > newest_seen, "{refused:?}");
    // One that has listed sees the next write.
    let mut anew = client.watch("/registry/", from(restored + 1)).await.unwrap();
    let written = write(&etcd, "after", 1).await;
    let seen = loop {
        let answer = anew.message().await.unwrap().expect("etcd sends what is written");
        if let Some(event) = answer.events().first() {
            break event.kv().unwrap().mod_revision();
        }
    };
    assert!(seen == written && written > restored, "r{written} was written after r{restored}, and r{seen} was seen");
}

on_each_release!(what_is_printed_is_run_by_etcdutl: on_3_5 V35, on_3_7 V37);

/// What differs in a running etcd is held only as far as it may be: where more does, the answer is an error that says how to have it all the same.
#[tokio::test(flavor = "multi_thread")]
async fn no_more_of_a_running_etcd_is_held_than_may_be() {
    let folder = TempDir::new().unwrap();
    let etcd = Etcd::start(Transport::Plain).await;
    write_kubeadm(&etcd).await;
    let backup = folder.path().join("backup.db");
    snapshot(&etcd, &backup).await;
    write(&etcd, "lost", 20).await;
    let asked = async |max_held_bytes: usize| {
        let file = files::open(&[backup.to_str().unwrap().to_owned()], &Limits::default()).unwrap().source;
        let backup = Cluster::open(file, Options::default()).await.unwrap();
        let config = EtcdConfig { endpoints: vec![etcd.endpoint()], ..patient() };
        let live = Cluster::open(Box::new(open(config)), Options::default()).await.unwrap();
        rehearse(&backup, &[&live], &RehearseAsked { max_held_bytes, ..RehearseAsked::default() }).await
    };
    assert_eq!(asked(MAX_HELD_BYTES).await.unwrap().lost_revisions, Some(20));
    let refused = asked(1_000).await.unwrap_err();
    let Error::Invalid { problem, hint: Some(hint) } = &refused else { panic!("{refused:?}") };
    assert!(problem.starts_with("more than 1,000 bytes of ") && hint.contains("snapshot save newest.db"), "{problem}; {hint}");
}
