//! NodeResourcesFit: a node has room for what a pod requests, and is scored by how full it would be.

mod evidence;
mod needs;

use std::sync::Arc;

use crate::cluster::{NodeInfo, RequestRules, Resources, is_extended};
use crate::dra::resources_of_classes;
use crate::framework::{Candidate, Fact, Need, WithoutState};
use crate::{Arguments, Cycle, Feasible, Plugin, PreFilter, PreScore, Refusal, Rules, ScoringStrategy, Verdict};

use super::node_resources::strategy_score;

/// Upstream: `plugins/noderesources/fit.go`; up to 1.16 the predicate PodFitsResources.
pub(crate) struct NodeResourcesFit;

const SIDECARS_OFF: &str = "Pod has a restartable init container and the SidecarContainers feature is disabled";

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn doc(&self) -> &'static str {
        "A node must have room for what a pod requests; how full it would be gives points.

Checks
  One more pod is allowed; cpu, memory, ephemeral storage and each extended resource: what is allocatable, less what the node's
  pods request, is at least what the pod requests. Limits and actual use do not count. Everything that lacks is named.
  Score (1.22–): by the strategy, LeastAllocated unless configured; containers without requests count 100m and 200Mi.
Reads
  node status.allocatable; requests of the pod and of the pods on the node (init containers, sidecars, overhead, pod level and
  in-place resizes by the release's rule); the profile's ignoredResources, ignoredResourceGroups, scoringStrategy
History
  1.18–1.27 a resource the pod does not request is checked too, on nodes that are over-committed
  1.18–1.25 the same for extended resources requested as 0
  1.28–     without the gate SidecarContainers (on since 1.29) pods with sidecars are refused
  1.22–     scores (before, NodeResourcesLeastAllocated and its like did)
  1.34–     preemption cannot help where the node could never hold the request
  1.36–     resources of device classes are left to DynamicResources (DRAExtendedResource)
  1.36–     what devices of the pods on the node take of it counts (gate DRANodeAllocatableResources)
Differs from upstream
  nowhere"
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let rules = &cycle.profile.rules;
        let request = rules.requests.incoming(cycle.pod);
        if rules.sidecars_refused && cycle.pod.spec.requests.init_containers.iter().any(|container| container.restartable) {
            return match rules.sidecars_refused_at_once() {
                true => PreFilter::Refuse(Refusal::unresolvable(SIDECARS_OFF)),
                false => PreFilter::Filter(Box::new(|_| Verdict::unresolvable(SIDECARS_OFF))),
            };
        }
        let device_resources = device_resources(cycle);
        PreFilter::Filter(Box::new(move |node| filter(node, &request, rules, &cycle.profile.arguments, &device_resources)))
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let requests = cycle.profile.rules.requests;
        let overhead = requests.overhead && !cycle.profile.rules.fit_score_forgets_overhead();
        let arguments = &cycle.profile.arguments;
        strategy_score(cycle, arguments.strategy.clone(), &arguments.strategy_resources, RequestRules { overhead, ..requests })
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::fails("error reading", "PreFilter", self.name())
    }

    fn without_prescore(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Computes
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        evidence::room(cycle, node)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        needs::of_node(cycle, node)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    /// Its name; `pods` for the number of pods.
    pub resource: Arc<str>,
    /// What the pod requests.
    pub requested: i64,
    /// What the pods on the node have taken.
    pub used: i64,
    /// What the node offers.
    pub capacity: i64,
}

/// Everything a node lacks for a request, in upstream's order.
pub(crate) fn shortages(
    node: &NodeInfo,
    request: &Resources,
    rules: &Rules,
    arguments: &Arguments,
    device_resources: &[Arc<str>],
) -> Vec<Shortage> {
    let mut found = Vec::new();
    let pods = i64::try_from(node.pods.len()).unwrap_or(i64::MAX);
    if pods + 1 > node.allowed_pods {
        found.push(Shortage { resource: "pods".into(), requested: 1, used: pods, capacity: node.allowed_pods });
    }
    if request.milli_cpu == 0 && request.memory == 0 && request.ephemeral_storage == 0 && request.scalars.is_empty() {
        return found;
    }
    let mut check = |resource: &str, requested: i64, used: i64, capacity: i64, zero_checked: bool| {
        let lacks =
            if rules.zero_request_checked { capacity < requested.wrapping_add(used) } else { requested > capacity.wrapping_sub(used) };
        if lacks && (requested > 0 || zero_checked) {
            found.push(Shortage { resource: resource.into(), requested, used, capacity });
        }
    };
    let (taken, offered) = (&node.requested, &node.allocatable);
    check("cpu", request.milli_cpu, taken.milli_cpu, offered.milli_cpu, rules.zero_request_checked);
    check("memory", request.memory, taken.memory, offered.memory, rules.zero_request_checked);
    check("ephemeral-storage", request.ephemeral_storage, taken.ephemeral_storage, offered.ephemeral_storage, rules.zero_request_checked);
    for (name, requested) in &request.scalars {
        let listed = offered.scalars.iter().any(|(known, _)| known == name);
        let offers = if rules.zero_amount_is_left_to_devices() { offered.get(name) > 0 } else { listed };
        let by_device = !offers && device_resources.contains(name);
        if !by_device && !is_ignored(name, rules, arguments) {
            check(name, *requested, taken.get(name), offered.get(name), rules.zero_scalar_checked);
        }
    }
    found
}

