//! The predicates of a Policy: registered names or custom arguments, in the order they run.

use std::sync::Arc;

use super::context::{PolicyContext, kept};
use super::refusals::lacks_arguments;
use super::registry;
use crate::legacy::{self, PolicyPredicate};
use crate::validation::Document;
use crate::{FilterEntry, Plugin, Unverifiable, registry as rules};

/// An entry of the list: the name it runs under and its plugin.
struct PredicateEntry {
    name: String,
    rule: PredicateRule,
}

enum PredicateRule {
    Named,
    LabelPresence(Vec<(Arc<str>, bool)>),
    ServiceAffinity(Vec<Arc<str>>),
}

/// Reads the list; adds what cannot be verified or never runs to `unverifiable`.
pub(super) fn read(
    list: &Document<'_>,
    context: &PolicyContext<'_>,
    unverifiable: &mut Vec<Unverifiable>,
) -> Result<Vec<FilterEntry>, Vec<String>> {
    let mut wrong = Vec::new();
    let mut entries: Vec<PredicateEntry> = Vec::new();
    for document in list.elements() {
        match entry(&document, context, unverifiable) {
            Ok(entry) => add(entry, &mut entries, context),
            Err(reason) => wrong.push(reason),
        }
    }
    for name in registry::mandatory(context) {
        add(PredicateEntry { name: name.to_owned(), rule: PredicateRule::Named }, &mut entries, context);
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let place = |entry: &PredicateEntry| registry::PREDICATE_ORDER.iter().position(|name| *name == entry.name);
    if context.rules().runs_predicates_by_name() {
        entries.sort_by(|one, other| one.name.cmp(&other.name));
    } else {
        let unordered = entries.iter().filter(|entry| place(entry).is_none());
        unverifiable.extend(unordered.map(|entry| Unverifiable::UnorderedPredicate { name: entry.name.clone(), release: context.release }));
        entries.retain(|entry| place(entry).is_some());
        entries.sort_by_key(place);
    }
    if context.rules().entries_are_plugins() { as_plugins(entries, context) } else { Ok(entries.into_iter().map(predicate).collect()) }
}

fn entry(document: &Document<'_>, context: &PolicyContext<'_>, unverifiable: &mut Vec<Unverifiable>) -> Result<PredicateEntry, String> {
    let rules = context.rules();
    let name = match document.field("name").text() {
        "PodFitsPorts" if rules.has_legacy_registry() => "PodFitsHostPorts".to_owned(),
        name => name.to_owned(),
    };
    let argument = document.field("argument");
    let (affinity, presence) = (argument.field("serviceAffinity"), argument.field("labelsPresence"));
    if !argument.is_absent() {
        let given = usize::from(!affinity.is_absent()) + usize::from(!presence.is_absent());
        if given != 1 {
            return Err(argument.wrong(format!("a predicate takes exactly one argument, and {name} has {given}")));
        }
    }
    // A registered name wins over its argument, which is then ignored (`legacy_registry.go` ProcessPredicatePolicy).
    if rules.has_legacy_registry() && registry::is_predicate(&name, context) {
        return Ok(PredicateEntry { name, rule: PredicateRule::Named });
    }
    let labels =
        |document: &Document<'_>| document.field("labels").elements().iter().map(|label| label.text().into()).collect::<Vec<Arc<str>>>();
    let own = |usual: &str| if rules.entries_are_plugins() { usual.to_owned() } else { name.clone() };
    if !affinity.is_absent() {
        return Ok(PredicateEntry { name: own("CheckServiceAffinity"), rule: PredicateRule::ServiceAffinity(labels(&affinity)) });
    }
    if !presence.is_absent() {
        let wanted = presence.field("presence").truth().unwrap_or(false);
        let labels = labels(&presence).into_iter().map(|label| (label, wanted)).collect();
        return Ok(PredicateEntry { name: own("CheckNodeLabelPresence"), rule: PredicateRule::LabelPresence(labels) });
    }
    if name == "PodToleratesNodeNoExecuteTaints" && !rules.has_legacy_registry() {
        unverifiable.push(Unverifiable::UnregisteredPredicate { name: name.clone(), release: context.release });
    } else if !registry::is_predicate(&name, context) {
        return Err(document.wrong(format!("kube-scheduler {} has no predicate {name:?}", context.release)));
    }
    Ok(PredicateEntry { name, rule: PredicateRule::Named })
}

/// A name has one predicate, the last of that name; where they are plugins, labels of several entries are merged.
fn add(entry: PredicateEntry, entries: &mut Vec<PredicateEntry>, context: &PolicyContext<'_>) {
    let Some(known) = entries.iter_mut().find(|known| known.name == entry.name) else { return entries.push(entry) };
    let together = context.rules().entries_are_plugins();
    match (&mut known.rule, entry.rule) {
        (PredicateRule::LabelPresence(labels), PredicateRule::LabelPresence(more)) if together => labels.extend(more),
        (PredicateRule::ServiceAffinity(labels), PredicateRule::ServiceAffinity(more)) if together => labels.extend(more),
        (PredicateRule::LabelPresence(_) | PredicateRule::ServiceAffinity(_), PredicateRule::Named) => {}
        (rule, other) => *rule = other,
    }
}

fn predicate(entry: PredicateEntry) -> FilterEntry {
    let name = kept(&entry.name);
    FilterEntry { name, plugin: rule(entry.rule, name) }
}

fn rule(rule: PredicateRule, name: &'static str) -> &'static dyn Plugin {
    match rule {
        PredicateRule::Named => rules::named(name),
        PredicateRule::LabelPresence(labels) => Box::leak(Box::new(PolicyPredicate::label_presence(name, labels))),
        PredicateRule::ServiceAffinity(labels) => Box::leak(Box::new(PolicyPredicate::service_affinity(name, labels))),
    }
}

/// Predicates as Filter plugins, GeneralPredicates as four; a duplicate is an error, or the first wins.
fn as_plugins(entries: Vec<PredicateEntry>, context: &PolicyContext<'_>) -> Result<Vec<FilterEntry>, Vec<String>> {
    let mut filters: Vec<FilterEntry> = Vec::new();
    let mut wrong = Vec::new();
    for entry in entries {
        let named = matches!(entry.rule, PredicateRule::Named);
        let (custom, of) = match entry.rule {
            PredicateRule::Named if entry.name == "CheckNodeLabelPresence" => (Some("NodeLabel"), PredicateRule::LabelPresence(Vec::new())),
            PredicateRule::Named if entry.name == "CheckServiceAffinity" => {
                (Some("ServiceAffinity"), PredicateRule::ServiceAffinity(Vec::new()))
            }
            PredicateRule::Named => (None, PredicateRule::Named),
            of @ PredicateRule::LabelPresence(_) => (Some("NodeLabel"), of),
            of @ PredicateRule::ServiceAffinity(_) => (Some("ServiceAffinity"), of),
        };
        let predicate = kept(&entry.name);
        if let Some(name) = custom {
            wrong.extend((named && context.rules().named_plugins_lack_arguments()).then(|| lacks_arguments(name)));
            filters.push(FilterEntry { name, plugin: rule(of, name) });
            continue;
        }
        for name in legacy::plugins_of(predicate) {
            if filters.iter().any(|known| known.name == name) {
                let refused = !context.rules().merges_repeated_plugins();
                wrong.extend(refused.then(|| format!("two predicates are the plugin {name}, which this release allows once")));
                continue;
            }
            let plugin = rules::named(legacy::predicate_behind(name, context.release).unwrap_or(name));
            filters.push(FilterEntry { name, plugin });
        }
    }
    if wrong.is_empty() { Ok(filters) } else { Err(wrong) }
}
