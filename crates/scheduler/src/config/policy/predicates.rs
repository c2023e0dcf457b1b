//! The predicates of a Policy: registered names or custom arguments, in the order they run.

use std::sync::Arc;

use super::refusals::got_nothing;
use super::{Context, kept, registry};
use crate::legacy::{self, ArguedPredicate};
use crate::validation::Document;
use crate::{FilterEntry, Plugin, Unverifiable, registry as rules};

/// An entry of the list: the name it runs under and its plugin.
struct Entry {
    name: String,
    rule: Rule,
}

enum Rule {
    Named,
    LabelPresence(Vec<(Arc<str>, bool)>),
    ServiceAffinity(Vec<Arc<str>>),
}

/// Reads the list; adds what cannot be verified or never runs to `unverifiable`.
pub(super) fn read(
    list: &Document<'_>,
    context: &Context<'_>,
    unverifiable: &mut Vec<Unverifiable>,
) -> Result<Vec<FilterEntry>, Vec<String>> {
    let mut wrong = Vec::new();
    let mut entries: Vec<Entry> = Vec::new();
    for document in list.elements() {
        match entry(&document, context, unverifiable) {
            Ok(entry) => add(entry, &mut entries, context),
            Err(reason) => wrong.push(reason),
        }
    }
    for name in registry::mandatory(context) {
        add(Entry { name: name.to_owned(), rule: Rule::Named }, &mut entries, context);
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let place = |entry: &Entry| registry::ORDER.iter().position(|name| *name == entry.name);
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

fn entry(document: &Document<'_>, context: &Context<'_>, unverifiable: &mut Vec<Unverifiable>) -> Result<Entry, String> {
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
            return Err(rules.not_one_argument("predicate", given, &name));
        }
    }
    // A registered name wins over its argument, which is then ignored (`legacy_registry.go` ProcessPredicatePolicy).
    if rules.has_legacy_registry() && registry::is_predicate(&name, context) {
        return Ok(Entry { name, rule: Rule::Named });
    }
    let labels =
        |document: &Document<'_>| document.field("labels").elements().iter().map(|label| label.text().into()).collect::<Vec<Arc<str>>>();
    let own = |usual: &str| if rules.entries_are_plugins() { usual.to_owned() } else { name.clone() };
    if !affinity.is_absent() {
        return Ok(Entry { name: own("CheckServiceAffinity"), rule: Rule::ServiceAffinity(labels(&affinity)) });
    }
    if !presence.is_absent() {
        let wanted = presence.field("presence").truth().unwrap_or(false);
        let labels = labels(&presence).into_iter().map(|label| (label, wanted)).collect();
        return Ok(Entry { name: own("CheckNodeLabelPresence"), rule: Rule::LabelPresence(labels) });
    }
    if name == "PodToleratesNodeNoExecuteTaints" && !rules.has_legacy_registry() {
        unverifiable.push(Unverifiable::UnregisteredPredicate { name: name.clone(), release: context.release });
    } else if !registry::is_predicate(&name, context) {
        return Err(rules.not_found("predicate", &name));
    }
    Ok(Entry { name, rule: Rule::Named })
}

/// A name has one predicate, the last of that name; where they are plugins, labels of several entries are merged.
fn add(entry: Entry, entries: &mut Vec<Entry>, context: &Context<'_>) {
    let Some(known) = entries.iter_mut().find(|known| known.name == entry.name) else { return entries.push(entry) };
    let together = context.rules().entries_are_plugins();
    match (&mut known.rule, entry.rule) {
        (Rule::LabelPresence(labels), Rule::LabelPresence(more)) if together => labels.extend(more),
        (Rule::ServiceAffinity(labels), Rule::ServiceAffinity(more)) if together => labels.extend(more),
        (Rule::LabelPresence(_) | Rule::ServiceAffinity(_), Rule::Named) => {}
        (rule, other) => *rule = other,
    }
}

fn predicate(entry: Entry) -> FilterEntry {
    let name = kept(&entry.name);
    FilterEntry { name, plugin: rule(entry.rule, name) }
}

fn rule(rule: Rule, name: &'static str) -> &'static dyn Plugin {
    match rule {
        Rule::Named => rules::named(name),
        Rule::LabelPresence(labels) => Box::leak(Box::new(ArguedPredicate::label_presence(name, labels))),
        Rule::ServiceAffinity(labels) => Box::leak(Box::new(ArguedPredicate::service_affinity(name, labels))),
    }
}

/// Predicates as Filter plugins, GeneralPredicates as four; a duplicate is an error, or the first wins.
fn as_plugins(entries: Vec<Entry>, context: &Context<'_>) -> Result<Vec<FilterEntry>, Vec<String>> {
    let mut filters: Vec<FilterEntry> = Vec::new();
    let mut wrong = Vec::new();
    for entry in entries {
        let named = matches!(entry.rule, Rule::Named);
        let (argued, of) = match entry.rule {
            Rule::Named if entry.name == "CheckNodeLabelPresence" => (Some("NodeLabel"), Rule::LabelPresence(Vec::new())),
            Rule::Named if entry.name == "CheckServiceAffinity" => (Some("ServiceAffinity"), Rule::ServiceAffinity(Vec::new())),
            Rule::Named => (None, Rule::Named),
            of @ Rule::LabelPresence(_) => (Some("NodeLabel"), of),
            of @ Rule::ServiceAffinity(_) => (Some("ServiceAffinity"), of),
        };
        let predicate = kept(&entry.name);
        if let Some(name) = argued {
            wrong.extend(if named && context.rules().named_plugins_lack_arguments() { got_nothing(name, context.release) } else { None });
            filters.push(FilterEntry { name, plugin: rule(of, name) });
            continue;
        }
        for name in legacy::plugins_of(predicate) {
            if filters.iter().any(|known| known.name == name) {
                let refused = !context.rules().merges_repeated_plugins();
                wrong.extend(refused.then(|| format!("plugin {name:?} already registered as \"FilterPlugin\"")));
                continue;
            }
            let plugin = rules::named(legacy::predicate_behind(name, context.release).unwrap_or(name));
            filters.push(FilterEntry { name, plugin });
        }
    }
    if wrong.is_empty() { Ok(filters) } else { Err(wrong) }
}
