//! What-ifs against what really happened: the experiments of a recorded control plane, each asked of the state before it.

use std::collections::BTreeMap;

use ketcd_testing::testdata;
use ketcd_what_if::{FitOf, Happening, NodeChoice, SimulatedEvent, WhatIf, WhatIfAction, WhatIfQuestion, what_if};
use serde_json::{Value, json};

use super::fixture::{at_revision, open, path};

const WHAT_IF_CAPTURE: &str = "k137-whatif";

fn experiments() -> Vec<Value> {
    let text = testdata::read("captures/k137-whatif/experiments.jsonl.zst");
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// The texts of a list.
fn texts<'v>(of: &'v Value, each: impl Fn(&'v Value) -> &'v Value) -> Vec<String> {
    let mut all: Vec<String> = of.as_array().unwrap().iter().map(|one| each(one).as_str().unwrap().to_owned()).collect();
    all.sort();
    all
}

/// What an experiment did, as actions.
fn question(experiment: &Value) -> WhatIfQuestion<'static> {
    let action = &experiment["action"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut actions = Vec::new();
    if let Some(node) = action["drain"].as_str() {
        actions.push(WhatIfAction::Drain(node.to_owned()));
    }
    if let Some(node) = action["cordon"].as_str() {
        actions.push(WhatIfAction::Cordon(node.to_owned()));
    }
    if let Some(taint) = action.get("taint") {
        let taint = format!("{}={}:{}", text(&taint["node"]), text(&taint["key"]), text(&taint["effect"]));
        actions.push(WhatIfAction::taint(&taint).unwrap());
    }
    if let Some(label) = action.get("unlabel") {
        actions.push(WhatIfAction::label(&format!("{}:{}-", text(&label["node"]), text(&label["key"]))).unwrap());
    }
    if let Some(add) = action.get("add") {
        actions.push(WhatIfAction::add_like(&format!("{}*{}", add["count"], text(&add["like"]))).unwrap());
    }
    if let Some(create) = action.get("create") {
        let mut pod = create["pod"].clone();
        (pod["apiVersion"], pod["kind"]) = (json!("v1"), json!("Pod"));
        actions.push(WhatIfAction::Apply(vec![pod]));
    }
    if action.get("restart").is_some() {
        actions.extend(experiment["evicted"].as_array().unwrap().iter().map(|pod| WhatIfAction::Delete(format!("pod/shop/{}", text(pod)))));
    }
    let fit = action.get("fit").map(|fit| FitOf::Address(format!("deploy/shop/{}", text(&fit["deployment"]))));
    WhatIfQuestion { actions, fit, ..WhatIfQuestion::default() }
}

/// How many new pods of each workload were placed, and the messages of those that wait.
type Placed = BTreeMap<String, (usize, Vec<String>)>;

fn foreseen(answer: &WhatIf) -> Placed {
    let mut last: BTreeMap<&str, &SimulatedEvent> = BTreeMap::new();
    let ends = |event: &&SimulatedEvent| event.pod.is_new && matches!(event.what, Happening::Scheduled | Happening::Unschedulable);
    last.extend(answer.events.iter().filter(ends).map(|event| (&*event.pod.name, event)));
    let mut placed = Placed::new();
    for event in last.values() {
        let of = placed.entry(event.pod.owner.clone().unwrap_or_else(|| event.pod.name.clone())).or_default();
        match event.what {
            Happening::Scheduled => of.0 += 1,
            _ => of.1.push(event.message.clone().unwrap()),
        }
    }
    placed
}

fn real(experiment: &Value) -> Placed {
    let mut placed = Placed::new();
    for pod in experiment["pods"].as_array().unwrap() {
        let owner = if pod["owner"] == "urgent" { &pod["name"] } else { &pod["owner"] };
        let of = placed.entry(owner.as_str().unwrap().to_owned()).or_default();
        match pod["node"].as_str() {
            Some(_) => of.0 += 1,
            None => of.1.push(pod["message"].as_str().unwrap().to_owned()),
        }
    }
    placed
}

/// The node of the first pod that is placed, among those that were really chosen, where it was no choice among equals.
fn chosen_elsewhere(answer: &WhatIf, experiment: &Value) -> Option<String> {
    let mut real: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for pod in experiment["pods"].as_array().unwrap() {
        let owner = if pod["owner"] == "urgent" { &pod["name"] } else { &pod["owner"] };
        real.entry(owner.as_str().unwrap()).or_default().extend(pod["node"].as_str());
    }
    for event in answer.events.iter().filter(|event| event.pod.is_new && event.what == Happening::Scheduled) {
        let node = event.node.as_deref().unwrap();
        let may: Vec<&str> = event.tied_with.iter().map(String::as_str).chain([node]).collect();
        let nodes = real.get_mut(event.pod.owner.as_deref().unwrap_or(&event.pod.name))?;
        let Some(at) = nodes.iter().position(|node| may.contains(node)) else {
            return Some(format!("{} to {may:?}, really one of {nodes:?}", event.pod.name));
        };
        nodes.remove(at);
        if may.len() > 1 {
            return None;
        }
    }
    None
}

/// What differs from what really happened.
async fn differences(experiment: &Value) -> Vec<String> {
    let cluster = open(&[path(WHAT_IF_CAPTURE)], at_revision(experiment["before"].as_i64().unwrap())).await.unwrap();
    let answer = what_if(&cluster, &question(experiment)).await.unwrap();
    let names = |what: Happening| {
        let mut names: Vec<String> = answer.events.iter().filter(|event| event.what == what).map(|event| event.pod.name.clone()).collect();
        names.sort();
        names
    };
    let mut wrong = Vec::new();
    let mut compare = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            wrong.push(format!("{what}: {ours}, really {theirs}"));
        }
    };
    if let Some(placed) = experiment["action"]["fit"]["placed"].as_u64() {
        let fit = answer.fit.as_ref().unwrap();
        let message = experiment["pods"].as_array().unwrap().iter().find_map(|pod| pod["message"].as_str());
        compare("fit", format!("{} {:?}", fit.count, fit.message.as_deref()), format!("{placed} {message:?}"));
        return wrong;
    }
    let gone = if experiment["action"].get("restart").is_some() { Happening::Deleted } else { Happening::Evicted };
    compare("gone", format!("{:?}", names(gone)), format!("{:?}", texts(&experiment["evicted"], |pod| pod)));
    compare(
        "blocked",
        format!("{:?}", names(Happening::Blocked)),
        format!("{:?}", texts(&experiment["blocked"], |blocked| &blocked["pod"])),
    );
    let why = |event: &&SimulatedEvent| event.what == Happening::Blocked;
    let mut reasons: Vec<String> = answer.events.iter().filter(why).map(|event| event.message.clone().unwrap()).collect();
    reasons.sort();
    compare("reasons", format!("{reasons:?}"), format!("{:?}", texts(&experiment["blocked"], |blocked| &blocked["why"])));
    compare("pods", format!("{:?}", foreseen(&answer)), format!("{:?}", real(experiment)));
    let bound_at_last = |event: &&SimulatedEvent| event.what == Happening::Scheduled && !event.pod.is_new;
    let mut bound: Vec<String> = answer.events.iter().filter(bound_at_last).map(|event| event.pod.name.clone()).collect();
    bound.sort();
    let really = texts(&experiment["newly_bound"], |pod| pod);
    let really: Vec<&str> = really.iter().filter_map(|pod| pod.split(' ').next()).collect();
    compare("bound at last", format!("{bound:?}"), format!("{really:?}"));
    wrong.extend(chosen_elsewhere(&answer, experiment));
    wrong
}

