//! Objects with the objects they own below them, one per line, with their readiness.

use std::io::{self, Write};

use serde::Serialize;

use super::contract::tree::TreeNode;
use super::table::{age, write_aligned};
use jiff::Timestamp;

/// Writes trees as one table.
///
/// # Errors
/// The stream's.
pub fn write_text(trees: &[TreeNode], now: Option<Timestamp>, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = vec![["NAME", "READY", "STATUS", "AGE"].map(str::to_owned).to_vec()];
    for tree in trees {
        push(tree, "", "", asked(tree).and_then(|node| node.namespace.as_deref()), now, &mut rows);
    }
    write_aligned(&rows, out)
}

/// The object of a tree that the command was asked about.
fn asked(node: &TreeNode) -> Option<&TreeNode> {
    if node.asked { Some(node) } else { node.owned.iter().find_map(asked) }
}

/// Adds the rows of a tree; `lead` stands before its own name, `below` before the names under it.
fn push(node: &TreeNode, lead: &str, below: &str, namespace: Option<&str>, now: Option<Timestamp>, rows: &mut Vec<Vec<String>>) {
    let place = node.namespace.as_deref().filter(|own| Some(*own) != namespace).map_or(String::new(), |own| format!("{own}/"));
    let age = match (&node.created, node.found) {
        (Some(created), _) => age(now, created.0),
        (None, true) => "<unknown>".to_owned(),
        (None, false) => String::new(),
    };
    let status = if node.found { node.status.clone() } else { "not found".to_owned() };
    rows.push(vec![format!("{lead}{}/{place}{}", node.kind, node.name), node.ready.clone(), status, age]);
    for (place, child) in node.owned.iter().enumerate() {
        let is_last = place + 1 == node.owned.len();
        let lead = format!("{below}{}", if is_last { "└─" } else { "├─" });
        let below = format!("{below}{}", if is_last { "  " } else { "│ " });
        push(child, &lead, &below, namespace, now, rows);
    }
}

/// Writes a tree as JSON, indented.
///
/// # Errors
/// The stream's.
pub fn write_json(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}
