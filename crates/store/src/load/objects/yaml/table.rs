//! Compared with sigs.k8s.io/yaml, which kubectl reads and writes YAML with: thousands of awkward strings, as it writes them and without quotes.

use ketcd_testing::testdata;
use serde::Deserialize;
use serde_json::Value;

use super::Composer;
use super::composer::YamlProblem;

/// A line of the table (`oracle/yaml/main.go`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    text: String,
    value: Option<String>,
    name: Option<String>,
    value_read: Value,
    name_read: Value,
    plain: Value,
    plain_name: Value,
}

fn lines() -> Vec<Line> {
    let table = testdata::read("yaml/strings.ndjson.zst");
    table.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn read(text: &str) -> Result<Value, YamlProblem> {
    let mut composer = Composer::new(text);
    let event = super::begin(&mut composer)?;
    let value = composer.value(event)?;
    composer.next()?;
    Ok(value)
}

/// Holds what is read of a document against upstream's JSON, null where upstream refuses it.
fn check(document: &str, wanted: &Value) {
    match read(document) {
        Ok(value) => assert_eq!(value.to_string(), wanted.to_string(), "{document:?}"),
        Err(problem) => assert!(wanted.is_null(), "{document:?}: {}, not {wanted}", problem.why),
    }
}

#[test]
fn what_kubectl_writes_is_read_as_kubectl_reads_it() {
    let lines = lines();
    assert!(lines.len() > 10_000);
    for line in &lines {
        line.value.iter().for_each(|document| check(document, &line.value_read));
        line.name.iter().for_each(|document| check(document, &line.name_read));
    }
}

#[test]
fn text_without_quotes_means_what_it_means_to_kubectl() {
    for Line { text, plain, plain_name, .. } in &lines() {
        // A byte order mark within the text, and what follows a document: upstream looks for the one in the wrong place and not at the other.
        if text.contains('\u{feff}') || plain_name.as_object().is_none_or(serde_json::Map::is_empty) {
            continue;
        }
        check(&format!("k: {text}\n"), plain);
        // The longest name without quotes is counted in characters there, in bytes here.
        if text.len() > 1024 {
            continue;
        }
        check(&format!("{text}: v\n"), plain_name);
    }
}

#[test]
fn anchors_and_merged_members() {
    let value = |text: &str| read(text).map(|value| value.to_string()).map_err(|problem| problem.why);
    for (text, wanted) in [
        ("a: &a {x: 1, z: 2}\nb: {<<: *a, z: 3}\n", r#"{"a":{"x":1,"z":2},"b":{"x":1,"z":3}}"#),
        ("a: &a {x: 1}\nb: {x: 5, <<: *a}\n", r#"{"a":{"x":1},"b":{"x":1}}"#),
        ("a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc: {<<: [*a, *b]}\n", r#"{"a":{"x":1},"b":{"x":2,"z":3},"c":{"x":1,"z":3}}"#),
        ("a: &a text\n*a : *a\n", r#"{"a":"text","text":"text"}"#),
        ("\"<<\": {x: 1}\n", r#"{"<<":{"x":1}}"#),
        ("a: !!str 12\nb: !!int \"12\"\nc: !!float 3\nd: !other x\n", r#"{"a":"12","b":12,"c":3,"d":"x"}"#),
    ] {
        assert_eq!(value(text).unwrap(), wanted);
    }
    for (text, wanted) in [
        ("a: *a\n", "an alias names nothing that stands before it"),
        ("a: 1\na: 2\n", "a member is written twice in one object; a line --- between two objects may be missing"),
        ("a: .inf\n", "infinity and NaN cannot be written as JSON"),
        ("a: !!int x\n", "a tag names a type that its value does not have"),
        ("<<: text\n", "<< merges something that is not an object"),
        ("? [a]\n: b\n", "a member's name is not text"),
        ("a:\n\tb: c\n", "no value begins with this character: text needs quotes before it, and spaces indent, not tabs"),
    ] {
        assert_eq!(value(text).unwrap_err(), wanted, "{text}");
    }
    for (text, wanted) in [
        ("a: [b, Hi!, c]\n", r#"{"a":["b","Hi!","c"]}"#),
        ("a: [\"x !y, z\"]\nb: x !y, z\nc: |\n  - !y, z", r#"{"a":["x !y, z"],"b":"x !y, z","c":"- !y, z"}"#),
        ("a: |\n  b", r#"{"a":"b"}"#),
        ("a: |\n  b\n  ", r#"{"a":"b\n"}"#),
        ("a: |+\n  b\n  ", r#"{"a":"b\n"}"#),
        ("a: |+\n  b\n\n", r#"{"a":"b\n\n"}"#),
        ("a: >\n  b\n  c", r#"{"a":"b c"}"#),
    ] {
        assert_eq!(value(text).unwrap(), wanted);
    }
    assert!(value("a: [!b, c]\n").is_err() && value("a: [!<b>, c]\n").is_err());
    assert_eq!(value("a: [x !b, c]\n").unwrap_err(), "text with ! and a comma needs quotes");
    let deep = format!("a: {}1{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(value(&deep).unwrap_err(), "it is nested too deeply");
}
