//! Secrets stay masked: canaries in Secrets of every shape, looked for in whatever any command writes, in every format, at several widths.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use memchr::memmem;
use serde_json::{Value, json};

use ketcd_testing::command::all;
use ketcd_testing::snapshot::beginning;

use crate::etcd::{Etcd, Transport};
use crate::ketcd::{ketcd, on};
use crate::pty;

/// What must not be seen; each version has its own number behind it.
const CANARY_TEXT: &str = "c4nary-0f-the-c0al-mine";

fn base64(text: impl AsRef<[u8]>) -> String {
    STANDARD.encode(text)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The ways a value is written: as it is, in base64 once, twice and without padding, in hexadecimal, reversed.
fn written(value: &str) -> Vec<String> {
    let packed = gzip(value);
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(value.as_bytes()).unwrap();
    let twice = base64(base64(value));
    let forms = [
        value.to_owned(),
        base64(value),
        twice,
        URL_SAFE_NO_PAD.encode(value),
        hex(value.as_bytes()),
        base64(&packed),
        hex(&packed),
        base64(zlib.finish().unwrap()),
    ];
    forms.to_vec()
}

/// A Secret whose values, annotations and unknown members all hold `value`, as tools write them.
fn secret(name: &str, value: &str) -> Value {
    let data: serde_json::Map<String, Value> =
        written(value).iter().enumerate().map(|(n, form)| (format!("k{n}"), base64(form).into())).collect();
    let manifest = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}).to_string();
    let annotations: serde_json::Map<String, Value> = [
        ("kubectl.kubernetes.io/last-applied-configuration", manifest.clone()),
        ("kapp.k14s.io/original", manifest.clone()),
        ("kapp.k14s.io/original-diff", format!("- type: test\n  path: /data/k0\n  value: {}\n", base64(value))),
        ("objectset.rio.cattle.io/applied", base64(gzip(&manifest))),
        ("argocd.example.io/last-applied", hex(manifest.as_bytes())),
        ("banzaicloud.com/last-applied", base64(gzip(&manifest))),
        ("example.com/note", format!("the password is {value}")),
        ("kubernetes.io/service-account.name", format!("{{{value}}}")),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.into()))
    .collect();
    json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": name, "namespace": "lab", "annotations": annotations},
        "data": data, "stringData": {"plain": value}, "extra": {"deep": [value]}})
}

/// Secrets within custom resources that do not say plainly that they are: an item of a list has its kind from the list, and a letter by its number
/// is the same letter.
fn nested(value: &str) -> Vec<(String, Option<Vec<u8>>)> {
    let bundle = |name: &str, spec: Value| {
        json!({"apiVersion": "example.com/v1", "kind": "Bundle", "metadata": {"name": name, "namespace": "lab"}, "spec": spec}).to_string()
    };
    let item = json!({"metadata": {"name": "s"}, "data": {"k": base64(value)}});
    let list = bundle("list", json!({"kept": {"items": [item], "kind": "SecretList", "apiVersion": "v1"}}));
    let escaped = bundle("escaped", json!({"kind": "Secret", "data": {"k": base64(value)}})).replace("\"Secret\"", "\"\\u0053ecret\"");
    assert!(escaped.contains("u0053"));
    [("list", list), ("escaped", escaped)]
        .map(|(name, text)| (format!("/registry/example.com/bundles/lab/{name}"), Some(text.into_bytes())))
        .to_vec()
}

