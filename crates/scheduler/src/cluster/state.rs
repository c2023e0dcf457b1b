//! The objects that exist at one revision, changed key by key; every change can be undone.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashMap;

use super::compiler::Compiler;
use super::namespaced_name::Namespaced;
use super::node::images::Images;
use super::pod::index::{self, PodIndex};
use super::pod::template::Templates;
use super::undo::RecordedChanges;
use super::unreadable::{Encounters, ObjectProblem, Unreadables};
use super::{
    CachedObject, ImageState, IncomingObject, LabelGroup, Labels, Listers, Node, NodeCounts, NodeId, NodeInfo, ObjectKey, PodInfo,
    PodInterner, PodKey, RequestRules, Unreadable, WatchedKind, WeightedTerm,
};

/// A change that was applied, with the values needed to undo it.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    pub(crate) key: ObjectKey,
    /// The value before.
    pub(crate) before: Option<CachedObject>,
    /// The value after.
    pub(crate) after: Option<CachedObject>,
}

/// All objects a scheduler watches, at one revision. A clone shares the objects.
#[derive(Clone, Debug)]
pub struct ClusterState {
    rules: RequestRules,
    interner: PodInterner,
    templates: Templates,
    nodes: Vec<NodeInfo>,
    node_ids: HashMap<Arc<str>, NodeId>,
    node_count: usize,
    pods: HashMap<PodKey, Arc<PodInfo>>,
    nominated: BTreeSet<PodKey>,
    images: Images,
    index: PodIndex,
    lookups: Lookups,
    problems: HashMap<ObjectKey, Vec<ObjectProblem>>,
    /// How many objects of all kinds cannot be read.
    unreadable: usize,
    pub(super) changes: RecordedChanges,
    /// Whether pods are evaluated on one core.
    pub(crate) is_on_one_core: bool,
}

/// All that may hold an object that cannot be read. A clone has encounters of its own.
#[derive(Debug)]
struct Lookups {
    listers: Listers,
    pods: Unreadables,
    nodes: Unreadables,
    encounters: Arc<Encounters>,
}

impl Lookups {
    fn of(mut listers: Listers, mut pods: Unreadables, mut nodes: Unreadables) -> Self {
        let encounters = Arc::default();
        listers.report_to(&encounters);
        pods.report_to(&encounters);
        nodes.report_to(&encounters);
        Self { listers, pods, nodes, encounters }
    }
}

impl Default for Lookups {
    fn default() -> Self {
        Self::of(Listers::default(), Unreadables::default(), Unreadables::default())
    }
}

impl Clone for Lookups {
    fn clone(&self) -> Self {
        Self::of(self.listers.clone(), self.pods.clone(), self.nodes.clone())
    }
}

impl ClusterState {
    /// An empty cluster whose sums follow `rules`.
    pub fn new(rules: RequestRules) -> Self {
        Self {
            rules,
            interner: PodInterner::default(),
            templates: Templates::default(),
            nodes: Vec::new(),
            node_ids: HashMap::default(),
            node_count: 0,
            pods: HashMap::default(),
            nominated: BTreeSet::new(),
            images: Images::default(),
            index: PodIndex::default(),
            lookups: Lookups::default(),
            problems: HashMap::default(),
            unreadable: 0,
            changes: RecordedChanges::default(),
            is_on_one_core: false,
        }
    }

    /// The same objects for one of several threads: each pod is evaluated on that thread alone.
    #[must_use]
    pub fn on_one_core(&self) -> Self {
        Self { is_on_one_core: true, ..self.clone() }
    }

    /// The rules of its sums.
    pub fn rules(&self) -> &RequestRules {
        &self.rules
    }

