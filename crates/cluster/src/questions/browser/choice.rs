//! Which objects have rows: those of a window that a filter takes, in groups.

use std::collections::HashMap;

use ketcd_store::Revision;

use super::family::Families;
use super::index::{Index, Life};

/// By what rows are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// By namespace; nodes and what else has none apart.
    #[default]
    Namespace,
    /// By the topmost owner; what neither owns nor is owned by namespace and kind.
    Owner,
    /// Pods by their nodes.
    Node,
    /// All in one.
    None,
}

impl Grouping {
    /// Reads its word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Namespace, Self::Owner, Self::Node, Self::None].into_iter().find(|grouping| grouping.as_str() == word)
    }

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Owner => "owner",
            Self::Node => "node",
            Self::None => "none",
        }
    }
}

/// Which rows are asked for, as far as keys and revisions show it.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// What happened after it counts.
    pub after: Revision,
    /// The end of the window.
    pub to: Revision,
    /// By what they are grouped.
    pub grouping: Grouping,
    /// Words that must occur in the kind, the namespace or the name, in small letters; none where what else an object says is searched too.
    pub words: Vec<String>,
    /// The kinds, in small letters; empty for all.
    pub kinds: Vec<String>,
    /// The namespaces; empty for all.
    pub namespaces: Vec<String>,
    /// The node of pods, or the node itself.
    pub node: Option<String>,
    /// A revision that changed them.
    pub revision: Option<i64>,
    /// Whether objects to which nothing happened in the window have rows too.
    pub with_quiet: bool,
    /// Whether objects that were deleted by its end have rows.
    pub with_deleted: bool,
    /// An object that has a row even if nothing happened to it, unless the filter hides it.
    pub looked_at: Option<usize>,
}

/// An object with a row.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Its place in the index.
    pub life: usize,
    /// Its group's place.
    pub group: usize,
    /// How many owners stand above it in its group.
    pub depth: usize,
}

/// A group of rows.
#[derive(Clone, Debug, Default)]
pub struct RowGroup {
    /// What names it in a question.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// How many rows it has.
    pub rows: usize,
    /// How many objects of it have none because nothing happened to them.
    pub quiet: usize,
    /// How many changes there were of those with rows.
    pub changes: usize,
}

/// How many objects there were in the window, and why some have no row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// All.
    pub objects: usize,
    /// Those that the filter takes and to which something happened.
    pub matching: usize,
    /// Those that the filter hides.
    pub filtered: usize,
    /// Those to which nothing happened.
    pub quiet: usize,
    /// How many of those with rows were deleted by the end of the window.
    pub deleted: usize,
}

/// What has rows.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// The groups, the busiest first; nodes before them.
    pub groups: Vec<RowGroup>,
    /// The rows, in the order of the index: [`Chosen::in_order`] puts those in order that are shown.
    pub rows: Vec<Placed>,
    /// What was counted.
    pub counts: Counts,
}

/// Chooses the rows. Without families, objects stand next to their owners and not below.
pub fn choose(index: &Index, families: Option<&Families>, asked: &Asked) -> Chosen {
    let with_leases = asked.kinds.iter().any(|kind| kind == "lease");
    let (mut counts, mut groups) = (Counts::default(), RowGroups::default());
    let mut rows: Vec<Placed> = Vec::new();
    for (life, object) in index.shown(with_leases).filter(|(_, object)| object.is_within(asked.after, asked.to)) {
        counts.objects += 1;
        let node = families.and_then(|families| families.of(life).node.as_deref());
        if !asked.takes(object, node) {
            counts.filtered += 1;
            continue;
        }
        let changes = object.within(asked.after, asked.to).len();
        let group = groups.of(index, families, life, asked.grouping);
        if changes == 0 && !asked.with_quiet && asked.looked_at != Some(life) {
            counts.quiet += 1;
            groups.all[group].quiet += 1;
            continue;
        }
        counts.matching += 1;
        counts.deleted += usize::from(object.deleted.is_some_and(|deleted| deleted <= asked.to.0));
        groups.all[group].rows += 1;
        groups.all[group].changes += changes;
        rows.push(Placed { life, group, depth: 0 });
    }
    let RowGroups { all, .. } = groups;
    let mut order: Vec<usize> = (0..all.len()).filter(|&group| all[group].rows > 0).collect();
    order.sort_by_key(|&group| (all[group].id != NODES, std::cmp::Reverse(all[group].changes), all[group].id.clone()));
    let mut places = vec![0; all.len()];
    order.iter().enumerate().for_each(|(place, &group)| places[group] = place);
    rows.iter_mut().for_each(|row| row.group = places[row.group]);
    let groups = order.into_iter().map(|group| all[group].clone()).collect();
    Chosen { groups, rows, counts }
}

impl Chosen {
    /// The rows of a group, or all group by group, in the order in which they are shown: below their owners, where families are known.
    pub fn in_order(&self, index: &Index, families: Option<&Families>, group: Option<usize>) -> Vec<Placed> {
        let mut rows: Vec<Placed> = self.rows.iter().filter(|row| group.is_none_or(|group| group == row.group)).copied().collect();
        match families {
            Some(families) => below_owners(index, families, rows),
            None => {
                rows.sort_by(|a, b| (a.group, order_of(index, a.life)).cmp(&(b.group, order_of(index, b.life))));
                rows
            }
        }
    }
}

