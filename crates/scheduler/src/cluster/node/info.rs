//! A node, its pods and what they request of it.

use std::ops::Deref;
use std::sync::Arc;

use super::fields::{NodeSpecFields, NodeStatusFields, TaintFields};
use crate::cluster::pod::fields::MetadataFields;
use crate::cluster::resource::list::resource_list;
use crate::cluster::{HostPort, ImageState, Interner, Labels, NodeFields, NodeId, PodInfo, RequestRules, Resources, Text};

/// A taint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// Its key.
    pub key: Arc<str>,
    /// Its value, often empty.
    pub value: Arc<str>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Arc<str>,
}

impl Taint {
    fn compile(taint: &TaintFields, interner: &mut Interner) -> Self {
        let mut text = |text: &Option<Text>| interner.string(text.as_deref().unwrap_or_default());
        Self { key: text(&taint.key), value: text(&taint.value), effect: text(&taint.effect) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeCondition {
    pub(crate) kind: Arc<str>,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: Arc<str>,
}

/// The Node object, compiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: Arc<str>,
    /// Its labels.
    pub labels: Labels,
    /// Its annotations.
    pub annotations: Labels,
    /// `spec.taints`, in order.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.allocatable`.
    pub(crate) allocatable: Resources,
    /// `status.allocatable.pods`; 0 where absent.
    pub allowed_pods: i64,
    /// `status.conditions`, in order.
    pub(crate) conditions: Vec<NodeCondition>,
    /// `status.images`: every name with its size in bytes.
    pub(crate) images: Vec<(Arc<str>, i64)>,
    /// `status.declaredFeatures`.
    pub declared_features: Vec<Arc<str>>,
    /// `status.nodeInfo.kubeletVersion`.
    pub kubelet_version: Arc<str>,
    /// The revision of this version; 0 where it is not known.
    pub(crate) mod_revision: i64,
}

/// A node with its pods and the sums over them. Upstream: `framework.NodeInfo`.
#[derive(Clone, Debug, Default)]
pub struct NodeInfo {
    /// Its number in the state.
    pub(crate) id: NodeId,
    /// The node; reached directly through `Deref`.
    pub(crate) node: Arc<Node>,
    /// Whether the Node object exists; pods may name a node that does not.
    pub(crate) exists: bool,
    /// Images with the counts frozen when this node was last written.
    pub(crate) image_states: Arc<[ImageState]>,
    /// Its pods, except finished ones, in order of arrival.
    pub pods: Vec<Arc<PodInfo>>,
    pub(crate) requested: Resources,
    /// CPU its pods request with the defaults for scores (`NonZeroRequested`), in thousandths.
    pub(crate) non_zero_cpu: i64,
    /// Memory its pods request with the defaults for scores (`NonZeroRequested`), in bytes.
    pub(crate) non_zero_memory: i64,
    /// Host ports that count as free though a pod has them: see [`NodeInfo::simulate_remove`].
    pub(in crate::cluster) freed_ports: Vec<HostPort>,
}

impl Deref for NodeInfo {
    type Target = Node;
    fn deref(&self) -> &Node {
        &self.node
    }
}

impl NodeInfo {
    /// A node on which nothing runs.
    pub fn empty(node: Arc<Node>) -> Self {
        Self { node, exists: true, ..Self::default() }
    }

    /// The Node object.
    pub fn object(&self) -> &Arc<Node> {
        &self.node
    }

    /// How much of a resource its pods request: CPU in thousandths, memory in bytes.
    pub fn requests_of(&self, resource: &str) -> i64 {
        self.requested.get(resource)
    }

    /// How much of a resource it offers: CPU in thousandths, memory in bytes.
    pub fn offers_of(&self, resource: &str) -> i64 {
        self.node.allocatable.get(resource)
    }

    /// Adds a pod and its requests.
    pub fn add_pod(&mut self, pod: Arc<PodInfo>, rules: &RequestRules) {
        let resource = rules.pod_resource(&pod);
        self.requested.add(&resource.requests);
        self.non_zero_cpu = self.non_zero_cpu.wrapping_add(resource.non_zero_cpu);
        self.non_zero_memory = self.non_zero_memory.wrapping_add(resource.non_zero_memory);
        drop(resource);
        self.pods.push(pod);
    }

    /// Removes a pod; returns whether it was there.
    pub(crate) fn remove_pod(&mut self, pod: &PodInfo, rules: &RequestRules) -> bool {
        let Some(at) = self.pods.iter().position(|known| known.name == pod.name && known.namespace == pod.namespace) else { return false };
        let known = self.pods.remove(at);
        let resource = rules.pod_resource(&known);
        self.requested.subtract(&resource.requests);
        self.non_zero_cpu = self.non_zero_cpu.wrapping_sub(resource.non_zero_cpu);
        self.non_zero_memory = self.non_zero_memory.wrapping_sub(resource.non_zero_memory);
        true
    }

    /// Removes a pod as a preemption dry run does: upstream keeps host ports as a set (`HostPortInfo.Remove`), so that the pod's ports count as free
    /// even if another pod has them too, until a pod with them is added.
    pub(crate) fn simulate_remove(&mut self, pod: &PodInfo, rules: &RequestRules, with_sidecars: bool) {
        self.freed_ports.extend(host_ports(pod, with_sidecars).cloned());
        self.remove_pod(pod, rules);
    }

    /// Adds a pod, whose host ports are in use from then on.
    pub(crate) fn simulate_add(&mut self, pod: Arc<PodInfo>, rules: &RequestRules, with_sidecars: bool) {
        self.freed_ports.retain(|freed| !host_ports(&pod, with_sidecars).any(|port| port == freed));
        self.add_pod(pod, rules);
    }

    /// The host ports in use, each with its pod; sidecars' where `with_sidecars`.
    pub(crate) fn used_ports(&self, with_sidecars: bool) -> impl Iterator<Item = (&HostPort, &Arc<PodInfo>)> {
        let ports = self.pods.iter().flat_map(move |pod| host_ports(pod, with_sidecars).map(move |port| (port, pod)));
        ports.filter(|(port, _)| !self.freed_ports.contains(port))
    }
}

/// The host ports a pod requests; its sidecars' too where `with_sidecars`.
pub(crate) fn host_ports(pod: &PodInfo, with_sidecars: bool) -> impl Iterator<Item = &HostPort> {
    pod.spec.host_ports.iter().chain(pod.spec.sidecar_host_ports.iter().filter(move |_| with_sidecars))
}

impl Node {
    /// Compiles only the name, the labels, the taints and the cordon of a node: what pods select and tolerate.
    pub(crate) fn selectable(node: &NodeFields, interner: &mut Interner) -> Self {
        let (no_metadata, no_spec) = (MetadataFields::default(), NodeSpecFields::default());
        let metadata = node.metadata.as_ref().unwrap_or(&no_metadata);
        let spec = node.spec.as_ref().unwrap_or(&no_spec);
        Self {
            name: interner.string(metadata.name.as_deref().unwrap_or_default()),
            labels: interner.pairs(metadata.labels.as_ref()),
            taints: spec.taints.iter().flatten().map(|taint| Taint::compile(taint, interner)).collect(),
            unschedulable: spec.unschedulable == Some(true),
            ..Self::default()
        }
    }

    /// Compiles a node. What cannot be read is added to `problems`; the rest counts.
    pub(crate) fn compile(
        node: &NodeFields,
        mod_revision: i64,
        rules: &RequestRules,
        interner: &mut Interner,
        problems: &mut Vec<String>,
    ) -> Self {
        let (no_metadata, no_spec, no_status) = (MetadataFields::default(), NodeSpecFields::default(), NodeStatusFields::default());
        let metadata = node.metadata.as_ref().unwrap_or(&no_metadata);
        let spec = node.spec.as_ref().unwrap_or(&no_spec);
        let status = node.status.as_ref().unwrap_or(&no_status);
        if status.allocatable.as_ref().is_none_or(|offered| offered.iter().len() == 0) {
            problems.push("it has no status.allocatable, so it offers nothing".to_owned());
        }
        let allocatable = resource_list(status.allocatable.as_ref(), "status.allocatable", interner, problems);
        let (name, labels) = (metadata.name.as_deref().unwrap_or_default(), interner.pairs(metadata.labels.as_ref()));
        let annotations = interner.pairs(metadata.annotations.as_ref());
        let taints = spec.taints.iter().flatten().map(|taint| Taint::compile(taint, interner)).collect();
        let mut text = |text: &Option<Text>| interner.string(text.as_deref().unwrap_or_default());
        let conditions = status.conditions.iter().flatten();
        let conditions =
            conditions.map(|condition| NodeCondition { kind: text(&condition.type_), status: text(&condition.status) }).collect();
        let kubelet_version = text(&status.node_info.as_ref().and_then(|info| info.kubelet_version.clone()));
        let images = status.images.iter().flatten();
        let images = images.flat_map(|image| image.names.iter().flatten().map(|name| (name, image.size_bytes.unwrap_or(0))));
        Self {
            name: interner.string(name),
            labels,
            annotations,
            taints,
            unschedulable: spec.unschedulable == Some(true),
            allocatable: rules.units(&allocatable),
            allowed_pods: allocatable.iter().find(|(name, _)| &**name == "pods").map_or(0, |(_, amount)| amount.value()),
            conditions,
            images: images.map(|(name, size)| (interner.string(name), size)).collect(),
            declared_features: status.declared_features.iter().flatten().map(|feature| interner.string(feature)).collect(),
            kubelet_version,
            mod_revision,
        }
    }
}
