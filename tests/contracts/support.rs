//! docs/support.md: its table of releases is made from what the tests compare, its other rows name what exists, and what it says is refused is.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use ketcd_kube::Release;

use super::pages::hold;
use super::root;

const BEGIN_MARK: &str = "<!-- Written by `KETCD_BLESS=1 cargo test --test contracts support` from proto/VERSIONS and testdata. -->\n";
const END_MARK: &str = "<!-- End of what is written. -->";

fn page() -> String {
    fs::read_to_string(root().join("docs/support.md")).unwrap()
}

fn names_in(folder: &str) -> BTreeSet<String> {
    fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The recordings of each release that have a file: `k120-story` and `matrix-1.31` name theirs, and testdata/captures/README.md says that of the last.
fn recordings(file: &str) -> BTreeMap<Release, Vec<String>> {
    let mut found: BTreeMap<Release, Vec<String>> = BTreeMap::new();
    for name in names_in("testdata/captures").into_iter().filter(|name| root().join("testdata/captures").join(name).join(file).exists()) {
        let release = match name.split_once('-').unwrap() {
            ("matrix", release) => release.parse().unwrap(),
            ("custom", "config") => Release(34),
            (release, _) => Release(release.strip_prefix("k1").unwrap().parse().unwrap()),
        };
        found.entry(release).or_default().push(format!("`{name}`"));
    }
    found
}

/// The release of each list of messages: `1.20` was read from `v0.20.15`.
fn messages() -> BTreeMap<Release, String> {
    let text = fs::read_to_string(root().join("proto/VERSIONS")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let (release, read) = line.trim().split_once("  ")?;
        let version = read.split([' ', ',']).find(|word| word.starts_with(['v', 'k']))?;
        Some((release.parse::<Release>().ok()?, version.trim_start_matches("kubernetes-").trim_start_matches("v0.").to_owned()))
    });
    rows.map(|(release, version)| (release, if version.starts_with("1.") { version } else { format!("1.{version}") })).collect()
}

/// The table of releases, newest first.
fn table() -> String {
    let (messages, servers, schedulers) = (messages(), recordings("apidump.jsonl.zst"), recordings("truth.jsonl.zst"));
    let answers = names_in("testdata/releases");
    let mut text = String::from("| Kubernetes | messages | API server | scheduler | clusters |\n|---|---|---|---|---|\n");
    for release in (Release::OLDEST.0..=Release::NEWEST.0).rev().map(Release) {
        let is_of = |name: &&String| name.strip_prefix(&release.to_string()).is_some_and(|rest| rest.starts_with(['.', '-']));
        let clusters = answers.iter().filter(is_of).count();
        let list = |of: &BTreeMap<Release, Vec<String>>| of.get(&release).map_or("–".to_owned(), |names| names.join(", "));
        let clusters = if clusters == 0 { "–".to_owned() } else { clusters.to_string() };
        let version = messages.get(&release).unwrap_or_else(|| panic!("proto/VERSIONS lacks {release}"));
        writeln!(text, "| {release} | {version} | {} | {} | {clusters} |", list(&servers), list(&schedulers)).unwrap();
    }
    text
}

#[test]
fn the_table_of_releases_is_what_the_tests_compare() {
    let page = page();
    let (before, rest) = page.split_once(BEGIN_MARK).expect("the page has the table");
    let (_, after) = rest.split_once(END_MARK).expect("the table ends");
    let table = table();
    assert!(table.matches(", ").count() > 3, "no recordings were found:\n{table}");
    assert_eq!(hold(&root().join("docs/support.md"), &format!("{before}{BEGIN_MARK}\n{table}\n{END_MARK}{after}")), None);
}

/// The rows of a section's table, each as its cells.
fn rows(section: &str) -> Vec<Vec<String>> {
    let page = page();
    let text = page.split("\n## ").find(|text| text.starts_with(section)).unwrap_or_else(|| panic!("there is no section {section}"));
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("|---"));
    lines.skip(1).map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The release of a program: `3.5.21` of `etcd Version: 3.5.21`.
fn version_of(program: &OsStr) -> String {
    let output = Command::new(program).arg("--version").output().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap().to_owned()
}

/// Whether the page says that the very patch of the etcd in `variable` is tested.
fn is_said_to_be_tested(variable: &str) {
    let version = version_of(&std::env::var_os(variable).unwrap_or_else(|| panic!("run tools/test, which sets {variable}")));
    let (minor, _) = version.rsplit_once('.').unwrap();
    let rows = rows("etcd");
    let row = rows.iter().find(|row| row[0] == minor).unwrap_or_else(|| panic!("the page has no row of etcd {minor}"));
    assert!(row[1].starts_with("tested, ") && row[1].contains(&version), "{version}: {row:?}");
}

#[test]
fn the_etcd_that_every_run_starts_is_said_to_be_tested() {
    is_said_to_be_tested("KETCD_TEST_ETCD_3_5");
}

mod etcds_that_only_some_runs_start_are_said_to_be_tested {
    #[test]
    fn on_3_4() {
        super::is_said_to_be_tested("KETCD_TEST_ETCD_3_4");
    }

