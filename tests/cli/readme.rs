//! README's examples, run: every `$ ketcd …` in a console block prints what stands below it. `KETCD_BLESS=1` writes down what it prints now.

use std::path::Path;
use std::process::Command;

#[test]
fn every_example_prints_what_readme_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("README.md");
    let said = std::fs::read_to_string(&path).unwrap();
    let mut printed = String::new();
    let mut examples = 0;
    let mut lines = said.lines().peekable();
    while let Some(line) = lines.next() {
        printed.push_str(line);
        printed.push('\n');
        if line != "```console" {
            continue;
        }
        while lines.peek().is_some_and(|line| *line != "```") {
            let Some(command) = lines.next().unwrap().strip_prefix("$ ketcd ") else { continue };
            printed.push_str(&format!("$ ketcd {command}\n{}", run(root, command)));
            examples += 1;
        }
    }
    assert!(examples >= 5, "README has only {examples} examples");
    if std::env::var_os("KETCD_BLESS").is_some() {
        std::fs::write(&path, &printed).unwrap();
    } else {
        assert!(
            printed == said,
            "README is not what ketcd prints; look at what KETCD_BLESS=1 cargo test --test cli readme changes\n{printed}"
        );
    }
}

fn run(root: &Path, command: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ketcd"))
        .args(command.split_whitespace())
        .current_dir(root.join("testdata/captures/k120-story"))
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
