//! What differs between two states in what objects are meant to be: without uid, times, status and generated names, objects matched by what they are.

mod consequences;
mod difference;
mod groups;
mod left_out;
mod naming;
mod newer_defaults;
mod normal_form;
mod owners;
mod pairing;
mod state_objects;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::state::ComparedState;
use crate::error::{Error, Nothing, Result};
use crate::selection::Selection;
use consequences::{in_both, settle};
use groups::{Groups, SpecQuestion};
use pairing::difference;
use state_objects::{StateObjects, in_one_version};

pub use difference::{SpecChange, SpecDiff, SpecDifference, SpecField, SpecId};
pub use left_out::Reason;
pub use naming::Naming;
pub use newer_defaults::NewerDefault;

/// Compares what words name, and the selection takes in either state, in two states; without words, everything in the namespace of each state, or in
/// all. Where the two namespaces differ, one stands for the other.
///
/// # Errors
/// A word that names no kind, a source that cannot be read, or namespaces that hold nothing.
pub async fn spec_diff(states: &[ComparedState<'_>; 2], words: &[String], selection: &Selection) -> Result<SpecDiff> {
    let [before, after] = states;
    let read = [StateObjects::read(before, words).await?, StateObjects::read(after, words).await?];
    let namespaces = [before, after].map(|state| state.namespace.clone());
    if let ([Some(namespace), Some(other)], []) = (&namespaces, words) {
        let is_empty = [0, 1].map(|side| read[side].objects.is_empty() && read[side].not_decoded.is_empty());
        let name = if is_empty[1] { other } else { namespace };
        if is_empty == [true, true] || namespace != other && is_empty.contains(&true) {
            let states = states.each_ref().map(|state| state.name.clone());
            return Err(Error::Nothing(Nothing::InEither { namespace: name.clone(), states }));
        }
    }
    let are_mapped = matches!(&namespaces, [Some(one), Some(other)] if one != other);
    let namespaces = namespaces.each_ref().map(|namespace| namespace.as_deref().filter(|_| are_mapped));
    Ok(compare(read, namespaces, selection))
}

/// Compares what two states hold. Where `namespaces` names two, one stands for the other.
fn compare(read: [StateObjects; 2], namespaces: [Option<&str>; 2], selection: &Selection) -> SpecDiff {
    let releases = read.each_ref().map(|state| state.release);
    let skipped = read.each_ref().map(|state| state.left_out);
    let not_decoded = read.each_ref().map(|state| state.not_decoded.clone());
    let is_one_release = releases[0].is_some() && releases[0] == releases[1];
    let objects = in_one_version(read);
    let sides = [0, 1].map(|side| {
        let mut groups = Groups::of(&objects[side], &SpecQuestion { is_one_release, namespace: namespaces[side], selection });
        skipped[side].into_iter().filter(|(_, count)| *count > 0).for_each(|(reason, count)| groups.leave_out(reason, count));
        groups
    });
    let autoscaled = in_both(&sides[0].autoscaled, &sides[1].autoscaled);
    let (mut found, mut defaults) = (Vec::new(), Vec::new());
    let ids: BTreeSet<&SpecId> = sides.iter().flat_map(|side| side.groups.keys()).collect();
    for id in ids {
        let [before, after] = sides.each_ref().map(|side| side.groups.get(id));
        let either = [after, before].into_iter().flatten();
        if either.clone().any(|group| group.is_selected)
            && let Some(difference) = difference(id, before, after, &mut defaults)
        {
            found.push((difference, either.clone().find_map(|group| group.owner.clone())));
        }
    }
    let (differences, follows) = settle(found, &autoscaled);
    SpecDiff { releases, differences, left_out: counted(&sides, follows), newer_defaults: tallied(defaults), not_decoded }
}

/// How many objects each state has that are left out, by the reason.
fn counted(sides: &[Groups; 2], follows: Vec<(&'static Reason, usize)>) -> Vec<(&'static Reason, [usize; 2])> {
    let mut counts: BTreeMap<&str, (&'static Reason, [usize; 2])> = BTreeMap::new();
    for (side, groups) in sides.iter().enumerate() {
        for (reason, count) in &groups.left_out {
            counts.entry(reason.name).or_insert((reason, [0, 0])).1[side] += count;
        }
    }
    // What follows from a difference is of both states.
    for (reason, count) in follows {
        counts.insert(reason.name, (reason, [count, count]));
    }
    counts.into_values().collect()
}

fn tallied(defaults: Vec<&'static NewerDefault>) -> Vec<(&'static NewerDefault, usize)> {
    let mut tallied: Vec<(&'static NewerDefault, usize)> = Vec::new();
    for default in defaults {
        match tallied.iter_mut().find(|(known, _)| *known == default) {
            Some((_, count)) => *count += 1,
            None => tallied.push((default, 1)),
        }
    }
    tallied
}
