//! The part of a pod that pods of one template share, compiled once for all of them.

use std::sync::Arc;

use foldhash::HashSet;

use super::fields::{ContainerFields, MetadataFields, OwnerReferenceFields, PodClaimFields, SpecFields, TolerationFields};
use crate::api::core;
use crate::cluster::resource::list::resource_list;
use crate::cluster::{
    ContainerRequests, Interner, NodeTerm, Pairs, PodAffinityTerms, PodRequests, PodVolume, Selector, Text, equalities, label_selector,
};

/// Everything of a pod's spec (and its controller) that some plugin reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodSpec {
    /// `spec.schedulerName`; `default-scheduler` where it is empty.
    pub(crate) scheduler_name: Arc<str>,
    /// `spec.priority`; 0 where absent.
    pub priority: i32,
    /// Whether `spec.preemptionPolicy` is `Never`.
    pub(crate) never_preempts: bool,
    /// The owner that controls the pod.
    pub controller: Option<ControllerRef>,
    /// `spec.nodeSelector`, as requirements.
    pub(crate) node_selector: Selector,
    /// Node affinity, if there is any.
    pub(crate) node_affinity: NodeAffinityTerms,
    pub(crate) pod_affinity: PodAffinityTerms,
    pub(crate) pod_anti_affinity: PodAffinityTerms,
    /// `spec.tolerations`.
    pub(crate) tolerations: Vec<Toleration>,
    /// `spec.topologySpreadConstraints`.
    pub(crate) spread: Vec<SpreadConstraint>,
    pub(crate) requests: PodRequests,
    /// Host ports of regular containers.
    pub(crate) host_ports: Vec<HostPort>,
    /// Host ports of sidecars (they count since 1.34).
    pub(crate) sidecar_host_ports: Vec<HostPort>,
    /// Images of regular containers, in order, as written.
    pub(crate) images: Vec<Arc<str>>,
    pub(crate) init_images: Vec<Arc<str>>,
    /// Volumes some plugin reads.
    pub(crate) volumes: Vec<PodVolume>,
    pub(crate) has_volumes: bool,
    /// `spec.schedulingGates`, by name.
    pub(crate) scheduling_gates: Vec<Arc<str>>,
    /// `spec.resourceClaims`: name, claim name, template name.
    pub(crate) resource_claims: Vec<(Arc<str>, Option<Arc<str>>, Option<Arc<str>>)>,
    /// Features the pod requires of its node: some container's exit restarts all containers.
    pub(crate) restarts_all_containers: bool,
    /// A container mounts a volume with `bindMountOptions`.
    pub(crate) bind_mount_options: bool,
    pub(crate) host_network_in_user_namespace: bool,
    /// `spec.schedulingGroup.podGroupName`.
    pub(crate) pod_group: Option<Arc<str>>,
    /// `spec.workloadRef`: workload, group, replica of the group.
    pub(crate) workload: Option<[Arc<str>; 3]>,
}

/// A reference to the owner that manages a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ControllerRef {
    pub(crate) api_version: Arc<str>,
    /// Its kind.
    pub kind: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    pub(crate) uid: Arc<str>,
}

/// Required and preferred node affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeAffinityTerms {
    /// The required terms, ORed; `None` where nothing is required; an empty list matches nothing.
    pub(crate) required: Option<Vec<NodeTerm>>,
    pub(crate) preferred: Vec<(i32, NodeTerm)>,
}

/// A toleration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// Empty: any key.
    pub key: Arc<str>,
    /// `Equal` where empty.
    pub operator: Arc<str>,
    /// The value, compared by `Equal`.
    pub value: Arc<str>,
    /// Empty: any effect.
    pub effect: Arc<str>,
}

/// What a spread constraint does when it cannot be satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WhenUnsatisfiable {
    DoNotSchedule,
    ScheduleAnyway,
}

/// A topology spread constraint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpreadConstraint {
    /// `maxSkew`.
    pub(crate) max_skew: i32,
    /// `topologyKey`.
    pub(crate) topology_key: Arc<str>,
    /// `whenUnsatisfiable`.
    pub(crate) when_unsatisfiable: WhenUnsatisfiable,
    /// `labelSelector`; `None` matches nothing.
    pub(crate) selector: Option<Selector>,
    /// `minDomains`.
    pub(crate) min_domains: Option<i32>,
    /// Whether `nodeAffinityPolicy` is `Ignore` (the default is to honour node affinity).
    pub(crate) ignores_node_affinity: bool,
    /// Whether `nodeTaintsPolicy` is `Honor` (the default is to ignore taints).
    pub(crate) honors_taints: bool,
    /// `matchLabelKeys`.
    pub(crate) match_label_keys: Vec<Arc<str>>,
}

/// A host port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// `0.0.0.0` where it is empty.
    pub ip: Arc<str>,
    /// `TCP` where it is empty.
    pub protocol: Arc<str>,
    /// The port.
    pub port: i32,
}

/// Keeps one copy of each pod spec seen, and of the strings and label sets in them.
#[derive(Clone, Debug, Default)]
pub struct PodInterner {
    /// The strings and label sets.
    pub(crate) texts: Interner,
    specs: HashSet<Arc<PodSpec>>,
}

