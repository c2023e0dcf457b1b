//! Validation of a file whose fields decode. Upstream: `apis/config/validation/validation.go`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Arguments;

use super::context::Context;
use super::draft::Draft;
use super::plugin_set::PluginSet;
use super::versions::ConfigVersion;
use super::{arguments, extenders};
use crate::release::{Point, Span, between, extends, since};
use crate::validation::Document;

/// Plugins that a version of the API removed: the version, the releases that report so, the plugins.
const REMOVED_PLUGINS: &[(ConfigVersion, Span, &[&str])] = &[
    (
        ConfigVersion::V1Beta2,
        between(22, 22),
        &[
            "NodeLabel",
            "ServiceAffinity",
            "NodePreferAvoidPods",
            "NodeResourcesLeastAllocated",
            "NodeResourcesMostAllocated",
            "RequestedToCapacityRatio",
        ],
    ),
    (ConfigVersion::V1, between(25, 28), &["SelectorSpread"]),
    (ConfigVersion::V1, since(31), &["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"]),
];

/// Scores that NodeResourcesFit replaced: in v1beta1 they still exist when it scores, and none may be enabled together with it.
const CONFLICTING_PLUGINS: &[&str] = &["NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"];

/// All errors of the file.
pub(super) fn check(document: &Document<'_>, drafts: &[Draft<'_>], context: &Context<'_>) -> Vec<String> {
    let mut wrong = general(document, context);
    wrong.extend(extenders::check(document, context));
    wrong.extend(percentage(&document.field("percentageOfNodesToScore")));
    let mut names = BTreeSet::new();
    for draft in drafts {
        let name = draft.place.field("schedulerName");
        if draft.name.is_empty() {
            wrong.push(name.wrong("a profile needs a name"));
        }
        if !names.insert(&draft.name) {
            wrong.push(name.wrong(format!("another profile is called {:?} too", draft.name)));
        }
        wrong.extend(percentage(&draft.place.field("percentageOfNodesToScore")));
        if context.rules().validates_plugins() {
            wrong.extend(points(draft, context));
            wrong.extend(plugin_config(draft, context));
        }
    }
    wrong.extend(common_queue_sort(drafts, context));
    wrong
}

/// Fields that do not affect scheduling; those for leader election and served addresses are not validated.
fn general(document: &Document<'_>, context: &Context<'_>) -> Vec<String> {
    let burst = document.field("clientConnection").field("burst");
    let mut wrong: Vec<String> =
        burst.whole().filter(|value| *value < 0).map(|value| burst.wrong(format!("{value} is below zero"))).into_iter().collect();
    let parallelism = document.field("parallelism");
    if let Some(value) = parallelism.whole().filter(|value| *value <= 0 && context.rules().validates_parallelism()) {
        wrong.push(parallelism.wrong(format!("{value} is not above zero")));
    }
    let (initial, most) = (document.field("podInitialBackoffSeconds"), document.field("podMaxBackoffSeconds"));
    if let Some(value) = initial.whole().filter(|value| *value <= 0) {
        wrong.push(initial.wrong(format!("{value} is not above zero")));
    }
    let (first, last) = (initial.whole().unwrap_or(1), most.whole().unwrap_or(10));
    if last < first {
        wrong.push(most.wrong(format!("{last} is less than podInitialBackoffSeconds ({first})")));
    }
    wrong
}

fn percentage(field: &Document<'_>) -> Option<String> {
    let value = field.whole().filter(|value| !(0..=100).contains(value))?;
    Some(field.wrong(format!("{value} is not between 0 and 100")))
}

