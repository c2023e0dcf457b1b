//! Objects with the objects they own below them, one per line, with their readiness.

use std::io::{self, Write};

use jiff::Timestamp;

use super::contract::common::Time;
use super::contract::tree::{TreeList, TreeNode};
use super::table::{TabbedLines, TableView, age, readiness};
use super::{json, style};
use crate::style::StyledWrite;
use ketcd_cluster::related::Family;
use ketcd_cluster::related::owners::{Owner, StoredObject};
use ketcd_history::state::{Tone, state_of};

/// Writes trees as one table.
///
/// # Errors
/// The stream's.
pub fn write_text(trees: &[TreeNode], now: Option<Timestamp>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let mut lines = TabbedLines::default();
    lines.push(["NAME", "READY", "STATUS", "AGE"]);
    for tree in trees {
        push(tree, "", "", asked(tree).and_then(|node| node.namespace.as_deref()), now, &mut lines);
    }
    lines.write(out)
}

/// The object of a tree that the command was asked about.
fn asked(node: &TreeNode) -> Option<&TreeNode> {
    if node.asked { Some(node) } else { node.owned.iter().find_map(asked) }
}

/// Adds the rows of a tree; `lead` stands before its own name, `below` before the names under it.
fn push(node: &TreeNode, lead: &str, below: &str, namespace: Option<&str>, now: Option<Timestamp>, lines: &mut TabbedLines) {
    let place = node.namespace.as_deref().filter(|own| Some(*own) != namespace).map_or(String::new(), |own| format!("{own}/"));
    let age = match (&node.created, node.found) {
        (Some(created), _) => age(now, created.0),
        (None, true) => "<unknown>".to_owned(),
        (None, false) => String::new(),
    };
    let status = if node.found { node.status.clone() } else { "not found".to_owned() };
    // What has no status says by its count how it is.
    let state = if status.is_empty() { 1 } else { 2 };
    let cells = [format!("{lead}{}/{place}{}", node.kind, node.name), node.ready.clone(), status, age];
    match style::of_tone(node.tone) {
        style::PLAIN => lines.push(cells),
        style => lines.push_styled(cells, state, style),
    }
    for (place, child) in node.owned.iter().enumerate() {
        let is_last = place + 1 == node.owned.len();
        let lead = format!("{below}{}", if is_last { "└─" } else { "├─" });
        let below = format!("{below}{}", if is_last { "  " } else { "│ " });
        push(child, &lead, &below, namespace, now, lines);
    }
}

/// Writes each tree as a line of JSON.
///
/// # Errors
/// The stream's.
pub fn write_lines(trees: &[TreeNode], out: &mut dyn Write) -> io::Result<()> {
    trees.iter().try_for_each(|tree| {
        serde_json::to_writer(&mut *out, tree)?;
        out.write_all(b"\n")
    })
}

/// Writes the trees as one JSON document, indented: a list where `many` objects were asked for, else the one tree.
///
/// # Errors
/// The stream's.
pub fn write_document(trees: Vec<TreeNode>, many: bool, out: &mut dyn Write) -> io::Result<()> {
    match &trees[..] {
        [only] if !many => json::write_pretty(only, out)?,
        _ => json::write_pretty(&TreeList { items: trees, kind: "List" }, out)?,
    }
    out.write_all(b"\n")
}

/// The trees of a family, one for each object asked for.
pub fn trees(family: &Family, view: TableView) -> Vec<TreeNode> {
    family.subjects.iter().map(|(subject, owners)| tree(family, subject, owners, view)).collect()
}

/// An object with what it owns, below its owners.
fn tree(family: &Family, subject: &StoredObject, owners: &[Owner], view: TableView) -> TreeNode {
    let mut node = TreeNode { asked: true, ..with_owned(family, subject, view, &mut Vec::new()) };
    for owner in owners {
        let above = match &owner.found {
            Some(found) => node_of(found, view),
            None => named(owner),
        };
        node = TreeNode { owned: vec![node], ..above };
    }
    node
}

/// An object and all below it. `above` are the uids over it: data may hold a circle.
fn with_owned(family: &Family, object: &StoredObject, view: TableView, above: &mut Vec<String>) -> TreeNode {
    let uid = object.uid().to_owned();
    let mut node = node_of(object, view);
    if !uid.is_empty() && !above.contains(&uid) {
        let owned = family.owned(&uid);
        above.push(uid);
        node.owned = owned.iter().map(|owned| with_owned(family, owned, view, above)).collect();
        above.pop();
    }
    node
}

fn node_of(object: &StoredObject, view: TableView) -> TreeNode {
    let text = |path: &str| object.object.pointer(path).and_then(serde_json::Value::as_str);
    let [ready, status] = readiness(object.kind.as_ref(), &object.object, view);
    TreeNode {
        tone: state_of(&object.object).tone,
        asked: false,
        created: text("/metadata/creationTimestamp").and_then(|time| time.parse::<Timestamp>().ok()).map(Time),
        found: true,
        kind: text("/kind").unwrap_or_default().to_owned(),
        name: text("/metadata/name").unwrap_or_default().to_owned(),
        namespace: object.namespace().map(str::to_owned),
        owned: Vec::new(),
        ready,
        status,
        uid: object.uid().to_owned(),
    }
}

/// An owner of which only the reference is known.
fn named(owner: &Owner) -> TreeNode {
    let text = |field: &str| owner.reference[field].as_str().unwrap_or_default().to_owned();
    TreeNode {
        tone: Tone::Bad,
        asked: false,
        created: None,
        found: false,
        kind: text("kind"),
        name: text("name"),
        namespace: None,
        owned: Vec::new(),
        ready: String::new(),
        status: String::new(),
        uid: text("uid"),
    }
}
