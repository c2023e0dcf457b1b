//! Differences that follow from others: what a reader knows from the difference of the owner.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_history::ChangeKind;
use ketcd_history::diff::{FieldPath, Segment};

use super::difference::SpecDifference;
use super::groups::OwnerNaming;
use super::left_out::{AUTOSCALED_REASON, FOLLOWS_REASON, OWNED_REASON, Reason};
use super::naming::Naming;

/// A difference, and what made the objects.
pub(super) type OwnedDifference = (SpecDifference, Option<OwnerNaming>);

const NUMBER_FIELDS: [&str; 3] = ["replicas", "parallelism", "completions"];

/// Leaves out what follows from other differences, and says how many did for which reason.
pub(super) fn settle(
    found: Vec<OwnedDifference>,
    autoscaled: &BTreeSet<OwnerNaming>,
) -> (Vec<SpecDifference>, Vec<(&'static Reason, usize)>) {
    let causes: BTreeMap<OwnerNaming, SpecDifference> =
        found.iter().map(|(difference, _)| (id_of(difference), difference.clone())).collect();
    let mut left_out: BTreeMap<&str, (&'static Reason, usize)> = BTreeMap::new();
    let mut kept = Vec::new();
    for (mut difference, owner) in found {
        let reason = is_autoscaled(&mut difference, autoscaled).or_else(|| {
            let owner = owner?;
            follows(&mut difference, &owner, causes.get(&owner), autoscaled.contains(&owner))
        });
        match reason {
            Some(reason) => left_out.entry(reason.name).or_insert((reason, 0)).1 += 1,
            None => kept.push(difference),
        }
    }
    (kept, left_out.into_values().collect())
}

fn id_of(difference: &SpecDifference) -> OwnerNaming {
    (difference.id.kind.clone(), difference.id.namespace.clone(), difference.id.naming.clone())
}

/// Takes out the number that autoscalers of both states set; returns why nothing is left, where that is so.
fn is_autoscaled(difference: &mut SpecDifference, autoscaled: &BTreeSet<OwnerNaming>) -> Option<&'static Reason> {
    if !autoscaled.contains(&id_of(difference)) || difference.kind != ChangeKind::Modified {
        return None;
    }
    difference.fields.retain(|field| !is_number(&field.path));
    (difference.fields.is_empty() && !difference.counts).then_some(&AUTOSCALED_REASON)
}

fn is_number(path: &FieldPath) -> bool {
    matches!(&path.0[..], [Segment::Field(spec), Segment::Field(name)] if spec == "spec" && NUMBER_FIELDS.contains(&&**name))
}

/// Takes out what follows from the owner; returns why nothing is left, where that is so.
fn follows(
    difference: &mut SpecDifference,
    owner: &OwnerNaming,
    cause: Option<&SpecDifference>,
    is_autoscaled: bool,
) -> Option<&'static Reason> {
    if cause.is_some_and(|cause| cause.kind != ChangeKind::Modified && cause.kind == difference.kind) {
        return Some(&OWNED_REASON);
    }
    // How many pods a DaemonSet has follows from the nodes, how many a Job has from how far it is.
    let is_of_pods = matches!(&*difference.id.kind, "Pod" | "ReplicaSet");
    let number_differs = cause.is_some_and(|cause| cause.fields.iter().any(|field| is_number(&field.path)));
    let is_number_open = is_autoscaled || number_differs || matches!(&*owner.0, "DaemonSet" | "Job");
    if is_of_pods && is_number_open {
        difference.counts = false;
        if difference.kind != ChangeKind::Modified {
            return Some(&FOLLOWS_REASON);
        }
    }
    if let Some(cause) = cause {
        difference.fields.retain(|field| !is_covered(&field.path, cause));
    }
    let has_nothing = difference.kind == ChangeKind::Modified && difference.fields.is_empty() && !difference.counts;
    has_nothing.then_some(&FOLLOWS_REASON)
}

/// Whether the owner's difference has a field, in itself or in its template.
fn is_covered(path: &FieldPath, cause: &SpecDifference) -> bool {
    let template = ["spec", "template"].map(|name| Segment::Field(name.to_owned()));
    let in_template: Vec<Segment> = template.into_iter().chain(path.0.iter().cloned()).collect();
    let covers =
        |own: &[Segment]| [&path.0[..], &in_template[..]].iter().any(|path| own.iter().zip(*path).all(|(one, other)| one == other));
    cause.fields.iter().any(|field| covers(&field.path.0))
}

/// The objects of both states that autoscalers scale.
pub(super) fn in_both(one: &BTreeSet<OwnerNaming>, other: &BTreeSet<OwnerNaming>) -> BTreeSet<OwnerNaming> {
    one.intersection(other).filter(|(_, _, naming)| matches!(naming, Naming::Name(_))).cloned().collect()
}
