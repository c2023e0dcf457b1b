//! What the released code of many minors answers for random clusters (`testdata/releases`), compared with ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use ketcd_scheduler::cluster::ClusterState;
use ketcd_scheduler::{
    Cycle, Gates, Judgement, NodeDevices, NodeJudgement, PreemptionCandidate, Profile, Release, SchedulerConfiguration, Verdict, WholePod,
    candidates, chosen_devices, scheduler_patch, scheduler_release,
};
use serde_json::{Value, json};

use crate::object_key::object_key;

#[test]
fn released_code_says_the_same() {
    let files = files();
    assert!(files.len() >= 77, "only {} files", files.len());
    let (mut wrong, mut compared, mut by_drivers) = (Vec::new(), 0, 0);
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let lines: Vec<Value> = BufReader::new(zstd::Decoder::new(fs::File::open(&path).unwrap()).unwrap())
            .lines()
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect();
        let version = lines[0]["version"].as_str().unwrap();
        let release = scheduler_release(version).unwrap();
        let gates = Gates::new(release).at_patch(scheduler_patch(version));
        let gates = gates.parse(lines[0]["gates"].as_str().unwrap_or_default()).unwrap();
        let profile = profile(&lines[0]["config"], release, &gates);
        let state = state(&lines[1]["objects"], &profile);
        for truth in &lines[2..] {
            let (namespace, pod) = truth["pod"].as_str().unwrap().split_once('/').unwrap();
            let pod = state.pod(namespace, pod).unwrap().clone();
            let cycle = Cycle { pod: &pod, state: &state, profile: &profile, scope: None };
            let judgement = cycle.evaluate();
            if judgement.nodes.iter().any(|node| node.unknown().is_some_and(|missing| missing.contains("classic DRA"))) {
                by_drivers += 1;
                continue;
            }
            let busy: BTreeSet<&str> =
                state.nominated().filter(|other| other.name != pod.name).filter_map(|other| other.nominated_node_name.as_deref()).collect();
            let mut found = compare(truth, &judgement, &busy, &mut compared);
            found.extend(compare_devices(&truth["devices"], &chosen_devices(&cycle, &judgement), &mut compared));
            if !truth["preempt"].is_null() {
                let places = if judgement.preemption_helps { candidates(&cycle, &judgement) } else { Vec::new() };
                found.extend(compare_preemption(&truth["preempt"], &places, &mut compared));
            }
            wrong.extend(found.into_iter().map(|problem| format!("{name} {}: {problem}", truth["pod"])));
        }
    }
    assert_eq!(by_drivers, 13, "pods with a claim that its driver allocates");
    assert!(compared > 60_000, "only {compared} values were compared");
    assert!(wrong.is_empty(), "{} of {compared} differ\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/releases");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "zst"));
    paths.sort();
    paths
}

fn profile(config: &Value, release: Release, gates: &Gates) -> Profile {
    if config.is_null() {
        return Profile::new(release, gates.clone());
    }
    let mut read = SchedulerConfiguration::read(config, release, gates).unwrap_or_else(|reasons| panic!("{reasons:?}"));
    read.profiles.remove(0)
}

fn state(objects: &Value, profile: &Profile) -> ClusterState {
    let mut state = ClusterState::new(profile.rules.requests);
    let objects = objects.as_array().unwrap();
    // Where images are counted when a node is next looked at, every node knows all the others: each is written once more.
    let again = objects.iter().filter(|object| profile.rules.image_counts_at_snapshot && object["kind"] == "Node");
    // What drivers allocate with up to 1.31 is not read.
    let unread = ["PodSchedulingContext", "ResourceClass", "ResourceClaimParameters", "ResourceClassParameters"];
    for object in objects.iter().chain(again).filter(|object| !unread.contains(&object["kind"].as_str().unwrap())) {
        let key = object_key(object);
        let revision = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        state.apply(&key, Some(&serde_json::to_vec(object).unwrap()), revision);
    }
    state
}