fn filter(node: &NodeInfo, request: &Resources, rules: &Rules, arguments: &Arguments, device_resources: &[Arc<str>]) -> Verdict {
    let found = shortages(node, request, rules, arguments, device_resources);
    if found.is_empty() {
        return Verdict::Pass;
    }
    let hopeless =
        rules.fit_unresolvable && found.iter().any(|shortage| &*shortage.resource != "pods" && shortage.requested > shortage.capacity);
    let reason = |shortage: &Shortage| match &*shortage.resource {
        "pods" => rules.too_many_pods.into(),
        "cpu" => "Insufficient cpu".into(),
        "memory" => "Insufficient memory".into(),
        other => format!("Insufficient {other}").into(),
    };
    Verdict::Reject(Refusal { reasons: found.iter().map(reason).collect(), preemption_may_help: !hopeless })
}

fn is_ignored(name: &Arc<str>, rules: &Rules, arguments: &Arguments) -> bool {
    let extended = name.contains('/') && !name.contains("kubernetes.io/");
    let group = name.split('/').next().unwrap_or_default();
    extended
        && (arguments.ignored_resources.contains(name)
            || rules.ignored_resource_groups && arguments.ignored_resource_groups.iter().any(|ignored| &**ignored == group))
}

/// The resources that are left to DynamicResources where a node does not offer them: those device classes stand for.
pub(crate) fn device_resources(cycle: &Cycle) -> Vec<Arc<str>> {
    let rules = &cycle.profile.rules;
    if !rules.dra_extended_resources {
        return Vec::new();
    }
    let request = rules.requests.incoming(cycle.pod);
    if rules.unextended_are_left_to_devices() && !request.scalars.iter().any(|(name, amount)| is_extended(name) && *amount != 0) {
        return request.scalars.into_iter().map(|(name, _)| name).collect();
    }
    let classes = cycle.state.listers().device_classes.iter().map(|class| &**class);
    resources_of_classes(classes, &cycle.profile.rules).into_keys().map(Arc::from).collect()
}

/// A score of its own up to 1.21, which NodeResourcesFit then took over with a strategy.
pub(crate) struct AllocationScore {
    name: &'static str,
    doc: &'static str,
    strategy: ScoringStrategy,
    resources: fn(&Arguments) -> &[(Arc<str>, i64)],
}

/// NodeResourcesLeastAllocated: the emptier the better.
pub(crate) static LEAST_ALLOCATED: AllocationScore = AllocationScore {
    name: "NodeResourcesLeastAllocated",
    doc: "The emptier a node would be, the more points.

Checks
  Score: for cpu and memory, the share that stays free with the pod, averaged; containers without requests count 100m and 200Mi.
Reads
  node status.allocatable; requests of the pod and of the pods on the node
History
  1.17–1.21 (1.9–1.16 LeastRequestedPriority); from 1.22 NodeResourcesFit with the strategy LeastAllocated
Differs from upstream
  nowhere",
    strategy: ScoringStrategy::LeastAllocated,
    resources: |arguments| &arguments.least_allocated,
};

/// NodeResourcesMostAllocated: the fuller the better.
pub(crate) static MOST_ALLOCATED: AllocationScore = AllocationScore {
    name: "NodeResourcesMostAllocated",
    doc: "The fuller a node would be, the more points.

Checks
  Score: for cpu and memory, the share taken with the pod, averaged; containers without requests count 100m and 200Mi.
Reads
  node status.allocatable; requests of the pod and of the pods on the node
History
  1.17–1.21, in no default profile (1.9–1.16 MostRequestedPriority); from 1.22 NodeResourcesFit with the strategy MostAllocated
  up to 1.19 an over-committed resource gives 0, then it counts as full
Differs from upstream
  nowhere",
    strategy: ScoringStrategy::MostAllocated,
    resources: |arguments| &arguments.most_allocated,
};

impl Plugin for AllocationScore {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let resources = (self.resources)(&cycle.profile.arguments);
        strategy_score(cycle, self.strategy.clone(), resources, cycle.profile.rules.requests)
    }
}

/// RequestedToCapacityRatio: by a shape, up to 1.22.
pub(crate) struct RequestedToCapacityRatio;

impl Plugin for RequestedToCapacityRatio {
    fn name(&self) -> &'static str {
        "RequestedToCapacityRatio"
    }

    fn doc(&self) -> &'static str {
        "A node's use with the pod gives points by a shape that the configuration draws.

Checks
  Score: for each resource its utilisation in percent, put on the shape's line; the average by weight, rounded.
Reads
  node status.allocatable; requests of the pod and of the pods on the node; the shape and resources of the configuration
History
  1.17–1.22, in no default profile; since 1.22 also NodeResourcesFit with the strategy RequestedToCapacityRatio
  up to 1.21 utilisation is rounded up, then down
  1.19–1.22 a Policy that names no resources gives every node 0; before, it meant cpu and memory
Differs from upstream
  nowhere"
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let (shape, resources) = &cycle.profile.arguments.capacity_ratio;
        strategy_score(cycle, ScoringStrategy::RequestedToCapacityRatio(shape.clone()), resources, cycle.profile.rules.requests)
    }
}
