//! Decoded values against what API servers returned for them, and against the exact JSON of upstream's own serialiser.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use ketcd::kube::{Body, Decoder, Release};
use ketcd::store::{At, KeyRange, KeyValue, Want};
use serde_json::Value;

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}

fn json_lines(path: &str) -> Vec<Value> {
    let text = zstd::decode_all(std::fs::File::open(testdata(path)).unwrap()).unwrap();
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn live_values(capture: &str) -> Vec<KeyValue> {
    let path = testdata(&format!("captures/{capture}/snapshot.db.zst")).to_str().unwrap().to_owned();
    let source = ketcd::store::load::open(&[path], &|_| None).unwrap();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let listing = source.range(KeyRange::all(), At::Newest, Want::Values).await.unwrap();
        listing.entries.map(Result::unwrap).collect().await
    })
}

/// What tells one object of a dump from another.
fn identity(object: &Value) -> [&str; 4] {
    let metadata = &object["metadata"];
    [&object["apiVersion"], &object["kind"], &metadata["namespace"], &metadata["name"]].map(|value| value.as_str().unwrap_or_default())
}

/// The first place where two values differ.
fn difference(wanted: &Value, got: &Value, path: &str) -> Option<String> {
    match (wanted, got) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            names.into_iter().find_map(|name| match (a.get(name), b.get(name)) {
                (Some(a), Some(b)) => difference(a, b, &format!("{path}/{name}")),
                (a, b) => Some(format!("{path}/{name}: wanted {a:?}, got {b:?}")),
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(index, (a, b))| difference(a, b, &format!("{path}/{index}")))
        }
        (Value::Number(a), Value::Number(b)) if a != b => {
            let numbers = (a.as_i64(), a.as_f64(), b.as_i64(), b.as_f64());
            let equal = if numbers.0.is_some() || numbers.2.is_some() { numbers.0 == numbers.2 } else { numbers.1 == numbers.3 };
            (!equal).then(|| format!("{path}: wanted {a}, got {b}"))
        }
        _ => (wanted != got).then(|| format!("{path}: wanted {wanted}, got {got}")),
    }
}

/// Every live object of a capture in its stored version equals the API server's; every one the dump shows is found.
fn equals_the_api_server(capture: &str, release: u16) {
    let mut dumped = BTreeMap::new();
    let mut revisions = BTreeSet::new();
    let rows = json_lines(&format!("captures/{capture}/apidump.jsonl.zst"));
    for object in rows.iter().map(|row| &row["object"]) {
        revisions.extend(object["metadata"]["resourceVersion"].as_str());
        dumped.insert(identity(object), object);
    }
    let decoder = Decoder::new().with_release(Release::new(release));
    let (mut equal, mut differing) = (0, Vec::new());
    for entry in live_values(capture) {
        let revision = entry.mod_revision.0;
        let object = match decoder.decode(&entry.key, &entry.value, revision).body {
            Body::Object(object) => object,
            Body::Opaque(opaque) => {
                assert!(opaque.expected, "{}: {}", String::from_utf8_lossy(&entry.key), opaque.reason);
                continue;
            }
        };
        let Some(&wanted) = dumped.get(&identity(&object)) else { continue };
        if wanted["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
            continue;
        }
        revisions.remove(revision.to_string().as_str());
        let mut wanted = wanted.clone();
        wanted["metadata"].as_object_mut().unwrap().remove("selfLink");
        match difference(&wanted, &object, "") {
            None => equal += 1,
            Some(difference) => differing.push(format!("{:?}{difference}", identity(&object))),
        }
    }
    let live: BTreeSet<String> = live_values(capture).iter().map(|entry| entry.mod_revision.0.to_string()).collect();
    let missing: Vec<_> = revisions.into_iter().filter(|revision| live.contains(*revision)).collect();
    assert!(differing.is_empty() && missing.is_empty(), "{equal} equal; {}; missing revisions {missing:?}", differing.join("\n"));
    assert!(equal > 50, "only {equal} objects compared");
}

#[test]
fn objects_of_1_20_equal_the_api_servers() {
    equals_the_api_server("k120-story", 20);
}

#[test]
fn objects_of_1_36_equal_the_api_servers() {
    equals_the_api_server("k136-story", 36);
}

#[test]
fn custom_resources_in_cbor_equal_the_api_servers() {
    equals_the_api_server("k136-cbor", 36);
}

#[test]
fn values_of_every_kind_equal_upstreams_json() {
    use base64::Engine as _;
    let decoder = Decoder::for_stored_values();
    let pairs = json_lines("values/k136-pairs.jsonl.zst");
    for pair in &pairs {
        let value = base64::engine::general_purpose::STANDARD.decode(pair["pb"].as_str().unwrap()).unwrap();
        let wanted: Value = serde_json::from_str(pair["json"].as_str().unwrap()).unwrap();
        let decoded = decoder.decode(b"", &value, 0);
        assert_eq!(decoded.unknown_fields, [], "{}", pair["id"]);
        let object = decoded.object().unwrap_or_else(|| panic!("{}: {:?}", pair["id"], decoded.body));
        assert_eq!(difference(&wanted, object, ""), None, "{}", pair["id"]);
    }
    assert_eq!(pairs.len(), 759);
}
