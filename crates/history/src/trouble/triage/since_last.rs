//! What is new, what ended and what stays, between two moments that were looked at.

use std::collections::BTreeSet;

use super::Finding;

/// What became of a trouble since the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TroubleState {
    /// It was not there the last time.
    New,
    /// It was there, and is no longer.
    Ended,
    /// It was there, and still is.
    Stays,
}

impl TroubleState {
    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Ended => "ended",
            Self::Stays => "stays",
        }
    }
}

/// Returns what became of each trouble, by the ids of the last time and of now. Where `is_whole` does not hold, some of the data could not be read now:
/// what is not seen then is not known to have ended.
pub fn states<'i>(last: &BTreeSet<&'i str>, now: &BTreeSet<&'i str>, is_whole: bool) -> Vec<(&'i str, TroubleState)> {
    let gone = if is_whole { TroubleState::Ended } else { TroubleState::Stays };
    let state = |id: &&'i str| match (last.contains(id), now.contains(id)) {
        (true, true) => TroubleState::Stays,
        (false, _) => TroubleState::New,
        (true, false) => gone,
    };
    last.union(now).map(|id| (*id, state(id))).collect()
}

/// Splits findings so that the troubles of each have one state, effects too. What followed stays below the first part. Returns with each finding the place
/// of the one that it is a part of.
pub fn split(findings: Vec<Finding>, state: &impl Fn(&Finding, usize) -> TroubleState) -> Vec<(usize, Finding)> {
    let parts = |(place, finding): (usize, Finding)| parts(finding, state).into_iter().map(move |part| (place, part));
    findings.into_iter().enumerate().flat_map(parts).collect()
}

fn parts(mut finding: Finding, state: &impl Fn(&Finding, usize) -> TroubleState) -> Vec<Finding> {
    let effects = std::mem::take(&mut finding.effects);
    let states: Vec<TroubleState> = (0..finding.subjects.len()).map(|place| state(&finding, place)).collect();
    let kinds: BTreeSet<TroubleState> = states.iter().copied().collect();
    let mut parts: Vec<Finding> = match kinds.len() {
        0 | 1 => vec![finding],
        _ => kinds.into_iter().map(|kind| finding.part(|place| states[place] == kind)).collect(),
    };
    if let Some(first) = parts.first_mut() {
        first.effects = split(effects, state).into_iter().map(|(_, effect)| effect).collect();
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::timeline::Subject;
    use crate::trouble::{Trouble, TroubleKind};

    #[test]
    fn what_was_not_read_has_not_ended() {
        let (last, now) = (BTreeSet::from(["a", "b"]), BTreeSet::from(["b", "c"]));
        assert_eq!(states(&last, &now, true), [("a", TroubleState::Ended), ("b", TroubleState::Stays), ("c", TroubleState::New)]);
        assert_eq!(states(&last, &now, false)[0], ("a", TroubleState::Stays));
    }

    #[test]
    fn a_finding_is_split_by_the_states_of_its_objects() {
        let of = |name: &str| Finding::new(Subject { name: name.into(), ..Subject::default() }, Trouble::new(TroubleKind::NodeSilent), 2);
        let joined = super::super::finding::joined(vec![of("a"), of("b"), of("c")]).unwrap();
        let state = |finding: &Finding, place: usize| match &*finding.subjects[place].name {
            "b" => TroubleState::New,
            _ => TroubleState::Stays,
        };
        let split = split(vec![joined], &state);
        let names = |finding: &Finding| finding.subjects.iter().map(|subject| subject.name.clone()).collect::<Vec<_>>();
        let found: Vec<_> = split.iter().map(|(place, part)| (*place, names(part), part.pods)).collect();
        assert_eq!(found, [(0, vec!["b".to_owned()], 2), (0, vec!["a".to_owned(), "c".to_owned()], 4)]);
    }

    proptest! {
        /// Over any sequence of moments, each trouble is new once for each time that it comes, ended once for each time that it goes, and stays at every
        /// other moment at which it is there.
        #[test]
        fn each_trouble_is_new_once_and_ended_once(moments in prop::collection::vec(prop::collection::btree_set("[a-h]", 0..8), 1..12)) {
            let mut open: BTreeMap<String, bool> = BTreeMap::new();
            let mut last: BTreeSet<String> = BTreeSet::new();
            for now in moments {
                let found = states(&last.iter().map(String::as_str).collect(), &now.iter().map(String::as_str).collect(), true);
                let next: BTreeSet<String> =
                    found.iter().filter(|(_, state)| *state != TroubleState::Ended).map(|(id, _)| (*id).to_owned()).collect();
                for (id, state) in found {
                    let was_open = open.insert(id.to_owned(), state != TroubleState::Ended).unwrap_or(false);
                    prop_assert_eq!(was_open, state != TroubleState::New);
                }
                prop_assert_eq!(&next, &now);
                let still_open: BTreeSet<String> = open.iter().filter(|(_, is_open)| **is_open).map(|(id, _)| id.clone()).collect();
                prop_assert_eq!(&still_open, &now);
                last = next;
            }
        }
    }
}