impl PodInterner {
    /// Returns the shared copy of a spec.
    pub(super) fn spec(&mut self, spec: PodSpec) -> Arc<PodSpec> {
        if let Some(known) = self.specs.get(&spec) {
            return known.clone();
        }
        let new = Arc::new(spec);
        self.specs.insert(new.clone());
        new
    }
}

impl PodSpec {
    /// Compiles what the pods of one template share. What cannot be read is added to `problems`.
    pub fn compile(metadata: &MetadataFields, spec: &SpecFields, interner: &mut Interner, problems: &mut Vec<String>) -> Self {
        let affinity = spec.affinity.as_ref();
        let sidecar = |container: &&ContainerFields| container.restart_policy.as_deref() == Some("Always");
        let containers = || spec.containers.iter().flatten();
        let inits = || spec.init_containers.iter().flatten();
        let constraints = spec.topology_spread_constraints.iter().flatten();
        let owners = metadata.owner_references.iter().flatten();
        let mut compiled = Self {
            scheduler_name: interner.string(spec.scheduler_name.as_deref().filter(|name| !name.is_empty()).unwrap_or("default-scheduler")),
            priority: spec.priority.unwrap_or(0),
            never_preempts: spec.preemption_policy.as_deref() == Some("Never"),
            controller: owners.filter(|owner| owner.controller == Some(true)).map(|owner| controller(owner, interner)).next(),
            node_selector: equalities(spec.node_selector.iter().flat_map(Pairs::iter), interner),
            node_affinity: affinity
                .and_then(|affinity| affinity.node_affinity.as_ref())
                .map(|affinity| NodeAffinityTerms::compile(affinity, interner))
                .unwrap_or_default(),
            tolerations: spec.tolerations.iter().flatten().map(|toleration| Toleration::compile(toleration, interner)).collect(),
            spread: constraints.map(|constraint| SpreadConstraint::compile(constraint, interner)).collect(),
            requests: requests(spec, interner, problems),
            host_ports: containers().flat_map(|container| host_ports(container, interner)).collect(),
            sidecar_host_ports: inits().filter(sidecar).flat_map(|container| host_ports(container, interner)).collect(),
            images: containers().map(|container| interner.string(container.image.as_deref().unwrap_or_default())).collect(),
            init_images: inits().map(|container| interner.string(container.image.as_deref().unwrap_or_default())).collect(),
            volumes: spec.volumes.iter().flatten().filter_map(|volume| PodVolume::compile(volume, interner)).collect(),
            has_volumes: spec.volumes.iter().flatten().next().is_some(),
            scheduling_gates: spec.scheduling_gates.iter().flatten().map(|gate| interner.string(&gate.name)).collect(),
            resource_claims: spec.resource_claims.iter().flatten().map(|claim| resource_claim(claim, interner)).collect(),
            restarts_all_containers: containers().chain(inits()).any(|container| {
                container.restart_policy_rules.iter().flatten().any(|rule| rule.action.as_deref() == Some("RestartAllContainers"))
            }),
            bind_mount_options: containers()
                .chain(inits())
                .flat_map(|container| &container.volume_mounts)
                .chain(spec.ephemeral_containers.iter().flatten().flat_map(|container| &container.volume_mounts))
                .flatten()
                .any(|mount| mount.bind_mount_options.iter().flatten().next().is_some()),
            host_network_in_user_namespace: spec.host_network == Some(true) && spec.host_users == Some(false),
            workload: spec
                .workload_ref
                .as_ref()
                .map(|group| [&group.name, &group.pod_group, &group.pod_group_replica_key].map(|part| interner.string(part))),
            pod_group: spec.scheduling_group.as_ref().and_then(|group| group.pod_group_name.as_deref()).map(|name| interner.string(name)),
            ..Self::default()
        };
        if let Some(affinity) = affinity {
            let namespace = interner.string(metadata.namespace.as_deref().unwrap_or_default());
            compiled.compile_pod_affinity(affinity, &namespace, interner);
        }
        compiled
    }

    fn compile_pod_affinity(&mut self, affinity: &core::Affinity, namespace: &Arc<str>, interner: &mut Interner) {
        if let Some(terms) = &affinity.pod_affinity {
            let required = terms.required_during_scheduling_ignored_during_execution.as_ref();
            let preferred = terms.preferred_during_scheduling_ignored_during_execution.as_ref();
            self.pod_affinity = PodAffinityTerms::compile(required, preferred, namespace, interner);
        }
        if let Some(terms) = &affinity.pod_anti_affinity {
            let required = terms.required_during_scheduling_ignored_during_execution.as_ref();
            let preferred = terms.preferred_during_scheduling_ignored_during_execution.as_ref();
            self.pod_anti_affinity = PodAffinityTerms::compile(required, preferred, namespace, interner);
        }
    }

    /// Whether `podAffinity` or `podAntiAffinity` is present, even empty.
    pub(crate) fn has_pod_affinity(&self) -> bool {
        self.pod_affinity.present || self.pod_anti_affinity.present
    }
}

