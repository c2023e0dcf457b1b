//! README.md's "Try it" shows the two commands of a new user: one that builds and runs ketcd, one that runs all tests, which is what CI runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::root;

#[test]
fn the_readme_shows_how_to_run_it_and_how_to_test_it() {
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    let section = page.split("\n## ").find_map(|section| section.strip_prefix("Try it\n")).expect("README.md has a section \"Try it\"");
    let block = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("it has commands");
    let commands: Vec<(&str, &str)> = block.lines().map(|line| line.split_once(" # ").expect("each says how long it takes")).collect();
    assert_eq!(commands.iter().map(|(command, _)| command.trim()).collect::<Vec<_>>(), ["tools/demo", "tools/test"]);
    for (command, takes) in commands {
        assert!(takes.contains(" minutes on two cores"), "{command}: {takes}");
        let mode = fs::metadata(root().join(command.trim())).unwrap().permissions().mode();
        assert!(mode & 0o111 != 0, "{command} is not executable");
    }
    // What they download, and where that lies.
    for words in ["crates.io", "Cargo's home", "`target/`", "PyPI", "`~/.cache/ketcd-tests`"] {
        assert!(section.contains(words), "{words}");
    }
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(ci.lines().any(|line| line.split(' ').next() == Some("tools/test")), "{ci}");
}
