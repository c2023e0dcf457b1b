//! What-ifs against what really happened on a control plane of 1.36: StatefulSets with local volumes, DaemonSets, Jobs, quotas, LimitRanges, devices,
//! rollouts, pods deleted by scaling down, nodes and zones that fail. Where chance decides, the answer says so.

use std::collections::BTreeMap;

use ketcd_testing::testdata;
use ketcd_what_if::{Happening, NodeChoice, Unmodelled, WhatIf, WhatIfAction, WhatIfQuestion, what_if};
use serde_json::Value;

use super::fixture::{at_revision, open, path};

const WHAT_IF_CAPTURE: &str = "k136-whatif";

fn experiments() -> Vec<Value> {
    let text = testdata::read("captures/k136-whatif/experiments.jsonl.zst");
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// The action that an experiment was.
fn action(experiment: &Value) -> WhatIfAction {
    let [flag, value] = experiment["args"].as_array().unwrap().as_slice() else { panic!("{experiment}") };
    let text = || value.as_str().unwrap();
    match flag.as_str().unwrap() {
        "--scale" => WhatIfAction::scale(text()).unwrap(),
        "--add" => WhatIfAction::add_like(text()).unwrap(),
        "--apply" => WhatIfAction::Apply(vec![value.clone()]),
        "--restart" => WhatIfAction::Restart(text().to_owned()),
        "--taint" => WhatIfAction::taint(text()).unwrap(),
        "--label" => WhatIfAction::label(text()).unwrap(),
        "--uncordon" => WhatIfAction::Uncordon(text().to_owned()),
        "--drain" => WhatIfAction::Drain(text().to_owned()),
        "--delete" => WhatIfAction::Delete(text().to_owned()),
        "--fail" => WhatIfAction::Fail(NodeChoice::parse(text())),
        flag => panic!("{flag}"),
    }
}

/// What became of the pods: the new ones by workload, with node or message; names of those that went, that a budget held back, that were bound at last.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    placed: Vec<String>,
    nodes: Vec<String>,
    pending: Vec<String>,
    gone: Vec<String>,
    blocked: Vec<String>,
    bound: Vec<String>,
}

impl Outcome {
    fn sorted(mut self) -> Self {
        for list in [&mut self.placed, &mut self.nodes, &mut self.pending, &mut self.gone, &mut self.blocked, &mut self.bound] {
            list.sort();
        }
        self
    }

    fn real(experiment: &Value) -> Self {
        let rows =
            |field: &str| experiment[field].as_array().unwrap().iter().map(|row| row.as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let placed = rows("placed");
        let owners = placed.iter().map(|row| row.split(' ').next().unwrap().to_owned()).collect();
        Self { placed: owners, nodes: placed, pending: rows("pending"), gone: rows("gone"), blocked: rows("blocked"), bound: rows("bound") }
            .sorted()
    }

    fn foreseen(answer: &WhatIf) -> Self {
        let mut new: BTreeMap<(String, String), (String, Option<String>, String)> = BTreeMap::new();
        let mut outcome = Self::default();
        for event in &answer.events {
            let key = (event.pod.namespace.clone(), event.pod.name.clone());
            let owner = event.pod.owner.clone().unwrap_or_else(|| key.1.clone());
            match event.what {
                Happening::Created => drop(new.insert(key, (owner, None, String::new()))),
                Happening::Scheduled if new.contains_key(&key) => drop(new.insert(key, (owner, event.node.clone(), String::new()))),
                Happening::Scheduled => outcome.bound.push(key.1),
                Happening::Unschedulable => drop(new.insert(key, (owner, None, event.message.clone().unwrap()))),
                Happening::Evicted | Happening::Deleted | Happening::Preempted if new.remove(&key).is_none() => outcome.gone.push(key.1),
                Happening::Blocked => outcome.blocked.push(format!("{}: {}", key.1, event.message.as_deref().unwrap())),
                _ => {}
            }
        }
        for (owner, node, message) in new.into_values() {
            match node {
                Some(node) => {
                    outcome.nodes.push(format!("{owner} {node}"));
                    outcome.placed.push(owner);
                }
                None => outcome.pending.push(format!("{owner}: {message}")),
            }
        }
        outcome.sorted()
    }
}

/// Whether an answer says that chance had a part in it.
fn names_chance(answer: &WhatIf) -> bool {
    let is_tied = answer.events.iter().any(|event| !event.tied_with.is_empty());
    let is_chance = |unknown: &Unmodelled| {
        matches!(unknown, Unmodelled::Order { .. } | Unmodelled::DeletedByChance { .. } | Unmodelled::Rollout { .. })
    };
    is_tied || answer.caveats.iter().any(is_chance)
}

#[tokio::test]
async fn experiments_go_as_they_really_went_or_say_that_chance_decides() {
    let (mut wrong, mut equal, experiments) = (Vec::new(), 0, experiments());
    for experiment in &experiments {
        let cluster = open(&[path(WHAT_IF_CAPTURE)], at_revision(experiment["before"].as_i64().unwrap())).await.unwrap();
        let question = WhatIfQuestion { actions: vec![action(experiment)], ..WhatIfQuestion::default() };
        let answer = what_if(&cluster, &question).await.unwrap();
        let (ours, real) = (Outcome::foreseen(&answer), Outcome::real(experiment));
        if ours == real {
            equal += 1;
        } else if !names_chance(&answer) {
            wrong.push(format!("{} {}\n  {ours:?}\n  {real:?}", experiment["id"], experiment["args"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(equal >= 21, "only {equal} of {} are equal", experiments.len());
}
