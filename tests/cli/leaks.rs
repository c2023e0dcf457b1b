//! Files that hold secrets, given in place of what a flag takes: nothing of them is repeated, whatever is wrong, and what is said is short.
//!
//! The flags are those that clap knows to take a path, so that a new one is tested without being named.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ketcd_testing::nobody::nobody;

use crate::ketcd::{all, ketcd};

/// What must not be seen.
const CANARY_TEXT: &str = "Zq7wXk9vTb3mRy5d";

fn base64(text: &str) -> String {
    STANDARD.encode(text)
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn pem(label: &str) -> String {
    format!("-----BEGIN {label}-----\n{}\n{}\n-----END {label}-----\n", base64(&CANARY_TEXT.repeat(3)), base64(CANARY_TEXT))
}

/// Keys, tokens and passwords by name.
fn keys() -> Vec<(&'static str, String)> {
    let c = CANARY_TEXT;
    let b = base64(c);
    let mut texts =
        ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
            .map(|label| (label, pem(label)))
            .to_vec();
    texts.extend([
        ("a certificate with its key", format!("{}{}", pem("CERTIFICATE"), pem("PRIVATE KEY"))),
        ("PEM without its end", format!("-----BEGIN PRIVATE KEY-----\n{b}\n")),
        ("PEM that begins with something else", format!("{c}\n{}", pem("PRIVATE KEY"))),
        ("PEM with its label cut", format!("-----BEGIN {c}\n{b}\n-----END PRIVATE KEY-----\n")),
        (
            "a kubeconfig",
            format!("apiVersion: v1\nkind: Config\nclusters: []\nusers:\n- name: a\n  user: {{token: {c}, client-key-data: {b}}}\n"),
        ),
        (".pgpass", format!("db:5432:app:admin:{c}\n")),
        (".netrc", format!("machine x login admin password {c}\n")),
        ("shadow", format!("root:$6${c}${b}:19000:0:99999:7:::\n")),
        ("passwd", format!("root:x:0:0:{c}:/root:/bin/sh\n")),
        ("htpasswd", format!("admin:$apr1${c}\n")),
        ("dotenv", format!("# app\nPASSWORD={c}\nexport TOKEN=\"{c}\"\n")),
        ("AWS credentials", format!("[default]\naws_access_key_id = AKIA0\naws_secret_access_key = {c}\n")),
        ("GCP credentials", format!("{{\"type\": \"service_account\", \"private_key\": \"{}\"}}", pem("PRIVATE KEY").replace('\n', "\\n"))),
        ("docker's config.json", format!("{{\"auths\": {{\"r.example.com\": {{\"auth\": \"{b}\", \"password\": \"{c}\"}}}}}}")),
        ("an SSH public key", format!("ssh-ed25519 {b} {c}@host\n")),
        ("a JWT", format!("eyJhbGciOiJub25lIn0.{b}.{c}")),
        ("a token", c.to_owned()),
        ("a token in quotes", format!("\"{c}\"\n")),
        ("a Vault token", format!("hvs.{c}\n")),
        ("an age key", format!("# created: 2026\nAGE-SECRET-KEY-1{c}\n")),
    ]);
    texts
}

/// Dumps, manifests and other documents by name.
fn documents() -> Vec<(&'static str, String)> {
    let c = CANARY_TEXT;
    let (b, h) = (base64(c), hex(c));
    vec![
        ("sqlite3's dump", format!("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nINSERT INTO kine VALUES(1,'{c}',X'{h}');\n")),
        ("pg_dump's", format!("--\n-- PostgreSQL database dump\n--\n\nCOPY public.kine (id, value) FROM stdin;\n1\t\\\\x{h}\n")),
        ("mysqldump's", format!("-- MySQL dump 10.13\n--\nINSERT INTO `kine` VALUES (1,'{c}',0x{h});\n")),
        (
            "mariadb-dump's",
            format!("/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\nINSERT INTO `kine` VALUES (1,'{c}');\n"),
        ),
        (
            "a Secret with a list",
            format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a, namespace: b}}\ndata: [{{p: {b}}}]\nstringData: {c}\n"),
        ),
        ("a Secret with a broken end", format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a, namespace: b}}\ndata: {{p: {b}\n")),
        ("a Secret with a member twice", format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\n{c}: 1\n{c}: 2\n")),
        ("Helm's values", format!("auth:\n  password: {c}\n  {c}: {{}}\n")),
        ("YAML with text between", format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: b}}\n---\n{c}\n---\n- {c}\n")),
        ("YAML with a tab", format!("a:\n\t{c}: {c}\n")),
        ("YAML with an alias", format!("a: *{c}\n")),
        ("YAML with a tag", format!("a: !!{c} {c}\nb: !!int {c}\n")),
        ("YAML with a directive", format!("%TAG ! {c}\n%YAML {c}\n---\n{c}\n")),
        ("YAML with an escape", format!("a: \"{c}\\{c}\"\n")),
        ("YAML with a colon", format!("a: {c}: {c}: b\n")),
        ("a list in YAML", format!("- {c}\n- [{c}\n")),
        ("JSON with a broken end", format!("{{\"password\": \"{c}\", {c}")),
        ("JSON with an escape", format!("{{\"password\": \"{c}\\{c}\"}}")),
        ("a string in JSON", format!("[\"{c}\", \"{c}\"]")),
        ("lines of JSON", format!("{{\"password\": \"{c}\"}}\n\"{c}\"\n{{\"{c}\"\n")),
        (
            "kine's lines, broken",
            format!(
                "{{\"id\":1,\"name\":\"/a\",\"created\":1,\"deleted\":0,\"create_revision\":0,\"prev_revision\":0,\"lease\":0,\"value\":\"{c}\",\"old_value\":null}}\n\"{c}\"\n"
            ),
        ),
        (
            "kine's CSV, broken",
            format!(
                "id,name,created,deleted,create_revision,prev_revision,lease,value,old_value\n{c},{c},{c},0,0,0,0,{c},{c}\n1,{c}\n{c},/a,1,0,{c},0,0,6b,6b\n"
            ),
        ),
        ("CSV", format!("user,password\nadmin,{c}\n")),
        ("TOML", format!("[db]\npassword = \"{c}\"\n")),
        ("XML", format!("<?xml version=\"1.0\"?><a password=\"{c}\">{c}</a>")),
        ("HTML", format!("<!DOCTYPE html>\n<title>{c}</title>\n")),
        (
            "an encryption configuration",
            format!(
                "kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - aesgcm: {{keys: [{{name: {c}, secret: [{b}]}}]}}\n"
            ),
        ),
        (
            "a scheduler's configuration",
            format!("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: {c}\n"),
        ),
        ("3 MB in a line", c.repeat(3_000_000 / c.len())),
        ("3 MB of lines", format!("{c} {c}\n").repeat(100_000)),
        ("3 MB of documents", format!("---\n{c}\n").repeat(150_000)),
    ]
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut files: Vec<_> = keys().into_iter().chain(documents()).map(|(name, text)| (name, text.into_bytes())).collect();
    let utf16: Vec<u8> = format!("\u{feff}password: {CANARY_TEXT}\r\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut kind = b"k8s\0\x0a\x19\x0a\x02v1\x12\x11 ".to_vec();
    kind.extend_from_slice(CANARY_TEXT.as_bytes());
    files.extend([
        ("UTF-16", utf16),
        ("bytes", [b"\x00\x01\xff", CANARY_TEXT.as_bytes(), b"\x80\x00"].concat()),
        ("bytes behind text", [CANARY_TEXT.as_bytes(), b": \xff\xfe\n"].concat()),
        ("a message whose kind is no name", [kind, b"\x12\x04data".to_vec()].concat()),
    ]);
    files
}

/// What of the canary, in any of its forms, stands in an output.
fn leaked(output: &str) -> Option<String> {
    // Six digits may be a number of ours.
    [(CANARY_TEXT.to_owned(), 6), (base64(CANARY_TEXT), 6), (base64(&CANARY_TEXT.repeat(3)), 6), (hex(CANARY_TEXT), 12)]
        .iter()
        .flat_map(|(form, length)| {
            form.as_bytes().windows(*length).map(|part| String::from_utf8_lossy(part).into_owned()).collect::<Vec<_>>()
        })
        .find(|part| output.contains(part.as_str()))
}

/// A command line in which `FILE` is the file.
#[derive(PartialEq)]
struct Call {
    arguments: Vec<String>,
    /// What reads the file: all calls of one reader share the files.
    reader: Reader,
}

/// Readers of files that flags name.
#[derive(Clone, Copy, PartialEq)]
enum Reader {
    /// A source of clusters.
    Source,
    /// Manifests.
    Manifests,
    /// The configuration of kube-scheduler.
    Scheduler,
    /// What etcd's certificate is verified with, and the user's.
    Certificates,
    /// One value of etcd.
    Value,
    /// One that no other call has.
    Own,
    /// The file is written to, so that its content does not matter.
    Nobody,
}

/// How many files every call gets, whoever reads them.
const OF_ALL: usize = 3;
/// By day a call that shares its reader with no other gets one file of so many.
const OWN_STRIDE: usize = 3;

impl Call {
    /// Whether the call gets a file, as the one with this number of this many calls of its reader.
    fn takes(&self, file: usize, number: usize, calls: usize) -> bool {
        file < OF_ALL || self.reader != Reader::Nobody && file % calls == number
    }
}

/// Every flag and argument that takes a path, in a command line that gets as far as reading it.
fn calls(objects: &str) -> Vec<Call> {
    let pair = |extension: &str| format!("{}/testdata/tls/v1-server.{extension}", env!("CARGO_MANIFEST_DIR"));
    let (endpoint, certificate, key) = (nobody("https://"), pair("crt"), pair("key"));
    let (of_etcd, of_file) = (["status", "--endpoints", &endpoint], ["-f", objects]);
    let mut root = ketcd::command();
    root.build();
    let (mut calls, mut seen) = (Vec::new(), BTreeSet::new());
    for command in root.get_subcommands() {
        for argument in command.get_arguments() {
            let is_path =
                matches!(argument.get_value_hint(), clap::ValueHint::AnyPath | clap::ValueHint::FilePath | clap::ValueHint::DirPath);
            let (name, id) = (command.get_name(), argument.get_id().as_str());
            if !is_path || argument.is_global_set() && !seen.insert(id.to_owned()) {
                continue;
            }
            let flag = argument.get_long().map(|long| format!("--{long}"));
            let lines: Vec<Vec<&str>> = match (name, id) {
                (_, "files") => vec![vec!["ls", "-A"], vec!["status"], vec!["history", "--all"]],
                (_, "encryption_config") => vec![[&of_file[..], &["ls", "-A"]].concat()],
                (_, "cacert") => vec![of_etcd.to_vec()],
                (_, "cert") => vec![[&of_etcd[..], &["--key", &key]].concat()],
                (_, "key") => vec![[&of_etcd[..], &["--cert", &certificate]].concat()],
                ("decode", _) => vec![vec!["decode"], vec!["decode", "--lines"], vec!["decode", "--show-secrets"]],
                ("explain" | "report" | "export", "scheduler_config") => vec![[&of_file[..], &["explain", "pod/b/a"]].concat()],
                ("what-if", "scheduler_config") => vec![[&of_file[..], &["what-if", "--decisions"]].concat()],
                ("serve" | "mcp", "tls_cert") => vec![[&of_file[..], &[name, "--tls-key", &key]].concat()],
                ("serve" | "mcp", "tls_key") => vec![[&of_file[..], &[name, "--tls-cert", &certificate]].concat()],
                ("record", "kubeconfig") => vec![vec!["record", "/dev/null/recording"]],
                ("record", _) => vec![["record"].into_iter().chain(of_etcd[1..].iter().copied()).collect()],
                ("extract", _) => vec![[&of_file[..], &["extract", "pod/b/a"]].concat()],
                ("mcp", "salt") => vec![[&of_file[..], &["mcp", "--redact", "all"]].concat()],
                ("bundle", "out") => vec![[&of_file[..], &["bundle", "pod/b/a"]].concat()],
                ("bundle", _) => vec![[&of_file[..], &["bundle", "pod/b/a", "--redact", "all", "--out", "/dev/null/it.ketcd"]].concat()],
                ("verify", "paths") => vec![vec!["verify"]],
                ("rehearse", "backup") => vec![vec!["rehearse"]],
                _ => vec![[&of_file[..], &[name]].concat()],
            };
            for line in lines {
                let reader = match (name, id) {
                    (_, "out" | "kubeconfig") | ("record" | "bundle", _) => Reader::Nobody,
                    (_, "files") | ("rehearse" | "verify", _) => Reader::Source,
                    ("what-if", "add" | "apply") => Reader::Manifests,
                    (_, "scheduler_config") => Reader::Scheduler,
                    (_, "cacert" | "cert") => Reader::Certificates,
                    ("decode", _) if !line.contains(&"--lines") => Reader::Value,
                    _ => Reader::Own,
                };
                let mut arguments: Vec<String> = line.into_iter().map(str::to_owned).collect();
                arguments.extend(flag.clone());
                arguments.push("FILE".to_owned());
                // Ends where it serves all the same.
                arguments.extend(if name == "serve" { vec!["--".to_owned(), "true".to_owned()] } else { Vec::new() });
                calls.push(Call { arguments, reader });
            }
        }
    }
    calls.push(Call { arguments: ["diff", "FILE", objects].map(str::to_owned).to_vec(), reader: Reader::Source });
    calls.push(Call { arguments: ["diff", "--members", "FILE", "FILE"].map(str::to_owned).to_vec(), reader: Reader::Source });
    // `explain` stands for all commands that take its flag.
    let mut different: Vec<Call> = Vec::new();
    for call in calls {
        if !different.contains(&call) {
            different.push(call);
        }
    }
    different
}

fn run(arguments: &[String], file: &Path) -> Output {
    let arguments = arguments.iter().map(|argument| if argument == "FILE" { file.to_str().unwrap() } else { argument });
    ketcd().args(arguments).env("NO_COLOR", "1").output().unwrap()
}

/// Each reader that flags share reads every file, and each flag some: which files a reader gets by which flag goes round.
#[test]
fn no_message_repeats_what_a_file_holds() {
    is_repeated_by_no_call(OWN_STRIDE);
}

/// A reader that no other flag shares reads every file, too.
#[test]
fn no_message_repeats_what_any_file_holds_nightly() {
    is_repeated_by_no_call(1);
}

fn is_repeated_by_no_call(own_stride: usize) {
    let folder = tempfile::tempdir().unwrap();
    let objects = folder.path().join("objects.json");
    fs::write(&objects, r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}}"#).unwrap();
    let (files, calls) = (files(), calls(objects.to_str().unwrap()));
    assert!(files.len() >= 60 && calls.len() >= 18, "{} files, {} calls", files.len(), calls.len());
    let mut work = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let is_shared = |other: &&Call| other.reader == call.reader && call.reader != Reader::Own;
        let (number, others) = (calls[..at].iter().filter(is_shared).count(), calls[at + 1..].iter().filter(is_shared).count());
        let (number, calls) = if call.reader == Reader::Own { (at % own_stride, own_stride) } else { (number, number + 1 + others) };
        let own = files.iter().enumerate().filter(|(file, _)| call.takes(*file, number, calls));
        work.extend(own.map(|(_, file)| (call, file)));
    }
    std::thread::scope(|scope| {
        for part in work.chunks(work.len().div_ceil(4)) {
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                for (call, (name, content)) in part {
                    let path = folder.path().join("file");
                    fs::write(&path, content).unwrap();
                    let output = run(&call.arguments, &path);
                    // What `decode` prints is the value itself.
                    let said =
                        if call.arguments[0] == "decode" { String::from_utf8_lossy(&output.stderr).into_owned() } else { all(&output) };
                    let what = format!("{:?} on {name}", call.arguments);
                    assert!(!said.contains("Usage:"), "{what}: say in `calls` what it needs besides: {said}");
                    assert!(output.status.code().is_some_and(|code| code <= 2), "{what}: {said}");
                    assert_eq!(leaked(&said), None, "{what}: {}", &said.chars().take(3000).collect::<String>());
                    assert!(output.stderr.len() < 5000, "{what}: {} bytes", output.stderr.len());
                }
            });
        }
    });
}

