//! Extenders: validated by upstream's rules, and reported, because their answers are not in etcd.
//! Upstream: `apis/config/validation/validation.go` validateExtenders; `scheduler.go` New for the resources left to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::context::Context;
use super::versions::ConfigVersion;
use crate::framework::Unverifiable;
use crate::validation::Document;
use crate::validation::label_name;

pub(super) fn check(document: &Document<'_>, context: &Context<'_>) -> Vec<String> {
    let list = document.field("extenders");
    let mut wrong = Vec::new();
    let mut managed = BTreeSet::new();
    for extender in listed(document, context) {
        let weight = extender.field("weight");
        if !extender.field("prioritizeVerb").text().is_empty() && weight.whole().unwrap_or(0) <= 0 {
            wrong.push(weight.wrong("an extender that scores needs a weight above zero"));
        }
        for resource in extender.field("managedResources").elements() {
            let name = resource.field("name");
            if !label_name::of_name(name.text(), context.release).is_empty() || !crate::cluster::is_extended(name.text()) {
                wrong.push(name.wrong(format!("{:?} is not the name of an extended resource", name.text())));
            }
            if !managed.insert(name.text()) {
                wrong.push(name.wrong(format!("{:?} is named twice", name.text())));
            }
        }
    }
    let binders = listed(document, context).iter().filter(|extender| !extender.field("bindVerb").text().is_empty()).count();
    if binders > 1 {
        wrong.push(list.wrong(format!("only one extender can bind, and {binders} have a bindVerb")));
    }
    wrong
}

/// v1alpha1 has none: the Policy has them.
fn listed<'d>(document: &Document<'d>, context: &Context<'_>) -> Vec<Document<'d>> {
    if context.version == ConfigVersion::V1Alpha1 { Vec::new() } else { document.field("extenders").elements() }
}

/// What cannot be verified of each extender.
pub(super) fn named(document: &Document<'_>, context: &Context<'_>) -> Vec<Unverifiable> {
    listed(document, context).iter().flat_map(unverifiable).collect()
}

/// What an extender may have done, and the files it reads.
pub(super) fn unverifiable(extender: &Document<'_>) -> Vec<Unverifiable> {
    let tls = extender.field("tlsConfig");
    let read = [("certFile", "certData"), ("keyFile", "keyData"), ("caFile", "caData")];
    // A file is not read where its content is given.
    let files = read.iter().filter(|(_, data)| tls.field(data).text().is_empty()).map(|(file, _)| tls.field(file).text());
    let files: Vec<String> = files.filter(|file| !file.is_empty()).map(str::to_owned).collect();
    let url = extender.field("urlPrefix").text().to_owned();
    let needs = (!files.is_empty()).then(|| Unverifiable::ExtenderFiles { url: url.clone(), files });
    let has = |verb: &str| !extender.field(verb).text().is_empty();
    let answers = Unverifiable::Extender { url, filters: has("filterVerb"), prioritizes: has("prioritizeVerb") };
    [answers].into_iter().chain(needs).collect()
}

/// The resources that NodeResourcesFit ignores because extenders manage them, instead of those its arguments name.
pub(super) fn left_to_them(document: &Document<'_>, context: &Context<'_>) -> Vec<Arc<str>> {
    listed(document, context).iter().flat_map(left_to).collect()
}

/// The resources that the scheduler leaves to an extender.
pub(super) fn left_to(extender: &Document<'_>) -> Vec<Arc<str>> {
    let managed = extender.field("managedResources").elements().into_iter();
    let ignored = managed.filter(|resource| resource.field("ignoredByScheduler").truth() == Some(true));
    ignored.map(|resource| resource.field("name").text().into()).collect()
}
