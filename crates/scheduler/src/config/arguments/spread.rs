//! Arguments of PodTopologySpread.

use crate::api::core;
use crate::cluster::{Interner, SpreadConstraint};
use crate::{Arguments, PodTopologySpreadDefaults};

use crate::config::context::Context;
use crate::config::versions::ConfigVersion;
use crate::validation::Document;
use crate::validation::label_name;

pub(super) fn read(args: &Document<'_>, context: &Context<'_>, arguments: &mut Arguments) -> Vec<String> {
    let (list, kind) = (args.field("defaultConstraints"), args.field("defaultingType"));
    let constraints = list.elements();
    let system = context.gates.on("DefaultPodTopologySpread");
    // Up to v1beta1 a list alone implied `defaultingType: List`.
    let by_itself = if system && (constraints.is_empty() || context.version >= ConfigVersion::V1Beta2) { "System" } else { "List" };
    let defaulting = if kind.text().is_empty() || !context.rules().takes_defaulting_type() { by_itself } else { kind.text() };
    let mut wrong = Vec::new();
    match defaulting {
        "System" if !constraints.is_empty() => wrong.push(kind.wrong("it must be List where there are defaultConstraints, not System")),
        "System" | "List" => {}
        other => wrong.push(kind.wrong(format!("{other:?} is neither System nor List"))),
    }
    let mut interner = Interner::default();
    let mut compiled: Vec<SpreadConstraint> = Vec::new();
    for (at, constraint) in constraints.iter().enumerate() {
        wrong.extend(check(constraint, &constraints[..at], context));
        if let Ok(typed) = serde_json::from_value::<core::TopologySpreadConstraint>(constraint.value().clone()) {
            compiled.push(SpreadConstraint::compile(&typed, &mut interner));
        }
    }
    arguments.spread_defaults =
        if defaulting == "System" { PodTopologySpreadDefaults::System } else { PodTopologySpreadDefaults::List(compiled) };
    wrong
}

fn check(constraint: &Document<'_>, before: &[Document<'_>], context: &Context<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let (skew, key, action) = (constraint.field("maxSkew"), constraint.field("topologyKey"), constraint.field("whenUnsatisfiable"));
    let value = skew.whole().unwrap_or(0);
    if value <= 0 {
        wrong.push(skew.wrong(format!("{value} is not above zero")));
    }
    wrong.extend(label_name::fault(&key, context.release));
    if !matches!(action.text(), "DoNotSchedule" | "ScheduleAnyway") {
        wrong.push(action.wrong(format!("{:?} is neither DoNotSchedule nor ScheduleAnyway", action.text())));
    }
    let selector = constraint.field("labelSelector");
    if !selector.is_absent() {
        wrong.push(selector.wrong("a default constraint has none: each pod's Services and controllers give it"));
    }
    let same =
        |other: &&Document<'_>| other.field("topologyKey").text() == key.text() && other.field("whenUnsatisfiable").text() == action.text();
    if before.iter().any(|other| same(&other)) {
        wrong.push(constraint.wrong(format!("another constraint has {} and {} too", key.text(), action.text())));
    }
    wrong
}