/// Keys and what is written to each, one after the other; `None` deletes.
fn writes() -> Vec<(String, Option<Vec<u8>>)> {
    let canary = |number: u32| format!("{CANARY_TEXT}-{number}");
    let mut writes = Vec::new();
    let mut put =
        |key: &str, value: Option<&Value>| writes.push((format!("/registry/{key}"), value.map(|value| value.to_string().into_bytes())));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "lab", "uid": "1", "creationTimestamp": "2026-11-20T22:00:00Z"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k0"}}}]}],
            "volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 0, "ready": true, "image": "i", "imageID": "",
            "state": {"running": {"startedAt": "2026-11-20T22:00:01Z"}}}]}});
    let mut waiting = pod.clone();
    waiting["status"] = json!({"phase": "Pending"});
    put("secrets/lab/s", Some(&secret("s", &canary(1))));
    put("pods/lab/p", Some(&waiting));
    put("pods/lab/p", Some(&pod));
    put("secrets/lab/s", Some(&secret("s", &canary(2))));
    // Its annotations go, come back, and go with it.
    let mut bare = secret("s", &canary(3));
    bare["metadata"].as_object_mut().unwrap().remove("annotations");
    put("secrets/lab/s", Some(&bare));
    put("secrets/lab/s", Some(&secret("s", &canary(4))));
    put("secrets/lab/gone", Some(&secret("gone", &canary(5))));
    put("secrets/lab/gone", None);
    // What lies among Secrets and is none.
    let value = canary(6);
    for (name, odd) in [
        ("text", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "text"}, "data": value})),
        (
            "list",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "list", "annotations": [value]}, "data": [{"a": value}]}),
        ),
        (
            "other",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": value}, "binaryData": {"b": base64(&value)}}),
        ),
        ("nothing", json!({"metadata": {"name": "nothing", "password": value}, "spec": {"a": value}})),
        ("custom", json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "custom"}, "spec": {"a": value}})),
        ("kind", json!({"apiVersion": "v1", "kind": {"a": value}, "metadata": value, "type": [value]})),
    ] {
        put(&format!("secrets/lab/{name}"), Some(&odd));
    }
    // Secrets inside of others.
    put(
        "configmaps/lab/owner",
        Some(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner", "namespace": "lab",
        "annotations": {"kapp.k14s.io/original": secret("s", &canary(7)).to_string()}}})),
    );
    put(
        "example.com/bundles/lab/b",
        Some(&json!({"apiVersion": "example.com/v1", "kind": "Bundle", "metadata": {"name": "b", "namespace": "lab"},
        "spec": {"resources": [secret("s", &canary(7))]}})),
    );
    writes.extend(nested(&canary(7)));
    // Bytes that are no object, and one that is cut short.
    writes.push(("/registry/secrets/lab/bytes".to_owned(), Some(canary(8).into_bytes())));
    let whole = secret("cut", &canary(8)).to_string();
    writes.push(("/registry/secrets/lab/cut".to_owned(), Some(whole.as_bytes()[..whole.len() - 3].to_vec())));
    let protobuf = [
        b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Secret\x12".to_vec(),
        sized(
            &[
                sized_field(0x12, &[sized_field(0x0a, b"k"), sized_field(0x12, canary(9).as_bytes())].concat()),
                sized_field(0xfa, canary(9).as_bytes()),
            ]
            .concat(),
        ),
    ]
    .concat();
    writes.push(("/registry/secrets/lab/protobuf".to_owned(), Some(protobuf)));
    writes
}

/// A protobuf field of bytes; a tag above 127 takes two bytes.
fn sized_field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let tag = if tag < 0x80 { vec![tag] } else { vec![tag, 0x07] };
    [tag, sized(bytes)].concat()
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

