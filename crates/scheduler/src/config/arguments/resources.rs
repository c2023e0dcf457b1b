//! Arguments of the plugins that score by what nodes offer and pods take.

use std::sync::Arc;

use crate::{Arguments, ScoringStrategy};

use super::texts;
use crate::config::{ConfigVersion, Context};
use crate::validation::Document;
use crate::validation::label_name;

/// Resources with weights.
type Resources = Vec<(Arc<str>, i64)>;

const STRATEGIES: &[&str] = &["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];

fn is_strategy(kind: &str) -> bool {
    STRATEGIES.contains(&kind)
}

/// NodeResourcesFit; its strategy since 1.22.
pub(super) fn fit(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let (resources, groups) = (args.field("ignoredResources"), args.field("ignoredResourceGroups"));
    arguments.ignored_resources = texts(&resources);
    arguments.ignored_resource_groups = texts(&groups);
    let mut wrong = Vec::new();
    if context.release.0 <= 18 {
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
    if context.release.0 >= 22 && !given.is_absent() {
        wrong.extend(strategy(&given, args, context, arguments));
        let kind = given.field("type").text();
        if wrong.is_empty() && !is_strategy(kind) {
            wrong.push(format!("scoring strategy {kind} is not supported"));
        }
        let ratio = given.field("requestedToCapacityRatio");
        if wrong.is_empty() && kind == "RequestedToCapacityRatio" && ratio.is_absent() {
            // Up to 1.35 it is dereferenced unseen.
            let panic = "kube-scheduler panics: runtime error: invalid memory address or nil pointer dereference";
            wrong.push(format!("{} is not given: {panic}", ratio.path()));
        }
    }
    wrong
}

fn strategy(given: &Document<'_>, args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let release = context.release.0;
    let mut wrong = Vec::new();
    let (kind, ratio) = (given.field("type"), given.field("requestedToCapacityRatio"));
    if !is_strategy(kind.text()) && release >= 25 {
        wrong.push(kind.unsupported(STRATEGIES));
    }
    // Up to 1.24 the paths of what lies in the strategy leave it out.
    let above = if release <= 24 { args.clone() } else { given.clone() };
    let list = given.field("resources");
    check_weights(&list, &above.field("resources"), weight, &mut wrong);
    arguments.strategy_resources = resources(&list);
    let points = ratio.field("shape");
    let needs_shape = kind.text() == "RequestedToCapacityRatio";
    let mut shape_found = Vec::new();
    if !ratio.is_absent() {
        // Up to 1.35 the path of the shape leaves out the field it lies in.
        let place = if release <= 35 { above.field("shape") } else { points.clone() };
        let mut found = Vec::new();
        shape_found = shape(&points, context, &mut found);
        let found = found.into_iter().map(|reason| reason.replacen(points.path(), place.path(), 1));
        match release {
            ..=22 if points.elements().is_empty() => {}
            36.. if !needs_shape => wrong.push(ratio.forbidden("must be nil when type is not RequestedToCapacityRatio")),
            _ => wrong.extend(found),
        }
    } else if needs_shape && release >= 36 {
        wrong.push(ratio.required("must be specified when type is RequestedToCapacityRatio"));
    }
    arguments.strategy = match kind.text() {
        "MostAllocated" => ScoringStrategy::MostAllocated,
        "RequestedToCapacityRatio" => ScoringStrategy::RequestedToCapacityRatio(shape_found),
        _ => ScoringStrategy::LeastAllocated,
    };
    wrong
}

/// Of a list: cpu and memory where it is empty, 1 where a weight is not given.
fn resources(list: &Document<'_>) -> Resources {
    let elements = list.elements();
    if elements.is_empty() {
        return vec![("cpu".into(), 1), ("memory".into(), 1)];
    }
    elements.iter().map(|entry| (entry.field("name").text().into(), weight(entry))).collect()
}

fn weight(entry: &Document<'_>) -> i64 {
    entry.field("weight").whole().filter(|weight| *weight != 0).unwrap_or(1)
}

/// The weight as it is written, where there is no default.
fn written(entry: &Document<'_>) -> i64 {
    entry.field("weight").whole().unwrap_or(0)
}

/// The weights of a list told under `place`.
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
pub(super) fn allocated(args: &Document<'_>, context: &Context<'_>, into: &mut Resources) -> Vec<String> {
    let list = args.field("resources");
    let mut wrong = Vec::new();
    if context.release.0 <= 18 {
        // It took no arguments yet.
        return wrong;
    }
    *into = resources(&list);
    if context.release.0 >= 21 {
        check_weights(&list, &list, written, &mut wrong);
        return wrong;
    }
    // Up to 1.20 the first that is wrong is told.
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
    let mut wrong = Vec::new();
    arguments.capacity_ratio = (shape(&args.field("shape"), context, &mut wrong), resources(&list));
    for entry in list.elements() {
        // What a Policy leaves out is not filled in (here of this version, in releases that read no configuration of it).
        let filled = context.release.0 >= 22 && context.version != ConfigVersion::V1Alpha2;
        let (name, field, value) =
            (entry.field("name").text(), entry.field("weight"), if filled { weight(&entry) } else { written(&entry) });
        if value >= 1 || context.release.0 <= 18 {
            continue;
        }
        wrong.push(if context.release.0 >= 21 {
            field.invalid(value, format!("resource weight of {name} not in valid range [1, inf)"))
        } else {
            format!("resource {name} weight {value} must not be less than 1")
        });
    }
    if context.release.0 <= 20 {
        wrong.truncate(1);
    }
    wrong
}

/// A shape's points, utilisation and score.
pub(super) fn shape(points: &Document<'_>, context: &Context<'_>, wrong: &mut Vec<String>) -> Vec<(i64, i64)> {
    let number = |point: &Document<'_>, name: &str| point.field(name).whole().unwrap_or(0);
    let elements = points.elements();
    let found: Vec<(i64, i64)> = elements.iter().map(|point| (number(point, "utilization"), number(point, "score"))).collect();
    if context.release.0 <= 20 {
        // 1.18 looks at the scores after their conversion.
        let factor = if context.release.0 == 18 { 10 } else { 1 };
        let scores: Vec<(i64, i64)> = found.iter().map(|(used, score)| (*used, score.saturating_mul(factor))).collect();
        wrong.extend(first_fault(&scores, 10 * factor));
        return found;
    }
    if elements.is_empty() {
        wrong.push(points.required("at least one point must be specified"));
    }
    if let Some(at) = found.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
        let what = if context.release.0 >= 34 { "values" } else { "utilization values" };
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

/// What releases up to 1.20 say of a shape: one thing, without its place.
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
            // 1.18, which looks at stretched scores, has other words.
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
    for entry in args.field("resources").elements().iter().filter(|_| context.release.0 >= 22) {
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