#[tokio::test]
async fn experiments_go_as_they_really_went() {
    let experiments = experiments();
    assert_eq!(experiments.len(), 24);
    let mut wrong = Vec::new();
    for experiment in experiments {
        let differences = differences(&experiment).await;
        if !differences.is_empty() {
            wrong.push(format!("{} {}\n  {}", experiment["id"], experiment["action"], differences.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_cannot_be_is_refused() {
    let cluster = open(&[path(WHAT_IF_CAPTURE)], at_revision(3140)).await.unwrap();
    for (action, wanted) in [
        (WhatIfAction::Drain("w99".to_owned()), "node w99 does not exist"),
        (WhatIfAction::scale("pod/shop/app-00=2").unwrap(), "does not exist"),
        (WhatIfAction::Delete("pods".to_owned()), "does not name one object"),
        (WhatIfAction::Fail(NodeChoice::parse("zone=nowhere")), "no node has the label zone=nowhere"),
        (WhatIfAction::Restart("node/w01".to_owned()), "a Node cannot be restarted"),
    ] {
        let question = WhatIfQuestion { actions: vec![action], ..WhatIfQuestion::default() };
        let error = what_if(&cluster, &question).await.map(drop).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let question = WhatIfQuestion { each: Some("rack".to_owned()), ..WhatIfQuestion::default() };
    let error = what_if(&cluster, &question).await.map(drop).unwrap_err().to_string();
    assert!(error.contains("no node has the label rack"), "{error}");
}

#[test]
fn an_action_that_is_not_of_its_form_is_refused_with_the_form() {
    for (action, wanted) in [
        (WhatIfAction::scale("deploy/shop/app-00"), "invalid --scale \"deploy/shop/app-00\": expected ADDRESS=N"),
        (WhatIfAction::taint("w01=a"), "invalid --taint \"w01=a\": expected NODE=KEY[=VALUE]:EFFECT"),
        (WhatIfAction::label("w01"), "invalid --label \"w01\": expected NODE:KEY=VALUE or NODE:KEY-"),
    ] {
        let error = action.map(drop).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}
