//! Extenders of a Policy: validated by upstream's rules, and reported, because their answers are not in etcd.

use std::collections::BTreeSet;

use crate::Profile;
use crate::cluster::is_extended;
use crate::config::extenders::{left_to, unverifiable};
use crate::release::PolicyRules;
use crate::validation::Document;

pub(super) fn check(document: &Document<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut managed = BTreeSet::new();
    let extenders = document.field("extenders").elements();
    for extender in &extenders {
        let prioritizes = !extender.field("prioritizeVerb").text().is_empty();
        if prioritizes && extender.field("weight").whole().unwrap_or(0) <= 0 {
            wrong.push(extender.field("weight").wrong("an extender that scores needs a weight above zero"));
        }
        for resource in extender.field("managedResources").elements() {
            let name = resource.field("name");
            if !is_extended(name.text()) {
                wrong.push(name.wrong(format!("{:?} is not the name of an extended resource", name.text())));
            }
            if !managed.insert(name.text()) {
                wrong.push(name.wrong(format!("{:?} is named twice", name.text())));
            }
        }
    }
    let binders = extenders.iter().filter(|extender| !extender.field("bindVerb").text().is_empty()).count();
    if binders > 1 {
        wrong.push(document.field("extenders").wrong(format!("only one extender can bind, and {binders} have a bindVerb")));
    }
    wrong
}

/// Reports the extenders in the profile and ignores the resources they manage; returns whether there are any.
pub(super) fn read(document: &Document<'_>, profile: &mut Profile) -> bool {
    let extenders = document.field("extenders").elements();
    for extender in &extenders {
        profile.unverifiable.extend(unverifiable(extender));
        if PolicyRules::of(profile.release).leaves_resources_to_extenders() {
            profile.arguments.ignored_resources.extend(left_to(extender));
        }
    }
    !extenders.is_empty()
}
