//! DynamicResources: devices that claims have must be reachable, and those that claims want must be there.

mod available;
mod evidence;
mod footprint;
mod needs;
mod pod_devices;
mod post_filter;
mod score;

use crate::framework::{
    Candidate, Cycle, Fact, Feasible, Judgement, Need, Plugin, PostFilter, PreFilter, PreScore, Touches, Verdict, WithoutState,
};
use crate::release::Rules;

pub(crate) use available::{is_allocated, is_reachable};
pub(crate) use evidence::allocated_devices;
use footprint::Lacking;
pub(crate) use pod_devices::Wanted;

pub(crate) struct DynamicResources;

const NOT_AVAILABLE: &str = "resourceclaim not available on the node";

impl Plugin for DynamicResources {
    fn name(&self) -> &'static str {
        "DynamicResources"
    }

    fn doc(&self) -> &'static str {
        "Devices that claims have must be reachable from the node, and those that claims want must be there.

Checks
  Every Claim of the pod exists, and its device classes too. A claim with devices: the node selector of its allocation matches.
  Claims without: a search over the devices published for the node, by class and request selectors (CEL), count or all, constraints
  (matchAttribute, distinctAttribute), admin access, alternatives (firstAvailable), shared counters, consumable capacity, device taints.
  Extended resources that device classes stand for, on nodes without a device plugin for them. Devices that are to be made ready
  for the node: whether that failed. Devices that take of the node's own resources (DRANodeAllocatableResources): these must be left for
  the pod and its devices, what the pod asks for as a whole must cover both, and no other pod may share them.
  Score: which of a request's alternatives the node could serve, the first ones best.
  Claims that a driver allocates (up to 1.30 all, in 1.31 those that name a controller): every node is unknown.
Reads
  ResourceClaims, DeviceClasses, ResourceSlices, DeviceTaintRules, the pod's resourceClaims and resourceClaimStatuses, the node's labels and allocatable
History
  1.26  behind the gate DynamicResourceAllocation; on by default since 1.34
  1.26  drivers allocate; no more since 1.32
  1.28  PreEnqueue keeps pods out whose claims are missing; claims made for a pod are named in its status
  1.31  device requests, allocated by the scheduler
  1.31  a request for all devices counts those its class is not for, passes over those it cannot have, and ends the attempt
  where nothing is left for the rest; a pool's newer slice may count twice
  1.34  alternatives; 1.35 score; 1.36 extended resources, shared counters, device taints, consumable capacity by default
  1.34  distinctAttribute compares where values lie in memory: any two devices differ
  1.33–1.35  what a failed branch of the search took is not always given back, and a second device of an alternative that wants all
  is one of the first alternative's; up to 1.34 an incomplete pool is used and an invalid one ends the attempt
  1.35  a pod that has claims with devices and claims without ends its attempt in Score
  1.36  devices may take of the node's own resources (gate): looked at where a claim gets its devices, and a container must name the claim;
  since 1.37 at every claim, and only a claim whose devices stand for such resources may not be shared
  1.36  what is listed of attributes is seen by selectors (gate), and by constraints since 1.37
  1.37  counters of one pool no longer count for those of another driver; an error of a selector names the device; steps of capacity
  below one (gate); devices for which the node has nothing to do, compatibility groups, derived attributes (gates). Within the cycle of
  a group of pods, a claim that one pod brought devices to is the next one's to use, in 1.36 from every node; of such a claim and one
  to allocate each is given the other's devices where it comes first; PostFilter says
  nothing where it does nothing
Differs from upstream
  In 1.26 what preemption and this plugin say comes in random order; here this plugin's comes first, or as recorded.
  What drivers allocate up to 1.31 (PodSchedulingContexts, ResourceClasses, in 1.30 named resources) is not read.
  Random order of slices of two generations (1.31): unknown where it decides.
  CEL beyond the parts modelled makes a node unknown, and so does a search that crashes 1.34 or 1.35.
  Of several resources that what a pod asks for as a whole does not cover, upstream names one by chance, here the first.
  Up to 1.34 chance decides which of several classes that name one extended resource serves it: nodes that leave it to devices are unknown.
  Up to 1.35 upstream takes pools in random order: where it decides whether devices are found or which error is met, the node is unknown;
  where it decides which are found, that is said. Upstream gives up after ten seconds a node, here after a number of steps."
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        pod_devices::filter(cycle)
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        score::score(cycle)
    }

    fn pre_enqueue(&self, cycle: &Cycle) -> Option<String> {
        pod_devices::pre_enqueue(cycle).filter(|_| cycle.profile.rules.dra)
    }

    fn post_filter(&self, cycle: &Cycle, judgement: &Judgement) -> PostFilter {
        post_filter::post_filter(cycle, judgement)
    }

    fn pod_group_post_filter(&self, members: &[(Cycle, &Judgement)]) -> PostFilter {
        post_filter::group_post_filter(members)
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Fails("not found".to_owned())
    }

    /// Without its gate it reads no state.
    fn filter_without_state<'a>(&self, cycle: &'a Cycle<'a>, _prefilter: PreFilter<'a>) -> PreFilter<'a> {
        let error = self.without_prefilter(&cycle.profile.rules).error().filter(|_| cycle.profile.gates.on("DynamicResourceAllocation"));
        PreFilter::Filter(Box::new(move |_| error.clone().map_or(Verdict::Pass, Verdict::Error)))
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        evidence::claims(cycle, node)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        needs::of_node(cycle, node)
    }

    fn touches(&self) -> Touches {
        Touches { labels: true, ..Touches::default() }
    }

    fn looks_at_pods(&self) -> bool {
        false
    }

    fn signs(&self, cycle: &Cycle) -> bool {
        cycle.pod.spec.resource_claims.is_empty()
    }
}
