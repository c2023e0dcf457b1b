//! What is deployed can be run: the commands in `deploy/` are commands of ketcd, with flags that it has.

use std::fs;

use serde_json::Value;

use super::root;

fn read(name: &str) -> String {
    fs::read_to_string(root().join("deploy").join(name)).unwrap()
}

/// The recording that a command line makes.
fn directory_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let matches = ketcd::command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{error}"));
    let (name, matches) = matches.subcommand().unwrap();
    assert_eq!(name, "record");
    matches.get_one::<std::path::PathBuf>("directory").unwrap().display().to_string()
}

#[test]
fn the_systemd_unit_runs_the_recorder() {
    let unit = read("ketcd-record.service");
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    assert_eq!(directory_of(line.split(' ')), "/var/lib/ketcd/recording");
    assert!(unit.contains("\nStateDirectory=ketcd\n") && unit.contains("\nRestart=always\n"));
}

#[test]
fn the_static_pod_runs_the_recorder_on_what_it_mounts() {
    let pod: Value = serde_saphyr::from_str(&read("ketcd-record.yaml")).unwrap();
    let container = &pod["spec"]["containers"][0];
    let words: Vec<&str> = container["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let directory = directory_of(words.iter().copied());
    let mounts: Vec<&str> =
        container["volumeMounts"].as_array().unwrap().iter().map(|mount| mount["mountPath"].as_str().unwrap()).collect();
    let paths = words.iter().filter_map(|word| word.split_once('=').map(|flag| flag.1)).filter(|value| value.starts_with('/'));
    for path in paths.chain([directory.as_str()]) {
        assert!(mounts.iter().any(|mount| path.starts_with(mount)), "{path} is not mounted");
    }
    let volumes: Vec<&Value> = pod["spec"]["volumes"].as_array().unwrap().iter().map(|volume| &volume["name"]).collect();
    assert!(container["volumeMounts"].as_array().unwrap().iter().all(|mount| volumes.contains(&&mount["name"])));
}
