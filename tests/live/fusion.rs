//! A live etcd beside files of its cluster, and its members compared with each other.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

use futures_util::StreamExt;
use ketcd_store::{Event, KeyRange, Revision, Until, WatchItem, load};
use serde_json::{Value, json};

use crate::cluster::cluster;
use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::load::config_map;
use crate::long_history;
use crate::watcher::Watching;
use ketcd_testing::database;

/// Writes as many revisions of some config maps.
async fn write(etcd: &Etcd, numbers: std::ops::Range<usize>) {
    let mut writer = etcd.writer().await;
    for n in numbers {
        let name = format!("c{}", n % 7);
        writer.put(format!("/registry/configmaps/lab/{name}"), config_map(&name, n), None).await.unwrap();
    }
}

/// Takes a snapshot as `etcdctl snapshot save` does.
pub(crate) async fn snapshot(etcd: &Etcd, path: &Path) {
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
    let etcd = Etcd::start(Transport::Plain).await;
    write(&etcd, 0..40).await;
    snapshot(&etcd, &file).await;
    write(&etcd, 40..60).await;
    let output = fused(&file, &etcd, "history --all --objects -o ndjson");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert_eq!(revisions(&output), (2..=61).collect::<Vec<_>>());
    let (path, endpoint) = (file.to_str().unwrap(), etcd.endpoint());
    for line in lines(&output) {
        let is_of_file = line["revision"].as_i64().unwrap() <= 41;
        assert_eq!(line["sources"], if is_of_file { json!([path, endpoint]) } else { json!([endpoint]) }, "{line}");
        assert_eq!(line["source"], "live");
        assert!(line["patch"].is_array() || line["revision"].as_i64().unwrap() <= 8, "{line}");
    }
    let output = fused(&file, &etcd, "get configmap/c3 -n lab -o jsonpath={.data.n}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "59", "{}", stderr(&output));

    // What etcd compacts the file still has; what came between is a gap.
    etcd.writer().await.compact(52, None).await.unwrap();
    let output = fused(&file, &etcd, "get configmap/c3 -n lab -o jsonpath={.data.n} --rev 30");
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stdout)), (Some(0), "24"), "{}", stderr(&output));
    let output = fused(&file, &etcd, "history --all --objects -o ndjson");
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
    let other = Etcd::start(Transport::Plain).await;
    write(&other, 100..160).await;
    let output = fused(&file, &other, "get configmaps -n lab");
    let said = stderr(&output);
    assert!(output.status.code() == Some(2) && said.contains("these are not from one etcd cluster"), "{said}");
    assert!(said.contains("they disagree about revision 2: ") && said.matches("(SHA-256 ").count() == 2, "{said}");
}

/// The changes of a database.
async fn changes(path: &Path) -> Vec<Event> {
    let source = load::open(&[path.to_str().unwrap().to_owned()], &|_| None).unwrap();
    let mut items = source.watch(KeyRange::all(), Revision(1), Until::Forever);
    let mut changes = Vec::new();
    while let Some(item) = items.next().await.transpose().unwrap() {
        changes.extend(if let WatchItem::Event(event) = item { Some(event) } else { None });
    }
    changes
}

