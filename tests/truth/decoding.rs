//! Decoded values against what API servers returned for them, and against the exact JSON of upstream's own serialiser.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use ketcd_kube::{Body, Decoder, FieldSet, Release};
use ketcd_store::{At, KeyRange, KeyValue, Want};
use serde_json::Value;

use ketcd_testing::data_dir::data_dir;

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}

fn json_lines(path: &str) -> Vec<Value> {
    let text = zstd::decode_all(std::fs::File::open(testdata(path)).unwrap()).unwrap();
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn live_values(capture: &str) -> Vec<KeyValue> {
    let (snapshot, kine) = (testdata(&format!("captures/{capture}/snapshot.db.zst")), format!("{capture}/killed.tar.zst"));
    let unpacked = (!snapshot.exists()).then(|| data_dir(&kine));
    let path = unpacked.as_ref().map_or(snapshot, |unpacked| unpacked.path().join("state.db"));
    let source = ketcd_store::load::open(&[path.to_str().unwrap().to_owned()], &|_| None).unwrap();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let listing = source.range(KeyRange::all(), At::Newest, Want::Values).await.unwrap();
        listing.entries.map(Result::unwrap).collect().await
    })
}

/// What identifies an object of a dump.
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
    let decoder = Decoder::new().with_release(Release(release)).showing_secrets(true);
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
fn objects_of_1_37_equal_the_api_servers() {
    equals_the_api_server("k137-story", 37);
}

#[test]
fn custom_resources_in_cbor_equal_the_api_servers() {
    equals_the_api_server("k136-cbor", 36);
}

#[test]
fn objects_in_kine_equal_the_api_servers() {
    equals_the_api_server("k136-kine", 36);
}

/// A pair's name and its value.
fn pair(pair: &Value) -> (String, Vec<u8>) {
    use base64::Engine as _;
    let value = base64::engine::general_purpose::STANDARD.decode(pair["pb"].as_str().unwrap()).unwrap();
    (pair["id"].as_str().unwrap().to_owned(), value)
}

/// Every value of a file of pairs, made by a release's own serialiser, equals its JSON and has no field that is not known.
fn equal_upstreams_json(file: &str, release: Release, count: usize) {
    let decoder = Decoder::for_stored_values().with_release(release).showing_secrets(true);
    let pairs = json_lines(&format!("values/{file}.jsonl.zst"));
    for row in &pairs {
        let (id, value) = pair(row);
        let wanted: Value = serde_json::from_str(row["json"].as_str().unwrap()).unwrap();
        let decoded = decoder.decode(b"", &value, 0);
        assert_eq!(decoded.unknown_fields, [], "{id}");
        let object = decoded.object().unwrap_or_else(|| panic!("{id}: {:?}", decoded.body));
        assert_eq!(difference(&wanted, object, ""), None, "{id}");
        let mut text = Vec::new();
        decoder.decode_text(b"", &value, 0, &mut text).unwrap();
        let text: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(&text, object, "{id}: as text and as value");
    }
    assert_eq!(pairs.len(), count);
}

#[test]
fn values_of_every_kind_equal_upstreams_json() {
    equal_upstreams_json("k136-pairs", Release::PROVEN, 759);
}

#[test]
fn values_of_the_newest_release_equal_upstreams_json() {
    equal_upstreams_json("k137-pairs", Release::NEWEST, 174);
}

#[test]
fn values_of_openshift_equal_upstreams_json() {
    equal_upstreams_json("openshift-pairs", Release(35), 22);
}

/// An object of which only some members are wanted has those of the whole one, and a damaged one is found as damaged; so too beside its metadata.
#[test]
fn a_part_is_a_part_of_the_whole() {
    let wanted = FieldSet::of(["kind", "metadata.name", "metadata.labels", "spec.containers.name", "spec.rules", "status.conditions.type"]);
    for wanted in [FieldSet::of(["kind"]), wanted] {
        for decoder in [Decoder::for_stored_values(), Decoder::for_stored_values().with_release(Release(20))] {
            let decoder = decoder.showing_secrets(true);
            for row in json_lines("values/k136-pairs.jsonl.zst") {
                let (id, value) = pair(&row);
                for damaged_at in (0..15).map(|step| (step > 0).then(|| 8 + step * value.len() / 15)) {
                    let mut value = value.clone();
                    damaged_at.and_then(|at| value.get_mut(at)).into_iter().for_each(|byte| *byte ^= 0x55);
                    is_a_part(&decoder, &value, &wanted, &format!("{id}, damaged at {damaged_at:?}"));
                }
            }
        }
    }
}

