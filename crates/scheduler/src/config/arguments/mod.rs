//! Arguments of plugins: read, defaulted and validated. Upstream: `apis/config/validation/validation_pluginargs.go`; where a release validates them
//! only when it creates the plugin, the plugin's own file.

mod node_affinity;
pub(super) mod resources;
mod spread;

use crate::Arguments;

use super::context::Context;
use crate::validation::Document;
use ketcd_kube::go_duration::{NANOS_PER_SECOND, parse_go_duration};

/// Reads the arguments of one plugin into `arguments`; returns the errors, whose paths begin below the arguments.
pub(super) fn read(plugin: &str, args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    match plugin {
        "NodeResourcesFit" => resources::fit(args, context, arguments),
        "NodeResourcesBalancedAllocation" => resources::balanced(args, context, arguments),
        "NodeResourcesLeastAllocated" => resources::allocated(args, context, &mut arguments.least_allocated),
        "NodeResourcesMostAllocated" => resources::allocated(args, context, &mut arguments.most_allocated),
        "RequestedToCapacityRatio" => resources::capacity_ratio(args, context, arguments),
        "InterPodAffinity" => inter_pod_affinity(args, arguments),
        "NodeAffinity" => node_affinity::read(args, context, arguments),
        "PodTopologySpread" => spread::read(args, context, arguments),
        "VolumeBinding" => volume_binding(args, context, arguments),
        "DefaultPreemption" => preemption(args, arguments),
        "DynamicResources" => dynamic_resources(args, context),
        "NodeLabel" => node_label(args),
        _ => Vec::new(),
    }
}

/// Why a plugin cannot be made, if there are reasons.
pub(super) fn not_made(plugin: &str, reasons: &[String]) -> Option<String> {
    (!reasons.is_empty()).then(|| format!("the arguments of {plugin}: {}", reasons.join(", ")))
}

/// Whether the plugin itself validates its arguments, when it is created: where validation does not, or misses it.
pub(super) fn checked_when_made(plugin: &str, context: &Context<'_>) -> bool {
    !context.rules().validates_plugins() || plugin == "NodeResourcesFit"
}

/// Whether the plugin takes arguments in 1.18, which it decodes itself.
pub(super) fn taken_in_1_18(plugin: &str) -> bool {
    matches!(
        plugin,
        "InterPodAffinity" | "NodeLabel" | "NodeResourcesFit" | "PodTopologySpread" | "RequestedToCapacityRatio" | "ServiceAffinity"
    )
}

fn inter_pod_affinity(args: &Document<'_>, arguments: &mut Arguments) -> Vec<String> {
    arguments.ignore_preferred_terms_of_existing_pods = args.field("ignorePreferredTermsOfExistingPods").truth().unwrap_or(false);
    let weight = args.field("hardPodAffinityWeight");
    let Some(value) = weight.whole() else { return Vec::new() };
    arguments.hard_pod_affinity_weight = value;
    (!(0..=100).contains(&value)).then(|| weight.wrong(format!("{value} is not between 0 and 100"))).into_iter().collect()
}

fn volume_binding(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let (timeout, points) = (args.field("bindTimeoutSeconds"), args.field("shape"));
    let (rules, mut wrong) = (context.rules(), Vec::new());
    if !rules.volume_binding_takes_arguments() {
        return wrong;
    }
    match timeout.whole() {
        Some(value) if value == 0 && !rules.takes_zero_bind_timeout() => wrong.push(timeout.wrong("0 is not above zero")),
        Some(value) if value < 0 => wrong.push(timeout.wrong(format!("{value} is below zero"))),
        _ => {}
    }
    if points.is_absent() || !rules.takes_volume_shape() {
        return wrong;
    }
    let gate = rules.volume_shape_gate();
    if context.gates.on(gate) {
        arguments.volume_shape = resources::shape(&points, &mut wrong);
    } else {
        wrong.push(points.wrong(format!("it needs the feature gate {gate}: turn that on, or remove the field")));
    }
    wrong
}

fn preemption(args: &Document<'_>, arguments: &mut Arguments) -> Vec<String> {
    let (percentage, absolute) = (args.field("minCandidateNodesPercentage"), args.field("minCandidateNodesAbsolute"));
    let (percent, count) = (percentage.whole().unwrap_or(10), absolute.whole().unwrap_or(100));
    arguments.min_candidates = (usize::try_from(percent).unwrap_or(0), usize::try_from(count).unwrap_or(0));
    let mut wrong = Vec::new();
    wrong.extend((!(0..=100).contains(&percent)).then(|| percentage.wrong(format!("{percent} is not between 0 and 100"))));
    wrong.extend((count < 0).then(|| absolute.wrong(format!("{count} is below zero"))));
    wrong.extend((percent == 0 && count == 0).then(|| percentage.wrong("it is 0, and so is minCandidateNodesAbsolute: one must be more")));
    wrong
}

fn dynamic_resources(args: &Document<'_>, context: &Context<'_>) -> Vec<String> {
    let (filter, binding) = (args.field("filterTimeout"), args.field("bindingTimeout"));
    let gates = context.gates;
    let mut wrong = Vec::new();
    if !filter.is_absent() && context.rules().takes_filter_timeout() {
        let value = parse_go_duration(filter.text()).unwrap_or(0);
        if !gates.on("DRASchedulerFilterTimeout") {
            wrong.push(filter.wrong("it needs the feature gate DRASchedulerFilterTimeout"));
        } else if value < 0 {
            wrong.push(filter.wrong(format!("{} is below zero", filter.text())));
        }
    }
    if !binding.is_absent() && context.rules().takes_binding_timeout() {
        let value = parse_go_duration(binding.text()).unwrap_or(0);
        if !(gates.on("DRADeviceBindingConditions") && gates.on("DRAResourceClaimDeviceStatus")) {
            wrong.push(binding.wrong("it needs the feature gates DRADeviceBindingConditions and DRAResourceClaimDeviceStatus"));
        } else if value < NANOS_PER_SECOND {
            wrong.push(binding.wrong(format!("{} is less than a second", binding.text())));
        }
    }
    wrong
}

/// NodeLabel's required labels and forbidden labels must differ.
fn node_label(args: &Document<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (present, absent) in [("presentLabels", "absentLabels"), ("presentLabelsPreference", "absentLabelsPreference")] {
        let (present, absent) = (args.field(present), args.field(absent));
        for label in absent.elements() {
            let other = present.elements().into_iter().rfind(|other| other.text() == label.text());
            wrong.extend(other.map(|other| other.wrong(format!("the label {:?} is also in {}", label.text(), absent.path()))));
        }
    }
    wrong
}
