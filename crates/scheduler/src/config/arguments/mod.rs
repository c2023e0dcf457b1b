//! Arguments of plugins: read, defaulted and validated. Upstream: `apis/config/validation/validation_pluginargs.go`; where a release validates them
//! only when it creates the plugin, the plugin's own file.

mod node_affinity;
mod resources;
mod spread;

use crate::release::{ConfigRules, ValidationWords};
use crate::{Arguments, Release};

use super::context::Context;
use crate::validation::Document;
use ketcd_kube::go_duration::{SECOND, parse_go_duration};

/// Reads the arguments of one plugin into `arguments`; returns the errors, whose paths begin below the arguments.
pub(super) fn read(plugin: &str, args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    match plugin {
        "NodeResourcesFit" => resources::fit(args, context, arguments),
        "NodeResourcesBalancedAllocation" => resources::balanced(args, context, arguments),
        "NodeResourcesLeastAllocated" => resources::allocated(args, context, &mut arguments.least_allocated),
        "NodeResourcesMostAllocated" => resources::allocated(args, context, &mut arguments.most_allocated),
        "RequestedToCapacityRatio" => resources::capacity_ratio(args, context, arguments),
        "InterPodAffinity" => inter_pod_affinity(args, context, arguments),
        "NodeAffinity" => node_affinity::read(args, context, arguments),
        "PodTopologySpread" => spread::read(args, context, arguments),
        "VolumeBinding" => volume_binding(args, context, arguments),
        "DefaultPreemption" => preemption(args, context, arguments),
        "DynamicResources" => dynamic_resources(args, context),
        "NodeLabel" => node_label(args, context),
        _ => Vec::new(),
    }
}