/// The group of nodes.
const NODES: &str = "nodes";

impl Asked {
    /// Whether the filter takes an object, as far as its key and its changes show it.
    fn takes(&self, object: &Life, node: Option<&str>) -> bool {
        let kind = object.kind.to_lowercase();
        let is_of = |list: &[String], word: &str| list.is_empty() || list.iter().any(|other| other == word);
        let text = || format!("{kind}/{}/{}", object.namespace, object.name).to_lowercase();
        is_of(&self.kinds, &kind)
            && is_of(&self.namespaces, &object.namespace)
            && self.revision.is_none_or(|revision| object.changes.binary_search(&revision).is_ok())
            && (self.with_deleted || object.deleted.is_none_or(|deleted| deleted > self.to.0))
            && self.node.as_deref().is_none_or(|wanted| node == Some(wanted) || (&*object.kind == "Node" && *object.name == *wanted))
            && (self.words.is_empty() || self.words.iter().all(|word| text().contains(word.as_str())))
    }
}

#[derive(Default)]
struct RowGroups {
    all: Vec<RowGroup>,
    places: HashMap<String, usize>,
}

impl RowGroups {
    fn of(&mut self, index: &Index, families: Option<&Families>, life: usize, grouping: Grouping) -> usize {
        let (id, title) = named(index, families, life, grouping);
        let next = self.all.len();
        let place = *self.places.entry(id.clone()).or_insert(next);
        if place == next {
            self.all.push(RowGroup { id, title, ..RowGroup::default() });
        }
        place
    }
}

/// What names a group, and what it is called.
fn named(index: &Index, families: Option<&Families>, life: usize, grouping: Grouping) -> (String, String) {
    let object = &index.lives[life];
    let by_namespace = || match (&*object.kind, &*object.namespace) {
        ("Node", _) => (NODES.to_owned(), "Nodes".to_owned()),
        // What a namespace itself went through stands with what is in it.
        ("Namespace", _) => (format!("ns:{}", object.name), object.name.to_string()),
        (_, "") => ("cluster".to_owned(), "Cluster".to_owned()),
        (_, namespace) => (format!("ns:{namespace}"), namespace.to_owned()),
    };
    match (grouping, families) {
        (Grouping::None, _) => ("all".to_owned(), "All".to_owned()),
        (Grouping::Owner, Some(families)) if &*object.kind != "Node" => {
            let top = families.owners(life).last().copied().unwrap_or(life);
            if top == life && !families.owns(life) {
                let title = [&*object.namespace, &*object.kind].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" · ");
                return (format!("kind:{}/{}", object.namespace, object.kind), title);
            }
            let top = &index.lives[top];
            let name = if top.namespace.is_empty() { top.name.to_string() } else { format!("{}/{}", top.namespace, top.name) };
            (format!("owner:{}/{name}@{}", top.kind, top.first()), format!("{} {name}", top.kind))
        }
        (Grouping::Node, Some(families)) => match (&*object.kind, families.of(life).node.as_deref()) {
            ("Node", _) => (format!("node:{}", object.name), object.name.to_string()),
            (_, Some(node)) => (format!("node:{node}"), node.to_owned()),
            ("Pod", None) => ("unbound".to_owned(), "Not on a node".to_owned()),
            _ => ("elsewhere".to_owned(), "Not pods".to_owned()),
        },
        _ => by_namespace(),
    }
}

/// By what rows of one owner are ordered.
fn order_of(index: &Index, life: usize) -> (usize, &str, &str, &str, i64) {
    let object = &index.lives[life];
    (rank(&object.kind), &*object.kind, &*object.namespace, &*object.name, object.first())
}

/// Puts rows in order: group by group, below their owners.
fn below_owners(index: &Index, families: &Families, mut rows: Vec<Placed>) -> Vec<Placed> {
    let place_of: HashMap<(usize, usize), usize> = rows.iter().enumerate().map(|(place, row)| ((row.group, row.life), place)).collect();
    let mut paths: Vec<_> = Vec::with_capacity(rows.len());
    for row in &mut rows {
        // Owners without a row are left out.
        let owners = families.owners(row.life).into_iter().filter(|&owner| place_of.contains_key(&(row.group, owner)));
        let mut path: Vec<_> = owners.map(|owner| order_of(index, owner)).collect();
        path.reverse();
        row.depth = path.len();
        path.push(order_of(index, row.life));
        paths.push((row.group, path));
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| paths[a].cmp(&paths[b]));
    order.into_iter().map(|place| rows[place]).collect()
}

/// Readers of an incident look at these first.
fn rank(kind: &str) -> usize {
    const FIRST_KINDS: [&str; 8] = ["Node", "Namespace", "Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Pod"];
    FIRST_KINDS.iter().position(|first| *first == kind).unwrap_or(FIRST_KINDS.len())
}
