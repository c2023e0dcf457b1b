//! A scheduling decision of the page: the matrix of nodes and plugins, of which only some nodes are listed and all are counted by reason.

use std::collections::{BTreeMap, HashSet};
use std::io;

use serde_json::Value;

use ketcd_history::clock::Dated;
use ketcd_scheduler::{Explanation, FilterMode};

use crate::contract::browser::{PageDecision, PageMoment, PageName, PagePlugins, PageReason, PageRefusal};
use crate::explanation::{self, PodNow};

/// The most nodes of one decision.
const MAX_NODES_SHOWN: usize = 200;
/// The most nodes that are named for a reason.
const MAX_EXAMPLES: usize = 5;

/// What of a decision is shown, and how it was asked for.
pub struct DecisionAsked<'a> {
    /// How it is evaluated.
    pub mode: FilterMode,
    /// When it was made.
    pub time: Option<Dated>,
    /// What else the data says of the pod.
    pub now: PodNow<'a>,
    /// A node that is shown, whatever became of it.
    pub node: Option<&'a str>,
    /// The refusals before it.
    pub earlier: Vec<PageRefusal>,
    /// The cursor.
    pub moment: PageMoment,
    /// The pod.
    pub name: PageName,
    /// The command that prints it.
    pub command: String,
}

/// Returns what the page shows of a decision.
///
/// # Errors
/// None in practice: it is written to memory.
pub fn decision(explanation: &Explanation, asked: DecisionAsked<'_>) -> io::Result<PageDecision> {
    let mut text = Vec::new();
    explanation::json::write_json(explanation, asked.mode, asked.time, None, asked.now, None, &mut text)?;
    let mut document: Value = serde_json::from_slice(&text)?;
    let chosen = document["attempt"]["node"].as_str().map(str::to_owned);
    let mut nodes: Vec<Value> = document["nodes"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let plugins = plugins(&nodes);
    let reasons = reasons(&nodes);
    let nodes_in_all = nodes.len();
    let is = |node: &Value, name: Option<&str>| name.is_some() && node["name"].as_str() == name;
    nodes.sort_by_cached_key(|node| {
        let total = std::cmp::Reverse(node["total"].as_i64());
        (!is(node, chosen.as_deref()), !is(node, asked.node), node["feasible"] != true, total, node["name"].as_str().map(str::to_owned))
    });
    let others = nodes.iter().filter(|node| !is(node, chosen.as_deref()) && node["feasible"] == true);
    let runner_up = others.max_by_key(|node| node["total"].as_i64()).and_then(|node| node["name"].as_str()).map(str::to_owned);
    nodes.truncate(MAX_NODES_SHOWN);
    let nodes_left = nodes_in_all - nodes.len();
    document["nodes"] = nodes.into();
    Ok(PageDecision {
        command: asked.command,
        decision: document,
        earlier: asked.earlier,
        moment: asked.moment,
        name: asked.name,
        nodes_in_all,
        nodes_left,
        plugins,
        reasons,
        runner_up,
    })
}

fn items<'a>(node: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    node[list].as_array().into_iter().flatten()
}

/// The plugins in the order of the profile.
fn plugins(nodes: &[Value]) -> PagePlugins {
    let names = |list: &str| {
        let mut seen = HashSet::new();
        let names = nodes.iter().flat_map(|node| items(node, list)).filter_map(|plugin| plugin["plugin"].as_str());
        names.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
    };
    PagePlugins { filters: names("filters"), scores: names("scores") }
}

/// Why nodes were refused, and how many fit.
fn reasons(nodes: &[Value]) -> Vec<PageReason> {
    let mut counts: BTreeMap<(Option<String>, String), Vec<&str>> = BTreeMap::new();
    for node in nodes {
        let name = node["name"].as_str().unwrap_or_default();
        if node["feasible"] == true {
            counts.entry((None, "fits".to_owned())).or_default().push(name);
            continue;
        }
        let refused = items(node, "filters")
            .find(|filter| filter["reached"] != false && !matches!(filter["status"].as_str(), Some("Success" | "Skip")));
        let plugin = refused.and_then(|filter| filter["plugin"].as_str()).map(str::to_owned);
        let mut told: Vec<&str> = refused.iter().flat_map(|filter| items(filter, "reasons")).filter_map(Value::as_str).collect();
        if told.is_empty() {
            told.push(refused.and_then(|filter| filter["status"].as_str()).unwrap_or("not evaluated"));
        }
        told.into_iter().for_each(|reason| counts.entry((plugin.clone(), reason.to_owned())).or_default().push(name));
    }
    let reason = |((plugin, reason), names): ((Option<String>, String), Vec<&str>)| PageReason {
        examples: names.iter().take(MAX_EXAMPLES).map(|&name| name.to_owned()).collect(),
        nodes: names.len(),
        plugin,
        reason,
    };
    let mut reasons: Vec<PageReason> = counts.into_iter().map(reason).collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.nodes));
    reasons
}