type Row = (String, &'static str, BTreeSet<String>);

/// What differs of one pod. `busy`: nodes that pods are nominated to, where the plain list of filters is not what decided.
fn compare(truth: &Value, judgement: &Judgement, busy: &BTreeSet<&str>, compared: &mut usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |what: String, got: Value, wanted: &Value| {
        *compared += 1;
        if got != *wanted {
            wrong.push(format!("{what}: want {wanted}, got {got}"));
        }
    };
    if let Some(WholePod::Gated { plugin, reason }) = &judgement.whole_pod {
        let gated = json!([plugin, "UnschedulableAndUnresolvable", reason]);
        check("PreEnqueue".to_owned(), gated, &truth["preenqueue"]);
        return wrong;
    }
    check("PreEnqueue".to_owned(), Value::Null, &truth["preenqueue"]);
    let message = truth.get("message").unwrap_or(&Value::Null);
    let same = judgement.message.iter().chain(&judgement.equal_messages).find(|ours| *message == ours.as_str());
    check("message".to_owned(), json!(same.or(judgement.message.as_ref())), message);
    // Where the attempt ended with an error nothing else is known.
    if !truth["prefilter"].is_null() || truth["early"] == true {
        return wrong;
    }
    let fit: BTreeSet<&str> = judgement.nodes.iter().filter(|node| node.fits()).map(|node| &*node.name).collect();
    check("feasible".to_owned(), json!(fit), &truth["feasible"]);
    for node in &judgement.nodes {
        let Some(rows) = truth["filters"].get(&*node.name) else { continue };
        let rows: BTreeMap<String, Value> = rows.as_array().unwrap().iter().map(|row| (text(&row[0]), spell_truth(row))).collect();
        let own = ours(judgement, node);
        // Predicates refuse, and say no more than that; those that failed are left out.
        let classic =
            |status: &'static str, row: &Value| if row[0] == "Failed" && status.starts_with("Unschedulable") { "Failed" } else { status };
        for (plugin, status, reasons) in own.iter().filter(|row| !busy.contains(&*node.name) && row.1 != "Error") {
            let wanted = rows.get(plugin).cloned().unwrap_or_else(|| json!(["Skip", []]));
            let status = classic(status, &wanted);
            check(format!("{plugin} on {}", node.name), json!([status, reasons]), &wanted);
        }
        if truth["first"].is_null() {
            continue;
        }
        let wanted = truth["first"].get(&*node.name).map_or(Value::Null, |row| json!([row[0], spell_truth(row)]));
        let first = own.iter().find(|(_, status, _)| status.starts_with("Unschedulable"));
        let first = first.map_or(Value::Null, |(plugin, status, reasons)| json!([plugin, [classic(status, &wanted[1]), reasons]]));
        check(format!("the first refusal on {}", node.name), first, &wanted);
    }
    let scored: BTreeMap<String, Value> = truth["weighted"].as_object().unwrap().clone().into_iter().collect();
    if let Some(scores) = &judgement.scores {
        let by_node = |values: &[i64]| json!(scores.nodes.iter().map(|name| &**name).zip(values).collect::<BTreeMap<_, _>>());
        let plugins: BTreeSet<&str> = scores.plugins.iter().map(|plugin| plugin.plugin).collect();
        check("plugins that score".to_owned(), json!(plugins), &json!(scored.keys().collect::<Vec<_>>()));
        for plugin in &scores.plugins {
            // Priorities that were one function up to 1.16 have no score of their own before the weight.
            if let Some(raw) = truth["raw"].get(plugin.plugin) {
                check(format!("raw {}", plugin.plugin), by_node(&plugin.raw), raw);
            }
            let weighted: Vec<i64> = plugin.normalized.iter().map(|points| points * plugin.weight).collect();
            check(format!("weighted {}", plugin.plugin), by_node(&weighted), &truth["weighted"][plugin.plugin]);
        }
        check("total".to_owned(), by_node(&scores.totals), &truth["total"]);
    }
    wrong
}

/// The nodes preemption would take, the victims on each and the nodes that may be picked. Where a node is `loose` the victims' order (and with it
/// which of equals it hits) is that of an unstable sort: only their number counts.
fn compare_preemption(truth: &Value, places: &[PreemptionCandidate], compared: &mut usize) -> Vec<String> {
    let own: BTreeMap<&str, Value> = places
        .iter()
        .map(|place| {
            let pods: Vec<String> = place.victims.iter().map(|victim| format!("{}/{}", victim.pod.namespace, victim.pod.name)).collect();
            let violations = place.victims.iter().filter(|victim| victim.violates_budget).count();
            (&*place.node, json!({"pods": pods, "violations": violations}))
        })
        .collect();
    let picked: BTreeSet<&str> = places.iter().filter(|place| place.picked).map(|place| &*place.node).collect();
    let wanted = truth["candidates"].as_object().unwrap();
    let loose = |node: &str| wanted.get(node).is_some_and(|place| place["loose"] == true);
    *compared += 2 + wanted.len();
    let mut wrong = Vec::new();
    if !own.keys().copied().eq(wanted.keys().map(String::as_str)) {
        wrong.push(format!("preemption: want {}, got {own:?}", truth["candidates"]));
    } else if let Some((node, place)) = own.iter().find(|(node, place)| !loose(node) && **place != wanted[**node]) {
        wrong.push(format!("victims on {node}: want {}, got {place}", wanted[*node]));
    }
    if !wanted.keys().any(|node| loose(node)) && json!(picked) != truth["picked"] {
        wrong.push(format!("picked: want {}, got {picked:?}", truth["picked"]));
    }
    wrong
}

/// The devices the pod's claims get on each node, where upstream's order is not random.
fn compare_devices(truth: &Value, chosen: &[NodeDevices], compared: &mut usize) -> Vec<String> {
    let wanted = truth.as_object().into_iter().flatten();
    let differing = wanted.filter_map(|(node, wanted)| {
        let own = chosen.iter().find(|devices| *devices.node == **node).filter(|devices| devices.certain)?;
        let each = own.claims.iter().flat_map(|claim| &claim.allocation.devices);
        let own = json!(each.map(|(request, driver, pool, device)| [request, driver, pool, device]).collect::<Vec<_>>());
        *compared += 1;
        (own != *wanted).then(|| format!("devices on {node}: want {wanted}, got {own}"))
    });
    differing.collect()
}

fn ours(judgement: &Judgement, node: &NodeJudgement) -> Vec<Row> {
    let row = |(name, verdict): (&&'static str, &Verdict)| match verdict {
        Verdict::Skip => ((*name).to_owned(), "Skip", BTreeSet::new()),
        Verdict::Pass => ((*name).to_owned(), "Success", BTreeSet::new()),
        Verdict::Unknown { .. } => ((*name).to_owned(), "Unknown", BTreeSet::new()),
        Verdict::Error(error) => ((*name).to_owned(), "Error", BTreeSet::from([error.clone()])),
        Verdict::Reject(refusal) => {
            let status = if refusal.preemption_may_help { "Unschedulable" } else { "UnschedulableAndUnresolvable" };
            ((*name).to_owned(), status, split(&refusal.reasons.join(", ")))
        }
    };
    judgement.filters.iter().zip(&node.verdicts).map(row).collect()
}

fn spell_truth(row: &Value) -> Value {
    json!([row[1], split(&text(&row[2]))])
}

/// Reasons in no order: those about extended resources come in that of Go's maps.
fn split(reasons: &str) -> BTreeSet<String> {
    reasons.split(", ").filter(|reason| !reason.is_empty()).map(str::to_owned).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