    /// The nodes that exist and can be read, in order of first appearance.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &NodeInfo> {
        self.lookups.nodes.report_all();
        self.nodes.iter().filter(|node| node.exists)
    }

    /// Nodes that do not exist although pods are bound to them: the scheduler's cache keeps them by name.
    pub(crate) fn absent_nodes(&self) -> impl Iterator<Item = &NodeInfo> {
        self.nodes.iter().filter(|node| !node.exists && !node.pods.is_empty())
    }

    /// How many nodes exist.
    pub fn node_count(&self) -> usize {
        self.node_count
    }

    /// An upper bound of all node numbers given so far.
    pub(crate) fn node_bound(&self) -> usize {
        self.nodes.len()
    }

    /// Returns a node by its number, existing or not.
    pub(crate) fn node_by_id(&self, id: NodeId) -> &NodeInfo {
        &self.nodes[id as usize]
    }

    /// Returns a node by its name, if it exists.
    pub fn node(&self, name: &str) -> Option<&NodeInfo> {
        let found = self.node_ids.get(name).map(|id| &self.nodes[*id as usize]).filter(|node| node.exists);
        if found.is_none() {
            self.lookups.nodes.report("", name);
        }
        found
    }

    /// Returns a pod.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&Arc<PodInfo>> {
        let found = self.pods.get(&(namespace, name) as &dyn Namespaced);
        if found.is_none() {
            self.lookups.pods.report(namespace, name);
        }
        found
    }

    /// All pods, in no order.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.lookups.pods.report_all();
        self.pods.values()
    }

    /// Pods that wait and are nominated to a node (`NominatedNodeName`), by namespace and name.
    pub fn nominated(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.lookups.pods.report_placed();
        self.nominated.iter().filter_map(|key| self.pods.get(key))
    }

    /// The groups of equal labels among the bound pods of a namespace.
    pub(crate) fn groups_in(&self, namespace: &str) -> impl Iterator<Item = &LabelGroup> {
        self.lookups.pods.report_placed();
        self.index.groups_in(namespace)
    }

    /// Namespaces that have bound pods.
    pub(crate) fn populated_namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.lookups.pods.report_placed();
        self.index.namespaces()
    }

    /// The affinity terms of bound pods, each with the nodes.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&WeightedTerm, &NodeCounts)> {
        self.lookups.pods.report_placed();
        self.index.terms()
    }

    pub(crate) fn namespace_labels(&self, namespace: &str) -> Option<&Labels> {
        self.lookups.listers.namespaces.get("", namespace).map(|labels| &**labels)
    }

    /// The listers of all kinds except pods and nodes.
    pub(crate) fn listers(&self) -> &Listers {
        &self.lookups.listers
    }

    /// Whether there is an object that cannot be read.
    pub fn has_unreadable(&self) -> bool {
        self.unreadable > 0
    }

    /// Runs `look` and returns its result with the unreadable objects that lookups in this state encountered meanwhile, each once.
    pub(crate) fn collect<T>(&self, look: impl FnOnce() -> T) -> (T, Vec<Arc<Unreadable>>) {
        if self.has_unreadable() { self.lookups.encounters.collect(look) } else { (look(), Vec::new()) }
    }

    /// Where lookups report the unreadable objects that they encounter.
    pub(crate) fn encounters(&self) -> Arc<Encounters> {
        Arc::clone(&self.lookups.encounters)
    }

    /// Nodes that exist but cannot be read.
    pub(crate) fn unreadable_nodes(&self) -> impl Iterator<Item = &Arc<Unreadable>> {
        self.lookups.nodes.iter()
    }

    /// Pods that exist but cannot be read.
    pub fn unreadable_pods(&self) -> impl Iterator<Item = &Arc<Unreadable>> {
        self.lookups.pods.iter()
    }

    /// What could not be read of the current objects.
    pub fn problems(&self) -> impl Iterator<Item = &ObjectProblem> {
        self.problems.values().flatten()
    }

    /// What its pods share, to compile pods that are not part of it.
    pub fn interner(&mut self) -> &mut PodInterner {
        &mut self.interner
    }

    /// Sets (or, with `None`, deletes) an object. One that cannot be read is kept as unreadable, and is among the problems.
    pub fn apply<'a>(&mut self, key: &ObjectKey, object: Option<impl Into<IncomingObject<'a>>>, mod_revision: i64) -> ObjectChange {
        if object.is_some() {
            self.problems.remove(key);
        }
        let mut compiler = Compiler {
            mod_revision,
            rules: &self.rules,
            interner: &mut self.interner,
            templates: &mut self.templates,
            problems: Vec::new(),
        };
        let after = object.map(|object| {
            object.into().compile(key.kind, &mut compiler).unwrap_or_else(|error| {
                compiler.problems.push(format!("it cannot be read as a {}: {}", key.kind.name(), error.why));
                let node = error.node.map(Arc::from);
                CachedObject::Unreadable(Arc::new(Unreadable { key: key.clone(), why: error.why.into(), node, idle: error.idle }))
            })
        });
        let problems = compiler.problems;
        if !problems.is_empty() {
            let problems = problems.into_iter().map(|what| ObjectProblem { object: key.path(), what });
            self.problems.insert(key.clone(), problems.collect());
        }
        let before = self.set(key, after.clone());
        ObjectChange { key: key.clone(), before, after }
    }

    /// Undoes a change; changes are undone in the reverse of their order.
    pub fn undo(&mut self, change: &ObjectChange) {
        self.set(&change.key, change.before.clone());
    }

    /// Sets a compiled object (or deletes it) and returns the one from before.
    pub(crate) fn set(&mut self, key: &ObjectKey, stored: Option<CachedObject>) -> Option<CachedObject> {
        let before = self.put(key, stored);
        self.changes.record(key, before.as_ref());
        before
    }

    /// The same for an [`UndoLog`](super::UndoLog), which does not record it.
    pub(super) fn put(&mut self, key: &ObjectKey, stored: Option<CachedObject>) -> Option<CachedObject> {
        let mark = stored.as_ref().and_then(CachedObject::unreadable).cloned();
        self.unreadable += usize::from(mark.is_some());
        let (before, marked) = match key.kind {
            WatchedKind::Pod => (self.set_pod(key, stored), self.lookups.pods.set(key.namespaced_name(), mark)),
            WatchedKind::Node => (self.set_node(key, stored), self.lookups.nodes.set(key.namespaced_name(), mark)),
            _ => self.lookups.listers.set(key, stored, mark),
        };
        self.unreadable -= usize::from(marked.is_some());
        before.or_else(|| marked.map(CachedObject::Unreadable))
    }

    /// Returns the number of a node that some object names, whether or not it exists.
    pub(crate) fn id_of(&self, name: &str) -> Option<NodeId> {
        self.node_ids.get(name).copied()
    }

    pub(crate) fn count_images(&mut self, id: NodeId) {
        let slot = &mut self.nodes[id as usize];
        slot.image_states = self.images.states(&slot.node.images);
    }

    /// Sets a node's image counts to those of another moment.
    pub(crate) fn set_image_states(&mut self, id: NodeId, states: Arc<[ImageState]>) {
        self.nodes[id as usize].image_states = states;
    }

    fn set_pod(&mut self, key: &ObjectKey, stored: Option<CachedObject>) -> Option<CachedObject> {
        let after = match stored {
            Some(CachedObject::Pod(pod)) => Some(pod),
            _ => None,
        };
        let own = after.as_ref().filter(|pod| pod.namespace == key.namespace && pod.name == key.name);
        let place: PodKey = own.map_or_else(|| (key.namespace.clone(), key.name.clone()), |pod| pod.key());
        let before = match after.clone() {
            Some(pod) => self.pods.insert(place.clone(), pod),
            None => self.pods.remove(&place),
        };
        let same_entries = before.as_ref().zip(after.as_ref()).is_some_and(|(before, after)| index::same_entries(before, after));
        if let Some(pod) = before.as_ref().filter(|pod| pod.is_on_node()) {
            let id = self.node_id(&pod.node_name.clone().unwrap_or_default());
            self.nodes[id as usize].remove_pod(pod, &self.rules);
            if !same_entries {
                self.index.remove(pod, id);
            }
        }
        self.nominated.remove(&place);
        if let Some(pod) = &after {
            if pod.is_on_node() {
                let id = self.node_id(&pod.node_name.clone().unwrap_or_default());
                self.nodes[id as usize].add_pod(pod.clone(), &self.rules);
                if !same_entries {
                    self.index.add(pod, id);
                }
            } else if pod.node_name.is_none() && pod.nominated_node_name.is_some() && !pod.finished {
                self.nominated.insert(place);
            }
        }
        before.map(CachedObject::Pod)
    }

    fn set_node(&mut self, key: &ObjectKey, stored: Option<CachedObject>) -> Option<CachedObject> {
        let id = self.node_id(&key.name);
        let slot = &mut self.nodes[id as usize];
        let before = slot.exists.then(|| CachedObject::Node(slot.node.clone(), Some(slot.image_states.clone())));
        let same_images = matches!(&stored, Some(CachedObject::Node(node, _)) if slot.exists && node.images == slot.node.images);
        if !same_images {
            self.images.remove(id, &slot.node.images);
        }
        match stored {
            Some(CachedObject::Node(node, frozen)) => {
                if !same_images {
                    self.images.add(id, &node.images);
                }
                slot.image_states = frozen.unwrap_or_else(|| self.images.states(&node.images));
                slot.node = node;
                slot.exists = true;
            }
            _ => {
                slot.node = Arc::new(Node { name: key.name.clone(), ..Node::default() });
                slot.image_states = Arc::default();
                slot.exists = false;
            }
        }
        match (before.is_some(), self.nodes[id as usize].exists) {
            (false, true) => self.node_count += 1,
            (true, false) => self.node_count -= 1,
            _ => {}
        }
        before
    }

    fn node_id(&mut self, name: &Arc<str>) -> NodeId {
        if let Some(id) = self.node_ids.get(name) {
            return *id;
        }
        let id = NodeId::try_from(self.nodes.len()).unwrap_or(NodeId::MAX);
        self.nodes.push(NodeInfo { id, node: Arc::new(Node { name: name.clone(), ..Node::default() }), ..NodeInfo::default() });
        self.node_ids.insert(name.clone(), id);
        id
    }
}
