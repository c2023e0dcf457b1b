//! Passwords: never shown, and prompted for without echo; and the cautions where a key file is readable by others or a server is not verified.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Output};

use ketcd_testing::nobody::nobody;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::ketcd::{all, ketcd};

#[test]
fn a_password_in_an_endpoint_is_refused_and_not_printed() {
    let endpoints = [
        "https://root:hunter2@127.0.0.1:1",
        "root:hunter2@127.0.0.1:1",
        "http://127.0.0.1:1,https://root:hunter2@127.0.0.1:1",
        "https://root:hun,ter2@127.0.0.1:1",
        "https://root:hun@ter2@127.0.0.1:1",
        "ftp://root:hunter2@127.0.0.1",
    ];
    for endpoint in endpoints {
        for format in ["table", "json"] {
            for command in ["status", "ls"] {
                let output = ketcd().args([command, "-o", format, "--endpoints", endpoint]).output().unwrap();
                refused_without_the_password(&output, endpoint);
            }
        }
        refused_without_the_password(&ketcd().arg("status").env("ETCDCTL_ENDPOINTS", endpoint).output().unwrap(), endpoint);
    }
}

#[track_caller]
fn refused_without_the_password(output: &Output, endpoint: &str) {
    let printed = all(output);
    assert_eq!(output.status.code(), Some(2), "{endpoint}: {printed}");
    assert!(!printed.contains("hun") && !printed.contains("ter2"), "{endpoint}: {printed}");
    assert!(printed.contains("an endpoint has a user name or password in it") && printed.contains("--user NAME"), "{endpoint}: {printed}");
}

#[test]
fn keys_that_everybody_can_read_are_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let (key, config) = (folder.path().join("client.key"), folder.path().join("keys.yaml"));
    fs::write(&key, "").unwrap();
    fs::write(&config, "kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers: [{identity: {}}]\n").unwrap();
    let objects = folder.path().join("objects.json");
    fs::write(&objects, r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}}"#).unwrap();
    let (key, config, objects) = (key.to_str().unwrap(), config.to_str().unwrap(), objects.to_str().unwrap());
    for (mode, times) in [(0o600, 0), (0o640, 0), (0o644, 1), (0o604, 1)] {
        for file in [key, config] {
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        }
        for (arguments, file) in [
            (&["status", "--endpoints", &nobody("https://"), "--cert", key, "--key", key][..], key),
            (&["ls", "-f", objects, "--encryption-config", config], config),
            (&["diff", objects, objects, "--encryption-config", config], config),
        ] {
            let output = ketcd().args(arguments).output().unwrap();
            let printed = all(&output);
            assert_eq!(printed.matches("every user can read the keys in it").count(), times, "{mode:o} {arguments:?}: {printed}");
            let line = format!("{file}: every user can read the keys in it (mode {mode:04o}); chmod 600 {file}\n");
            assert_eq!(printed.matches(&line).count(), times, "{mode:o} {arguments:?}: {printed}");
        }
    }
}

#[test]
fn a_server_that_is_not_verified_is_reported_once() {
    const UNVERIFIED_CAUTION: &str =
        "the server's certificate is not verified (--insecure-skip-tls-verify): another server may answer in etcd's place";
    for (arguments, times) in [
        (&["--insecure-skip-tls-verify", "--endpoints", &nobody("https://")][..], 1),
        (&["--insecure-skip-tls-verify", "--endpoints", &nobody("")], 1),
        (&["--insecure-skip-tls-verify=false", "--endpoints", &nobody("https://")], 0),
        // In plain text there is no certificate.
        (&["--insecure-skip-tls-verify", "--endpoints", &nobody("http://")], 0),
    ] {
        let printed = all(&ketcd().arg("status").args(arguments).output().unwrap());
        assert_eq!(printed.matches(UNVERIFIED_CAUTION).count(), times, "{arguments:?}: {printed}");
    }
    let printed = all(&ketcd()
        .args(["status", "--user", "root:hunter2", "--endpoints", &nobody("https://")])
        .env("ETCDCTL_INSECURE_SKIP_TLS_VERIFY", "true")
        .output()
        .unwrap());
    assert!(printed.contains(&format!("{UNVERIFIED_CAUTION} and receive the password\n")) && !printed.contains("hunter2"), "{printed}");
}

/// A command on a terminal of its own.
struct Terminal {
    controller: File,
    child: Child,
    shown: String,
}

impl Terminal {
    fn run(arguments: &[&str]) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let terminal: OwnedFd = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let stream = || terminal.try_clone().unwrap();
        let mut command = ketcd();
        command.args(arguments).stdin(stream()).stdout(stream()).stderr(stream());
        // SAFETY: both are system calls without memory of their own.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        Self { controller: File::from(controller), child, shown: String::new() }
    }

    /// Waits until the terminal shows `text`.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        let mut piece = [0; 4096];
        while !self.shown.contains(text) {
            let read = self.controller.read(&mut piece).unwrap_or(0);
            assert!(read > 0, "ended before {text:?}: {}", self.shown);
            self.shown.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.controller).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    fn types(&mut self, text: &str) {
        self.controller.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end and returns all that was shown, and the exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let status = self.child.wait().unwrap();
        assert!(self.echoes(), "the terminal stays mute");
        let mut piece = [0; 1 << 16];
        while let Ok(read @ 1..) = self.controller.read(&mut piece) {
            self.shown.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
        (self.shown, status.code())
    }
}

#[test]
fn a_terminal_is_asked_for_the_password_unseen() {
    let mut terminal = Terminal::run(&["status", "--user", "root", "--endpoints", &nobody("http://")]);
    terminal.wait_for("Password: ");
    assert!(!terminal.echoes());
    terminal.types("hunter2\n");
    let (shown, code) = terminal.end();
    assert_eq!(code, Some(2));
    assert!(shown.contains("no etcd answers at http://127.") && !shown.contains("hunter2"), "{shown}");

    // Ctrl-C, Ctrl-\, Ctrl-D, and the bare Enter.
    for keys in ["hunter2\x03", "\x03", "\x1c", "\x04", "\n"] {
        let mut terminal = Terminal::run(&["status", "--user", "root", "--endpoints", &nobody("http://")]);
        terminal.wait_for("Password: ");
        terminal.types(keys);
        let (shown, code) = terminal.end();
        assert_eq!(code, Some(2), "{keys:?}: {shown}");
        assert!(shown.contains("\r\nketcd: error: no password was given; ") && !shown.contains("hunter2"), "{keys:?}: {shown}");
    }
}

#[test]
fn who_gives_a_password_or_is_no_terminal_is_not_asked() {
    let endpoint = nobody("http://");
    for user in [&["--user", "root:hunter2"][..], &["--user", "root", "--password", "hunter2"]] {
        let (shown, code) = Terminal::run(&[&["status", "--endpoints", &endpoint], user].concat()).end();
        assert!(code == Some(2) && shown.contains("no etcd answers") && !shown.contains("Password"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    let output = ketcd().args(["status", "--user", "root", "--endpoints", &endpoint]).output().unwrap();
    assert!(all(&output).contains("error: user \"root\" has no password; give --user NAME:PASSWORD or --password (ETCDCTL_PASSWORD)"));
    // A wrong endpoint is reported before anything is asked.
    let (shown, _) = Terminal::run(&["status", "--user", "root", "--endpoints", "https://root:hunter2@a"]).end();
    assert!(shown.contains("an endpoint has a user name") && !shown.contains("hunter2"), "{shown}");
}