#[test]
fn a_file_that_is_no_source_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for (name, content) in files() {
        fs::write(&path, &content).unwrap();
        let output = run(&["-f", "FILE", "status"].map(str::to_owned), &path);
        let holds_objects = ["a kubeconfig", "YAML with text between", "an encryption configuration", "a scheduler's configuration"];
        let is_part = holds_objects.contains(&name) || name.starts_with("a Secret") || name.starts_with("kine's");
        assert!(is_part || output.status.code() == Some(2), "{name}: {}", all(&output));
        assert!(is_part || all(&output).contains(path.to_str().unwrap()), "{name}: {}", all(&output));
        if name.ends_with("dump") || name.ends_with("dump's") {
            assert!(all(&output).contains("is an SQL dump of "), "{name}: {}", all(&output));
        }
    }
}

/// A number that is too large for one is text; nothing says which.
#[test]
fn values_of_secrets_are_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret.yaml");
    for value in ["77e7777777", "[77e7777777, {]", "!!int 77e7777777", ".inf 77e7777777: 77e7777777: b", "*77e7777777"] {
        let text = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a, namespace: b}}\nstringData: {{p: {value}}}\n");
        fs::write(&path, text).unwrap();
        for command in [&["ls", "-A"][..], &["get", "secret/a", "-n", "b", "-o", "yaml"], &["status"]] {
            let output = ketcd().arg("-f").arg(&path).args(command).output().unwrap();
            assert!(!all(&output).contains("77e77"), "{value}: {}", all(&output));
        }
    }
}
