//! Extenders of a Policy: validated as upstream does, and reported, because their answers are not in etcd.

use std::collections::BTreeSet;

use crate::Profile;
use crate::cluster::is_extended;
use crate::config::extenders::{left_to, unverifiable};
use crate::release::PolicyRules;
use crate::validation::Document;

/// The errors of the extenders.
pub(super) fn check(document: &Document<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut managed = BTreeSet::new();
    let extenders = document.field("extenders").elements();
    for extender in &extenders {
        let prioritizes = !extender.field("prioritizeVerb").text().is_empty();
        if prioritizes && extender.field("weight").whole().unwrap_or(0) <= 0 {
            let url = extender.field("urlPrefix").text();
            wrong.push(format!("Priority for extender {url} should have a positive weight applied to it"));
        }
        for resource in extender.field("managedResources").elements() {
            let name = resource.field("name").text();
            if !is_extended(name) {
                wrong.push(format!("{name} is an invalid extended resource name"));
            }
            if !managed.insert(name) {
                wrong.push(format!("Duplicate extender managed resource name {name}"));
            }
        }
    }
    let binders = extenders.iter().filter(|extender| !extender.field("bindVerb").text().is_empty()).count();
    if binders > 1 {
        wrong.push(format!("Only one extender can implement bind, found {binders}"));
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