/// Formats, and the commands that show data in them.
const SHOWN: &[(&[&str], &[&str])] = &[
    (
        &[
            "table",
            "wide",
            "json",
            "yaml",
            "name",
            "ndjson",
            "jsonpath={..data}",
            "jsonpath={..annotations}",
            "custom-columns=D:.data,M:.metadata,X:.extra",
        ],
        &[
            "ls --all",
            "ls secrets -A",
            "ls secrets -A --show-labels --unknown",
            "get secret/lab/s",
            "get secrets -n lab --sort-by .data.k0",
            "get /registry/secrets/lab/other",
            "get configmap/lab/owner",
            "get bundles.example.com/lab/b",
            "get bundles.example.com/lab/list",
            "get bundles.example.com/lab/escaped",
        ],
    ),
    (
        &["table", "wide", "json", "ndjson"],
        &[
            "history --all",
            "history secrets -A --diff",
            "history --all --diff --all-fields",
            "watch /registry --from-rev 1",
            "watch secrets -A --from-rev 1 --diff --all-fields",
            "timeline -A",
            "timeline secret/lab/s",
            "timeline secret/lab/gone",
            "diff --rev 2..",
            "diff --rev 2.. --all-fields",
            "diff secret/lab/s --rev 4..5 --all-fields",
            "diff secret/lab/s --rev 5..6 --all-fields",
            "explain --all",
            "status",
            "encryption",
            "history secrets -A --unknown --release 1.20",
        ],
    ),
    (
        &["table", "json", "ndjson"],
        &["describe secrets -A", "describe secret/lab/s --rev 5", "describe configmap/lab/owner", "tree secrets -A", "events -A"],
    ),
    (&["wide", "json", "ndjson"], &["grep -e . --in names,values,keys,managers,messages --unknown"]),
    (&["wide", "json"], &["triage", "usage"]),
    (&["wide", "json", "metrics"], &["verify --target 1.37"]),
    (&["table", "json", "markdown"], &["rehearse"]),
    (&["json"], &["get secrets -A -w --rev 2", "get pod/lab/p --with-config"]),
    (
        &["yaml", "json"],
        &[
            "blame secret/lab/s",
            "blame secret/lab/text",
            "blame secret/lab/list",
            "blame secret/lab/other",
            "blame secret/lab/nothing",
            "blame secret/lab/custom",
            "blame secret/lab/kind",
            "blame secret/lab/protobuf",
            "blame secret/lab/bytes",
            "blame secret/lab/cut",
        ],
    ),
    (&["yaml"], &["get pod/lab/p --with-config"]),
];

/// Every command that shows data, in every format it has.
fn commands() -> Vec<String> {
    let each = SHOWN
        .iter()
        .flat_map(|(formats, asked)| asked.iter().flat_map(|asked| formats.iter().map(move |format| format!("{asked} -o {format}"))));
    each.collect()
}

/// What must not be in any output: every form of every canary's common part that shows whichever number follows.
fn forbidden() -> Vec<String> {
    let mut forms = vec![
        CANARY_TEXT.to_owned(),
        hex(CANARY_TEXT.as_bytes()),
        hex(CANARY_TEXT.as_bytes()).to_uppercase(),
        CANARY_TEXT.chars().rev().collect(),
    ];
    // Base64 of text that begins one, two or three bytes earlier: what does not depend on what stands around it.
    for offset in 0..3 {
        let once = base64(format!("{}{CANARY_TEXT}", "x".repeat(offset)));
        let inner = &once[4..once.len() - 4];
        forms.push(inner.to_owned());
        for again in 0..3 {
            let twice = base64(format!("{}{inner}", "x".repeat(again)));
            forms.push(twice[4..twice.len() - 4].to_owned());
        }
    }
    for number in 1..10 {
        let value = format!("{CANARY_TEXT}-{number}");
        forms.extend(written(&value));
        let manifest = |name: &str| {
            secret(name, &value)["metadata"]["annotations"]["objectset.rio.cattle.io/applied"].as_str().unwrap()[20..120].to_owned()
        };
        forms.extend([manifest("s"), manifest("gone")]);
    }
    forms
}

/// Looks for canaries in text, also where it is broken into lines, styled or in columns.
fn leaks(forbidden: &[String], text: &str) -> Option<String> {
    let plain = anstream::adapter::strip_str(text).to_string();
    let joined: String = plain.chars().filter(|c| !c.is_whitespace() && *c != '\\').collect();
    // Unlike the standard library's search, this one is optimised in a debug build too.
    let holds = |text: &str, form: &str| memmem::find(text.as_bytes(), form.as_bytes()).is_some();
    forbidden.iter().find(|form| holds(&plain, form) || holds(&joined, form)).cloned()
}

/// The data that a report carries, deflated and in base64.
fn unpacked(page: &str) -> String {
    let mut found = String::new();
    for packed in page.split('"').filter(|part| part.len() > 200) {
        let Ok(bytes) = STANDARD.decode(packed.trim()) else { continue };
        let _ = flate2::read::DeflateDecoder::new(bytes.as_slice()).read_to_string(&mut found);
    }
    found
}