/// The sources of each revision that is told.
fn sources(output: &Output) -> BTreeMap<i64, Vec<String>> {
    let names = |line: &Value| serde_json::from_value(line["sources"].clone()).unwrap();
    lines(output).iter().map(|line| (line["revision"].as_i64().unwrap(), names(line))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_files_and_a_live_etcd_have_names_all_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let [whole, one, two, other] = ["whole.db", "one.db", "two.db", "other.db"].map(|name| directory.path().join(name));
    let etcd = Etcd::start(Transport::Plain).await;
    etcd.writer().await.put("/registry/configmaps/lab/once", config_map("once", 1), None).await.unwrap();
    write(&etcd, 0..41).await;
    snapshot(&etcd, &one).await;
    write(&etcd, 41..70).await;
    snapshot(&etcd, &whole).await;
    // Between two files lie revisions 44 to 54, and what a compaction at 60 left of 55 to 60.
    let mut history = changes(&whole).await;
    fs::write(&two, database!(&history, 66, Some(60), false)).unwrap();
    let endpoint = etcd.endpoint();
    let [path_one, path_two] = [&one, &two].map(|path| path.to_str().unwrap());
    let both = |words: &str| run(ketcd().arg("-f").arg(&one).arg("-f").arg(&two).args(["-f", &endpoint]).args(words.split(' ')));
    let named = |revision: i64| -> Vec<String> {
        let names = [(path_one, revision <= 43), (path_two, revision == 2 || (54..=66).contains(&revision)), (&*endpoint, true)];
        names.into_iter().filter(|name| name.1).map(|name| name.0.to_owned()).collect()
    };
    let output = both("history --all --objects -o ndjson");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert_eq!(sources(&output), (2..=72).map(|revision| (revision, named(revision))).collect());
    for words in ["history configmap/c3 -n lab -o ndjson", "history configmaps -n lab -o ndjson", "history configmap/once -n lab -o ndjson"]
    {
        let output = both(words);
        let told = sources(&output);
        assert!(output.status.code() == Some(0) && !told.is_empty(), "{}", stderr(&output));
        told.iter().for_each(|(revision, sources)| assert_eq!(*sources, named(*revision), "{words}"));
    }
    let output = both("timeline configmap/once -n lab -o json");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!([path_one, path_two, &endpoint].iter().all(|name| text.contains(&format!("{name:?}"))), "{text}");
    let output = both("status -o json");
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &status["gaps"]), (Some(0), &json!([])), "{}", stderr(&output));

    // etcd still has the last versions of what it has compacted; the gap is between the first file and that compaction.
    etcd.writer().await.compact(53, None).await.unwrap();
    let output = both("history --all --objects -o ndjson");
    let gap = format!("revisions 44 to 52 are in none of the sources: {path_one} ends with 43, {endpoint} begins with 53");
    assert!(output.status.code() == Some(2) && stderr(&output).matches(&gap).count() == 1, "{}", stderr(&output));
    let told = sources(&output);
    assert!(told.keys().copied().eq((2..=43).chain(47..=72)), "{told:?}");
    let without_live = |revision: i64| named(revision).into_iter().filter(|name| *name != endpoint).collect::<Vec<_>>();
    told.iter().for_each(|(&revision, sources)| {
        let is_live = revision == 2 || revision > 43;
        assert_eq!(*sources, if is_live { named(revision) } else { without_live(revision) }, "{revision}");
    });

    // A value that is another one is a contradiction, with the revision and both digests.
    let changed = history.iter_mut().find(|event| event.revision == Revision(57)).unwrap();
    changed.key_value.value = config_map("c5", 999).into();
    fs::write(&other, database!(&history, 70, None, false)).unwrap();
    let output = fused(&other, &etcd, "history --all --objects -o ndjson");
    let said = stderr(&output);
    assert!(output.status.code() == Some(2) && said.contains("they disagree about revision 57: "), "{said}");
    assert!(said.matches("(SHA-256 ").count() == 2 && said.contains(&endpoint) && said.contains("other.db"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn single_keys_of_a_long_history_name_the_live_etcd_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("night.db");
    let (etcd, mut client, _) = long_history::filled().await;
    client.compact(1_600, None).await.unwrap();
    snapshot(&etcd, &file).await;
    let output = fused(&file, &etcd, "history configmap/phoenix -n lab --objects -o ndjson");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (path, endpoint) = (file.to_str().unwrap().to_owned(), etcd.endpoint());
    let told = sources(&output);
    assert!(long_history::written(1_601).iter().all(|revision| told[revision] == [path.clone(), endpoint.clone()]), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_differs_stands_alone() {
    let mut members = cluster(EtcdRelease::V35, 3, || Transport::Plain, &[]).await;
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
