//! What a library compiles with which of its features.

use std::process::Command;

/// The crates that `ketcd-store` is compiled with.
fn crates(features: &str) -> Vec<String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    command.args(["--package", "ketcd-store", "--no-default-features", "--features", features]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn who_reads_database_files_compiles_no_client() {
    let of_live = ["tonic", "hyper", "rustls", "ring", "mio"];
    // What two features lack, each lacks, and so does none.
    for features in ["kine,recording", "recording,objects"] {
        let crates = crates(features);
        assert!(crates.iter().any(|name| name == "ketcd-store"), "{crates:?}");
        let found: Vec<&&str> = of_live.iter().filter(|name| crates.iter().any(|other| other == *name)).collect();
        assert!(found.is_empty(), "{features}: {found:?}");
        assert_eq!(crates.iter().any(|name| name == "csv"), features.contains("kine"));
        assert_eq!(crates.iter().any(|name| name == "libyaml-safer"), features.contains("objects"));
    }
    assert!(crates("live").iter().any(|name| name == "tonic"));
}
