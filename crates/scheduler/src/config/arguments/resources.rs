//! Arguments of the plugins that score by the resources of nodes and pods.

use std::sync::Arc;

use crate::{Arguments, ScoringStrategy};

use crate::config::context::Context;
use crate::config::versions::ConfigVersion;
use crate::validation::Document;
use crate::validation::label_name;

type WeightedResources = Vec<(Arc<str>, i64)>;

const SCORING_STRATEGIES: &[&str] = &["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];

/// NodeResourcesFit; its strategy since 1.22.
pub(super) fn fit(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let (resources, groups) = (args.field("ignoredResources"), args.field("ignoredResourceGroups"));
    arguments.ignored_resources = resources.texts();
    arguments.ignored_resource_groups = groups.texts();
    let (rules, mut wrong) = (context.rules(), Vec::new());
    if !rules.checks_ignored_resources() {
        return wrong;
    }
    for resource in resources.elements() {
        wrong.extend(label_name::fault(&resource, context.release));
    }
    for group in groups.elements() {
        if group.text().contains('/') {
            wrong.push(group.wrong(format!("{:?} has a slash, and is the part before one", group.text())));
        }
        wrong.extend(label_name::fault(&group, context.release));
    }
    let given = args.field("scoringStrategy");
    if rules.takes_scoring_strategy() && !given.is_absent() {
        wrong.extend(strategy(&given, context, arguments));
    }
    wrong
}

fn strategy(given: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let (rules, mut wrong) = (context.rules(), Vec::new());
    let (kind, ratio, list) = (given.field("type"), given.field("requestedToCapacityRatio"), given.field("resources"));
    if !SCORING_STRATEGIES.contains(&kind.text()) {
        wrong.push(kind.wrong(format!("{:?} is not one of {}", kind.text(), SCORING_STRATEGIES.join(", "))));
    }
    check_weights(&list, weight, &mut wrong);
    arguments.strategy_resources = resources(&list);
    let (points, needs_shape) = (ratio.field("shape"), kind.text() == "RequestedToCapacityRatio");
    let mut found = Vec::new();
    let shape = if ratio.is_absent() { Vec::new() } else { shape(&points, &mut found) };
    if ratio.is_absent() && needs_shape {
        // Up to 1.35 kube-scheduler does not validate this, and panics: a nil pointer is dereferenced.
        wrong.push(ratio.wrong("the strategy RequestedToCapacityRatio needs it"));
    } else if !ratio.is_absent() && !needs_shape && rules.validates_capacity_ratio() {
        wrong.push(ratio.wrong("only the strategy RequestedToCapacityRatio takes it"));
    } else if rules.refuses_empty_shape() || !points.elements().is_empty() {
        wrong.extend(found);
    }
    arguments.strategy = match kind.text() {
        "MostAllocated" => ScoringStrategy::MostAllocated,
        "RequestedToCapacityRatio" => ScoringStrategy::RequestedToCapacityRatio(shape),
        _ => ScoringStrategy::LeastAllocated,
    };
    wrong
}

/// Reads a list: cpu and memory where it is empty, weight 1 where none is given.
fn resources(list: &Document<'_>) -> WeightedResources {
    let elements = list.elements();
    if elements.is_empty() {
        return vec![("cpu".into(), 1), ("memory".into(), 1)];
    }
    elements.iter().map(|entry| (entry.field("name").text().into(), weight(entry))).collect()
}

fn weight(entry: &Document<'_>) -> i64 {
    entry.field("weight").whole().filter(|weight| *weight != 0).unwrap_or(1)
}

/// The weight as given, where there is no default.
fn written(entry: &Document<'_>) -> i64 {
    entry.field("weight").whole().unwrap_or(0)
}

fn check_weights(list: &Document<'_>, weight: fn(&Document<'_>) -> i64, wrong: &mut Vec<String>) {
    for entry in list.elements().iter().filter(|entry| !(1..=100).contains(&weight(entry))) {
        wrong.push(entry.field("weight").wrong(format!("{} is not between 1 and 100", weight(entry))));
    }
}

/// NodeResourcesLeastAllocated and NodeResourcesMostAllocated, up to 1.22.
pub(super) fn allocated(args: &Document<'_>, context: &Context<'_>, into: &mut WeightedResources) -> Vec<String> {
    let (list, mut wrong) = (args.field("resources"), Vec::new());
    if context.rules().allocated_scores_take_arguments() {
        *into = resources(&list);
        check_weights(&list, written, &mut wrong);
    }
    wrong
}

/// RequestedToCapacityRatio, up to 1.22.
pub(super) fn capacity_ratio(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let list = args.field("resources");
    let (rules, mut wrong) = (context.rules(), Vec::new());
    arguments.capacity_ratio = (shape(&args.field("shape"), &mut wrong), resources(&list));
    // Omitted values of a Policy are not defaulted (a Policy counts as this version here, in releases that read no configuration of it).
    let filled = rules.defaults_capacity_ratio_weights() && context.version != ConfigVersion::V1Alpha2;
    let value: fn(&Document<'_>) -> i64 = if filled { weight } else { written };
    for entry in list.elements().iter().filter(|entry| rules.checks_capacity_ratio_weights() && value(entry) < 1) {
        wrong.push(entry.field("weight").wrong(format!("{} is not above zero", value(entry))));
    }
    wrong
}

/// A shape's points, utilisation and score.
pub(in crate::config) fn shape(points: &Document<'_>, wrong: &mut Vec<String>) -> Vec<(i64, i64)> {
    let number = |point: &Document<'_>, name: &str| point.field(name).whole().unwrap_or(0);
    let elements = points.elements();
    let found: Vec<(i64, i64)> = elements.iter().map(|point| (number(point, "utilization"), number(point, "score"))).collect();
    if elements.is_empty() {
        wrong.push(points.wrong("it needs a point"));
    }
    if let Some(at) = found.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
        let (next, before) = (found[at + 1].0, found[at].0);
        wrong.push(elements[at + 1].field("utilization").wrong(format!("{next} is not above {before}, that of the point before")));
    }
    for (point, (used, score)) in elements.iter().zip(&found) {
        if !(0..=100).contains(used) {
            wrong.push(point.field("utilization").wrong(format!("{used} is not between 0 and 100")));
        }
        if !(0..=10).contains(score) {
            wrong.push(point.field("score").wrong(format!("{score} is not between 0 and 10")));
        }
    }
    found
}

/// NodeResourcesBalancedAllocation, since 1.22.
pub(super) fn balanced(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names: Vec<Arc<str>> = Vec::new();
    for entry in args.field("resources").elements().iter().filter(|_| context.rules().takes_scoring_strategy()) {
        let name = entry.field("name");
        if names.iter().any(|known| **known == *name.text()) {
            wrong.push(name.wrong(format!("{:?} is listed twice", name.text())));
        }
        if weight(entry) != 1 {
            wrong.push(entry.field("weight").wrong(format!("{} is not 1", weight(entry))));
        }
        names.push(name.text().into());
    }
    if !names.is_empty() {
        arguments.balanced_resources = names;
    }
    wrong
}
