//! Golden files: commands on recorded clusters print what `testdata/golden/COMMAND/NAME.txt` holds.
//!
//! Each row of the table is one golden file; `KETCD_BLESS=1 cargo test --test cli golden` writes it. Review the difference before you commit it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ketcd::ketcd;

/// Command and name of the golden, the capture, the arguments.
const GOLDEN_CASES: &[(&str, &str, &[&str])] = &[
    ("history/ubuntu-diff", "k120-story", &["history", "pod/lab/ubuntu", "--diff"]),
    ("history/node2", "k120-story", &["history", "node/node2"]),
    ("history/tomcat", "k120-story", &["history", "deploy/web/tomcat"]),
    ("history/tomcat-diff", "k120-story", &["history", "deploy/web/tomcat", "--diff"]),
    ("timeline/ubuntu-tainted", "k120-story", &["timeline", "pod/lab/ubuntu-tainted"]),
    ("timeline/urgent", "k120-story", &["timeline", "pod/lab/urgent"]),
    ("timeline/tomcat", "k120-story", &["timeline", "deploy/web/tomcat"]),
    ("timeline/node2", "k136-story", &["timeline", "node/node2"]),
    ("timeline/gated", "k136-story", &["timeline", "pod/lab/gated"]),
    ("timeline/elastic", "k136-story", &["timeline", "pod/lab/elastic"]),
    ("timeline/logged", "k136-story", &["timeline", "pod/web/logged"]),
    ("timeline/agent", "k136-story", &["timeline", "ds/lab/agent"]),
    ("timeline/burst", "k136-story", &["timeline", "job/web/burst"]),
    ("timeline/service", "k136-story", &["timeline", "svc/web/tomcat"]),
    ("timeline/claim", "k136-story", &["timeline", "pvc/web/data"]),
    ("timeline/around", "k136-story", &["timeline", "--around", "00:22:11", "--window", "2s"]),
    ("timeline/scratch", "k136-story", &["timeline", "-n", "scratch"]),
    ("timeline/rollout", "k136-story", &["timeline", "deploy/web/tomcat"]),
    ("timeline/pods", "k120-story", &["timeline", "pods", "-n", "web"]),
    ("blame/ubuntu", "k120-story", &["blame", "pod/lab/ubuntu"]),
    ("describe/tomcat", "k120-story", &["describe", "deploy/web/tomcat"]),
    ("describe/crasher", "k136-story", &["describe", "pod/web/crasher"]),
    ("describe/node2", "k136-story", &["describe", "node/node2", "--rev", "2300"]),
    ("describe/dead-node", "k120-story", &["describe", "node/node2"]),
    ("describe/claim", "k136-story", &["describe", "pvc/web/data"]),
    ("events/warnings", "k120-story", &["events", "-A", "--types", "Warning"]),
    ("events/web", "k120-story", &["events", "-n", "web"]),
    ("get/web", "k136-story", &["get", "pods", "-n", "web"]),
    ("tree/web", "k136-story", &["tree", "deploy,sts,cj,job", "-n", "web"]),
    ("triage/node2", "k120-story", &["triage", "--at", "2026-11-20T22:22:55Z"]),
    ("triage/story", "k136-story", &["triage", "-o", "wide"]),
    ("diff/nodes", "k120-story", &["diff", "--rev", "400..440"]),
    // A choice among nodes that fit, by weighted scores.
    ("explain/weighted", "k120-story", &["explain", "pod/lab/weighted"]),
    // Refused on every node by taints, later bound: two attempts.
    ("explain/ubuntu-tainted", "k120-story", &["explain", "pod/lab/ubuntu-tainted"]),
    // Preemption: victims, nomination, the binding after it.
    ("explain/urgent", "k120-story", &["explain", "pod/lab/urgent"]),
    ("explain/spread-5", "k120-story", &["explain", "pod/lab/spread-5"]),
    // Held back by scheduling gates.
    ("explain/gated", "k136-story", &["explain", "pod/lab/gated"]),
    // Devices: who got which, and who found none left.
    ("explain/train-1", "k136-story", &["explain", "pod/lab/train-1"]),
    ("explain/train-3", "k136-story", &["explain", "pod/lab/train-3"]),
    // One node in depth.
    ("explain/urgent-node1", "k120-story", &["explain", "pod/lab/urgent", "--node", "node1"]),
    // The table of a namespace's last decisions.
    ("explain/web", "k136-story", &["explain", "pods", "-n", "web"]),
    // A configuration with two profiles.
    ("explain/api-0056", "custom-config", &["explain", "pod/api-0056", "-n", "data", "--scheduler-config", "scheduler-config.yaml"]),
];

#[test]
fn commands_print_their_goldens() {
    let mut different: Vec<&str> = Vec::new();
    for (name, capture, arguments) in GOLDEN_CASES {
        let output = on(capture, arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.is_empty(), "{name}: {errors}");
        different.extend((!is_golden(name, &output.stdout)).then_some(name));
    }
    assert!(different.is_empty(), "{different:?} differ; KETCD_BLESS=1 writes them anew");
}

/// The whole way to a person: lines of 80 columns, and styles. What breaks lines is held by tests of `ketcd_render::fit`, and that nothing is wider
/// than its terminal by `terminal`.
#[test]
fn a_terminal_of_80_columns_shows_its_golden() {
    let (text, status) = crate::pty::run(80, &mut on("k136-story", &["triage"]));
    assert!(status.success(), "{text}");
    let is_same = is_golden("terminal/triage", text.replace('\r', "").as_bytes());
    assert!(is_same, "it differs; KETCD_BLESS=1 writes it anew:\n{text}");
}

/// A command in the folder of a recorded cluster, on its snapshot.
fn on(capture: &str, arguments: &[&str]) -> Command {
    let mut command = ketcd();
    command.args(["-f", "snapshot.db.zst"]).args(arguments).current_dir(testdata().join("captures").join(capture));
    command
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// Whether this is what the golden file holds, which is written when blessed.
fn is_golden(name: &str, printed: &[u8]) -> bool {
    let file = testdata().join("golden").join(format!("{name}.txt"));
    if std::env::var_os("KETCD_BLESS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, printed).unwrap();
    }
    std::fs::read(&file).ok().as_deref() == Some(printed)
}
