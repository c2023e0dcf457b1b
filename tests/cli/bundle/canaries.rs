//! Canaries of every shape, in every place and written in every way, through `bundle --redact`: they are nowhere in the bytes of the file, packed or not.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use flate2::Compression;
use flate2::write::GzEncoder;
use ketcd_testing::written::Written;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ketcd::{all, ketcd};

/// Something that is to go: the text as it stands, and the part that says something.
#[derive(Clone, Debug)]
struct Canary {
    /// The class of `--redact`; `secrets` and `own` go always.
    class: &'static str,
    text: String,
    needle: String,
}

fn canary(class: &'static str, text: &str, needle: &str) -> Canary {
    Canary { class, text: text.to_owned(), needle: needle.to_owned() }
}

/// One of each shape.
fn canaries() -> Vec<Canary> {
    let whole = |class, text| canary(class, text, text);
    vec![
        whole("secrets", "hunter2-canary-of-secrets"),
        whole("own", "Zephyrinecanary"),
        whole("namespaces", "birdcage-canary"),
        whole("names", "canarypay-ledger"),
        whole("values", "yellow canary 7731"),
        whole("identities", "jane-quorra-canary"),
        whole("addresses", "jane.canary@acme-canary.com"),
        whole("addresses", "203.0.113.77"),
        whole("addresses", "2001:db8:17::77"),
        whole("addresses", "02:42:ac:11:00:77"),
        whole("addresses", "vault.canary.internal"),
        whole("tokens", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJjYW5hcnkifQ.dGhpcyBpcyBhIHNpZ25hdHVyZQ"),
        whole("tokens", "AKIAIOSFODNN7CANARY1"),
        whole("tokens", "ghp_canaryCANARY0123456789canary012345"),
        whole("tokens", "glpat-canary0123456789canary"),
        whole("tokens", "xoxb-canary-0123456789"),
        whole("tokens", "cn4ry1.0123456789abcdxz"),
        canary("tokens", "Authorization: Bearer canary0123456789abcdef", "canary0123456789abcdef"),
        canary("tokens", "postgres://canary:hunter2canary@db:5432/orders", "hunter2canary"),
        canary(
            "tokens",
            "-----BEGIN RSA PRIVATE KEY-----\nTUlJQ2FuYXJ5Y2FuYXJ5Y2FuYXJ5\n-----END RSA PRIVATE KEY-----",
            "TUlJQ2FuYXJ5Y2FuYXJ5Y2FuYXJ5",
        ),
    ]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn json_escaped(text: &str) -> String {
    text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect()
}

/// A text in every way that it may be written.
fn ways(text: &str) -> Vec<String> {
    vec![
        text.to_owned(),
        STANDARD.encode(text),
        URL_SAFE_NO_PAD.encode(text),
        STANDARD.encode(STANDARD.encode(text)),
        hex(text),
        hex(text).to_uppercase(),
        percent(text),
        json!({"inner": {"of": [text]}}).to_string(),
        format!("{{\"inner\":\"{}\"}}", json_escaped(text)),
        STANDARD.encode(gzip(text.as_bytes())),
        STANDARD.encode(STANDARD.encode(gzip(text.as_bytes()))),
        STANDARD.encode([&[0, 1, 255][..], text.as_bytes(), &[7, 0]].concat()),
    ]
}

/// A canary in the ways that it is written, for each place.
struct Texts {
    annotations: Value,
    data: Value,
    /// A file.
    lines: String,
    /// A pod's.
    spec: Value,
    message: String,
    /// A release of Helm as it lies in a ConfigMap; a Secret has it in base64 once more.
    release: String,
    fields: Value,
}

impl Texts {
    fn of(text: &str, ways: &[String]) -> Self {
        let each = |of: &dyn Fn(usize, &String) -> (String, Value)| -> Value {
            Value::Object(ways.iter().enumerate().map(|(way, text)| of(way, text)).collect())
        };
        let lines = ways.iter().enumerate().map(|(way, text)| format!("l{way}: {text}\n")).collect::<String>();
        let env: Vec<Value> = ways.iter().map(|text| json!({"name": "X", "value": text})).collect();
        let args: Vec<String> = ways.iter().flat_map(|text| [text.clone(), format!("--x={text}")]).collect();
        Self {
            annotations: each(&|way, text| (format!("acme.com/n{way}"), format!("see {text} there").into())),
            data: each(&|way, text| (format!("d{way}"), text.as_str().into())),
            spec: json!({"containers": [{"name": "c", "image": "i", "env": env, "args": args}]}),
            message: ways.iter().map(|text| format!("saw \"{text}\" ")).collect(),
            release: STANDARD.encode(gzip(json!({"name": "r", "manifest": lines}).to_string().as_bytes())),
            fields: json!({"f:data": {(format!("f:{text}")): {}}, "f:spec": {"f:args": {(format!("v:{}", json!(text))): {}}}}),
            lines,
        }
    }
}

/// Objects that hold a canary in every place, written in these ways. `at` tells them from those of others.
fn objects(at: usize, canary: &Canary, ways: &[String]) -> Vec<(String, Value)> {
    let texts = Texts::of(&canary.text, ways);
    let of_class = |class: &str, other: &str| if canary.class == class { canary.text.clone() } else { other.to_owned() };
    let (shop, named, manager) = (of_class("namespaces", "shop"), of_class("names", &format!("o{at}")), of_class("identities", "kubectl"));
    let object = |kind: &str, name: &str, more: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": shop, "annotations": {},
            "uid": format!("0b0d0b0d-0000-4000-8000-{at:012}"),
            "managedFields": [{"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": texts.fields}]}});
        json_patch::merge(&mut object, &more);
        (format!("/registry/{}s/{shop}/{name}", kind.to_lowercase()), object)
    };
    let annotated = json!({"metadata": {"labels": {"app": named}, "annotations": texts.annotations}, "spec": texts.spec,
        "status": {"phase": "Pending", "message": texts.message}});
    let pod = object("Pod", &named, annotated);
    let last_applied = json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": pod.1.to_string()}}});
    let event = json!({"involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": shop, "name": named}, "reason": "Seen", "message": texts.message});
    let config = json!({"data": texts.data, "binaryData": {"b": STANDARD.encode(gzip(texts.lines.as_bytes()))}});
    let helm = json!({"metadata": {"labels": {"owner": "helm"}}, "data": {"release": texts.release}});
    let mut all = vec![
        (format!("/registry/namespaces/{shop}"), json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shop}})),
        pod,
        object("Pod", &format!("p{at}-applied"), last_applied),
        object("ConfigMap", &format!("c{at}"), config),
        object("ConfigMap", &format!("c{at}-file"), json!({"data": {"f": texts.lines}})),
        object("ConfigMap", &format!("c{at}-helm"), helm),
        object(
            "Secret",
            &format!("s{at}-helm"),
            json!({"type": "helm.sh/release.v1", "data": {"release": STANDARD.encode(&texts.release)}}),
        ),
        object("Event", &format!("{named}.17a2b3c4d5e6f708"), event),
    ];
    if canary.class == "secrets" {
        all.push(object("Secret", &format!("s{at}"), json!({"data": {"a": STANDARD.encode(&canary.text)}})));
    }
    all
}

