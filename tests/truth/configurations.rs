//! What the released code of every minor from 1.18 on makes of random configurations (`testdata/configurations`), held against ours.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use ketcd_scheduler::{Gates, Profile, Release, SchedulerConfiguration};
use serde_json::{Value, json};

#[test]
fn released_code_takes_and_refuses_the_same() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/configurations/random.ndjson.zst");
    let lines = BufReader::new(zstd::Decoder::new(File::open(path).unwrap()).unwrap()).lines();
    let (mut wrong, mut compared, mut skipped) = (Vec::new(), 0, 0);
    for (number, line) in lines.enumerate() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let release: Release = line["version"].as_str().unwrap().parse().unwrap();
        let read = SchedulerConfiguration::read(&line["config"], release, &Gates::new(release));
        let refused = line.get("refused").map(|reasons| validated(reasons, &mut skipped));
        let (wanted, found) = match (read, &refused) {
            (Ok(_), Some(Value::Array(reasons))) if reasons.is_empty() => (Value::Null, Value::Null),
            (Err(_), Some(Value::Null)) => (Value::Null, Value::Null),
            (Err(mut reasons), Some(wanted)) => {
                reasons.sort_unstable();
                reasons.dedup();
                (wanted.clone(), comparable(reasons, wanted))
            }
            (Err(reasons), None) => (json!("accepted"), json!(reasons)),
            (Ok(_), Some(wanted)) => (wanted.clone(), json!("accepted")),
            (Ok(read), None) => {
                let profiles = read.profiles.iter().map(|profile| (profile.scheduler_name.clone(), lists(profile)));
                (line["profiles"].clone(), profiles.collect())
            }
        };
        compared += 1;
        if wanted != found {
            wrong.push(format!("line {} ({release})\n  want {wanted}\n  got  {found}", number + 1));
        }
    }
    assert!(compared > 690, "only {compared} configurations");
    assert_eq!(skipped, 17, "reasons against fields whose values are not validated");
    assert!(wrong.is_empty(), "{} of {compared} differ\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// The recorded reasons without those against values that ketcd does not validate; a file that had no others must be taken.
fn validated(reasons: &Value, skipped: &mut usize) -> Value {
    let Value::Array(reasons) = reasons else { return reasons.clone() };
    let fields = ["leaderElection.", "healthzBindAddress: ", "metricsBindAddress: "];
    let (not_validated, others): (Vec<_>, Vec<_>) =
        reasons.iter().cloned().partition(|reason| fields.iter().any(|field| reason.as_str().unwrap().starts_with(field)));
    *skipped += not_validated.len();
    Value::Array(others)
}

/// The reasons; one that ends in the versions the release reads, which upstream does not list, without these.
fn comparable(reasons: Vec<String>, wanted: &Value) -> Value {
    match (&reasons[..], wanted.as_array().map(Vec::as_slice)) {
        ([ours], Some([Value::String(theirs)])) if ours.starts_with("no kind ") && ours.starts_with(theirs.as_str()) => wanted.clone(),
        _ => json!(reasons),
    }
}

fn lists(profile: &Profile) -> Value {
    let scores: Vec<String> = profile.scores.iter().map(|entry| format!("{} {}", entry.name, entry.weight)).collect();
    let filters: Vec<&str> = profile.filters.iter().map(|entry| entry.name).collect();
    json!({"preFilter": profile.prefilter_order, "filter": filters, "score": scores, "preempts": profile.preempts})
}
