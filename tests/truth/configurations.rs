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
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (number, line) in lines.enumerate() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let release: Release = line["version"].as_str().unwrap().parse().unwrap();
        let read = SchedulerConfiguration::read(&line["config"], release, &Gates::new(release));
        // A file that has no other fault than values ketcd does not validate must be taken.
        let is_refused = line.get("refused").is_some_and(validated);
        let (wanted, found) = match read {
            Err(_) if is_refused => (Value::Null, Value::Null),
            Err(reasons) => (json!("accepted"), json!(reasons)),
            Ok(_) if is_refused => (line["refused"].clone(), json!("accepted")),
            Ok(_) if line["profiles"].is_null() => (Value::Null, Value::Null),
            Ok(read) => {
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
    assert!(wrong.is_empty(), "{} of {compared} differ\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// Whether a file was refused for more than values that ketcd does not validate.
fn validated(reasons: &Value) -> bool {
    let fields = ["leaderElection.", "healthzBindAddress: ", "metricsBindAddress: "];
    let is_other = |reason: &Value| !fields.iter().any(|field| reason.as_str().unwrap().starts_with(field));
    reasons.as_array().is_none_or(|reasons| reasons.iter().any(is_other))
}

fn lists(profile: &Profile) -> Value {
    let scores: Vec<String> = profile.scores.iter().map(|entry| format!("{} {}", entry.name, entry.weight)).collect();
    let filters: Vec<&str> = profile.filters.iter().map(|entry| entry.name).collect();
    json!({"preFilter": profile.prefilter_order, "filter": filters, "score": scores, "preempts": profile.preempts})
}