/// A folder with a database of some objects, and what is bundled of it.
struct Folder(TempDir);

impl Folder {
    fn of(objects: impl IntoIterator<Item = (String, Value)>) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let mut written = Written::default();
        // Each is written twice: in the state at the beginning, and as a change.
        let objects: BTreeMap<String, Value> = objects.into_iter().collect();
        for _ in 0..2 {
            objects.iter().for_each(|(key, object)| written.put(key, object.to_string()));
        }
        fs::write(folder.path("it"), written.finish()).unwrap();
        fs::write(folder.path("words"), "Zephyrinecanary\n").unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn bundle(&self, choice: &str, more: &[&str]) -> Output {
        let since = ["bundle", "-A", "--out", "out.ketcd", "--salt", "of a test", "--redact", choice];
        ketcd().current_dir(self.0.path()).args(["-f", "it"]).args(since).args(more).output().unwrap()
    }

    /// All bytes that leave: of the bundle, of what is packed in it, and of its report.
    #[track_caller]
    fn bytes(&self, choice: &str, more: &[&str]) -> Vec<Vec<u8>> {
        let output = self.bundle(choice, more);
        assert_eq!(output.status.code(), Some(0), "{choice}: {}", all(&output));
        let file = fs::read(self.path("out.ketcd")).unwrap();
        let report = fs::read(self.path("out.ketcd.redacted.txt")).unwrap();
        let mut all = unpacked(&file);
        assert!(!all.is_empty());
        all.extend([file, report, output.stdout, output.stderr]);
        all
    }
}

