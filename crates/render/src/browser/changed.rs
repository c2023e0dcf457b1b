//! What changed between two moments: what somebody did, by author, and how the states differ, by kind.

use std::collections::BTreeMap;

use ketcd_cluster::diff::NamedDifference;
use ketcd_history::compare::Weight;
use ketcd_history::timeline::Subject;
use ketcd_history::{AttributedChange, ChangeKind, intervention};

use crate::contract::browser::{PageAuthor, PageDifference, PageIntervention, PageName};
use crate::contract::common::{ActorFrom, Time};
use crate::words::intervention_words;

/// The most interventions that are listed.
const MAX_INTERVENTIONS: usize = 500;
/// The most objects of a kind and a namespace that are named.
const MAX_NAMES: usize = 20;

/// What somebody did, by author, and how much of it is left out. `named` says how the object of a key is named to ketcd.
pub fn interventions(changes: &[AttributedChange], named: impl Fn(&[u8]) -> String) -> (Vec<PageAuthor>, usize) {
    let mut authors: BTreeMap<Option<String>, PageAuthor> = BTreeMap::new();
    let (mut listed, mut left) = (0, 0);
    for attributed in changes {
        let (Some(object), Some(what)) = (attributed.change.object(), intervention(attributed)) else { continue };
        let by = attributed.by();
        let name = by.as_ref().map(ToString::to_string);
        let author = authors.entry(name.clone()).or_insert_with(|| PageAuthor {
            by: name,
            by_from: ActorFrom::of(by.as_ref()),
            changes: 0,
            items: Vec::new(),
        });
        author.changes += 1;
        if listed == MAX_INTERVENTIONS {
            left += 1;
            continue;
        }
        listed += 1;
        let Subject { kind, namespace, name, uid } = Subject::of(object);
        author.items.push(PageIntervention {
            object: PageName { address: named(&attributed.change.key), kind, namespace, name, uid },
            ms: attributed.dated.map(|dated| dated.time.as_millisecond()),
            revision: attributed.change.revision.0,
            time: Time::of(attributed.dated),
            what: intervention_words(&what),
        });
    }
    let mut authors: Vec<PageAuthor> = authors.into_values().collect();
    authors.sort_by_key(|author| (author.by.is_none(), std::cmp::Reverse(author.changes)));
    (authors, left)
}

/// How two states differ, by kind and namespace, the most telling first; Events are left out.
pub fn kind_differences(found: &[NamedDifference], named: impl Fn(&[u8]) -> String) -> Vec<PageDifference> {
    let mut kinds: BTreeMap<(&str, &str), PageDifference> = BTreeMap::new();
    for NamedDifference { subject, difference } in found.iter().filter(|named| !named.subject.kind.is_empty()) {
        let weight = difference.weight();
        if weight == Weight::Event {
            continue;
        }
        let entry = kinds.entry((&subject.kind, &subject.namespace)).or_default();
        (entry.kind, entry.namespace) = (subject.kind.clone(), subject.namespace.clone());
        if weight == Weight::Noise {
            entry.bookkeeping += 1;
            continue;
        }
        match difference.kind() {
            ChangeKind::Added => entry.added += 1,
            ChangeKind::Modified => entry.changed += 1,
            ChangeKind::Deleted => entry.deleted += 1,
        }
        if entry.names.len() < MAX_NAMES {
            let object = difference.after.object().or(difference.before.object());
            let uid = object.and_then(|object| object["metadata"]["uid"].as_str()).unwrap_or_default();
            entry.names.push(PageName {
                address: named(&difference.key),
                kind: subject.kind.clone(),
                namespace: subject.namespace.clone(),
                name: subject.name.clone(),
                uid: uid.to_owned(),
            });
        }
    }
    let mut kinds: Vec<PageDifference> = kinds.into_values().collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.added + kind.changed + kind.deleted));
    kinds
}