/// The sets of each point; MultiPoint's is not validated.
fn points(draft: &Draft<'_>, context: &Context<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let path = draft.place.field("plugins");
    let listed = |point: Point| draft.plugins.get(&point).map_or(&[][..], |set| &set.enabled);
    for (point, field) in Point::ALL.into_iter().filter(|(point, _)| *point != Point::MultiPoint) {
        for (at, plugin) in listed(point).iter().enumerate() {
            let place = format!("{}.{field}.enabled[{at}]", path.path());
            wrong.extend(removed(&place, &plugin.name, context));
        }
    }
    if context.version == ConfigVersion::V1Beta1 && extends("NodeResourcesFit", Point::Score, context.release) {
        let scores = listed(Point::Score);
        let others: Vec<String> =
            scores.iter().filter(|plugin| CONFLICTING_PLUGINS.contains(&plugin.name.as_str())).map(|plugin| plugin.name.clone()).collect();
        for (at, _) in scores.iter().enumerate().filter(|(_, plugin)| plugin.name == "NodeResourcesFit" && !others.is_empty()) {
            let others = others.join(", ");
            wrong.push(format!("{}.score.enabled[{at}]: v1beta1 does not allow NodeResourcesFit together with {others}", path.path()));
        }
    }
    wrong
}

fn removed(place: &str, name: &str, context: &Context<'_>) -> Option<String> {
    let (version, ..) = REMOVED_PLUGINS
        .iter()
        .find(|(version, releases, names)| context.version >= *version && releases.contains(context.release) && names.contains(&name))?;
    Some(format!("{place}: {} has no plugin {name:?} any more", version.name()))
}

fn plugin_config(draft: &Draft<'_>, context: &Context<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (place, name, args) in &draft.arguments {
        if !seen.insert(*name) {
            wrong.push(place.wrong(format!("plugin {name:?} is configured twice")));
        }
        if let Some(reason) = removed(place.path(), name, context) {
            wrong.push(reason);
        } else if !arguments::checked_when_made(name, context) {
            let found = arguments::read(name, args, context, &mut Arguments::new(false, false));
            wrong.extend(found.into_iter().map(|reason| format!("{}.args.{reason}", place.path())));
        }
    }
    wrong
}

/// One queue, so one order: every profile's set must equal that of the first.
fn common_queue_sort(drafts: &[Draft<'_>], context: &Context<'_>) -> Vec<String> {
    let rules = context.rules();
    let merged = rules.compares_merged_queue_sort();
    let set = |draft: &Draft<'_>| {
        let sets = if merged { &draft.plugins } else { &draft.custom };
        sets.get(&Point::QueueSort).cloned()
    };
    let Some((first, others)) = drafts.split_first() else { return Vec::new() };
    let mut wrong = Vec::new();
    let canon = set(first);
    let count = canon.as_ref().map_or(0, |set| set.enabled.len());
    if count > 1 && merged {
        wrong.push(queue_sort(first).field("enabled").wrong(format!("only one plugin can sort the queue, and {count} are enabled")));
    }
    for draft in others {
        let own = set(draft);
        let same = if rules.queue_sort_may_be_nil() { own == canon } else { own.unwrap_or_default() == canon.clone().unwrap_or_default() };
        if !same {
            wrong.push(queue_sort(draft).wrong("it must be the same in all profiles, which share one queue"));
        }
        if merged {
            wrong.extend(queue_sort_arguments(draft, first, &canon.clone().unwrap_or_default()));
        }
    }
    wrong
}

/// The arguments of the QueueSort plugin, too, must equal those of the first profile.
fn queue_sort_arguments(draft: &Draft<'_>, first: &Draft<'_>, canon: &PluginSet) -> Option<String> {
    let name = canon.enabled.first().map_or("", |plugin| plugin.name.as_str());
    let wanted = first.arguments_of(name).filter(|_| !name.is_empty()).map_or(&Value::Null, Document::value);
    let differ = draft.arguments.iter().any(|(_, known, args)| *known == name && args.value() != wanted);
    differ.then(|| {
        draft.place.field("pluginConfig").wrong(format!("the arguments of {name}, which sorts the queue, must be the same in all profiles"))
    })
}

fn queue_sort<'d>(draft: &Draft<'d>) -> Document<'d> {
    draft.place.field("plugins").field("queueSort")
}
