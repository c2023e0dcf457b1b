//! The help: every command's begins with two examples that run, `ketcd` alone shows what one does first, and as kubectl's plugin ketcd says so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tempfile::TempDir;

use super::offline::offline;
use super::root;
use ketcd_testing::examples::{Reads, examples};

/// The plugin's file name is `kubectl-forensics`; a symbolic link to it is what krew makes.
const PLUGIN_PATH: &str = "/opt/krew/bin/kubectl-forensics";

fn unpack(capture: &str, to: &Path) {
    let packed = fs::File::open(root().join("testdata/captures").join(capture)).unwrap();
    fs::write(to, zstd::decode_all(packed).unwrap()).unwrap();
}

/// A folder with the files that examples name.
pub(super) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    unpack("k120-story/snapshot.db.zst", &file("snapshot.db"));
    unpack("k120-story/compacted.db.zst", &file("yesterday.db"));
    fs::copy(root().join("testdata/captures/k120-encrypted/encryption-config.yaml"), file("encryption-config.yaml")).unwrap();
    fs::set_permissions(file("encryption-config.yaml"), fs::Permissions::from_mode(0o600)).unwrap();
    let lines = fs::read_to_string(root().join("testdata/values/lines.base64")).unwrap();
    let line = lines.lines().next().unwrap();
    fs::write(file("values.base64"), format!("{line}\n")).unwrap();
    fs::write(file("value.bin"), BASE64.decode(line).unwrap()).unwrap();
    folder
}

/// Runs a line in a folder, without a network, in bash: one of the examples loads a completion script.
fn run(line: &str, folder: &Path) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    offline(Command::new("bash").args(["-c", line]).current_dir(folder).env("PATH", path)).output().unwrap()
}

fn ketcd(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).args(arguments).output().unwrap()
}

/// What ketcd prints when it is called by another name.
fn called_as(name: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).arg0(name).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_help_of_every_command_begins_with_two_examples() {
    let examples = examples(&ketcd::command());
    for command in ketcd::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        let own: Vec<_> = examples.iter().filter(|example| example.command == name).collect();
        assert_eq!(own.len(), 2, "{name}");
        let lines: String = own.iter().map(|example| format!("  # {}\n  {}\n", example.purpose, example.line)).collect();
        let wanted = format!("{}\n\nExamples:\n{lines}\n", command.get_about().unwrap());
        for flag in ["-h", "--help"] {
            let help = ketcd(&[name, flag]);
            assert!(text(&help.stdout).starts_with(&wanted), "{name} {flag}:\n{}\nbegins otherwise than\n{wanted}", text(&help.stdout));
        }
        assert!(lines.lines().all(|line| line.len() <= 100), "{name}: the help is broken at 100 columns");
    }
}

/// Those that read a live etcd run in `tests/live/help.rs`, those that call kubectl in `tests/serve/help.rs`.
#[test]
fn examples_of_files_run() {
    let folder = folder();
    let examples: Vec<_> = examples(&ketcd::command()).into_iter().filter(|example| example.reads() == Reads::Files).collect();
    assert!(examples.len() > 30, "{}", examples.len());
    for example in examples {
        let output = run(&example.line, folder.path());
        // There are differences: between the revisions, and between what is encrypted and what should be; both snapshots hold one state.
        let expected = i32::from(example.line.contains("diff deploy") || example.line.contains("--encryption-config"));
        assert_eq!(output.status.code(), Some(expected), "{}: {}", example.line, text(&output.stderr));
        // Those that write a file, or load a script, print nothing.
        let is_silent = example.command == "report" || example.line.contains(['<', '>']);
        assert_eq!(output.stdout.is_empty(), is_silent, "{}: {}", example.line, text(&output.stdout));
    }
    for (file, begins) in [("incident.html", "<!doctype html>"), ("rollout.html", "<!doctype html>"), ("_ketcd", "#compdef ketcd")] {
        assert!(fs::read_to_string(folder.path().join(file)).unwrap().to_lowercase().starts_with(begins), "{file}");
    }
}

#[test]
fn ketcd_alone_shows_the_four_things_one_does_first() {
    let page = ketcd(&[]);
    assert_eq!((page.status.code(), page.stdout.len()), (Some(2), 0));
    let page = text(&page.stderr);
    assert!(page.lines().count() <= 24 && page.lines().all(|line| line.len() <= 80), "it does not fit a terminal:\n{page}");
    let examples: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(examples.len(), 4, "{page}");
    let folder = folder();
    for example in examples {
        let output = run(example, folder.path());
        assert!(output.status.success() && !output.stdout.is_empty(), "{example}: {}", text(&output.stderr));
    }
}