fn decode(value: &[u8], lines: bool) -> String {
    let mut command = ketcd();
    command.args(["decode", "--unknown"]);
    let input = if lines { format!("{}\n", base64(value)).into_bytes() } else { value.to_vec() };
    if lines {
        command.arg("--lines");
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

/// Writes the canaries into an etcd and returns it, stopped, so that its data dir can be read.
async fn etcd_with(writes: &[(String, Option<Vec<u8>>)]) -> Etcd {
    let mut etcd = Etcd::start(Transport::Plain).await;
    let mut writer = etcd.writer().await;
    for (key, value) in writes {
        match value {
            Some(value) => drop(writer.put(key.as_str(), value.clone(), None).await.unwrap()),
            None => drop(writer.delete(key.as_str(), None).await.unwrap()),
        }
    }
    etcd.stop();
    etcd
}

/// Commands that read most of a data dir, whose log has the values once more.
const OF_DATA_DIR: [&str; 5] =
    ["ls --all -o json", "history --all --diff --all-fields", "history secrets -A --objects -o ndjson", "diff --rev 2.. -o json", "status"];

#[tokio::test(flavor = "multi_thread")]
async fn no_command_shows_a_secret() {
    let (writes, forbidden, folder) = (writes(), forbidden(), tempfile::tempdir().unwrap());
    let data = folder.path().join("secrets.db");
    std::fs::write(&data, beginning(writes.iter().map(|(key, value)| vec![(key.as_bytes(), value.as_deref())]))).unwrap();
    let mut leaking = BTreeSet::new();
    let mut check = |what: &str, text: &str| {
        if let Some(form) = leaks(&forbidden, text) {
            leaking.insert(format!("{what} shows {form}"));
        }
    };
    for arguments in commands() {
        let output = on(&data, &arguments).output().unwrap();
        assert!(output.status.code().is_some(), "{arguments}");
        check(&arguments, &(String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr)));
        for columns in [80, 250].into_iter().filter(|_| ["table", "wide", "yaml"].iter().any(|format| arguments.ends_with(format))) {
            check(&format!("{arguments} at {columns} columns"), &pty::run(columns, &mut on(&data, &arguments)).0);
        }
    }
    // Without its key a value can only be known for a Secret by its kind.
    let is_secret = |value: &&Vec<u8>| String::from_utf8_lossy(value).contains("Secret");
    for (key, value) in writes.iter().filter_map(|(key, value)| Some((key, value.as_ref().filter(is_secret)?))) {
        check(&format!("decode of {key}"), &decode(value, false));
        check(&format!("decode --lines of {key}"), &decode(value, true));
    }
    let etcd = etcd_with(&writes).await;
    for arguments in OF_DATA_DIR {
        let output = on(&etcd.data_dir(), arguments).output().unwrap();
        check(&format!("{arguments} of a data dir"), &all(&output));
    }
    let page = folder.path().join("page.html");
    let output = on(&data, &format!("report --out {}", page.display())).output().unwrap();
    let page = std::fs::read_to_string(&page).unwrap();
    let held = unpacked(&page);
    assert!(held.contains("Secret"), "the report's data was not found: {}", String::from_utf8_lossy(&output.stderr));
    check("report", &(page + &held));
    assert!(leaking.is_empty(), "{leaking:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_shown_where_they_are_asked_for_and_their_changes_always() {
    let etcd = etcd_with(&writes()).await;
    let text = |arguments: &str| String::from_utf8(on(&etcd.data_dir(), arguments).output().unwrap().stdout).unwrap();
    let shown = text("get secret/lab/s -o json --show-secrets");
    assert!(forbidden().iter().any(|form| shown.contains(form)), "what the canaries are looked for in holds them");
    assert_eq!(text("get secret/lab/s -o jsonpath={.data.k0}"), "***");
    let changes = text("history secret/lab/s --diff");
    assert!(changes.contains("data.k0") && changes.contains("*** → ***"), "{changes}");
    let lines: Vec<Value> =
        text("history secret/lab/s --objects -o ndjson").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for pair in lines.windows(2) {
        let mut before = pair[0]["object"].clone();
        let patch: json_patch::Patch = serde_json::from_value(pair[1]["patch"].clone()).unwrap();
        assert!(patch.0.len() > 1, "{patch}");
        json_patch::patch(&mut before, &patch).unwrap();
        assert_eq!(before, pair[1]["object"], "the masked patch fits the masked versions");
    }
}
