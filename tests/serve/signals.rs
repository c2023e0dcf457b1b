//! What is left when a server is told to end: nothing.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::ketcd::ketcd;
use crate::server::capture;

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";

/// Opens a pipe from which nothing ever comes.
const ENDLESS_PIPE: &str = "mkfifo \"$TMPDIR/endless\"; exec 3<>\"$TMPDIR/endless\"";

/// A process that is killed when the test ends before it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn served(folder: &Path) -> Command {
    let mut command = ketcd();
    command.env("TMPDIR", folder).arg("-f").arg(capture(STORY_CAPTURE)).arg("serve").stdin(Stdio::null());
    command
}

fn kubeconfigs(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "kubeconfig")).collect()
}

#[test]
fn a_server_that_is_told_to_end_removes_its_kubeconfig() {
    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        let folder = tempfile::tempdir().unwrap();
        let mut running = Running(served(folder.path()).stderr(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(running.0.stderr.take().unwrap()).lines();
        // By then it waits.
        assert!(lines.any(|line| line.unwrap().contains("Ctrl-C ends it")), "{signal:?}");
        assert_eq!(kubeconfigs(folder.path()).len(), 1);
        kill_process(Pid::from_child(&running.0), signal).unwrap();
        assert_eq!(running.0.wait().unwrap().code(), Some(0), "{signal:?}");
        assert!(kubeconfigs(folder.path()).is_empty(), "{signal:?}");
    }
}

#[test]
fn a_command_ends_with_its_server() {
    for signal in [Signal::HUP, Signal::TERM] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = served(folder.path());
        command.args(["--", "sh", "-c", &format!("{ENDLESS_PIPE}; echo $$; exec cat <&3")]).stdout(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let child = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        kill_process(Pid::from_child(&running.0), signal).unwrap();
        // As a shell has it for a command that SIGTERM ended.
        assert_eq!(running.0.wait().unwrap().code(), Some(128 + 15), "{signal:?}");
        assert!(test_kill_process(child).is_err(), "{signal:?}: the command still runs");
        assert!(kubeconfigs(folder.path()).is_empty(), "{signal:?}");
    }
}

/// One that asks a second time gets it, whatever the command makes of the first.
#[test]
fn a_command_that_does_not_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = served(folder.path());
    let script = format!("{ENDLESS_PIPE}; trap 'echo asked' TERM; echo ready; while :; do read line <&3; done");
    command.args(["--", "sh", "-c", &script]).stdout(Stdio::piped());
    let mut running = Running(command.spawn().unwrap());
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    kill_process(Pid::from_child(&running.0), Signal::HUP).unwrap();
    assert_eq!(lines.next().as_deref(), Some("asked"));
    kill_process(Pid::from_child(&running.0), Signal::HUP).unwrap();
    assert_eq!(running.0.wait().unwrap().code(), Some(128 + 9));
    assert!(kubeconfigs(folder.path()).is_empty());
}

/// What nohup started outlives its terminal.
#[test]
fn a_hangup_that_is_ignored_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.env("TMPDIR", folder.path()).args(["-c", "trap '' HUP; exec \"$0\" -f \"$1\" serve", env!("CARGO_BIN_EXE_ketcd")]);
    let mut running = Running(command.arg(capture(STORY_CAPTURE)).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(running.0.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Ctrl-C ends it")));
    // Signals of different numbers come in no order: the kernel drops this one as it is sent.
    kill_process(Pid::from_child(&running.0), Signal::HUP).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.0.id())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    assert_eq!(u64::from_str_radix(ignored.trim(), 16).unwrap() & 1, 1);
    assert!(running.0.try_wait().unwrap().is_none());
    kill_process(Pid::from_child(&running.0), Signal::TERM).unwrap();
    running.0.wait().unwrap();
}
