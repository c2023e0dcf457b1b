//! Composite pod groups (the gate CompositePodGroup, 1.37): which group is whose parent.
//! Sources: `backend/cache/cache.go` BuildHierarchySnapshotFromPod, `framework/preemption/util.go` TraverseHierarchyUp,
//! `framework/types.go` GetChildGroups (1.37).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::Profile;
use crate::cluster::{ClusterState, PodGroup};

/// `WorkloadMaxTreeDepth` (`api/scheduling/v1beta1/types.go`): the maximum depth of a tree, the groups of pods included.
pub(crate) const MAX_DEPTH: usize = 4;

/// A group by its kind and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupId {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Whether it is a composite group.
    pub composite: bool,
    /// Its name.
    pub name: Arc<str>,
}

impl GroupId {
    pub(crate) fn of_pods(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), composite: false, name: name.into() }
    }

    fn of_groups(namespace: &str, name: &str) -> Self {
        Self { composite: true, ..Self::of_pods(namespace, name) }
    }
}

/// Written as upstream's `EntityKey`.
impl fmt::Display for GroupId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}podgroup/{}/{}", if self.composite { "composite" } else { "" }, self.namespace, self.name)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Hierarchy<'s> {
    state: &'s ClusterState,
    composite: bool,
}

impl<'s> Hierarchy<'s> {
    /// The groups as a profile sees them: without the gate no group has a parent.
    pub(crate) fn new(state: &'s ClusterState, profile: &Profile) -> Self {
        Self { state, composite: profile.rules.pod_group_post_filter() && profile.gates.on("CompositePodGroup") }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.composite
    }