impl NodeAffinityTerms {
    pub(crate) fn compile(affinity: &core::NodeAffinity, interner: &mut Interner) -> Self {
        let required = affinity.required_during_scheduling_ignored_during_execution.as_ref();
        Self {
            required: required.map(|selector| selector.node_selector_terms.iter().map(|term| NodeTerm::compile(term, interner)).collect()),
            preferred: affinity
                .preferred_during_scheduling_ignored_during_execution
                .iter()
                .flatten()
                .map(|term| (term.weight, NodeTerm::compile(&term.preference, interner)))
                .collect(),
        }
    }
}

impl Toleration {
    fn compile(toleration: &TolerationFields, interner: &mut Interner) -> Self {
        let mut text = |field: &Option<Text>| interner.string(field.as_deref().unwrap_or_default());
        Self {
            key: text(&toleration.key),
            operator: text(&toleration.operator),
            value: text(&toleration.value),
            effect: text(&toleration.effect),
        }
    }
}

impl SpreadConstraint {
    /// Compiles a constraint of a pod (or a default constraint of a configuration).
    pub(crate) fn compile(constraint: &core::TopologySpreadConstraint, interner: &mut Interner) -> Self {
        Self {
            max_skew: constraint.max_skew,
            topology_key: interner.string(&constraint.topology_key),
            when_unsatisfiable: match constraint.when_unsatisfiable.as_str() {
                "ScheduleAnyway" => WhenUnsatisfiable::ScheduleAnyway,
                _ => WhenUnsatisfiable::DoNotSchedule,
            },
            selector: constraint.label_selector.as_ref().and_then(|selector| label_selector(selector, interner)),
            min_domains: constraint.min_domains,
            ignores_node_affinity: constraint.node_affinity_policy.as_deref() == Some("Ignore"),
            honors_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
            match_label_keys: constraint.match_label_keys.iter().flatten().map(|key| interner.string(key)).collect(),
        }
    }
}

/// Up to 1.30 the names are in `source`.
fn resource_claim(claim: &PodClaimFields, interner: &mut Interner) -> (Arc<str>, Option<Arc<str>>, Option<Arc<str>>) {
    let source = claim.source.as_ref();
    let name = claim.resource_claim_name.as_ref().or_else(|| source?.resource_claim_name.as_ref());
    let template = claim.resource_claim_template_name.as_ref().or_else(|| source?.resource_claim_template_name.as_ref());
    let (claim_name, template) = (name.map(|name| interner.string(name)), template.map(|name| interner.string(name)));
    (interner.string(&claim.name), claim_name, template)
}

fn controller(owner: &OwnerReferenceFields, interner: &mut Interner) -> ControllerRef {
    let mut text = |field: &Option<Text>| interner.string(field.as_deref().unwrap_or_default());
    ControllerRef { api_version: text(&owner.api_version), kind: text(&owner.kind), name: text(&owner.name), uid: text(&owner.uid) }
}

fn host_ports(container: &ContainerFields, interner: &mut Interner) -> Vec<HostPort> {
    let wanted = container.ports.iter().flatten().filter_map(|port| Some((port, port.host_port.filter(|number| *number > 0)?)));
    wanted
        .map(|(port, number)| HostPort {
            ip: interner.string(port.host_ip.as_deref().filter(|ip| !ip.is_empty()).unwrap_or("0.0.0.0")),
            protocol: interner.string(port.protocol.as_deref().filter(|protocol| !protocol.is_empty()).unwrap_or("TCP")),
            port: number,
        })
        .collect()
}

fn requests(spec: &SpecFields, interner: &mut Interner, problems: &mut Vec<String>) -> PodRequests {
    let mut container = |container: &ContainerFields| {
        let name = container.name.as_deref().unwrap_or_default();
        let resources = container.resources.as_ref();
        let before = problems.len();
        let requests = resource_list(resources.and_then(|resources| resources.requests.as_ref()), "requests", interner, problems);
        let limits = resource_list(resources.and_then(|resources| resources.limits.as_ref()), "limits", interner, problems);
        problems[before..].iter_mut().for_each(|problem| problem.insert_str(0, &format!("container {name} resources.")));
        let restartable = container.restart_policy.as_deref() == Some("Always");
        let claims = resources.and_then(|resources| resources.claims.as_ref()).into_iter().flatten();
        let claims = claims.map(|claim| interner.string(claim.name.as_deref().unwrap_or_default())).collect();
        ContainerRequests { name: interner.string(name), restartable, requests, limits, claims }
    };
    let containers = spec.containers.iter().flatten().map(&mut container).collect();
    let init_containers = spec.init_containers.iter().flatten().map(&mut container).collect();
    let pod_level = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let pod_level_limits = spec.resources.as_ref().and_then(|resources| resources.limits.as_ref());
    PodRequests {
        containers,
        init_containers,
        overhead: resource_list(spec.overhead.as_ref(), "spec.overhead", interner, problems),
        pod_level: resource_list(pod_level, "spec.resources.requests", interner, problems),
        pod_level_limits: resource_list(pod_level_limits, "spec.resources.limits", interner, problems),
        ..PodRequests::default()
    }
}
