//! What spread constraints compare: the counts of a node's domains, the skew, and the most it may be.

use crate::framework::{Fact, LabelCheck, PodCheck, SpreadCheck};
use crate::{Candidate, Cycle};

use super::filter::comparisons;

/// Each constraint that must hold: the counts of its domains, the skew, and the most it may be.
pub(super) fn spread(cycle: &Cycle, node: &Candidate, passes: bool) -> Vec<Fact> {
    let of_constraint = |compared| match compared {
        Err(key) => Fact::new(passes, LabelCheck::Missing { key }),
        Ok(of) => Fact::new(!SpreadCheck::is_skewed(&of), PodCheck::Spread(of)),
    };
    let facts: Vec<Fact> = comparisons(cycle, node).into_iter().map(of_constraint).collect();
    if facts.is_empty() { vec![Fact::holding(PodCheck::NoSpreadConstraints)] } else { facts }
}
