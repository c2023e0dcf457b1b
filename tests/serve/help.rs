//! The examples of the help that call kubectl run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::server::capture;
use ketcd_testing::examples::{Reads, examples};

#[test]
fn examples_with_kubectl_run() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = zstd::decode_all(fs::File::open(capture("k120-story/snapshot.db.zst")).unwrap()).unwrap();
    fs::write(folder.path().join("snapshot.db"), snapshot).unwrap();
    if let Ok(kubectl) = std::env::var("KETCD_TEST_KUBECTL") {
        symlink(kubectl, folder.path().join("kubectl")).unwrap();
    }
    let ketcd = Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap();
    let path = format!("{}:{}:{}", folder.path().display(), ketcd.display(), std::env::var("PATH").unwrap());
    let examples: Vec<_> = examples(&ketcd::command()).into_iter().filter(|example| example.reads() == Reads::Kubectl).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let output =
            std::process::Command::new("sh").args(["-c", &example.line]).current_dir(folder.path()).env("PATH", &path).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && printed.lines().count() > 2,
            "{} ({}): {printed}{}\nwithout kubectl: tools/test installs it, or name one in KETCD_TEST_KUBECTL",
            example.line,
            example.purpose,
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
