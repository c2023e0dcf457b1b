//! README's pictures show what ketcd prints: `tools/pictures` writes into `docs/pictures/made-of.txt` what they were made of.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use ketcd_testing::pty;
use sha2::{Digest, Sha256};

use super::root;

/// The columns of the terminal, as in `tools/pictures`.
const TERMINAL_COLUMNS: u16 = 100;

fn digest(path: &Path) -> String {
    Sha256::digest(fs::read(path).unwrap()).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The command, in the folder of the recorded cluster.
fn ketcd(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ketcd"));
    command.current_dir(root().join("testdata/captures/k120-story")).args(["-f", "snapshot.db.zst"]).args(arguments.split(' '));
    command
}

#[test]
fn pictures_show_what_is_printed_now() {
    let folder = root().join("docs/pictures");
    let made_of = fs::read_to_string(folder.join("made-of.txt")).expect("run tools/pictures");
    let (digests, session) = made_of.split_once("\n\n").unwrap();
    let report = tempfile::tempdir().unwrap();
    let page = report.path().join("report.html");
    assert!(ketcd(&format!("report --out {}", page.display())).output().unwrap().status.success());
    let digests_now = [("session.png", folder.join("session.png")), ("report.png", folder.join("report.png")), ("report.html", page)];
    let digests_now: Vec<String> = digests_now.iter().map(|(name, path)| format!("{name} {}", digest(path))).collect();
    assert_eq!(digests.lines().collect::<Vec<_>>(), digests_now, "a picture or the report is another one: run tools/pictures");
    let mut session_now = String::new();
    for command in session.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let (text, _) = pty::run(TERMINAL_COLUMNS, &mut ketcd(command));
        write!(session_now, "$ {command}\n{}", anstream::adapter::strip_str(&text).to_string().replace('\r', "")).unwrap();
    }
    assert!(session_now.matches("$ ").count() >= 2, "{session_now}");
    assert_eq!(session, session_now, "run tools/pictures");
}