    #[test]
    fn on_3_7() {
        super::is_said_to_be_tested("KETCD_TEST_ETCD_3_7");
    }
}

#[test]
fn files_that_are_said_to_be_tested_were_recorded() {
    let rows = rows("etcd");
    let recorded = fs::read_to_string(root().join("testdata/captures/README.md")).unwrap();
    let patch = regex::Regex::new(r"\b3\.\d+\.\d+\b").unwrap();
    let patches: BTreeSet<&str> = rows.iter().flat_map(|row| patch.find_iter(&row[2])).map(|found| found.as_str()).collect();
    assert!(patches.len() >= 2, "{patches:?}");
    for patch in patches {
        assert!(recorded.contains(patch), "{patch}");
    }
    let kine = rows.iter().find(|row| row[0] == "kine").unwrap();
    let version = regex::Regex::new(r"\d+\.\d+\.\d+").unwrap().find(&kine[2]).unwrap().as_str();
    assert!(recorded.contains(&format!("kine {version}")), "{version}");
}

#[test]
fn what_the_rows_of_distributions_name_is_there() {
    let code = regex::Regex::new("`([a-z]+/[^` ]+)`").unwrap();
    let rows = rows("Distributions");
    let paths: Vec<String> = rows.iter().flatten().flat_map(|cell| code.captures_iter(cell)).map(|found| found[1].to_owned()).collect();
    assert!(paths.len() >= 6, "{paths:?}");
    for path in paths {
        assert!(root().join(&path).exists(), "{path}");
    }
    for row in rows.iter().flatten().filter(|cell| cell.starts_with("tested")) {
        assert!(code.is_match(row), "{row} names no test");
    }
}

#[test]
fn clients_are_those_that_are_tried() {
    let ask = "import builds; print(*builds.KUBECTLS, builds.K9S, builds.CLIENT_GO)";
    let output = Command::new("python3").args(["-B", "-c", ask]).current_dir(root().join("tools/clients.d")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let [old, middle, new, k9s, client_go] = text.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{text:?}") };
    // Modules of Kubernetes 1.36 are numbered v0.36.
    let [old, middle, new] = [old, middle, new].map(|module| module.replacen("v0.", "1.", 1));
    let [k9s, client_go] = [k9s, client_go].map(|module| module.trim_start_matches('v'));
    let sentence =
        format!("kubectl {old}, {middle} and {new}, k9s {k9s}, client-go {client_go} and kube-rs are tested by `tools/clients`.");
    assert!(page().contains(&sentence), "the page does not say: {sentence}");
}

#[test]
fn the_oldest_rust_is_that_of_the_manifest() {
    let wanted = format!("from source, with Rust {} or newer", env!("CARGO_PKG_RUST_VERSION"));
    assert!(page().contains(&wanted), "the page does not say: {wanted}");
}

/// One file of a tar archive.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
    [&header[..], content, &padding, &[0; 1024]].concat()
}

/// A file, or a folder, for each row of the refused ones, by how the row begins.
fn refused(folder: &Path) -> Vec<(&'static str, std::path::PathBuf)> {
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::File::create(&path).unwrap().write_all(bytes).unwrap();
        path
    };
    let filling: Vec<u8> = (0..4096u32).map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    let with = |head: &[u8]| [head, &filling[..]].concat();
    let dqlite = folder.join("backend");
    fs::create_dir(&dqlite).unwrap();
    fs::write(dqlite.join("metadata1"), [1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    vec![
        ("what is encrypted", file("snapshot.age", &with(b"age-encryption.org/v1\n-> X25519 x\n"))),
        ("an encrypted entry", file("snapshot.zip", b"PK\x03\x04\x14\0\x01\0\x08\0\0\0\0\0\0\0\0\0\x04\0\0\0\x04\0\0\0\x01\0\0\0a1234")),
        ("a pointer", file("lfs.db", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")),
        ("the error page", file("page.db", b"<!DOCTYPE html><html></html>")),
        ("a 7z", file("snapshot.7z", &with(b"7z\xbc\xaf\x27\x1c\0\x04"))),
        ("dqlite", dqlite),
        ("a folder", file("other.tar", &tar("notes.txt", b"nothing\n"))),
        ("an SQL dump", file("kine.sql", b"-- PostgreSQL database dump\n\nCREATE TABLE kine ();\n")),
        ("an empty", file("empty.db", b"")),
    ]
}

/// If one of these can be read by now, the row moves to the tables of what is read, and its file out of here.
#[test]
fn what_is_said_to_be_refused_is_refused_with_that_message() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, files) = (rows("Files that are refused"), refused(folder.path()));
    assert_eq!(rows.len(), files.len());
    for (row, (begins, path)) in rows.iter().zip(files) {
        assert!(row[0].starts_with(begins), "{}: {begins}", row[0]);
        let output = Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(&path).arg("status").output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{}: docs/support.md says that it is refused: {message}", row[0]);
        assert!(message.contains(row[1].trim_matches('`')), "{}: {message}", row[0]);
    }
}
