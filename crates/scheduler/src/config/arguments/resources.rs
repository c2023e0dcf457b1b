//! Arguments of the plugins that score by the resources of nodes and pods.

use std::sync::Arc;

use crate::{Arguments, ScoringStrategy};

use crate::config::context::Context;
use crate::config::versions::ConfigVersion;
use crate::validation::Document;
use crate::validation::label_name;

/// Resources with weights.
type WeightedResources = Vec<(Arc<str>, i64)>;

const STRATEGIES: &[&str] = &["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];

fn is_strategy(kind: &str) -> bool {
    STRATEGIES.contains(&kind)
}

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
        wrong.extend(label_name::check(&resource, context.release));
    }
    for group in groups.elements() {
        if group.text().contains('/') {
            wrong.push(group.invalid_text("resource group name can't contain '/'"));
        }
        wrong.extend(label_name::check(&group, context.release));
    }
    let given = args.field("scoringStrategy");
    if rules.takes_scoring_strategy() && !given.is_absent() {
        wrong.extend(strategy(&given, args, context, arguments));
        let kind = given.field("type").text();
        if wrong.is_empty() && !is_strategy(kind) {
            wrong.push(format!("scoring strategy {kind} is not supported"));
        }
        let ratio = given.field("requestedToCapacityRatio");
        if wrong.is_empty() && kind == "RequestedToCapacityRatio" && ratio.is_absent() {
            // A nil pointer that validation does not check is dereferenced.
            let panic = "kube-scheduler panics: runtime error: invalid memory address or nil pointer dereference";
            wrong.push(format!("{} is not given: {panic}", ratio.path()));
        }
    }
    wrong
}

