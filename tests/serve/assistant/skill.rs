//! The skill for assistants that have a shell: its form is agentskills.io's, and its commands run.

use std::fs;
use std::path::Path;
use std::process::Command;

use ketcd_testing::playground;

#[test]
fn the_skill_has_its_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("skills/ketcd");
    let page = fs::read_to_string(folder.join("SKILL.md")).unwrap();
    let mut parts = page.splitn(3, "---\n");
    assert_eq!(parts.next(), Some(""));
    let (front, body) = (parts.next().unwrap(), parts.next().unwrap());
    let field = |name: &str| front.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap();
    // Its name is that of its folder, and no other field than the specification's is there.
    assert_eq!(field("name"), folder.file_name().unwrap().to_str().unwrap());
    let fields = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
    assert_eq!(front.lines().find(|line| !fields.contains(&line.split(':').next().unwrap())), None);
    assert!(field("compatibility").len() <= 500 && !front.lines().any(|line| line.matches(": ").count() > 1), "{front}");
    let about = field("description");
    assert!(about.len() <= 1024 && about.contains("Use it when"), "{about}");
    // Five thousand tokens are some twenty thousand bytes.
    assert!(body.lines().count() < 500 && body.len() < 16 << 10, "{} bytes", body.len());
}

#[test]
fn the_commands_of_the_skill_run() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("skills/ketcd/SKILL.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    playground::lay_out(folder.path()).unwrap();
    let path = format!("{}:{}", Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("ketcd ")).collect();
    assert!(lines.len() >= 12, "{lines:?}");
    for line in lines {
        let line = line.split("  # ").next().unwrap();
        let output =
            Command::new("bash").args(["-o", "pipefail", "-c", line]).current_dir(folder.path()).env("PATH", &path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        // A difference is 1.
        assert!(matches!(output.status.code(), Some(0 | 1)) && !output.stdout.is_empty(), "{line}: {said}");
    }
}
