//! Completion in real shells: what is typed, with a tab where a word is to be completed, runs the command that was meant.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

/// A folder with `snapshot.db` and the scripts of all shells, as a package would install them.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst");
    fs::write(folder.path().join("snapshot.db"), zstd::decode_all(File::open(capture).unwrap()).unwrap()).unwrap();
    for (shell, path) in [("bash", "ketcd"), ("zsh", "functions/_ketcd"), ("fish", "ketcd.fish")] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, crate::ketcd::ketcd().args(["completion", shell]).output().unwrap().stdout).unwrap();
    }
    folder
}

fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    let ketcd = Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap();
    command.env("PATH", format!("{}:{}", ketcd.display(), std::env::var("PATH").unwrap())).env("HOME", folder);
    command.env("TERM", "xterm").env("PS1", "$ ").env_remove("ETCDCTL_ENDPOINTS").current_dir(folder);
    command.env("KETCD_COMPLETION_TIMEOUT", "24h");
    command
}

/// A shell on a terminal of its own.
struct Shell {
    child: Child,
    terminal: File,
    shown: String,
}

impl Shell {
    fn start(shell: &str, arguments: &[&str], folder: &Path) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let terminal: OwnedFd = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        // A session of its own, whose terminal this is: shells do not read lines otherwise.
        let mut command = command("setsid", folder);
        command.args(["--ctty", "--wait", shell]).args(arguments);
        command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
        let child = command.spawn().unwrap();
        Self { child, terminal: File::from(controller), shown: String::new() }
    }

    /// Types something and waits until the shell shows `wanted` after it.
    #[track_caller]
    fn types(&mut self, keys: &str, wanted: &str) {
        self.shown.clear();
        self.terminal.write_all(keys.as_bytes()).unwrap();
        let mut piece = [0; 4096];
        while !self.shown.contains(wanted) {
            let read = self.terminal.read(&mut piece).unwrap_or(0);
            assert!(read > 0, "it ended before {wanted:?} after {keys:?}: {:?}; without the shell: tools/test installs it", self.shown);
            self.shown += &String::from_utf8_lossy(&piece[..read]);
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Completes a command, a kind, a namespace, a name and an address.
fn completes(shell: &mut Shell) {
    shell.types("ketcd -f snapshot.db get deploym\t", "deployments");
    shell.types("-n we\t", "web");
    shell.types("-o name\n", "deployment.apps/tomcat");
    shell.types("ketcd -f snapshot.db hist\t", "history");
    shell.types("pod/lab/ubu\t", "pod/lab/ubuntu");
    shell.types("\n", "kubectl-client-side-apply");
    shell.types("ketcd -f snapsh\t", "snapshot.db");
    shell.types("get nodes node\t\t", "node4");
}

/// Loads the script in a shell, as `load` does it, and completes words there.
fn completes_in(shell: &str, flags: &[&str], load: &str) {
    let folder = folder();
    let mut shell = Shell::start(shell, flags, folder.path());
    shell.types(&format!("{load}; echo rea''dy\n"), "ready");
    completes(&mut shell);
}

#[test]
fn bash_completes_names_and_runs_none() {
    completes_in("bash", &["--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'; source <(ketcd completion bash)");
}

#[test]
fn zsh_completes_names_and_runs_none() {
    completes_in("zsh", &["-f", "-i"], "autoload -U compinit; compinit -u -D; source <(ketcd completion zsh)");
}

/// As packages install it: zsh loads the script when the first word is completed.
#[test]
fn in_zsh_by_fpath() {
    completes_in("zsh", &["-f", "-i"], "fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D");
}

#[test]
fn fish_completes_names_and_runs_none() {
    let folder = folder();
    let offered = |line: &str| {
        let script = format!("source ketcd.fish; complete -C '{line}'");
        let output = command("fish", folder.path()).args(["--no-config", "-c", &script]).output();
        let output = output.unwrap_or_else(|error| panic!("fish: {error}; tools/test installs it (Debian: the package fish)"));
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(offered("ketcd -f snapshot.db get deploym"), ["deployments"]);
    assert_eq!(offered("ketcd -f snapshot.db get deploy -n we"), ["web"]);
    assert_eq!(offered("ketcd -f snapshot.db hist"), ["history"]);
    assert_eq!(offered("ketcd -f snapshot.db history pod/lab/ubu"), ["pod/lab/ubuntu"]);
    assert_eq!(offered("ketcd -f snapsh"), ["snapshot.db"]);
}

/// Names that a shell runs, each behind a letter of its own, so that it is the only candidate; what runs leaves the file RAN.
const HOSTILE_NAMES: &[&str] = &[
    "a$(touch RAN)",
    "b`touch RAN`",
    "c;touch RAN;",
    "d|touch RAN",
    "e&touch RAN&",
    "q\ntouch RAN\n",
    "g>RAN",
    "h$(touch${IFS}RAN)",
    "i' ;touch RAN;'",
    "j\\$(touch RAN)",
    "w${x:=$(touch RAN)}",
    "l\u{b}$(touch RAN)",
];

/// A folder whose cluster and files have hostile names; `plain` is completed there.
fn hostile_folder() -> TempDir {
    let folder = folder();
    let role = |name: &str| {
        let role = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"namespace":"lab","name":NAME},"rules":[]}"#;
        role.replace("NAME", &serde_json::Value::from(name).to_string())
    };
    let roles: Vec<String> = HOSTILE_NAMES.iter().chain(&["plain"]).map(|name| role(name)).collect();
    fs::write(folder.path().join("roles.json"), roles.join("\n")).unwrap();
    for name in HOSTILE_NAMES {
        fs::write(folder.path().join(name), "").unwrap();
    }
    folder
}

/// Completes hostile names and runs what then stands on the line.
#[track_caller]
fn runs_nothing(shell: &mut Shell, folder: &Path) {
    shell.types("ketcd -f roles.json get role/lab/pla\t", "plain");
    shell.types("-o name\n", "role.rbac.authorization.k8s.io/plain");
    for name in HOSTILE_NAMES {
        let begun = &name[..1];
        for line in [
            format!("ketcd -f roles.json get role/lab/{begun}\t"),
            format!("ketcd -f roles.json get -n lab role {begun}\t"),
            format!("ketcd -f {begun}\t"),
        ] {
            shell.types(&format!("{line}\necho do''ne\n"), "done");
            assert!(!folder.join("RAN").exists(), "{line:?} ran something: {:?}", shell.shown);
        }
    }
}

#[test]
fn hostile_names_run_nothing_in_bash() {
    let folder = hostile_folder();
    let mut shell = Shell::start("bash", &["--norc", "--noprofile", "-i"], folder.path());
    shell.types("bind 'set enable-bracketed-paste off'; source <(ketcd completion bash); echo rea''dy\n", "ready");
    runs_nothing(&mut shell, folder.path());
}

#[test]
fn hostile_names_run_nothing_in_zsh() {
    let folder = hostile_folder();
    let mut shell = Shell::start("zsh", &["-f", "-i"], folder.path());
    shell.types("autoload -U compinit; compinit -u -D; source <(ketcd completion zsh); echo rea''dy\n", "ready");
    runs_nothing(&mut shell, folder.path());
}

#[test]
fn hostile_names_run_nothing_in_fish() {
    let folder = hostile_folder();
    for name in HOSTILE_NAMES {
        let script = format!(
            "source ketcd.fish; for line in (complete -C 'ketcd -f roles.json get role/lab/{0}') (complete -C 'ketcd -f {0}'); eval \"echo $line\"; end",
            &name[..1]
        );
        let output = command("fish", folder.path()).args(["--no-config", "-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{name:?}");
    }
    assert!(!folder.path().join("RAN").exists());
}