fn strategy(given: &Document<'_>, args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let (rules, mut wrong) = (context.rules(), Vec::new());
    let (kind, ratio) = (given.field("type"), given.field("requestedToCapacityRatio"));
    if !is_strategy(kind.text()) && rules.validates_scoring_strategy() {
        wrong.push(kind.unsupported(STRATEGIES));
    }
    let above = if rules.validates_scoring_strategy() { given.clone() } else { args.clone() };
    let list = given.field("resources");
    check_weights(&list, &above.field("resources"), weight, &mut wrong);
    arguments.strategy_resources = resources(&list);
    let points = ratio.field("shape");
    let needs_shape = kind.text() == "RequestedToCapacityRatio";
    let mut shape_found = Vec::new();
    if !ratio.is_absent() {
        let place = if rules.validates_capacity_ratio() { points.clone() } else { above.field("shape") };
        let mut found = Vec::new();
        shape_found = shape(&points, context, &mut found);
        let found = found.into_iter().map(|reason| reason.replacen(points.path(), place.path(), 1));
        if rules.validates_capacity_ratio() && !needs_shape {
            wrong.push(ratio.forbidden("must be nil when type is not RequestedToCapacityRatio"));
        } else if rules.refuses_empty_shape() || !points.elements().is_empty() {
            wrong.extend(found);
        }
    } else if needs_shape && rules.validates_capacity_ratio() {
        wrong.push(ratio.required("must be specified when type is RequestedToCapacityRatio"));
    }
    arguments.strategy = match kind.text() {
        "MostAllocated" => ScoringStrategy::MostAllocated,
        "RequestedToCapacityRatio" => ScoringStrategy::RequestedToCapacityRatio(shape_found),
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

/// Validates the weights of a list reported at path `place`.
fn check_weights(list: &Document<'_>, place: &Document<'_>, weight: fn(&Document<'_>) -> i64, wrong: &mut Vec<String>) {
    for (at, entry) in list.elements().iter().enumerate() {
        let value = weight(entry);
        if value <= 0 || value > 100 {
            let name = entry.field("name").text();
            let why = format!("resource weight of {name} not in valid range (0, 100]");
            wrong.push(format!("{}[{at}].weight: Invalid value: {value}: {why}", place.path()));
        }
    }
}

/// NodeResourcesLeastAllocated and NodeResourcesMostAllocated, up to 1.22.
pub(super) fn allocated(args: &Document<'_>, context: &Context<'_>, into: &mut WeightedResources) -> Vec<String> {
    let list = args.field("resources");
    let (rules, mut wrong) = (context.rules(), Vec::new());
    if !rules.allocated_scores_take_arguments() {
        return wrong;
    }
    *into = resources(&list);
    if rules.reports_fields_of_arguments() {
        check_weights(&list, &list, written, &mut wrong);
        return wrong;
    }
    wrong.extend(list.elements().iter().find_map(|entry| {
        let (name, weight) = (entry.field("name").text(), written(entry));
        let why = if weight <= 0 { "a positive value" } else { "less than 100" };
        (weight <= 0 || weight > 100).then(|| format!("resource Weight of {name} should be {why}, got {weight}"))
    }));
    wrong
}

/// RequestedToCapacityRatio, up to 1.22.
pub(super) fn capacity_ratio(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let list = args.field("resources");
    let (rules, mut wrong) = (context.rules(), Vec::new());
    arguments.capacity_ratio = (shape(&args.field("shape"), context, &mut wrong), resources(&list));
    for entry in list.elements() {
        // Omitted values of a Policy are not defaulted (a Policy counts as this version here, in releases that read no configuration of it).
        let filled = rules.defaults_capacity_ratio_weights() && context.version != ConfigVersion::V1Alpha2;
        let (name, field, value) =
            (entry.field("name").text(), entry.field("weight"), if filled { weight(&entry) } else { written(&entry) });
        if value >= 1 || !rules.checks_capacity_ratio_weights() {
            continue;
        }
        wrong.push(if rules.reports_fields_of_arguments() {
            field.invalid(value, format!("resource weight of {name} not in valid range [1, inf)"))
        } else {
            format!("resource {name} weight {value} must not be less than 1")
        });
    }
    if !rules.reports_fields_of_arguments() {
        wrong.truncate(1);
    }
    wrong
}

/// A shape's points, utilisation and score.
pub(super) fn shape(points: &Document<'_>, context: &Context<'_>, wrong: &mut Vec<String>) -> Vec<(i64, i64)> {
    let number = |point: &Document<'_>, name: &str| point.field(name).whole().unwrap_or(0);
    let elements = points.elements();
    let found: Vec<(i64, i64)> = elements.iter().map(|point| (number(point, "utilization"), number(point, "score"))).collect();
    let rules = context.rules();
    if !rules.reports_fields_of_arguments() {
        let factor = if rules.checks_multiplied_scores() { 10 } else { 1 };
        let scores: Vec<(i64, i64)> = found.iter().map(|(used, score)| (*used, score.saturating_mul(factor))).collect();
        wrong.extend(first_fault(&scores, 10 * factor));
        return found;
    }
    if elements.is_empty() {
        wrong.push(points.required("at least one point must be specified"));
    }
    if let Some(at) = found.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
        let what = rules.sorted_values();
        wrong.push(elements[at + 1].field("utilization").invalid(found[at + 1].0, format!("{what} must be sorted in increasing order")));
    }
    for (point, (used, score)) in elements.iter().zip(&found) {
        if !(0..=100).contains(used) {
            wrong.push(point.field("utilization").invalid(used, "not in valid range [0, 100]"));
        }
        if !(0..=10).contains(score) {
            wrong.push(point.field("score").invalid(score, "not in valid range [0, 10]"));
        }
    }
    found
}

/// The first error of a shape, without its path.
fn first_fault(shape: &[(i64, i64)], most: i64) -> Option<String> {
    if shape.is_empty() {
        return Some("at least one point must be specified".to_owned());
    }
    if let Some(at) = shape.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
        let (one, next) = (shape[at].0, shape[at + 1].0);
        return Some(format!("utilization values must be sorted. Utilization[{at}]=={one} >= Utilization[{}]=={next}", at + 1));
    }
    shape.iter().enumerate().find_map(|(at, (used, score))| match () {
        () if *used < 0 => Some(format!("utilization values must not be less than 0. Utilization[{at}]=={used}")),
        () if *used > 100 => Some(format!("utilization values must not be greater than 100. Utilization[{at}]=={used}")),
        () if *score < 0 => Some(format!("score values must not be less than 0. Score[{at}]=={score}")),
        () if *score > most => {
            // Worded differently for multiplied scores.
            let must = if most > 10 { "" } else { "must " };
            Some(format!("score values {must}not be greater than {most}. Score[{at}]=={score}"))
        }
        () => None,
    })
}

/// NodeResourcesBalancedAllocation, since 1.22.
pub(super) fn balanced(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names: Vec<Arc<str>> = Vec::new();
    for entry in args.field("resources").elements().iter().filter(|_| context.rules().takes_scoring_strategy()) {
        let name = entry.field("name");
        if names.iter().any(|known| **known == *name.text()) {
            wrong.push(name.duplicate(name.text()));
        }
        if weight(entry) != 1 {
            wrong.push(entry.field("weight").invalid(weight(entry), "must be 1"));
        }
        names.push(name.text().into());
    }
    if !names.is_empty() {
        arguments.balanced_resources = names;
    }
    wrong
}