fn is_a_part(decoder: &Decoder, value: &[u8], wanted: &FieldSet, which: &str) {
    let whole = decoder.decode(b"", value, 7);
    let (mut metadata, mut text) = (Vec::new(), Vec::new());
    let row = match decoder.only(wanted).decode_row::<Value>(b"", value, 7, &mut metadata) {
        Ok((object, unknown_fields)) => (Body::Object(object.into()), unknown_fields),
        Err(opaque) => (Body::Opaque(opaque), Vec::new()),
    };
    let only = decoder.only(wanted).decode(b"", value, 7);
    let mut kept = whole.object().cloned();
    kept.iter_mut().for_each(|object| wanted.keep(object));
    for (body, unknown_fields) in [(&only.body, &only.unknown_fields), (&row.0, &row.1)] {
        assert_eq!(*unknown_fields, whole.unknown_fields, "{which}");
        let object = if let Body::Object(object) = body { Some(&**object) } else { None };
        assert_eq!(object, kept.as_ref(), "{which}");
        if let (Body::Opaque(part), Body::Opaque(whole)) = (body, &whole.body) {
            assert_eq!(part.reason, whole.reason, "{which}");
        }
    }
    if whole.object().is_some() {
        decoder.decode_metadata_text(b"", value, 7, &mut text).unwrap();
    }
    assert_eq!(String::from_utf8_lossy(&metadata), String::from_utf8_lossy(&text), "{which}");
}

/// Counts the kinds of `T` among the pairs, each read from the bytes and from the JSON with the same result.
fn typed<T: serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(pairs: &[(String, Vec<u8>)], kind: &str) {
    let decoder = Decoder::for_stored_values().showing_secrets(true).without_managed_fields();
    let mut compared = 0;
    for (id, value) in pairs.iter().filter(|(id, _)| id.starts_with(&format!("{kind}."))) {
        let revision = (compared % 3) * 1_000;
        let Body::Object(object) = decoder.decode(b"", value, revision).body else { panic!("{id} is opaque") };
        match (decoder.decode_as::<T>(b"", value, revision), serde_json::from_value::<T>(object.into_value())) {
            (Ok((wire, _)), Ok(json)) => {
                compared += 1;
                assert_eq!(wire, json, "{id}");
            }
            (Err(_), Err(_)) => {}
            (wire, json) => panic!("{id}: from the bytes {wire:?}, from JSON {json:?}"),
        }
    }
    assert!(compared > 0, "no {kind} fits its type");
}

#[test]
fn types_read_from_the_bytes_equal_those_read_from_json() {
    use k8s_openapi::api::{apps, batch, coordination, core, discovery, policy, rbac, resource, scheduling, storage};
    let pairs: Vec<(String, Vec<u8>)> = json_lines("values/k136-pairs.jsonl.zst").iter().map(pair).collect();
    typed::<core::v1::Pod>(&pairs, "core.v1.Pod");
    typed::<core::v1::Node>(&pairs, "core.v1.Node");
    typed::<core::v1::Namespace>(&pairs, "core.v1.Namespace");
    typed::<core::v1::Service>(&pairs, "core.v1.Service");
    typed::<core::v1::Event>(&pairs, "core.v1.Event");
    typed::<core::v1::Secret>(&pairs, "core.v1.Secret");
    typed::<core::v1::PersistentVolume>(&pairs, "core.v1.PersistentVolume");
    typed::<core::v1::PersistentVolumeClaim>(&pairs, "core.v1.PersistentVolumeClaim");
    typed::<core::v1::ReplicationController>(&pairs, "core.v1.ReplicationController");
    typed::<apps::v1::Deployment>(&pairs, "apps.v1.Deployment");
    typed::<apps::v1::ReplicaSet>(&pairs, "apps.v1.ReplicaSet");
    typed::<apps::v1::StatefulSet>(&pairs, "apps.v1.StatefulSet");
    typed::<apps::v1::DaemonSet>(&pairs, "apps.v1.DaemonSet");
    typed::<batch::v1::Job>(&pairs, "batch.v1.Job");
    typed::<coordination::v1::Lease>(&pairs, "coordination.k8s.io.v1.Lease");
    typed::<discovery::v1::EndpointSlice>(&pairs, "discovery.k8s.io.v1.EndpointSlice");
    typed::<policy::v1::PodDisruptionBudget>(&pairs, "policy.v1.PodDisruptionBudget");
    typed::<rbac::v1::ClusterRole>(&pairs, "rbac.authorization.k8s.io.v1.ClusterRole");
    typed::<resource::v1::ResourceClaim>(&pairs, "resource.k8s.io.v1.ResourceClaim");
    typed::<resource::v1::ResourceSlice>(&pairs, "resource.k8s.io.v1.ResourceSlice");
    typed::<scheduling::v1::PriorityClass>(&pairs, "scheduling.k8s.io.v1.PriorityClass");
    typed::<storage::v1::StorageClass>(&pairs, "storage.k8s.io.v1.StorageClass");
    typed::<storage::v1::CSINode>(&pairs, "storage.k8s.io.v1.CSINode");
}

#[test]
fn single_values_are_read_as_the_newest_release_held_against_an_api_server() {
    let pairs: Vec<Value> = json_lines("values/k136-pairs.jsonl.zst");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for row in &pairs {
        std::io::Write::write_all(&mut file, format!("{}\n", row["pb"].as_str().unwrap()).as_bytes()).unwrap();
    }
    let path = file.path().to_str().unwrap();
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_ketcd")).args(["decode", "--lines", "--show-secrets", path]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), pairs.len());
    for (row, line) in pairs.iter().zip(lines.lines()) {
        let [wanted, object]: [Value; 2] = [row["json"].as_str().unwrap(), line].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(difference(&wanted, &object, ""), None, "{}", row["id"]);
    }
}