#[test]
fn as_a_plugin_of_kubectl_it_is_called_kubectl_forensics() {
    let snapshot = root().join("testdata/captures/k120-story/snapshot.db.zst");
    let file = snapshot.to_str().unwrap();
    for arguments in [
        &[][..],
        &["--help"],
        &["get"],
        &["get", "--help"],
        &["history", "-h"],
        &["serve", "--help"],
        &["-f", file, "get", "qqqqq/x"],
        &["-f", file, "describe", "pod/lab/ubuntu"],
    ] {
        let output = called_as(PLUGIN_PATH, arguments);
        let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(printed.contains("kubectl forensics "), "{arguments:?}: {printed}");
        for call in ["ketcd -", "ketcd get", "ketcd ls", "ketcd history", "ketcd serve", "Usage: ketcd"] {
            assert!(!printed.contains(call), "{arguments:?} says {call:?}: {printed}");
        }
        let own = ketcd(arguments);
        assert_eq!(output.status.code(), own.status.code(), "{arguments:?}");
        let own = format!("{}{}", text(&own.stdout), text(&own.stderr));
        assert!(!own.contains("kubectl forensics"), "{arguments:?}: {own}");
    }
    let arguments = ["-f", file, "get", "pods", "-A"];
    let (plugin, own) = (called_as(PLUGIN_PATH, &arguments), ketcd(&arguments));
    assert!(own.status.success());
    assert_eq!(text(&plugin.stdout), text(&own.stdout));
    let version = called_as(PLUGIN_PATH, &["--version"]);
    assert_eq!(text(&version.stdout), concat!("ketcd ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_short_help_of_a_command_fits_a_screen_and_says_where_the_rest_is() {
    for command in ketcd::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        // On a terminal of the usual width.
        let help = Command::new(env!("CARGO_BIN_EXE_ketcd")).args([command.get_name(), "-h"]).env("COLUMNS", "80").output().unwrap();
        let help = text(&help.stdout);
        assert!(help.ends_with("Flags of every command, such as -f, -n, --at and -o: ketcd help flags\n"), "{help}");
        assert!(help.contains("--help") && !help.contains("--insecure-transport") && !help.contains("--namespace"), "{help}");
        assert!(help.lines().count() <= 40, "{} lines: {help}", help.lines().count());
    }
    let flags = ketcd(&["help", "flags"]);
    let flags = (flags.status.code(), text(&flags.stdout).to_owned());
    for arg in ketcd::command().get_arguments().filter(|arg| arg.is_global_set()) {
        let flag = format!("--{}", arg.get_long().unwrap());
        assert!(flags.0 == Some(0) && flags.1.contains(&flag), "{flag}: {}", flags.1);
    }
}

#[test]
fn the_help_of_the_whole_has_every_command_in_one_of_five_groups() {
    let help = ketcd(&["--help"]);
    assert_eq!(text(&ketcd(&["-h"]).stdout), text(&help.stdout));
    let help = text(&help.stdout);
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in help.lines() {
        match (line.strip_suffix(':'), line.strip_prefix("  ").and_then(|line| line.split(' ').next())) {
            (Some(heading), _) => groups.push((heading, Vec::new())),
            (None, Some(name)) if !name.is_empty() => groups.last_mut().unwrap().1.push(name),
            _ => {}
        }
    }
    let headings: Vec<&str> = groups.iter().map(|(heading, _)| *heading).collect();
    assert_eq!(headings, ["Look", "What happened", "Why", "Keep", "Source"], "{help}");
    let mut listed: Vec<&str> = groups.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    assert_eq!(groups[1].1[0], "triage", "what one asks first comes first");
    listed.sort_unstable();
    let command = ketcd::command();
    let mut shown: Vec<&str> = command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
    shown.sort_unstable();
    assert_eq!(listed, shown);
    assert!(help.lines().count() <= 50, "{help}");
}

#[test]
fn commands_that_show_changes_take_one_grammar_of_time() {
    for name in ["history", "timeline", "events", "watch", "grep", "triage", "usage", "report", "export", "bundle", "explain"] {
        let help = ketcd(&[name, "--help"]);
        let help = text(&help.stdout);
        for flag in ["--since <TIME>", "--until <TIME>"] {
            assert!(help.contains(flag), "{name} has no {flag}: {help}");
        }
        let about = ketcd::command().find_subcommand(name).unwrap().get_long_about().unwrap().to_string();
        assert!(about.contains("--since") && about.contains("--until"), "{name} does not say what a stretch means: {about}");
    }
}
