//! Data cannot drive the terminal: a recorded cluster whose every free text carries control sequences, in everything any command writes.

use ketcd_kube::{Body, Decoder};
use ketcd_store::{Event, EventKind, Revision};
use ketcd_testing::snapshot::beginning;
use serde_json::{Value, json};

use crate::etcd::{Etcd, Transport};
use crate::ketcd::on;
use crate::pty;
use crate::replay::{changes, revisions_of};

/// Sets a title, clears the screen, turns the direction of text, forges a line and a row, pretends to be style of ours.
const HOSTILE_TEXT: &str =
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{fdd0}\u{fde3}\u{e0041}\nFORGED a line\r\u{b}\u{c}\u{7f}FORGED";

/// Fields whose values have a form that must hold: what they name or measure would no longer be found.
const FORMED_FIELDS: &[&str] = &[
    "kind",
    "apiVersion",
    "namespace",
    "uid",
    "type",
    "status",
    "phase",
    "fieldPath",
    "resourceVersion",
    "operator",
    "effect",
    "operation",
];

/// Whether a text is a time, a quantity, a number or the like: another text there would only be refused.
fn is_formed(text: &str) -> bool {
    text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) || text.len() < 3
}

/// Puts the hostile text behind every free text of an object, and into the names of its labels and annotations.
fn spoil(name: &str, value: &mut Value) {
    match value {
        Value::String(text) if !FORMED_FIELDS.contains(&name) && !is_formed(text) => text.push_str(HOSTILE_TEXT),
        Value::Array(items) => items.iter_mut().for_each(|item| spoil(name, item)),
        Value::Object(members) => {
            members.iter_mut().for_each(|(name, member)| spoil(name, member));
            if matches!(name, "labels" | "annotations" | "allocatable") {
                members.insert(format!("x{HOSTILE_TEXT}"), "1".into());
            }
        }
        _ => {}
    }
}

fn spoiled(event: &Event, decoder: &Decoder) -> Event {
    let mut event = event.clone();
    let entry = &mut event.key_value;
    if event.kind == EventKind::Put
        && let Body::Object(object) = decoder.decode(&entry.key, &entry.value, 0).body
    {
        let mut object = object.into_value();
        // Definitions make the kinds, and names of objects stand in their keys.
        let (kind, names) = (object["kind"].clone(), ["name", "generateName"].map(|name| (name, object["metadata"][name].clone())));
        if kind != "CustomResourceDefinition" {
            spoil("", &mut object);
            for (name, value) in names.into_iter().filter(|(_, value)| !value.is_null()) {
                object["metadata"][name] = value;
            }
        }
        entry.value = object.to_string().into();
    }
    event
}

/// Objects whose very keys are hostile.
fn keys() -> Vec<(String, Value)> {
    let metadata = |namespace: &str| json!({"name": format!("evil{HOSTILE_TEXT}"), "namespace": namespace, "uid": "9", "creationTimestamp": "2026-11-20T22:00:00Z"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("lab"), "status": {"phase": HOSTILE_TEXT, "message": HOSTILE_TEXT, "reason": HOSTILE_TEXT},
        "spec": {"nodeName": format!("evil{HOSTILE_TEXT}"), "schedulerName": HOSTILE_TEXT, "containers": [{"name": HOSTILE_TEXT, "image": HOSTILE_TEXT}], "schedulingGates": [{"name": HOSTILE_TEXT}]}});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata(""), "spec": {"taints": [{"key": HOSTILE_TEXT, "effect": "NoSchedule"}]},
        "status": {"nodeInfo": {"kubeletVersion": format!("v1.20.2{HOSTILE_TEXT}")}, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}});
    vec![
        (format!("/registry/pods/lab/evil{HOSTILE_TEXT}"), pod),
        (format!("/registry/minions/evil{HOSTILE_TEXT}"), node),
        (
            format!("/registry/evil{HOSTILE_TEXT}/things/lab/x"),
            json!({"apiVersion": "evil/v1", "kind": HOSTILE_TEXT, "metadata": metadata("lab")}),
        ),
        (format!("/elsewhere{HOSTILE_TEXT}"), json!(HOSTILE_TEXT)),
    ]
}

const TEXT_COMMANDS: &[&str] = &[
    "status",
    "ls",
    "ls --all",
    "ls --all -o wide --show-labels",
    "ls --all -o name",
    "ls /registry/pods",
    "ls / -o name",
    "ls pods -A -L app",
    "get pods -A",
    "get pods -A -o yaml",
    "get pods -A -w --rev 400",
    "describe pods,nodes,deploy,rs,ds,job,cj,sts,svc,pvc,cm,secrets -A",
    "events -A",
    "events -A -o wide",
    "events -A -w --rev 400",
    "tree deploy,sts,ds,job,svc,nodes -A",
    "get nodes -o yaml",
    "history --all",
    "history --all --diff",
    "history --all --diff --all-fields",
    "watch pods -A --from-rev 1 --diff",
    "timeline -A",
    "timeline -A -o wide",
    "timeline pod/lab/ubuntu",
    "timeline deploy/web/tomcat",
    "timeline node/node1",
    "timeline node/node4 -o wide",
    "diff --rev 400..900",
    "diff --rev 400..900 --all-fields",
    "blame pod/lab/ubuntu",
    "blame node/node1",
    "grep -e . --in names,values,keys,managers,messages -n lab",
    "get pod/lab/ubuntu --with-config",
    "explain --all",
    "explain --all -o wide",
    "explain pod/lab/weighted",
    "explain pod/lab/weighted --node node1",
    "encryption",
    "triage -o wide",
    "usage",
    "verify -o wide",
    "verify -o metrics",
    "rehearse",
    "rehearse -o markdown",
    "get pod/lab/nobody",
];

