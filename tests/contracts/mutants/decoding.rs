//! Any bytes at all are decoded or refused: no panic, no hang, output bounded by input, and text and value agree.

use std::sync::OnceLock;

use base64::Engine as _;
use ketcd_kube::{Body, Decoder};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::targets::stored::stored;

/// Stored values of every kind.
fn values() -> &'static [Vec<u8>] {
    static RECORDED_VALUES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    RECORDED_VALUES.get_or_init(|| {
        let text = String::from_utf8(ketcd_testing::testdata::read("values/k136-pairs.jsonl.zst")).unwrap();
        let pair = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(|line| base64::engine::general_purpose::STANDARD.decode(pair(line)["pb"].as_str().unwrap()).unwrap()).collect()
    })
}

/// Bytes behind one of the beginnings that mean something.
fn any_value() -> impl Strategy<Value = Vec<u8>> {
    let beginnings: Vec<&[u8]> = vec![
        b"",
        b"k8s\0",
        b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x20",
        b"{",
        b"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",",
        b"\xd9\xd9\xf7",
        b"\xd9\xd9\xf7\xa1\x41a",
        b"k8s:enc:",
        b"k8s:enc:aescbc:v1:k:",
    ];
    (select(beginnings), vec(any::<u8>(), 0..200)).prop_map(|(beginning, rest)| [beginning, &rest].concat())
}

/// A stored value with some bytes changed, cut or doubled.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<Index>(), any::<u8>(), 0..4u8);
    (any::<Index>(), vec(edit, 1..6)).prop_map(|(which, edits)| {
        let mut value = which.get(values()).clone();
        for (index, byte, edit) in edits {
            let at = index.index(value.len());
            match edit {
                0 => value[at] = byte,
                1 => value.insert(at, byte),
                2 => drop(value.remove(at)),
                _ => value.truncate(at.max(1)),
            }
            if value.is_empty() {
                value.push(byte);
            }
        }
        value
    })
}

/// JSON of a custom resource, mostly well formed.
fn any_json() -> impl Strategy<Value = Vec<u8>> {
    let leaf =
        select(vec!["null", "true", "-0.0", "1e400", "12345678901234567890", "\"\\ud800\"", "\"a\\u0000<\"", "\"é\"", "[", "}", "nul", ""]);
    let tree = leaf.prop_map(str::to_owned).prop_recursive(6, 64, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            vec(("[a-c]{0,2}", inner), 0..4).prop_map(|members| {
                format!("{{{}}}", members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect::<Vec<_>>().join(","))
            }),
        ]
    });
    let kind = select(vec![
        ("example.com/v1", "Thing"),
        ("v1", "Pod"),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
        ("batch/v1", "Job"),
    ]);
    (kind, tree.clone(), tree).prop_map(|((version, kind), metadata, spec)| {
        format!("{{\"apiVersion\":\"{version}\",\"kind\":\"{kind}\",\"metadata\":{metadata},\"spec\":{spec}}}").into_bytes()
    })
}

/// Mutants of real values are three times as many in each of `protobuf`, `json` and `cbor`, which check the same.
fn config() -> ProptestConfig {
    let cases = 1_000 * u32::try_from(super::times()).unwrap();
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_decoded_or_refused(value in any_value()) {
        stored(&value);
    }

    #[test]
    fn damaged_objects_are_decoded_or_refused(value in damaged()) {
        stored(&value);
    }

    #[test]
    fn any_json_is_decoded_or_refused(value in any_json()) {
        stored(&value);
    }
}

#[test]
fn a_resource_version_that_is_no_text_is_damage_though_it_is_not_shown() {
    let pod = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x04\x0a\x02\x30\x01";
    stored(pod);
    let body = Decoder::new().decode(b"/registry/pods/a/b", pod, 7).body;
    let Body::Opaque(opaque) = body else { panic!("{body:?}") };
    assert_eq!(opaque.reason, "wire type 0 where 2 is expected at offset 20, field metadata.resourceVersion");
}

#[test]
fn deep_and_wide_values_are_refused_or_bounded() {
    let deep_json = format!("{{\"a\":{}", "[".repeat(1 << 20));
    let deep_cbor = [b"\xd9\xd9\xf7\xa1\x41a".to_vec(), vec![0x81; 1 << 20]].concat();
    // A schema that is not a schema that is not a schema …
    let mut schema = Vec::new();
    for _ in 0..5_000 {
        schema = field(28, &schema);
    }
    let version = field(4, &field(1, &schema));
    let deep_protobuf = protobuf("apiextensions.k8s.io/v1", "CustomResourceDefinition", &field(2, &field(7, &version)));
    let Body::Opaque(opaque) = Decoder::new().decode(b"", &deep_protobuf, 1).body else { panic!("nested without bound") };
    assert!(opaque.reason.contains("nested deeper than 100") && opaque.reason.contains("spec.versions[0].schema.openAPIV3Schema.not.not"));
    let wide_protobuf = protobuf("v1", "PodList", &[0x12, 0].repeat(1 << 12));
    for value in [deep_json.into_bytes(), deep_cbor, deep_protobuf, wide_protobuf] {
        stored(&value);
    }
}

fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_varint(u64::from(number << 3 | 2), &mut out);
    prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

fn protobuf(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &type_meta), field(2, object)].concat()
}
