//! Explains where kube-scheduler 1.34 would place a pod of a YAML file: `cargo run -p ketcd-scheduler --example explain -- cluster.yaml default web`.

use std::error::Error;

use ketcd_scheduler::cluster::ObjectKey;
use ketcd_scheduler::{Release, Replay, Scheduler, Verdict, VersionEvidence, VersionFrom};

#[allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example reads a file and prints")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, namespace, name] = &arguments[..] else { return Err("arguments: FILE NAMESPACE POD".into()) };
    let version = VersionFrom { release: Release(34), patch: None, evidence: VersionEvidence::Given };
    let mut replay = Replay::new(Scheduler::with_defaults(version), true);
    for object in serde_saphyr::from_multiple::<serde_json::Value>(&std::fs::read_to_string(file)?)? {
        let Some(key) = ObjectKey::of(&object) else { continue };
        replay.seed(&key, object.to_string().as_bytes(), 1);
    }
    let pod = replay.state().pod(namespace, name).ok_or("no such pod in the file")?.clone();
    let judgement = replay.explain_waiting(&pod, 1).judgement;
    for (at, node) in judgement.nodes.iter().enumerate() {
        let refused = node.verdicts.iter().zip(&judgement.filters).find_map(|(verdict, filter)| match verdict {
            Verdict::Reject(refusal) => Some(format!("{filter}: {}", refusal.reasons.join(", "))),
            _ => None,
        });
        let total = judgement.scores.as_ref().and_then(|scores| Some(scores.totals[scores.nodes.iter().position(|n| *n == node.name)?]));
        println!("{at}  {}  {}", node.name, refused.unwrap_or_else(|| format!("fits, total {}", total.unwrap_or_default())));
    }
    println!("{}", judgement.message.unwrap_or_default());
    Ok(())
}