/// What is compressed in a bundle, without ketcd's own reader: the bytes behind each chunk's header, joined where a stream goes on.
fn unpacked(file: &[u8]) -> Vec<Vec<u8>> {
    /// A chunk's header: its magic, its kind, and in bytes 8 to 12 how many bytes follow.
    const MAGIC: &[u8] = b"\x89ktc";
    const HEADER_BYTES: usize = 48;
    const BEGINS_BLOCK: u8 = 2;
    const GOES_ON: u8 = 3;
    let mut streams: Vec<Vec<u8>> = Vec::new();
    for at in (0..file.len().saturating_sub(HEADER_BYTES)).filter(|at| file[*at..].starts_with(MAGIC)) {
        let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
        let Some(payload) = file.get(at + HEADER_BYTES..at + HEADER_BYTES + length) else { continue };
        match file[at + 4] {
            BEGINS_BLOCK => streams.push(payload.to_vec()),
            GOES_ON => streams.last_mut().unwrap().extend_from_slice(payload),
            _ => {}
        }
    }
    let inflate = |stream: Vec<u8>| {
        let (mut bytes, mut decoder) = (Vec::new(), zstd::stream::read::Decoder::new(&stream[..]).unwrap());
        // A block is flushed, not ended.
        let _ = decoder.read_to_end(&mut bytes);
        bytes
    };
    streams.into_iter().map(inflate).collect()
}

/// Base64 of a text at each alignment, without the letters that depend on what stands around it.
fn base64_cores(text: &str) -> Vec<String> {
    let core = |before: usize| {
        let encoded = STANDARD.encode([&b"xx"[..before], text.as_bytes()].concat());
        let (first, whole) = ((before * 8).div_ceil(6), (before + text.len()) * 8 / 6);
        encoded[first..whole].to_owned()
    };
    (0..3).map(core).flat_map(|core| [core.replace('+', "-").replace('/', "_"), core]).collect()
}

/// How a needle stands in some bytes, if it does.
fn found(bytes: &[u8], needle: &str) -> Option<String> {
    let mut patterns = vec![needle.to_owned(), hex(needle), hex(needle).to_uppercase(), percent(needle), json_escaped(needle)];
    let cores = base64_cores(needle);
    patterns.extend(cores.iter().flat_map(|core| base64_cores(core)));
    patterns.extend(cores);
    // No name, and so no pattern, is that short.
    patterns.into_iter().find(|pattern| pattern.len() > 6 && memchr::memmem::find(bytes, pattern.as_bytes()).is_some())
}

/// Whether something packed is left, in base64 once or twice.
fn holds_packed(bytes: &[u8]) -> bool {
    ["H4sIA", "SDRzSUF"].iter().any(|beginning| memchr::memmem::find(bytes, beginning.as_bytes()).is_some())
}

fn is_in(choice: &str, class: &str) -> bool {
    let implied = |choice: &str| match choice {
        "names" => vec!["names", "namespaces"],
        "values" => vec!["values", "tokens"],
        "all" => vec!["names", "namespaces", "values", "tokens", "addresses", "identities"],
        other => vec![match other {
            "namespaces" => "namespaces",
            "addresses" => "addresses",
            "identities" => "identities",
            "tokens" => "tokens",
            _ => "none",
        }],
    };
    matches!(class, "secrets" | "own") || choice.split(',').any(|choice| implied(choice).contains(&class))
}

/// Each class, two or three at a time; some of each by themselves are made up below.
#[test]
fn no_canary_is_in_the_bytes_of_a_bundle() {
    are_in_no_bytes(&["none", "names,addresses", "values", "namespaces,identities,tokens", "all"]);
}

#[test]
fn no_canary_is_in_the_bytes_of_a_bundle_without_one_class_nightly() {
    are_in_no_bytes(&["names", "namespaces", "addresses", "identities", "tokens"]);
}

fn are_in_no_bytes(choices: &[&str]) {
    let canaries = canaries();
    let objects = canaries.iter().enumerate().flat_map(|(at, canary)| objects(at, canary, &ways(&canary.text)));
    let folder = Folder::of(objects);
    for &choice in choices {
        let parts = folder.bytes(choice, &["--values-from", "words"]);
        for canary in canaries.iter().filter(|canary| is_in(choice, canary.class)) {
            for part in &parts {
                let found = found(part, &canary.needle);
                assert!(
                    found.is_none(),
                    "{choice}: {canary:?} is there as {found:?}: {}",
                    around(part, found.as_deref().unwrap_or_default())
                );
            }
        }
        assert!(choice != "all" || !parts.iter().any(|part| holds_packed(part)), "{choice}");
        let of_another = canaries.iter().find(|canary| !is_in(choice, canary.class));
        let stays = |canary: &Canary| parts.iter().any(|part| found(part, &canary.needle).is_some());
        assert!(of_another.is_none_or(stays), "{choice}: {of_another:?} is found where it stays");
    }
}

