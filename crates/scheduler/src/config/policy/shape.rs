//! The arguments of RequestedToCapacityRatio up to 1.17: the shape and the resources, validated as upstream does.
//! Upstream: `priorities/requested_to_capacity_ratio.go` NewFunctionShape.

use std::sync::Arc;

use super::context::PolicyContext;
use crate::legacy::CapacityRatio;
use crate::validation::Document;

/// Reads shape and resources; where none are named, cpu and memory have equal weights.
pub(super) fn read(argument: &Document<'_>, context: &PolicyContext<'_>) -> Result<CapacityRatio, String> {
    let number = |point: &Document<'_>, name: &str| point.field(name).whole().unwrap_or(0);
    let shape: Vec<(i64, i64)> =
        argument.field("shape").elements().iter().map(|point| (number(point, "utilization"), number(point, "score"))).collect();
    check(&shape, context.rules().capacity_ratio_factor())
        .map_err(|why| format!("invalid RequestedToCapacityRatioPriority arguments: {why}"))?;
    let resource = |entry: &Document<'_>| {
        let weight = entry.field("weight").whole().filter(|weight| *weight != 0).unwrap_or(1);
        (entry.field("name").text().into(), weight)
    };
    let named: Vec<(Arc<str>, i64)> =
        argument.field("resources").elements().iter().filter(|_| context.rules().capacity_ratio_has_resources()).map(resource).collect();
    Ok(CapacityRatio { shape, resources: if named.is_empty() { CapacityRatio::default().resources } else { named } })
}

/// `stretch`: the factor of scores before upstream validates them.
fn check(shape: &[(i64, i64)], stretch: i64) -> Result<(), String> {
    if shape.is_empty() {
        return Err("at least one point must be specified".to_owned());
    }
    if let Some(at) = shape.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
        let (one, next) = (shape[at].0, shape[at + 1].0);
        return Err(format!("utilization values must be sorted. Utilization[{at}]=={one} >= Utilization[{}]=={next}", at + 1));
    }
    for (at, (utilization, score)) in shape.iter().enumerate() {
        let score = score * stretch;
        if *utilization < 0 {
            return Err(format!("utilization values must not be less than 0. Utilization[{at}]=={utilization}"));
        }
        if *utilization > 100 {
            return Err(format!("utilization values must not be greater than 100. Utilization[{at}]=={utilization}"));
        }
        if score < 0 {
            return Err(format!("score values must not be less than 0. Score[{at}]=={score}"));
        }
        if score > 10 * stretch {
            return Err(format!("score valuses not be greater than {}. Score[{at}]=={score}", 10 * stretch));
        }
    }
    Ok(())
}
