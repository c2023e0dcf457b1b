//! A recorded cluster, redacted at every level: `explain`, `timeline` and `history` answer as before, but for names.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Files;

const LEVELS: [&str; 8] = ["none", "namespaces", "names", "values", "addresses", "identities", "tokens", "all"];
/// Members whose texts are no names.
const FIXED: [&str; 16] = [
    "byFrom",
    "kind",
    "op",
    "outcome",
    "phase",
    "plugin",
    "status",
    "time",
    "type",
    "verdict",
    "version",
    "uid",
    "since",
    "until",
    "firstTime",
    "lastTime",
];

/// The documents of a command, each by what tells it from the others.
fn documents(files: &Files, folder: &str, words: &str) -> BTreeMap<String, Value> {
    let mut documents = files.documents(folder, words);
    if let [list] = &mut documents[..]
        && list["items"].is_array()
    {
        let Value::Array(items) = list["items"].take() else { unreachable!() };
        documents = items;
    }
    let count = documents.len();
    let id = |document: &Value| {
        let places = ["/object/uid", "/pod/uid", "/attempt/revision", "/revision", "/subRevision"];
        places.iter().filter_map(|place| document.pointer(place)).map(Value::to_string).collect::<Vec<_>>().join(" ")
    };
    let by_id: BTreeMap<String, Value> = documents.into_iter().map(|document| (id(&document), document)).collect();
    assert_eq!(by_id.len(), count, "{words}");
    by_id
}

/// Two answers have the same form, the same numbers and the same words that are no names.
#[track_caller]
fn alike(whole: &Value, redacted: &Value, at: &str) {
    match (whole, redacted) {
        (Value::Object(one), Value::Object(other)) => {
            assert_eq!(one.len(), other.len(), "{at}: {whole} {redacted}");
            one.iter().filter_map(|(name, member)| Some((name, member, other.get(name)?))).for_each(|(name, member, other)| {
                if FIXED.contains(&name.as_str()) && member.is_string() {
                    assert_eq!(member, other, "{at}.{name}");
                }
                alike(member, other, &format!("{at}.{name}"));
            });
        }
        (Value::Array(one), Value::Array(other)) => {
            assert_eq!(one.len(), other.len(), "{at}: {whole} {redacted}");
            one.iter().zip(other).for_each(|(one, other)| alike(one, other, &format!("{at}[]")));
        }
        (Value::String(_), Value::String(_)) => {}
        _ => assert_eq!(whole, redacted, "{at}"),
    }
}

#[test]
fn answers_are_as_before_but_for_names() {
    let files = Files::new();
    let of_all = LEVELS.iter().map(|level| ("lab", *level));
    for (namespace, level) in of_all.chain([("web", "all"), ("kube-system", "all"), ("default", "names,values,addresses")]) {
        let folder = format!("{namespace}-{level}");
        files.bundle("whole", &folder, &format!("-n {namespace} --redact {level} --salt of-a-test"));
        let namespaces = |folder: &str| files.documents(folder, "get namespaces -o json").remove(0)["items"].take();
        let of = |list: &Value, member: &str, value: &Value| {
            list.as_array().unwrap().iter().find(|namespace| namespace["metadata"][member] == *value).unwrap()["metadata"].clone()
        };
        let uid = of(&namespaces("whole"), "name", &namespace.into())["uid"].clone();
        let renamed = of(&namespaces(&folder), "uid", &uid)["name"].as_str().unwrap().to_owned();
        assert_eq!(renamed == namespace, !matches!(level, "names" | "namespaces" | "all") || namespace != "lab" && namespace != "web");
        for words in ["explain --all -o ndjson", "timeline -o json", "history -o ndjson"] {
            let whole = documents(&files, "whole", &format!("{words} -n {namespace}"));
            let redacted = documents(&files, &folder, &format!("{words} -n {renamed}"));
            assert!(whole.keys().eq(redacted.keys()), "{folder}: {words}");
            whole.iter().for_each(|(id, whole)| alike(whole, &redacted[id], &format!("{folder}: {words}: {id}: ")));
        }
    }
}
