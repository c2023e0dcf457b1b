//! `-n` where no object is addressed: the same as all namespaces shows, less what is of others.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn capture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).to_str().unwrap().to_owned()
}

fn ketcd(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_namespace_that_holds_nothing_is_an_error() {
    let file = capture("k120-story/snapshot.db.zst");
    for arguments in [&["-f", &file, "diff", "-n", "nope", "--rev", "100..200"][..], &["diff", &file, &file, "-n", "nope"]] {
        let output = ketcd(arguments);
        let message = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""), "{message}");
        assert!(message.contains(r#"nothing found in namespace "nope""#) && message.contains(" ls namespaces"), "{message}");
    }
    let output = ketcd(&["-f", &file, "report", "-n", "nope", "--out", "/dev/null"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

/// The rows of a report: namespace, kind, name, and how many changes, Events and decisions each has.
fn rows(arguments: &[&str]) -> Vec<[String; 6]> {
    let output = ketcd(&[&["-f", &capture("k120-story/snapshot.db.zst"), "report", "--out", "-"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    let (_, data) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let count = |value: &Value| value.as_array().unwrap().len().to_string();
    let row = |row: &Value| [word(&row["ns"]), word(&row["k"]), word(&row["n"]), count(&row["c"]), count(&row["v"]), row["a"].to_string()];
    let mut rows: Vec<_> = data["rows"].as_array().unwrap().iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn a_report_is_of_one_namespace() {
    let all = rows(&[]);
    for namespace in ["lab", "web"] {
        let is_own = |row: &[String; 6]| row[0] == namespace || (row[1] == "Namespace" && row[2] == namespace);
        let wanted: Vec<_> = all.iter().filter(|row| is_own(row)).cloned().collect();
        assert!(wanted.len() > 5 && wanted.len() < all.len(), "{namespace}: {} rows", wanted.len());
        assert!(wanted.iter().any(|row| row[4] != "0") && wanted.iter().any(|row| row[5] != "0"), "{namespace}: no Events or no decisions");
        assert_eq!(rows(&["-n", namespace]), wanted);
    }
}