    /// Returns the group, if it exists.
    pub(crate) fn get(&self, id: &GroupId) -> Option<&'s Arc<PodGroup>> {
        let listers = self.state.listers();
        let groups = if id.composite { &listers.composite_pod_groups } else { &listers.pod_groups };
        groups.get(&id.namespace, &id.name)
    }

    /// Returns the parent of a group that exists, whether or not the parent exists.
    pub(crate) fn parent(&self, id: &GroupId) -> Option<GroupId> {
        let parent = self.get(id)?.spec.parent_composite_pod_group_name.as_deref().filter(|_| self.composite);
        parent.map(|name| GroupId::of_groups(&id.namespace, name))
    }

    /// Returns a group and those of its ancestors that exist.
    pub(crate) fn upwards(&self, id: GroupId) -> Vec<(GroupId, &'s Arc<PodGroup>)> {
        let mut found: Vec<(GroupId, &Arc<PodGroup>)> = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next.take().filter(|id| found.len() < MAX_DEPTH && found.iter().all(|(seen, _)| seen != id)) {
            let Some(group) = self.get(&id) else { break };
            next = self.parent(&id);
            found.push((id, group));
        }
        found
    }

    /// Returns the child groups of a composite group, in the order they are tried: the older first, then by name.
    pub(crate) fn children(&self, id: &GroupId) -> Vec<GroupId> {
        if !id.composite || !self.composite {
            return Vec::new();
        }
        let listers = self.state.listers();
        let mut found = Vec::new();
        for (composite, lister) in [(true, &listers.composite_pod_groups), (false, &listers.pod_groups)] {
            let own = lister.in_namespace(&id.namespace);
            let own = own.filter(|(_, group)| group.spec.parent_composite_pod_group_name.as_deref() == Some(&id.name));
            found.extend(own.map(|(name, group)| {
                let created = group.metadata.creation_timestamp.as_deref().unwrap_or_default();
                (created, GroupId { namespace: id.namespace.clone(), composite, name: name.clone() })
            }));
        }
        found.sort_by(|(a, x), (b, y)| (a, &x.name).cmp(&(b, &y.name)));
        found.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the groups of pods below a group, itself included, as deep as upstream descends (`plugins/helper/podgroup.go` GetPodGroupStates):
    /// where groups form a cycle, the same ones appear again.
    pub(crate) fn leaves(&self, id: &GroupId) -> Vec<GroupId> {
        let mut level = vec![id.clone()];
        let mut found = Vec::new();
        for _ in 0..MAX_DEPTH {
            let (composite, leaves): (Vec<_>, Vec<_>) = level.into_iter().partition(|id| id.composite);
            found.extend(leaves);
            level = composite.iter().flat_map(|id| self.children(id)).collect();
        }
        found
    }

    /// Returns the root of the tree that a group belongs to.
    ///
    /// # Errors
    /// As upstream: an ancestor does not exist, or the groups form a cycle.
    pub(crate) fn root(&self, id: &GroupId) -> Result<GroupId, String> {
        let missing = |id: &GroupId| {
            let what = if id.composite { "composite pod group" } else { "pod group" };
            format!("{what} object not found in state for {id}")
        };
        let mut top = id.clone();
        for _ in 0..MAX_DEPTH {
            self.get(&top).ok_or_else(|| missing(&top))?;
            let Some(parent) = self.parent(&top) else { break };
            top = parent;
        }
        let mut seen = BTreeSet::new();
        self.walk(&top, &mut seen)?;
        // The root of a deeper tree is not found.
        let own = self.parent(id).unwrap_or_else(|| id.clone());
        if self.get(&top).is_none() || self.parent(&top).is_some() { Err(missing(&own)) } else { Ok(top) }
    }

    fn walk(&self, id: &GroupId, seen: &mut BTreeSet<GroupId>) -> Result<(), String> {
        if !seen.insert(id.clone()) {
            return Err(format!("cycle detected in composite pod group hierarchy: {id}"));
        }
        self.children(id).iter().try_for_each(|child| self.walk(child, seen))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::{ObjectKey, WatchedKind};
    use crate::{Gates, Release};

    /// Groups as `name`, parent and second of creation; composite ones in upper case.
    fn check(groups: &[(&str, &str, u32)], what: impl Fn(Hierarchy) -> String, wanted: &str) {
        let gates =
            Gates::new(Release(37)).parse("GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true").unwrap();
        let profile = Profile::new(Release(37), gates);
        let mut state = ClusterState::new(profile.rules.requests);
        for (at, (name, parent, second)) in groups.iter().enumerate() {
            let kind = if name.chars().all(char::is_uppercase) { WatchedKind::CompositePodGroup } else { WatchedKind::PodGroup };
            let mut spec = json!({"schedulingPolicy": {"basic": {}}});
            if !parent.is_empty() {
                spec["parentCompositePodGroupName"] = json!(parent);
            }
            let created = format!("2026-01-01T00:00:{second:02}Z");
            let object = json!({"metadata": {"name": name, "namespace": "n", "creationTimestamp": created}, "spec": spec});
            let key = ObjectKey { kind, namespace: "n".into(), name: (*name).into() };
            state.apply(&key, Some(object.to_string().as_bytes()), at as i64 + 1);
        }
        assert_eq!(what(Hierarchy::new(&state, &profile)), wanted);
    }

    fn root(name: &str) -> impl Fn(Hierarchy) -> String {
        let id = GroupId::of_pods("n", name);
        move |hierarchy| hierarchy.root(&id).map_or_else(|error| error, |root| root.to_string())
    }

    #[test]
    fn the_root_is_found_or_the_missing_group_is_reported() {
        check(&[("a", "", 0)], root("a"), "podgroup/n/a");
        check(&[("a", "B", 0), ("B", "C", 0), ("C", "", 0)], root("a"), "compositepodgroup/n/C");
        check(&[], root("a"), "pod group object not found in state for podgroup/n/a");
        check(&[("a", "B", 0), ("B", "C", 0)], root("a"), "composite pod group object not found in state for compositepodgroup/n/C");
        let circle = "cycle detected in composite pod group hierarchy: compositepodgroup/n/C";
        check(&[("a", "B", 0), ("B", "C", 0), ("C", "B", 0)], root("a"), circle);
    }

    #[test]
    fn a_tree_may_be_four_levels_high() {
        let four = [("a", "B", 0), ("B", "C", 0), ("C", "D", 0), ("D", "", 0)];
        check(&four, root("a"), "compositepodgroup/n/D");
        let five = [("a", "B", 0), ("B", "C", 0), ("C", "D", 0), ("D", "E", 0), ("E", "F", 0), ("F", "", 0)];
        check(&five, root("a"), "composite pod group object not found in state for compositepodgroup/n/B");
    }

    #[test]
    fn groups_are_tried_by_age_and_name() {
        let groups = [("T", "", 0), ("c", "T", 2), ("b", "T", 2), ("D", "T", 1), ("a", "U", 0), ("e", "D", 0)];
        let top = GroupId::of_groups("n", "T");
        let names = |ids: Vec<GroupId>| ids.iter().map(|id| &*id.name).collect::<Vec<_>>().join(" ");
        check(&groups, |hierarchy| names(hierarchy.children(&top)), "D b c");
        check(&groups, |hierarchy| names(hierarchy.leaves(&top)), "b c e");
        let own = GroupId::of_pods("n", "e");
        check(&groups, |hierarchy| names(hierarchy.upwards(own.clone()).into_iter().map(|(id, _)| id).collect()), "e D T");
    }
}
