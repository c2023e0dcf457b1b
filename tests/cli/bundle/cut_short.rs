//! The command is killed, and its disk refuses more, at any size that its files have reached: what has the bundle's name is the earlier bundle or the new
//! one, whole.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use ketcd_testing::written::Written;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::ketcd::all;

/// `ulimit -f` of a POSIX shell counts in these.
const BLOCK_BYTES: u64 = 512;
/// The signal of a process that would write more than it may.
#[cfg(unix)]
const SIGXFSZ: i32 = 25;

/// A history of some pods, one of which is large and does not compress well.
fn source() -> Vec<u8> {
    let mut written = Written::default();
    let mut noise = 1_u64;
    for revision in 0..40 {
        let text: String = (0..60)
            .map(|_| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                format!("{:x}", noise >> 32)
            })
            .collect();
        let name = format!("pod-{}", revision % 7);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "lab", "annotations": {"note": text}},
            "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}});
        written.put(&format!("/registry/pods/lab/{name}"), pod.to_string());
    }
    written.finish()
}

/// Runs a bundle in a shell that first sets a limit.
fn run(folder: &Path, before: &str, choice: &str) -> Output {
    let script = format!("{before}exec \"$0\" -f it bundle -n lab --redact {choice} --salt x --out out.ketcd");
    Command::new("sh").current_dir(folder).args(["-c", &script, env!("CARGO_BIN_EXE_ketcd")]).output().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn sha256(bytes: &[u8]) -> String {
    format!("SHA-256:  {:x}\n", Sha256::digest(bytes))
}

#[cfg(unix)]
#[test]
fn what_has_the_name_is_whole_wherever_the_command_is_cut() {
    use std::os::unix::process::ExitStatusExt;

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("it"), source()).unwrap();
    let made = |choice: &str| {
        let output = run(folder, "", choice);
        assert_eq!(output.status.code(), Some(0), "{}", all(&output));
        fs::read(folder.join("out.ketcd")).unwrap()
    };
    let new = made("names");
    let earlier = made("identities");
    assert!(new != earlier);
    let whole = (new.len() as u64).div_ceil(BLOCK_BYTES);
    assert!(whole > 20, "{whole}");
    let (mut killed, mut refused) = (0, 0);
    for blocks in (0..whole).step_by(3).chain([whole - 1, whole]) {
        let output = run(folder, &format!("trap '' XFSZ; ulimit -f {blocks}; "), "names");
        let is_new = fs::read(folder.join("out.ketcd")).unwrap() == new;
        assert_eq!(is_new, output.status.success(), "{blocks}: {}", all(&output));
        if !is_new {
            refused += 1;
            assert_eq!(output.status.code(), Some(2), "{blocks}: {}", all(&output));
            assert!(all(&output).contains("cannot write out.ketcd: File too large"), "{blocks}: {}", all(&output));
            assert_eq!(fs::read(folder.join("out.ketcd")).unwrap(), earlier, "{blocks}");
        }
        assert_eq!(names(folder), ["it", "out.ketcd", "out.ketcd.redacted.txt"], "{blocks}: nothing is left of it");
        fs::write(folder.join("out.ketcd"), &earlier).unwrap();

        let output = run(folder, &format!("ulimit -c 0; ulimit -f {blocks}; "), "names");
        let left = fs::read(folder.join("out.ketcd")).unwrap();
        assert!(left == earlier || output.status.success() && left == new, "{blocks}: {}", all(&output));
        killed += usize::from(output.status.signal() == Some(SIGXFSZ));
        // What a killed command leaves has a name of its own, and is in nobody's way.
        for name in names(folder).iter().filter(|name| name.starts_with(".ketcd-")) {
            let path = folder.join(name);
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
        assert_eq!(names(folder), ["it", "out.ketcd", "out.ketcd.redacted.txt"], "{blocks}");
        fs::write(folder.join("out.ketcd"), &earlier).unwrap();
    }
    let report = fs::read_to_string(folder.join("out.ketcd.redacted.txt")).unwrap();
    // The report of the run that is killed between its two renames names another bundle than the one that it lies next to.
    assert!(report.contains(&sha256(&new)) && !report.contains(&sha256(&earlier)), "{report}");
    assert!(killed > 5 && refused > 5, "killed {killed} times, refused {refused} times");
    assert_eq!(made("names"), new);
}
