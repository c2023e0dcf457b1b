//! Why a Policy is refused.
//! Sources: `apis/config/validation/validation_legacy.go`, `factory.go` CreateFromConfig, since 1.18 `framework/plugins/legacy_registry.go`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::context::PolicyContext;
use super::{extenders, registry};
use crate::config::context::Context;
use crate::config::versions::ConfigVersion;
use crate::config::{arguments, extenders as extender_rules};
use crate::validation::Document;
use crate::{Arguments, Profile};

/// Validation errors, before anything is made from the Policy.
pub(super) fn check(document: &Document<'_>, context: &PolicyContext<'_>) -> Vec<String> {
    let rules = context.rules();
    let mut wrong = weights(document);
    if rules.entries_are_plugins() {
        wrong.extend(redeclared(document));
    }
    if !rules.has_legacy_registry() {
        wrong.extend(extenders::check(document));
        return wrong;
    }
    wrong.extend(extender_rules::check(document, &configured(context)));
    let symmetric = document.field("hardPodAffinitySymmetricWeight");
    let value = symmetric.whole().filter(|value| !(0..=100).contains(value));
    wrong.extend(value.map(|value| symmetric.wrong(format!("{value} is not between 0 and 100"))));
    wrong
}

/// The priorities of a kind are one plugin: with one weight, and RequestedToCapacityRatio once only (`validateCustomPriorities`).
fn redeclared(document: &Document<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen: BTreeMap<&str, Document<'_>> = BTreeMap::new();
    for priority in document.field("priorities").elements() {
        let argument = priority.field("argument");
        let kinds = [
            ("labelPreference", "LabelPreference"),
            ("serviceAntiAffinity", "ServiceAntiAffinity"),
            ("requestedToCapacityRatioArguments", "RequestedToCapacityRatio"),
        ];
        let Some((_, kind)) = kinds.into_iter().find(|(field, _)| !argument.field(field).is_absent()) else { continue };
        let other = |known: &Document<'_>| known.field("name").text().to_owned();
        match seen.get(kind) {
            Some(known) if kind == "RequestedToCapacityRatio" => {
                wrong.push(priority.wrong(format!("priority {:?} is a {kind} already, and there can be only one", other(known))));
            }
            Some(known) if known.field("weight").whole() != priority.field("weight").whole() => {
                wrong
                    .push(priority.field("weight").wrong(format!("it must be that of priority {:?}, which is a {kind} too", other(known))));
            }
            _ => drop(seen.insert(kind, priority)),
        }
    }
    wrong
}

/// The weights of priorities must be positive, and not so large that a sum of scores overflows.
fn weights(document: &Document<'_>) -> Vec<String> {
    const MAX_WEIGHT: i64 = i64::MAX / 10;
    let entries = document.field("priorities").elements();
    let bad = entries.iter().filter(|entry| !(1..MAX_WEIGHT).contains(&entry.field("weight").whole().unwrap_or(0)));
    bad.map(|entry| entry.field("weight").wrong("it is not above zero, or too large")).collect()
}

/// NodeLabel is one plugin with the labels of all entries, none of which may be both required and forbidden (`plugins/nodelabel/node_label.go`).
pub(super) fn label_conflicts(predicates: &Document<'_>, priorities: &Document<'_>, context: &PolicyContext<'_>) -> Option<String> {
    let rules = context.rules();
    if !rules.entries_are_plugins() {
        return None;
    }
    let counts = |known: bool| !rules.has_legacy_registry() || !known;
    let [mut present, mut absent, mut preferred, mut avoided]: [Vec<String>; 4] = Default::default();
    for entry in predicates.elements() {
        let wanted = entry.field("argument").field("labelsPresence");
        if counts(registry::is_predicate(entry.field("name").text(), context)) {
            let list = if wanted.field("presence").truth() == Some(true) { &mut present } else { &mut absent };
            list.extend(wanted.field("labels").elements().iter().map(|label| label.text().to_owned()));
        }
    }
    for entry in priorities.elements() {
        let wanted = entry.field("argument").field("labelPreference");
        if !wanted.is_absent() && counts(registry::is_priority(entry.field("name").text(), context)) {
            let list = if wanted.field("presence").truth() == Some(true) { &mut preferred } else { &mut avoided };
            list.push(wanted.field("label").text().to_owned());
        }
    }
    let args = json!({
        "presentLabels": present, "absentLabels": absent, "presentLabelsPreference": preferred, "absentLabelsPreference": avoided,
    });
    plugin_refused("NodeLabel", &args, &mut Profile::new(context.release, context.gates.clone()).arguments, context)
}

/// Reads the arguments of a plugin as those of a configuration; returns why it is not created.
pub(super) fn plugin_refused(plugin: &str, args: &Value, arguments: &mut Arguments, context: &PolicyContext<'_>) -> Option<String> {
    let reasons = arguments::read(plugin, &Document::new(args), &configured(context), arguments);
    arguments::not_made(plugin, &reasons)
}

/// The context of a configuration of the same release.
fn configured<'a>(context: &PolicyContext<'a>) -> Context<'a> {
    Context { version: ConfigVersion::V1Alpha2, release: context.release, gates: context.gates }
}

/// Why a plugin named without arguments is not created.
pub(super) fn lacks_arguments(plugin: &str) -> String {
    format!("{plugin} needs arguments: give it by an entry with an argument")
}
