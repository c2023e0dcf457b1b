//! `ketcd decode` on values as `etcdctl get --print-value-only` prints them, with a newline behind the value.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use futures_util::TryStreamExt;
use ketcd_store::{At, KeyRange, Want, load};

/// Every value of a recorded cluster.
fn values(capture: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture).join("snapshot.db.zst");
    let source = load::open(&[path.to_str().unwrap().to_owned()], &|_| None).unwrap();
    let read = async { source.range(KeyRange::prefix("/registry/"), At::Newest, Want::Values).await.unwrap().entries.try_collect().await };
    let entries: Vec<ketcd_store::KeyValue> = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(read).unwrap();
    entries.into_iter().map(|entry| entry.value.to_vec()).collect()
}

fn decode(value: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ketcd"))
        .arg("decode")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(value).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_newline_behind_a_value_is_not_part_of_it() {
    let mut stored = values("k136-cbor");
    stored.extend(values("k120-story"));
    for beginning in [b"k8s\0".as_slice(), b"{", b"\xd9\xd9\xf7"] {
        let of_this_encoding: Vec<&Vec<u8>> = stored.iter().filter(|value| value.starts_with(beginning)).collect();
        assert!(!of_this_encoding.is_empty(), "no value begins with {beginning:?}");
        for value in of_this_encoding.iter().take(6) {
            let alone = decode(value);
            assert_eq!(alone.status.code(), Some(0), "{}", String::from_utf8_lossy(&alone.stderr));
            let bare = value.strip_suffix(b"\n").unwrap_or(value);
            assert_eq!(decode(&[bare, b"\n"].concat()), alone);
            // One newline is etcdctl's; more are damage, except to JSON, where blanks mean nothing.
            let two = decode(&[bare, b"\n\n"].concat());
            assert_eq!(two.status.code(), Some(if beginning == b"{" { 0 } else { 2 }), "{beginning:?}");
        }
    }
}

#[test]
fn a_damaged_value_is_refused_as_it_was_given() {
    let stored = values("k120-story");
    let value = stored.iter().find(|value| value.starts_with(b"k8s\0")).unwrap();
    let output = decode(&[&value[..value.len() / 2], b"\n"].concat());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(&format!("the value of {} bytes", value.len() / 2 + 1)), "{message}");
}

#[test]
fn the_line_of_a_key_before_a_value_is_not_part_of_it() {
    let stored = values("k120-story");
    for value in
        [stored.iter().find(|value| value.starts_with(b"k8s\0")).unwrap(), stored.iter().find(|value| value.starts_with(b"{")).unwrap()]
    {
        let alone = decode(value);
        assert_eq!(decode(&[b"/registry/some/key\n", &value[..], b"\n"].concat()), alone);
        let damaged = decode(&[b"registry/some/key\n", &value[..], b"\n"].concat());
        assert_eq!(damaged.status.code(), Some(2), "{}", String::from_utf8_lossy(&damaged.stdout));
    }
}

#[test]
fn a_value_is_read_as_the_newest_release_that_has_all_of_its_fields() {
    let pairs = ketcd_testing::testdata::read("values/openshift-pairs.jsonl.zst");
    let pairs = serde_json::Deserializer::from_slice(&pairs).into_iter::<serde_json::Value>();
    // PodSpec has workloadRef in 1.35 alone.
    let pair = pairs.map(Result::unwrap).find(|pair| pair["id"] == "apps.openshift.io.v1.DeploymentConfig").unwrap();
    let value = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, pair["pb"].as_str().unwrap()).unwrap();
    let decoded = decode(&value);
    let object: serde_json::Value = serde_json::from_slice(&decoded.stdout).unwrap();
    assert_eq!(object["spec"]["template"]["spec"]["workloadRef"]["name"], "nameValue");
    let said = String::from_utf8_lossy(&decoded.stderr);
    assert!(said.contains("read as Kubernetes 1.35 writes it"), "{said}");
}