/// What stands around a finding.
fn around(bytes: &[u8], found: &str) -> String {
    let at = memchr::memmem::find(bytes, found.as_bytes()).unwrap_or_default();
    String::from_utf8_lossy(&bytes[at.saturating_sub(120)..(at + 120).min(bytes.len())]).into_owned()
}

/// What no rule takes out is found by the search: the command says where, not what, and writes nothing.
#[test]
fn a_canary_that_is_left_makes_the_command_refuse() {
    let secret = canary("secrets", "hunter2-canary-of-secrets", "hunter2-canary-of-secrets");
    let id = |id: String| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"containerStatuses": [{"name": "c", "containerID": id}]}})
    };
    for (value, says) in [
        (format!("containerd://{}", secret.text), "a secret in Pod.status.containerStatuses[].containerID"),
        (format!("containerd://{}", hex(&secret.text)), "a secret as hexadecimal in Pod.status.containerStatuses[].containerID"),
        (format!("containerd://{}", percent(&secret.text)), "a secret as URL encoding in Pod.status.containerStatuses[].containerID"),
        (
            format!("x{}", STANDARD.encode(gzip(secret.text.as_bytes()))),
            "a secret as base64 in gzip in Pod.status.containerStatuses[].containerID",
        ),
    ] {
        let home = objects(0, &secret, std::slice::from_ref(&secret.text));
        let folder = Folder::of(home.into_iter().chain([("/registry/pods/shop/p".to_owned(), id(value))]));
        for choice in ["none", "all"] {
            let output = folder.bundle(choice, &[]);
            let said = all(&output);
            assert_eq!(output.status.code(), Some(2), "{said}");
            // What is in a Secret and elsewhere is of the class that was met first.
            let as_value = says.replace("a secret", "a value");
            assert!(said.contains("no file was written") && (said.contains(says) || said.contains(&as_value)), "{says}: {said}");
            assert!(found(said.as_bytes(), &secret.needle).is_none(), "{said}");
            let mut left: Vec<_> = fs::read_dir(folder.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            left.sort();
            assert_eq!(left, ["it", "words"]);
        }
    }
}

/// A word that is nobody's but its object's: no word of Kubernetes has a `q` before a digit.
fn word() -> impl Strategy<Value = String> {
    "[a-z]{4,7}q[0-9][a-z]{3,6}"
}

fn made_up() -> impl Strategy<Value = Vec<(Canary, Vec<usize>)>> {
    let words = proptest::collection::vec((word(), proptest::collection::vec(0..12_usize, 1..6)), 6);
    (words, any::<[u8; 2]>()).prop_map(|(words, [third, fourth])| {
        let of = |class: &'static str, text: String| canary(class, &text, &text);
        let canary = |(at, (word, ways)): (usize, (String, Vec<usize>))| {
            let canary = match at {
                0 => of("secrets", format!("s{word}{word}")),
                1 => of("names", format!("a{word}")),
                2 => of("namespaces", format!("n{word}")),
                3 => of("values", format!("v{word} v{word}")),
                4 => of("identities", format!("u{word}")),
                _ => of("addresses", format!("52.7{}.{third}.{}", word.len() % 10, fourth.max(1))),
            };
            (canary, ways)
        };
        words.into_iter().enumerate().map(canary).collect()
    })
}

proptest! {
    // Each runs the command.
    #![proptest_config(ProptestConfig { max_shrink_iters: 40, ..ProptestConfig::with_cases(10) })]

    #[test]
    fn no_original_of_a_class_that_goes_is_in_the_bytes(
        canaries in made_up(),
        choice in proptest::sample::subsequence(vec!["names", "namespaces", "values", "addresses", "identities", "tokens"], 1..=6),
    ) {
        let choice = choice.join(",");
        let objects = canaries.iter().enumerate().flat_map(|(at, (canary, chosen))| {
            let ways = ways(&canary.text);
            let chosen: Vec<String> = chosen.iter().map(|way| ways[*way].clone()).collect();
            // Where a class is known by a field alone, it stands in one as it is.
            objects(at, canary, &[&[canary.text.clone()][..], &chosen].concat())
        });
        let parts = Folder::of(objects).bytes(&choice, &[]);
        for (canary, _) in canaries.iter().filter(|(canary, _)| is_in(&choice, canary.class)) {
            for part in &parts {
                let found = found(part, &canary.needle);
                prop_assert!(found.is_none(), "{}: {:?} as {:?}: {}", choice, canary, found, around(part, found.as_deref().unwrap_or_default()));
            }
        }
    }
}
