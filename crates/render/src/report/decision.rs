//! A scheduling decision as the report shows it: the node × plugin matrix, without what only scripts want.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};

use crate::explanation::{self, PodNow};
use ketcd_history::clock::Dated;
use ketcd_scheduler::{Explanation, FilterMode};

/// More nodes than this are counted by reason instead of listed.
const MAX_NODES_LISTED: usize = 60;

/// Returns `explain`'s JSON of a decision, without the checks that passed and with only the nodes that matter listed.
///
/// # Errors
/// None in practice: it is written to memory.
pub(super) fn document(explanation: &Explanation, mode: FilterMode, time: Option<Dated>) -> io::Result<Value> {
    let mut text = Vec::new();
    explanation::json::write_json(explanation, mode, time, None, PodNow::default(), None, &mut text)?;
    let mut document: Value = serde_json::from_slice(&text)?;
    let chosen = document["attempt"]["node"].clone();
    let mut nodes: Vec<Value> = document["nodes"].as_array_mut().map(std::mem::take).unwrap_or_default();
    for filters in nodes.iter_mut().filter_map(|node| node["filters"].as_array_mut()) {
        filters.retain(|filter| filter["reached"] != false && filter["status"] != "Success" && filter["status"] != "Skip");
    }
    let total = |node: &Value| node["total"].as_i64();
    nodes.sort_by(|a, b| {
        let place = |node: &Value| (node["name"] != chosen, node["feasible"] != true, std::cmp::Reverse(total(node)));
        place(a).cmp(&place(b))
    });
    if nodes.len() > MAX_NODES_LISTED {
        document["left"] = json!(summary(&nodes.split_off(MAX_NODES_LISTED)));
    }
    document["nodes"] = nodes.into();
    Ok(document)
}

/// `4,812 more nodes: 4,000 Insufficient cpu · 812 feasible`.
fn summary(nodes: &[Value]) -> String {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for node in nodes {
        let refused = node["filters"].get(0).map(|filter| match filter["reasons"].get(0).and_then(Value::as_str) {
            Some(reason) => reason.to_owned(),
            None => filter["plugin"].as_str().unwrap_or_default().to_owned(),
        });
        *reasons.entry(refused.unwrap_or_else(|| "feasible".to_owned())).or_default() += 1;
    }
    let mut counted: Vec<(String, usize)> = reasons.into_iter().collect();
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let parts: Vec<String> = counted.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    format!("{} more nodes: {}", nodes.len(), parts.join(" · "))
}
