//! Every parser on mutants of good inputs: the seeds, the mutator and the checks of the fuzz targets in `fuzz/`, a bounded number of times.
//! `KETCD_MUTANTS=20` takes 20 times as many, others than without it.

mod decoding;
#[allow(unreachable_pub, reason = "a crate of its own to the fuzzer")]
#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use targets::mutate::Random;
use targets::{ALL_TARGETS, Target};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The inputs a target begins with, by their names.
fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let folder = fuzz().join("seeds").join(target.name);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// How many times as many mutants are asked for.
fn times() -> u64 {
    std::env::var("KETCD_MUTANTS").map_or(1, |times| times.parse().expect("KETCD_MUTANTS is a number"))
}

/// Runs a target's check on its seeds, and on `cases` mutants of them: always the same ones.
fn run(name: &str, cases: usize) {
    let target = Target::named(name);
    let seeds = seeds(target);
    assert!(!seeds.is_empty(), "{name} has no seeds");
    seeds.iter().for_each(|seed| check(target, seed));
    let times = times();
    let mut random = Random::new(times);
    let mut corpus = seeds.clone();
    for _ in 0..cases as u64 * times {
        let mut mutant = corpus[random.below(corpus.len())].clone();
        target.mutate(&mut mutant, &mut random, target.most);
        check(target, &mutant);
        // Some mutants are mutated on, as the fuzzer does.
        if random.below(8) == 0 {
            if corpus.len() < seeds.len() + 64 {
                corpus.push(mutant);
            } else {
                let at = seeds.len() + random.below(64);
                corpus[at] = mutant;
            }
        }
    }
}

/// Runs the check; an input that fails it is kept for the fuzzer.
fn check(target: &Target, data: &[u8]) {
    if panic::catch_unwind(AssertUnwindSafe(|| (target.check)(data))).is_err() {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutant-{}", target.name));
        fs::write(&path, data).unwrap();
        panic!("{} fails as printed above on the input in {}", target.name, path.display());
    }
}

macro_rules! parsers {
    ($($name:ident $cases:literal)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name), $cases);
        })*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

parsers! {
    bolt 2_500
    wal 500
    raft_snapshot 1_000
    recording 2_000
    recording_blocks 2_000
    recording_manifest 1_000
    packed 1_000
    etcd_answers 300
    kine 1_000
    kine_export 2_000
    dqlite 500
    gardener_delta 1_000
    zip 1_000
    tar 1_000
    audit_log 2_000
    yaml 2_000
    error_text 2_000
    protobuf 3_000
    json 3_000
    cbor 3_000
    searched 1_000
    stored_form 3_000
    cel 3_000
    json_path 3_000
    selectors 10_000
    request 10_000
    assistant_call 10_000
    encryption_configuration 2_000
    scheduler_configuration 600
}

#[test]
fn every_parser_has_a_fuzz_target_with_seeds_and_a_test() {
    let names = |paths: fs::ReadDir| {
        paths.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let targets: BTreeSet<String> = ALL_TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(targets, TESTED.iter().map(|&name| name.to_owned()).collect());
    assert_eq!(targets, names(fs::read_dir(fuzz().join("seeds")).unwrap()).into_iter().filter(|name| name != "README").collect());
    let files = names(fs::read_dir(fuzz().join("fuzz_targets")).unwrap());
    assert_eq!(targets, files.into_iter().filter(|name| name != "harness").collect());
    for name in targets {
        let text = fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(text.contains(&format!("target!(\"{name}\");")), "{text}");
    }
}

#[test]
fn mutants_are_the_same_each_time_and_differ() {
    let target = Target::named("json");
    let seed = &seeds(target)[0];
    let mutants = || {
        let mut random = Random::new(1);
        (0..100)
            .map(|_| {
                let mut mutant = seed.clone();
                target.mutate(&mut mutant, &mut random, target.most);
                mutant
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(mutants(), mutants());
    assert!(mutants().into_iter().collect::<BTreeSet<_>>().len() > 90);
}
