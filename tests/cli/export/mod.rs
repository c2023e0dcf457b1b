//! `export`: the tables hold what the other commands print, the same snapshot twice is the same files, and the next one adds what is new.

#[cfg(feature = "parquet")]
mod columnar;
#[cfg(feature = "parquet")]
mod duckdb;

mod traces;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::ketcd::{all, ketcd};

const TABLE_NAMES: [&str; 5] = ["objects", "history", "events", "decisions", "decision_nodes"];

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name)
}

/// Exports a file into a directory; `flags` are separated by blanks.
fn run(file: &Path, out: &Path, flags: &str) -> Output {
    ketcd().arg("export").arg("-f").arg(file).arg("--out").arg(out).args(flags.split_whitespace()).output().unwrap()
}

/// The same, where it must succeed; returns what it printed as JSON.
fn export(file: &str, out: &Path, flags: &str) -> Value {
    let output = run(&capture(file), out, &format!("{flags} -o json"));
    assert!(output.status.success(), "{}", all(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn lines(text: &[u8]) -> Vec<Value> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// What another command prints.
fn printed(file: &str, arguments: &str) -> Vec<Value> {
    let output = ketcd().arg("-f").arg(capture(file)).args(arguments.split_whitespace()).output().unwrap();
    lines(&output.stdout)
}

/// Every file below a directory, by its path.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The rows of a table that was written as lines of JSON, in the order of their revisions.
fn rows(folder: &Path, table: &str) -> Vec<Value> {
    let files = files(folder).into_iter().filter(|(path, _)| path.starts_with(&format!("table={table}/")));
    let mut rows: Vec<Value> = files.flat_map(|(_, file)| lines(&zstd::decode_all(&file[..]).unwrap())).collect();
    rows.sort_by_key(|row| row["revision"].as_i64());
    rows
}

#[test]
fn the_tables_hold_what_the_other_commands_print() {
    let file = "k120-story/snapshot.db.zst";
    let folder = tempfile::tempdir().unwrap();
    let summary = export(file, folder.path(), "--format ndjson --cluster story");
    assert_eq!((&summary["cluster"], &summary["revision"]), (&json!("story"), &json!(1787)));

    let changes = printed(file, "history --all --objects -o ndjson");
    let history = rows(folder.path(), "history");
    assert_eq!(history.len(), changes.len());
    for (row, change) in history.iter().zip(&changes) {
        for (column, field) in [
            ("revision", "revision"),
            ("sub_revision", "subRevision"),
            ("time", "time"),
            ("time_error_seconds", "timeErrorSeconds"),
            ("type", "type"),
            ("key", "key"),
            ("actor", "by"),
            ("actor_from", "byFrom"),
            ("source", "source"),
            ("patch", "patch"),
            ("object", "object"),
        ] {
            assert_eq!(row[column], change[field], "r{} {column}", row["revision"]);
        }
        assert_eq!(row["value_bytes"].is_null(), change["type"] == "DELETED");
    }

    let objects = rows(folder.path(), "objects");
    let listed = printed(file, "ls --all -A -o ndjson");
    assert_eq!(objects.len(), listed.len());
    for (row, object) in objects.iter().zip(&listed) {
        assert_eq!(row["object"], *object);
        assert_eq!((&row["kind"], &row["uid"]), (&object["kind"], &object["metadata"]["uid"]));
        assert_eq!(row["mod_revision"].to_string(), object["metadata"]["resourceVersion"].as_str().unwrap());
    }

    let events = rows(folder.path(), "events");
    let written =
        changes.iter().filter(|change| change["key"].as_str().unwrap().starts_with("/registry/events/") && !change["object"].is_null());
    assert_eq!(events.len(), written.clone().count());
    for (row, change) in events.iter().zip(written) {
        let event = &change["object"];
        assert_eq!((&row["revision"], &row["reason"], &row["name"]), (&change["revision"], &event["reason"], &event["metadata"]["name"]));
        assert_eq!(row["about_name"], event["involvedObject"]["name"]);
    }

    let decisions = rows(folder.path(), "decisions");
    let explained = printed(file, "explain --all --no-remedies -o ndjson");
    assert_eq!(decisions.len(), explained.len());
    let mut nodes = rows(folder.path(), "decision_nodes").into_iter();
    for (row, explanation) in decisions.iter().zip(&explained) {
        assert_eq!((&row["pod"], &row["verdict"]), (&explanation["pod"]["name"], &explanation["verdict"]));
        assert_eq!((&row["outcome"], &row["message"]), (&explanation["attempt"]["outcome"], &explanation["message"]));
        for node in explanation["nodes"].as_array().unwrap() {
            let row = nodes.next().unwrap();
            assert_eq!((&row["node"], &row["feasible"], &row["total"]), (&node["name"], &node["feasible"], &node["total"]));
            assert_eq!((&row["filters"], &row["scores"]), (&node["filters"], &node["scores"]));
            assert_eq!(
                row["refused_by"].is_null(),
                !node["filters"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|filter| { filter["reached"] == true && filter["status"].as_str().unwrap().starts_with("Unschedulable") })
            );
        }
    }
    assert!(nodes.next().is_none());
}

#[test]
fn the_same_snapshot_twice_is_the_same_files() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = "k120-story/compacted.db.zst";
    export(file, one.path(), "--format ndjson");
    export(file, other.path(), "--format ndjson");
    let first = files(one.path());
    assert!(first == files(other.path()), "two runs wrote different files");
    for table in TABLE_NAMES {
        assert!(first.keys().any(|path| path.starts_with(&format!("table={table}/cluster="))), "{table}");
    }
    let again = export(file, one.path(), "--format ndjson");
    assert!(first == files(one.path()), "the second run changed the dataset");
    for table in again["tables"].as_array().unwrap() {
        assert_eq!(table["files"], json!([]), "{table}");
        assert_eq!(table["rowsPresent"].as_u64().unwrap() > 0, table["table"] != "decision_nodes", "{table}");
    }
}

#[test]
fn a_later_snapshot_adds_what_is_new() {
    let (whole, grown) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = "k120-story/snapshot.db.zst";
    let tables = "--format ndjson --cluster c";
    export(file, whole.path(), tables);
    for part in ["--rev 700", "--rev 1200", ""] {
        export(file, grown.path(), &format!("{tables} {part}"));
    }
    for table in ["history", "events", "decisions", "decision_nodes"] {
        assert!(rows(grown.path(), table) == rows(whole.path(), table), "{table}");
    }
    let states: Vec<i64> = rows(grown.path(), "objects").iter().map(|row| row["revision"].as_i64().unwrap()).collect();
    assert!(states.is_sorted() && [700, 1200, 1787].iter().all(|revision| states.contains(revision)));
    // Days are those of the rows' times; nothing dates the last revision, which lies with the one before.
    let days: Vec<String> = files(whole.path()).into_keys().filter(|path| path.starts_with("table=history/")).collect();
    assert_eq!(days, ["table=history/cluster=c/day=2026-11-20/r2-r1787.ndjson.zst"]);
}

#[test]
fn the_usual_format_is_one_that_every_build_writes() {
    let folder = tempfile::tempdir().unwrap();
    export("k120-story/snapshot.db.zst", folder.path(), "--tables objects --cluster c");
    let written: Vec<String> = files(folder.path()).into_keys().collect();
    assert_eq!(written, ["table=objects/cluster=c/day=2026-11-20/r1787-r1787.ndjson.zst"]);
}

#[test]
fn what_is_not_a_dataset_is_refused() {
    let snapshot = capture("k120-story/snapshot.db.zst");
    let refused = |file: &Path, out: &Path, flags: &str, why: &str| {
        let output = run(file, out, flags);
        assert_eq!(output.status.code(), Some(2), "{}", all(&output));
        assert!(all(&output).contains(why), "{}", all(&output));
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    refused(&snapshot, &file, "--format ndjson", "is not a directory; name a directory");
    refused(&snapshot, folder.path(), "--format ndjson --cluster a/b", "cannot be the name of a folder");
    refused(&snapshot, folder.path(), "--format ndjson -o yaml", "export has no output format yaml");
    let member = crate::unpack::data_dir("k120-story/member.tar.zst");
    let inside = member.path().join("member/snap/tables");
    refused(member.path(), &inside, "--format ndjson", "reads, and ketcd writes nothing there; choose another directory");
    assert!(!inside.exists());
    // What is not built in says how to get it.
    if cfg!(not(feature = "parquet")) {
        refused(&snapshot, folder.path(), "--format parquet", "built without Parquet; use --format ndjson");
    }
    if cfg!(not(feature = "object-store")) {
        refused(&snapshot, Path::new("s3://bucket/fleet"), "--format ndjson", "built without object stores");
        refused(Path::new("s3://bucket/snapshot.db"), folder.path(), "--format ndjson", "built without object stores");
    }
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn secrets_stay_masked() {
    let folder = tempfile::tempdir().unwrap();
    export("k120-story/snapshot.db.zst", folder.path(), "--format ndjson --tables objects,history");
    for table in ["objects", "history"] {
        let rows = rows(folder.path(), table);
        let secrets: Vec<&Value> = rows.iter().filter(|row| row["kind"] == "Secret" && !row["object"].is_null()).collect();
        assert!(!secrets.is_empty());
        for secret in secrets {
            let data = secret["object"]["data"].as_object().into_iter().flatten();
            data.for_each(|(_, value)| assert_eq!(value, "***"));
        }
    }
}