/// Words the error of a plugin that cannot be created for these reasons, in brackets if there are several.
pub(super) fn not_made(plugin: &str, reasons: &[String], release: Release) -> Option<String> {
    let reason = match reasons {
        [] => return None,
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    let word = ConfigRules::of(release).initializing();
    Some(format!("{word} plugin {plugin:?}: {reason}"))
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

fn inter_pod_affinity(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    arguments.ignore_preferred_terms_of_existing_pods = args.field("ignorePreferredTermsOfExistingPods").truth().unwrap_or(false);
    let weight = args.field("hardPodAffinityWeight");
    let Some(value) = weight.whole() else { return Vec::new() };
    arguments.hard_pod_affinity_weight = value;
    (!(0..=100).contains(&value)).then(|| weight.invalid(value, context.rules().hard_pod_affinity_range())).into_iter().collect()
}

fn volume_binding(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let (timeout, points) = (args.field("bindTimeoutSeconds"), args.field("shape"));
    let (rules, mut wrong) = (context.rules(), Vec::new());
    if !rules.volume_binding_takes_arguments() {
        return wrong;
    }
    match timeout.whole() {
        Some(value) if value <= 0 && !rules.takes_zero_bind_timeout() => {
            wrong.push(format!("invalid BindTimeoutSeconds: {value}, must be positive integer"));
        }
        Some(value) if value < 0 => wrong.push(timeout.invalid(value, "invalid BindTimeoutSeconds, should not be a negative value")),
        _ => {}
    }
    if points.is_absent() || !rules.takes_volume_shape() {
        return wrong;
    }
    let gate = rules.volume_shape_gate();
    if context.gates.on(gate) {
        arguments.volume_shape = resources::shape(&points, context, &mut wrong);
    } else {
        let what = format!("unexpected field `shape`, remove it or turn on the feature gate {gate}");
        wrong.push(points.invalid(shape_text(&points, context), what));
    }
    wrong
}

/// Formats a shape as an error message shows it.
fn shape_text(points: &Document<'_>, context: &Context<'_>) -> String {
    let json = ValidationWords::of(context.release).shows_values_as_json();
    let point = |point: &Document<'_>| {
        let (utilization, score) = (point.field("utilization").whole().unwrap_or(0), point.field("score").whole().unwrap_or(0));
        if json {
            format!("{{\"Utilization\":{utilization},\"Score\":{score}}}")
        } else {
            format!("config.UtilizationShapePoint{{Utilization:{utilization}, Score:{score}}}")
        }
    };
    let points: Vec<String> = points.elements().iter().map(point).collect();
    if json { format!("[{}]", points.join(",")) } else { format!("[]config.UtilizationShapePoint{{{}}}", points.join(", ")) }
}

fn preemption(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let (percentage, absolute) = (args.field("minCandidateNodesPercentage"), args.field("minCandidateNodesAbsolute"));
    let (percent, count) = (percentage.whole().unwrap_or(10), absolute.whole().unwrap_or(100));
    arguments.min_candidates = (usize::try_from(percent).unwrap_or(0), usize::try_from(count).unwrap_or(0));
    let (bad_percent, bad_count, none) = (!(0..=100).contains(&percent), count < 0, percent == 0 && count == 0);
    if !context.rules().reports_fields_of_arguments() {
        let why = match () {
            () if bad_percent => "minCandidateNodesPercentage is not in the range [0, 100]",
            () if bad_count => "minCandidateNodesAbsolute is not in the range [0, inf)",
            () if none => "both minCandidateNodesPercentage and minCandidateNodesAbsolute cannot be zero",
            () => return Vec::new(),
        };
        return vec![why.to_owned()];
    }
    let mut wrong = Vec::new();
    wrong.extend(bad_percent.then(|| percentage.invalid(percent, "not in valid range [0, 100]")));
    wrong.extend(bad_count.then(|| absolute.invalid(count, "not in valid range [0, inf)")));
    if none {
        wrong.push(percentage.invalid(0, "cannot be zero at the same time as minCandidateNodesAbsolute"));
        wrong.push(absolute.invalid(0, "cannot be zero at the same time as minCandidateNodesPercentage"));
    }
    wrong
}

fn dynamic_resources(args: &Document<'_>, context: &Context<'_>) -> Vec<String> {
    let (filter, binding) = (args.field("filterTimeout"), args.field("bindingTimeout"));
    let gates = context.gates;
    let mut wrong = Vec::new();
    if !filter.is_absent() && context.rules().takes_filter_timeout() {
        let value = parse_go_duration(filter.text()).unwrap_or(0);
        if !gates.on("DRASchedulerFilterTimeout") {
            wrong.push(filter.forbidden("DRASchedulingFilterTimeout feature gate is disabled"));
        } else if value < 0 {
            wrong.push(filter.invalid(format!("{:?}", ketcd_kube::go_duration::go_duration(value)), "must be zero or positive"));
        }
    }
    if !binding.is_absent() && context.rules().takes_binding_timeout() {
        let value = parse_go_duration(binding.text()).unwrap_or(0);
        if !(gates.on("DRADeviceBindingConditions") && gates.on("DRAResourceClaimDeviceStatus")) {
            wrong.push(binding.forbidden("DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"));
        } else if value < SECOND {
            wrong.push(binding.invalid(format!("{:?}", ketcd_kube::go_duration::go_duration(value)), "must be at least 1 second"));
        }
    }
    wrong
}

/// NodeLabel's required labels and forbidden labels must differ.
fn node_label(args: &Document<'_>, context: &Context<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (present, absent) in [("presentLabels", "absentLabels"), ("presentLabelsPreference", "absentLabelsPreference")] {
        let (present, absent) = (args.field(present), args.field(absent));
        for label in absent.elements() {
            let Some(other) = present.elements().into_iter().rfind(|other| other.text() == label.text()) else { continue };
            if !context.rules().reports_fields_of_arguments() {
                let listed = |list: &Document<'_>| list.texts().join(" ");
                let (text, present, absent) = (label.text(), listed(&present), listed(&absent));
                let why = format!("exist in both the present([{present}]) and absent([{absent}]) label list");
                return vec![format!("detecting at least one label (e.g., {text:?}) that {why}")];
            }
            wrong.push(other.invalid_text(format!("conflict with {}", label.path())));
        }
    }
    wrong
}