const DOCUMENT_COMMANDS: &[&str] = &[
    "status -o json",
    "ls --all -o json",
    "ls --all -o ndjson",
    "describe pods,nodes -A -o json",
    "events -A -o json",
    "history --all -o ndjson",
    "timeline -A -o json",
    "diff --rev 400..900 -o json",
    "blame pod/lab/ubuntu -o json",
    "grep -e . -n lab -o json",
    "explain --all -o ndjson",
];

/// The column at which the rows of a change begin with their sign, the deepest of all beginnings.
const MARGIN_COLUMNS: usize = 22;

/// What in a text could drive a terminal or forge a line: after our own styles are taken away nothing may be left.
fn driving(text: &str) -> Option<String> {
    const STYLE_SEQUENCES: [&str; 9] =
        ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[35m", "\u{1b}[36m", "\u{1b}[94m"];
    // Most of what is piped has neither, and replacing takes long in a debug build.
    let text = match memchr::memchr2(b'\x1b', b'\r', text.as_bytes()) {
        Some(_) => STYLE_SEQUENCES.iter().fold(text.replace("\r\n", "\n"), |text, style| text.replace(style, "")),
        None => text.to_owned(),
    };
    let is_bad = |c: char| {
        c != '\n' && c.is_control()
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}' | '\u{2029}')
            || matches!(c, '\u{fdd0}'..='\u{fdef}' | '\u{e0000}'..='\u{e007f}')
    };
    if let Some((at, c)) = text.char_indices().find(|(_, c)| is_bad(*c)) {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        return Some(format!("{c:?} in {:?}", text[line..].lines().next().unwrap_or_default().chars().take(200).collect::<String>()));
    }
    // What goes on from the line before stands deeper than any line begins.
    let begins = |line: &&str| line.trim_start().starts_with("FORGED") && line.len() - line.trim_start().len() <= MARGIN_COLUMNS;
    text.lines().find(begins).map(|line| format!("a line {line:?}"))
}

/// The last revision of the story that is read: by then every kind is there, a pod crashes and a node is lost. What comes after are heartbeats, retries
/// and evictions, whose texts are of the same kinds.
const LAST_REVISION: Revision = Revision(1_100);

/// The database of a cluster of hostile data.
async fn hostile_database() -> Vec<u8> {
    let decoder = Decoder::new().showing_secrets(true);
    let mut story = changes("k120-story").await;
    story.retain(|event| event.revision <= LAST_REVISION);
    let spoiled: Vec<Event> = story.iter().map(|event| spoiled(event, &decoder)).collect();
    let keys: Vec<(String, String)> = keys().into_iter().map(|(key, value)| (key, value.to_string())).collect();
    let spoiled = revisions_of(&spoiled);
    beginning(spoiled.chain(keys.iter().map(|(key, value)| vec![(key.as_bytes(), Some(value.as_bytes()))])))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_output_can_drive_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("hostile.db");
    std::fs::write(&data, hostile_database().await).unwrap();
    let mut found = Vec::new();
    for arguments in TEXT_COMMANDS {
        let output = on(&data, arguments).output().unwrap();
        assert!(!output.stdout.is_empty() || arguments.ends_with("nobody"), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        let piped = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        found.extend(driving(&piped).map(|what| format!("{arguments}: {what}")));
        let (shown, _) = pty::run(120, &mut on(&data, arguments));
        found.extend(driving(&shown).map(|what| format!("{arguments} on a terminal: {what}")));
    }
    for arguments in DOCUMENT_COMMANDS {
        let output = on(&data, arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        found.extend(driving(&text).map(|what| format!("{arguments}: {what}")));
        let documents: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&text).into_iter().collect();
        let documents = documents.unwrap_or_else(|error| panic!("{arguments}: {error}"));
        let is_whole = documents.iter().any(|document| holds(document, HOSTILE_TEXT));
        assert!(is_whole || arguments.starts_with("status"), "{arguments} shows the data as it is");
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Whether some text in a document ends in `wanted`.
fn holds(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text.contains(wanted),
        Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
        Value::Object(members) => members.values().any(|member| holds(member, wanted)),
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_for_byte_by_byte_goes_unchanged_into_a_pipe_and_escaped_to_a_terminal() {
    let mut etcd = Etcd::start(Transport::Plain).await;
    let data = "\u{1b}[ 12345 ünï\u{fdd0}\u{fdef}\u{202e}tail";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "lab"}, "data": {"k": data}});
    etcd.writer().await.put("/registry/configmaps/lab/c", map.to_string(), None).await.unwrap();
    etcd.stop();
    for (arguments, wanted) in [
        ("get cm/c -n lab -o jsonpath={.data.k}", data.to_owned()),
        ("get cm/c -n lab --no-headers -o custom-columns=K:.data.k", format!("{data}\n")),
    ] {
        assert_eq!(String::from_utf8(on(&etcd.data_dir(), arguments).output().unwrap().stdout).unwrap(), wanted, "{arguments}");
        let (shown, _) = pty::run(80, &mut on(&etcd.data_dir(), arguments));
        assert!(shown.contains("\\x1b[ 12345 ünï\\ufdd0\\ufdef\\u202e"), "{arguments}: {shown:?}");
        assert_eq!(driving(&shown), None, "{arguments}");
    }
}
