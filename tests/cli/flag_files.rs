//! Files that flags name: what cannot be read is named with its flag, and nothing of it is quoted that might be a key.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ketcd::{all, ketcd, nobody};
use tempfile::TempDir;

/// A text that must not be seen, and what stands in a file in its place: whatever is wrong with it.
const SECRET_KEY: &str = "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1sb25nLWFiY2Q=";

fn written(folder: &TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("config.yaml");
    fs::write(&path, text).unwrap();
    path
}

/// Holds that the error names the file and quotes nothing that could be a key.
#[track_caller]
fn keeps_quiet(flag: &str, path: &Path, arguments: &[&str], what: &str) {
    let output = ketcd().args(arguments).arg(flag).arg(path).output().unwrap();
    let printed = all(&output);
    assert_eq!(output.status.code(), Some(2), "{what}: {printed}");
    assert!(printed.contains(flag) || printed.contains(path.to_str().unwrap()), "{what}: {printed}");
    for part in SECRET_KEY.as_bytes().windows(6) {
        assert!(!printed.contains(std::str::from_utf8(part).unwrap()), "{what}: {printed}");
    }
}

fn objects(folder: &TempDir) -> String {
    let path = folder.path().join("objects.json");
    fs::write(&path, r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}}"#).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Everything that can be wrong with a key's place in a configuration.
fn wrong_keys() -> Vec<(&'static str, String)> {
    let with = |keys: &str| {
        format!("kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - aescbc:\n      keys:\n{keys}\n")
    };
    let key = |secret: &str| with(&format!("      - name: key1\n        secret: {secret}"));
    vec![
        ("no base64", key(&format!("\"{SECRET_KEY}!\""))),
        ("too long", key(&format!("{}AAAA", SECRET_KEY.trim_end_matches('=').replace("YWJjZA", "YWJjZGVm")))),
        ("too short", key(&SECRET_KEY[..20])),
        ("not a text", key(&format!("[{SECRET_KEY}]"))),
        ("an object", key(&format!("{{a: {SECRET_KEY}}}"))),
        ("the name in its place", with(&format!("      - name: {SECRET_KEY}\n        secret: key1"))),
        ("a tag", key(&format!("!{SECRET_KEY} x"))),
        ("an alias", key(&format!("*{SECRET_KEY}"))),
        ("a quote without its end", key(&format!("\"{SECRET_KEY}"))),
        ("a tab", key(&format!("\n\t{SECRET_KEY}: {SECRET_KEY}"))),
        ("a second colon", key(&format!("{SECRET_KEY}: {SECRET_KEY}: {SECRET_KEY}"))),
        ("a field of that name", with(&format!("      - name: key1\n        {SECRET_KEY}: 1\n        {SECRET_KEY}: 2"))),
        (
            "a provider of that name",
            format!("kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - {SECRET_KEY}: {{}}\n"),
        ),
        ("the kind", format!("kind: {SECRET_KEY}\n")),
        ("text alone", SECRET_KEY.to_owned()),
        ("JSON", format!("{{\"kind\": \"EncryptionConfiguration\", \"resources\": [{{\"providers\": \"{SECRET_KEY}\"}}]}}")),
        ("a PEM file", format!("-----BEGIN PRIVATE KEY-----\n{SECRET_KEY}\n-----END PRIVATE KEY-----\n")),
    ]
}

#[test]
fn a_configuration_that_cannot_be_read_is_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let objects = objects(&folder);
    for (what, text) in wrong_keys() {
        let path = written(&folder, &text);
        keeps_quiet("--encryption-config", &path, &["ls", "-f", &objects], what);
    }
}

/// The certificate or the key of a pair that can be used.
fn pair(extension: &str) -> String {
    format!("{}/testdata/tls/v1-server.{extension}", env!("CARGO_MANIFEST_DIR"))
}

/// Any of these files may be given in another's place.
#[test]
fn keys_in_a_certificates_place_are_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        format!("-----BEGIN PRIVATE KEY-----{SECRET_KEY}-----END PRIVATE KEY-----\n"),
        format!("-----BEGIN CERTIFICATE-----\n{SECRET_KEY}!\n-----END CERTIFICATE-----\n"),
        format!("-----BEGIN CERTIFICATE-----\n{SECRET_KEY}\n"),
        format!("-----BEGIN CERTIFICATE-----\n{SECRET_KEY}\n-----END CERTIFICATE-----\n"),
        SECRET_KEY.to_owned(),
    ] {
        let path = written(&folder, &text);
        let endpoint = nobody("https://");
        for (flag, other) in [("--cacert", &[][..]), ("--cert", &["--key", &pair("key")]), ("--key", &["--cert", &pair("crt")])] {
            keeps_quiet(flag, &path, &[&["status", "--endpoints", &endpoint], other].concat(), &format!("{flag} {text}"));
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_its_flag() {
    let folder = tempfile::tempdir().unwrap();
    let objects = objects(&folder);
    let (absent, binary) = (folder.path().join("absent"), folder.path().join("binary"));
    fs::write(&binary, b"\xff\xfe").unwrap();
    let endpoint = nobody("https://");
    for (flag, arguments) in [
        ("--encryption-config", &["ls", "-f", &objects][..]),
        ("--scheduler-config", &["explain", "pod/b/a", "-f", &objects]),
        ("--cacert", &["status", "--endpoints", &endpoint]),
        ("--cert", &["status", "--endpoints", &endpoint, "--key", &pair("key")]),
        ("--key", &["status", "--endpoints", &endpoint, "--cert", &pair("crt")]),
    ] {
        let printed = |path: &Path| {
            let output = ketcd().args(arguments).arg(flag).arg(path).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{flag}: {}", all(&output));
            all(&output)
        };
        let wanted = format!("error: cannot read {flag} {}: No such file or directory (os error 2); check the path", absent.display());
        assert!(printed(&absent).contains(&wanted), "{}", printed(&absent));
        assert!(printed(folder.path()).contains("s a directory"), "{}", printed(folder.path()));
        // Text is read by one function, and so is what belongs to TLS.
        if ["--encryption-config", "--cacert"].contains(&flag) {
            assert!(printed(Path::new("/dev/zero")).contains("is larger than 16 MiB"));
        }
        if flag.ends_with("-config") {
            assert!(printed(&binary).contains("binary is not UTF-8 text"), "{}", printed(&binary));
        }
    }
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("binary");
    fs::write(&binary, b"\xff\xfe").unwrap();
    for (path, problem) in
        [(Path::new("/dev/zero"), "it is larger than 16 MiB"), (&binary, "it is not text"), (folder.path(), "s a directory")]
    {
        let output = ketcd().args(["record", "/dev/null/recording", "--kubeconfig"]).arg(path).output().unwrap();
        let wanted = format!("cannot read the kubeconfig {}", path.display());
        assert!(all(&output).contains(&wanted) && all(&output).contains(problem), "{}", all(&output));
        assert_eq!(output.status.code(), Some(2));
    }
}
