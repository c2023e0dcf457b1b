//! The versions in which recorded API servers stored objects, against the table of versions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use futures_util::StreamExt;
use ketcd_kube::api::storage_version;
use ketcd_kube::{KeyResource, Kinds, RegistryKey, Release};
use ketcd_store::{At, KeyRange, KeyValue, Want};

/// What begins a value of protobuf: the magic number, then the type (k8s.io/apimachinery, `pkg/runtime/serializer/protobuf`).
const PROTOBUF_MAGIC: &[u8] = b"k8s\0";

fn values(capture: &str) -> Vec<KeyValue> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/captures/{capture}/snapshot.db.zst"));
    let source = ketcd_store::load::open(&[path.to_str().unwrap().to_owned()], &|_| None).unwrap();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let listing = source.range(KeyRange::all(), At::Newest, Want::Values).await.unwrap();
        listing.entries.map(Result::unwrap).collect().await
    })
}

/// The `apiVersion` that stands in a stored value.
fn api_version(value: &[u8]) -> Option<String> {
    let Some(message) = value.strip_prefix(PROTOBUF_MAGIC) else {
        return Some(serde_json::from_slice::<serde_json::Value>(value).ok()?["apiVersion"].as_str()?.to_owned());
    };
    // Field 1 of the envelope is the type, whose field 1 is the version; both are shorter than 128 bytes.
    let [0x0a, _, 0x0a, length, rest @ ..] = message else { return None };
    Some(str::from_utf8(rest.get(..usize::from(*length))?).ok()?.to_owned())
}

/// Every object of Kubernetes' own kinds in a capture is stored in the version of the table; kinds whose version the table does not say are `unknown`.
fn check(capture: &str, release: u16, unknown: &[&str], least: usize) {
    let kinds = Kinds::builtin();
    let (mut seen, mut without) = (BTreeMap::new(), BTreeSet::new());
    for entry in values(capture) {
        let Some(object) = RegistryKey::parse("/registry", &entry.key, &kinds).object() else { continue };
        let KeyResource::Known(kind) = object.resource else { continue };
        let found = api_version(&entry.value).unwrap_or_else(|| panic!("{} has no version", entry.key.escape_ascii()));
        match storage_version(kind, Release(release)) {
            Some(wanted) => assert_eq!(found, wanted, "{capture}: {}", entry.key.escape_ascii()),
            None => drop(without.insert(kind.plural.to_string())),
        }
        seen.insert(kind.plural.to_string(), found);
    }
    assert_eq!(without.iter().map(String::as_str).collect::<Vec<_>>(), unknown, "{capture}");
    assert!(seen.len() >= least, "{capture}: {seen:?}");
}

#[test]
fn of_1_20() {
    check("k120-story", 20, &[], 28);
    check("k120-random", 20, &[], 20);
}

#[test]
fn of_1_36() {
    check("k136-story", 36, &[], 40);
    check("k136-random", 36, &[], 22);
    check("matrix-1.24", 36, &[], 22);
}

#[test]
fn of_1_37() {
    check("k137-story", 37, &[], 40);
}
