//! The arguments of RequestedToCapacityRatio up to 1.17: the shape and the resources.
//! Upstream: `priorities/requested_to_capacity_ratio.go` NewFunctionShape.

use std::sync::Arc;

use super::context::PolicyContext;
use crate::config::arguments::resources::shape;
use crate::legacy::CapacityRatio;
use crate::validation::Document;

/// Reads shape and resources; where none are named, cpu and memory have equal weights.
pub(super) fn read(argument: &Document<'_>, context: &PolicyContext<'_>) -> Result<CapacityRatio, String> {
    let mut wrong = Vec::new();
    let shape = shape(&argument.field("shape"), &mut wrong);
    if !wrong.is_empty() {
        return Err(wrong.join(", "));
    }
    let resource = |entry: &Document<'_>| {
        let weight = entry.field("weight").whole().filter(|weight| *weight != 0).unwrap_or(1);
        (entry.field("name").text().into(), weight)
    };
    let named: Vec<(Arc<str>, i64)> =
        argument.field("resources").elements().iter().filter(|_| context.rules().capacity_ratio_has_resources()).map(resource).collect();
    Ok(CapacityRatio { shape, resources: if named.is_empty() { CapacityRatio::default().resources } else { named } })
}
