//! A live etcd beside files of its cluster, and its members compared with each other.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::cluster::cluster;
use crate::etcd::{Etcd, Release, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::load::config_map;
use crate::watcher::Watching;

/// Writes as many revisions of some config maps.
async fn write(etcd: &Etcd, numbers: std::ops::Range<usize>) {
    let mut writer = etcd.writer().await;
    for n in numbers {
        let name = format!("c{}", n % 7);
        writer.put(format!("/registry/configmaps/lab/{name}"), config_map(&name, n), None).await.unwrap();
    }
}

/// Takes a snapshot as `etcdctl snapshot save` does.
async fn snapshot(etcd: &Etcd, path: &Path) {
    let mut stream = etcd.writer().await.maintenance_client().snapshot().await.unwrap();
    let mut file = fs::File::create(path).unwrap();
    while let Some(piece) = stream.message().await.unwrap() {
        file.write_all(piece.blob()).unwrap();
    }
}

fn fused(file: &Path, etcd: &Etcd, words: &str) -> Output {
    run(ketcd().arg("-f").arg(file).args(["-f", &etcd.endpoint()]).args(words.split(' ')))
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn revisions(output: &Output) -> Vec<i64> {
    lines(output).iter().map(|line| line["revision"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_etcd_goes_on_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file: PathBuf = directory.path().join("night.db");
    let etcd = Etcd::start_with(Release::V37, Transport::Plain, &[]).await;
    write(&etcd, 0..40).await;
    snapshot(&etcd, &file).await;
    write(&etcd, 40..60).await;
    let output = fused(&file, &etcd, "history --all -o ndjson");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert_eq!(revisions(&output), (2..=61).collect::<Vec<_>>());
    let (path, endpoint) = (file.to_str().unwrap(), etcd.endpoint());
    for line in lines(&output) {
        let is_of_file = line["revision"].as_i64().unwrap() <= 41;
        assert_eq!(line["sources"], serde_json::json!([if is_of_file { path } else { &endpoint }]), "{line}");
        assert_eq!(line["source"], if is_of_file { "db" } else { "live" });
        assert!(line["patch"].is_array() || line["revision"].as_i64().unwrap() <= 8, "{line}");
    }
    let output = fused(&file, &etcd, "get configmap/c3 -n lab -o jsonpath={.data.n}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "59", "{}", stderr(&output));

    // What etcd compacts the file still has; what came between is a gap.
    etcd.writer().await.compact(52, None).await.unwrap();
    let output = fused(&file, &etcd, "get configmap/c3 -n lab -o jsonpath={.data.n} --rev 30");
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stdout)), (Some(0), "24"), "{}", stderr(&output));
    let output = fused(&file, &etcd, "history --all -o ndjson");
    let gap = format!("revisions 42 to 51 are in none of the sources: {path} ends with 41, {endpoint} begins with 52");
    assert!(output.status.code() == Some(2) && stderr(&output).contains(&gap), "{}", stderr(&output));
    let told = revisions(&output);
    assert!(told.is_sorted() && (2..=41).chain(53..=61).all(|revision| told.contains(&revision)) && !told.contains(&43), "{told:?}");
    let output = fused(&file, &etcd, "get configmap/c3 -n lab --rev 45");
    assert!(stderr(&output).contains("ask for --rev 41 or --rev 52"), "{}", stderr(&output));
    let output = fused(&file, &etcd, "status -o json");
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&status["gaps"][0]["from"], &status["gaps"][0]["to"]), (&42.into(), &51.into()), "{status}");
    assert_eq!((&status["source"]["kind"], status["sources"].as_array().map(Vec::len)), (&"live".into(), Some(2)), "{status}");

    // A watch follows it.
    let mut command = ketcd();
    command.arg("-f").arg(&file).args(["-f", &endpoint, "watch", "configmaps", "-n", "lab", "-o", "ndjson"]);
    let watch = Watching::run(&mut command);
    assert!(watch.line().contains("INITIAL"));
    write(&etcd, 60..61).await;
    let change: Value = serde_json::from_str(&watch.line()).unwrap();
    assert_eq!((&change["revision"], &change["object"]["data"]["n"]), (&62.into(), &"60".into()));
    watch.end();

    // Another cluster, whose revisions go the same way and say something else.
    let other = Etcd::start_with(Release::V37, Transport::Plain, &[]).await;
    write(&other, 100..160).await;
    let output = fused(&file, &other, "get configmaps -n lab");
    let said = stderr(&output);
    assert!(output.status.code() == Some(2) && said.contains("these are not of one etcd cluster"), "{said}");
    assert!(said.contains("they disagree about revision 2: ") && said.matches("(SHA-256 ").count() == 2, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_differs_stands_alone() {
    let mut members = cluster(Release::V35, 3, || Transport::Plain).await;
    write(&members[0], 0..30).await;
    let endpoints = members.iter().map(Etcd::endpoint).collect::<Vec<_>>();
    let compared = || run(ketcd().args(["--endpoints", &endpoints.join(","), "diff", "--members", "-o", "json"]));
    let output = compared();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["agree"], &json["keys"], json["members"].as_array().map(Vec::len)), (&true.into(), &7.into(), Some(3)), "{json}");

    // A byte of the third member's database goes another way.
    members[2].signal("TERM");
    members[2].wait();
    let mut db = fs::read(members[2].db()).unwrap();
    let (written, other) = (config_map("c1", 29), config_map("c1", 28));
    let places: Vec<usize> =
        db.windows(written.len()).enumerate().filter(|(_, bytes)| *bytes == written.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| db[at..at + other.len()].copy_from_slice(other.as_bytes()));
    fs::write(members[2].db(), db).unwrap();
    members[2].resume().await;
    let output = compared();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["agree"], &json["alone"]), (&false.into(), &endpoints[2].as_str().into()), "{json}");
    assert_eq!(json["differences"].as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!(json["differences"][0]["key"], "/registry/configmaps/lab/c1");
    let versions = &json["differences"][0]["versions"];
    assert_eq!((&versions[0]["modRevision"], &versions[1]["modRevision"]), (&31.into(), &31.into()), "{json}");
    let text = run(ketcd().args(["--endpoints", &endpoints.join(","), "diff", "--members"]));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains(&format!("1 of 7 keys differ; {} stands alone", endpoints[2])), "{text}");
}
