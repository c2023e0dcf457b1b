//! Where the findings of the cursor are, and what became of them.

use std::collections::{BTreeMap, HashSet};

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;

use crate::contract::browser::{PageName, PagePlace};
use crate::since_last::identity;

/// The most objects of one finding that are named, and effects of one: as many as the page shows.
pub const MAX_FINDING_OBJECTS: usize = 12;

/// What names findings and their effects at any moment.
pub fn finding_ids(findings: &[Finding]) -> HashSet<String> {
    let mut ids = HashSet::new();
    let mut waiting: Vec<&Finding> = findings.iter().collect();
    while let Some(finding) = waiting.pop() {
        ids.insert(identity::of_finding(finding));
        ids.extend(finding.keys().iter().map(identity::of_key));
        waiting.extend(&finding.effects);
    }
    ids
}

/// Where each finding is, by its id: `named` says how an object is named to ketcd, `later` are the ids of what is wrong at the end, and `at` is the
/// cursor in milliseconds since 1970.
pub fn places(
    findings: &[Finding],
    later: &HashSet<String>,
    at: Option<i64>,
    named: impl Fn(&Subject) -> String,
) -> BTreeMap<String, PagePlace> {
    let mut places = BTreeMap::new();
    let mut waiting: Vec<&Finding> = findings.iter().collect();
    while let Some(finding) = waiting.pop() {
        waiting.extend(&finding.effects);
        let id = identity::of_finding(finding);
        let lasts = later.contains(&id) || finding.keys().iter().any(|key| later.contains(&identity::of_key(key)));
        let object = |subject: &Subject| PageName {
            address: named(subject),
            kind: subject.kind.clone(),
            namespace: subject.namespace.clone(),
            name: subject.name.clone(),
            uid: subject.uid.clone(),
        };
        let place = PagePlace {
            count: finding.subjects.len(),
            from: finding.since().map(jiff::Timestamp::as_millisecond),
            objects: finding.subjects.iter().take(MAX_FINDING_OBJECTS).map(object).collect(),
            to: at.filter(|_| !lasts),
            turned_out: if lasts { "lasts" } else { "over" },
        };
        places.insert(id, place);
    }
    places
}
