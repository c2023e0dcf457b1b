//! Stands in for a plugin whose rule is not written here: it never says that a pod fits.

use crate::{Cycle, Feasible, Plugin, PreFilter, PreScore, Verdict};

/// A plugin without a rule.
pub(crate) struct Pending;

const MISSING_RULE_REASON: &str = "ketcd has no rule for this plugin";

impl Plugin for Pending {
    fn name(&self) -> &'static str {
        "Pending"
    }

    fn doc(&self) -> &'static str {
        "A plugin that ketcd has no rule for: every node is unknown to it.\n"
    }

    fn filter<'a>(&self, _cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        PreFilter::Filter(Box::new(|_| Verdict::Unknown { missing: MISSING_RULE_REASON.into() }))
    }

    fn score<'a>(&self, _cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        PreScore::Unknown(MISSING_RULE_REASON.into())
    }
}
