//! The priorities of a Policy: registered names or custom arguments, each with its weight.

use std::sync::Arc;

use serde_json::Value;

use super::context::{PolicyContext, kept};
use super::refusals::{self, plugin_refused};
use super::{registry, shape};
use crate::legacy::{self, CapacityRatio, NodeLabel, RequestedToCapacityRatioPriority, ServiceAntiAffinity};
use crate::validation::Document;
use crate::{Arguments, Plugin, ScoreEntry, registry as rules};

const RATIO_PRIORITY: &str = "RequestedToCapacityRatio";

struct PriorityEntry {
    name: String,
    rule: PriorityRule,
    weight: i64,
}

enum PriorityRule {
    Named,
    AntiAffinity(Vec<Arc<str>>),
    Label(Vec<(Arc<str>, bool)>),
    /// `None`: the plugin's arguments have them.
    Ratio(Option<CapacityRatio>),
}

/// Reads the list. `extended`: whether there are extenders, so that a scheduler without scores is possible; `arguments` are those of the profile's
/// plugins.
pub(super) fn read(
    list: &Document<'_>,
    context: &PolicyContext<'_>,
    extended: bool,
    arguments: &mut Arguments,
) -> Result<Vec<ScoreEntry>, Vec<String>> {
    let mut wrong = Vec::new();
    let mut entries: Vec<PriorityEntry> = Vec::new();
    for document in list.elements() {
        match entry(&document, context, arguments) {
            Ok(Some(entry)) => add(entry, &mut entries, context),
            Ok(None) => {}
            Err(reason) => wrong.push(reason),
        }
    }
    wrong.extend(entries.iter().filter_map(|entry| lacks_arguments(entry, context, arguments)));
    if !wrong.is_empty() {
        return Err(wrong);
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    if entries.is_empty() && !extended && !context.rules().entries_are_plugins() {
        entries.push(PriorityEntry { name: "EqualPriority".to_owned(), rule: PriorityRule::Named, weight: 1 });
    }
    let mut scores: Vec<ScoreEntry> = Vec::new();
    for scored in entries.into_iter().map(|entry| score(entry, context)) {
        // Two priorities may be one plugin, with the weight of the first.
        if !context.rules().merges_repeated_plugins() || scores.iter().all(|known| known.name != scored.name) {
            scores.push(scored);
        }
    }
    Ok(scores)
}

/// `None`: EqualPriority, which is not a plugin.
fn entry(document: &Document<'_>, context: &PolicyContext<'_>, arguments: &mut Arguments) -> Result<Option<PriorityEntry>, String> {
    let rules = context.rules();
    let name = match document.field("name").text() {
        "ServiceSpreadingPriority" if rules.has_legacy_registry() => "SelectorSpreadPriority".to_owned(),
        name => name.to_owned(),
    };
    let weight = document.field("weight").whole().unwrap_or(0);
    if name == "EqualPriority" && rules.entries_are_plugins() {
        return Ok(None);
    }
    let argument = document.field("argument");
    let (service, label) = (argument.field("serviceAntiAffinity"), argument.field("labelPreference"));
    let ratio = argument.field("requestedToCapacityRatioArguments");
    let counts_ratio = rules.takes_capacity_ratio() && !ratio.is_absent();
    if !argument.is_absent() {
        let given = usize::from(!service.is_absent()) + usize::from(!label.is_absent()) + usize::from(counts_ratio);
        if given != 1 {
            return Err(argument.wrong(format!("a priority takes exactly one argument, and {name} has {given}")));
        }
    }
    // As for predicates: the argument of a registered name is ignored.
    if rules.has_legacy_registry() && registry::is_priority(&name, context) {
        return Ok(Some(PriorityEntry { name, rule: PriorityRule::Named, weight }));
    }
    let own = |usual: &str| if rules.entries_are_plugins() { usual.to_owned() } else { name.clone() };
    if !service.is_absent() {
        let labels = vec![service.field("label").text().into()];
        return Ok(Some(PriorityEntry { name: own("ServiceAffinity"), rule: PriorityRule::AntiAffinity(labels), weight }));
    }
    if !label.is_absent() {
        let labels = vec![(label.field("label").text().into(), label.field("presence").truth().unwrap_or(false))];
        return Ok(Some(PriorityEntry { name: own("NodeLabel"), rule: PriorityRule::Label(labels), weight }));
    }
    if counts_ratio {
        let old = if rules.has_legacy_registry() { None } else { Some(shape::read(&ratio, context)?) };
        let refused = if old.is_none() { plugin_refused(RATIO_PRIORITY, ratio.value(), arguments, context) } else { None };
        if rules.capacity_ratio_without_resources() && ratio.field("resources").elements().is_empty() {
            arguments.capacity_ratio.1.clear();
        }
        return refused.map_or_else(|| Ok(Some(PriorityEntry { name: own(RATIO_PRIORITY), rule: PriorityRule::Ratio(old), weight })), Err);
    }
    if !registry::is_priority(&name, context) {
        return Err(document.wrong(format!("kube-scheduler {} has no priority {name:?}", context.release)));
    }
    Ok(Some(PriorityEntry { name, rule: PriorityRule::Named, weight }))
}

/// A name has one priority, the last of that name; where they are plugins, labels of several entries are merged, and so are their weights.
fn add(entry: PriorityEntry, entries: &mut Vec<PriorityEntry>, context: &PolicyContext<'_>) {
    let Some(known) = entries.iter_mut().find(|known| known.name == entry.name) else { return entries.push(entry) };
    let rules = context.rules();
    match (&mut known.rule, entry.rule) {
        (PriorityRule::AntiAffinity(labels), PriorityRule::AntiAffinity(more)) if rules.entries_are_plugins() => {
            labels.extend(more);
            known.weight += entry.weight;
        }
        (PriorityRule::Label(labels), PriorityRule::Label(more)) if rules.entries_are_plugins() => {
            labels.extend(more);
            known.weight += entry.weight;
        }
        (PriorityRule::AntiAffinity(_) | PriorityRule::Label(_) | PriorityRule::Ratio(_), PriorityRule::Named)
            if rules.has_legacy_registry() =>
        {
            known.weight = entry.weight
        }
        (rule, other) => {
            *rule = other;
            known.weight = entry.weight;
        }
    }
}

/// Why the scheduler does not start: a plugin named as a priority, and no entry with its arguments.
fn lacks_arguments(entry: &PriorityEntry, context: &PolicyContext<'_>, arguments: &mut Arguments) -> Option<String> {
    let rules = context.rules();
    match (&entry.rule, entry.name.as_str()) {
        _ if !rules.has_legacy_registry() => None,
        // kube-scheduler dereferences a nil pointer.
        (PriorityRule::Named, "NodeLabel" | "ServiceAffinity") => Some(refusals::lacks_arguments(&entry.name)),
        (PriorityRule::Named, RATIO_PRIORITY) if rules.named_plugins_lack_arguments() => Some(refusals::lacks_arguments(RATIO_PRIORITY)),
        (PriorityRule::Named, RATIO_PRIORITY) => plugin_refused(RATIO_PRIORITY, &Value::Null, arguments, context),
        _ => None,
    }
}

fn score(entry: PriorityEntry, context: &PolicyContext<'_>) -> ScoreEntry {
    let rules = context.rules();
    let name = if rules.entries_are_plugins() { legacy::score_plugin_of(&entry.name, context.release) } else { None };
    let mut name = name.unwrap_or_else(|| kept(&entry.name));
    if name == "SelectorSpread" && rules.selector_spread_sets_defaults() && context.gates.on("DefaultPodTopologySpread") {
        name = "PodTopologySpread";
    }
    let plugin: &'static dyn Plugin = match entry.rule {
        PriorityRule::Named => rules::named(name),
        PriorityRule::AntiAffinity(labels) => Box::leak(Box::new(ServiceAntiAffinity { labels })),
        PriorityRule::Label(labels) => Box::leak(Box::new(NodeLabel { labels })),
        PriorityRule::Ratio(None) => rules::named(name),
        PriorityRule::Ratio(arguments) => Box::leak(Box::new(RequestedToCapacityRatioPriority { arguments })),
    };
    ScoreEntry { name, plugin, weight: entry.weight }
}
