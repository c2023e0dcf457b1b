//! Two ways a predicate or priority comes to be: by a rule of its own, or as a framework plugin under its old name.

use std::borrow::Cow;

use super::reason::{PreparedPredicate, in_words_of, verdict};
use crate::framework::{Candidate, ChangeOf, Fact, Need, Touches};
use crate::release::Rules;
use crate::{Cycle, Feasible, Plugin, PreFilter, PreScore, Refusal, Verdict, plugins};

/// What a predicate shares with the plugin that took its place, apart from the verdict.
macro_rules! as_its_successor {
    () => {
        fn compared(&self, cycle: &Cycle, node: &Candidate, verdict: &Verdict) -> Vec<Fact> {
            plugins::rule(self.successor).compared(cycle, node, verdict)
        }

        fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
            plugins::rule(self.successor).needs(cycle, node)
        }

        fn needs_after_error(&self, cycle: &Cycle) -> Vec<Need> {
            plugins::rule(self.successor).needs_after_error(cycle)
        }

        fn touches(&self) -> Touches {
            plugins::rule(self.successor).touches()
        }

        fn is_met_by(&self) -> ChangeOf {
            plugins::rule(self.successor).is_met_by()
        }

        fn looks_at_pods(&self) -> bool {
            plugins::rule(self.successor).looks_at_pods()
        }
    };
}

/// A predicate prepared for one pod, as a plugin's answer before any node is evaluated.
pub(super) fn prefilter<'a>(cycle: &'a Cycle<'a>, prepared: PreparedPredicate<'a>) -> PreFilter<'a> {
    let rules = &cycle.profile.rules;
    PreFilter::Filter(Box::new(move |candidate| prepared(candidate).map_or_else(|verdict| verdict, |reasons| verdict(&reasons, rules))))
}

/// A predicate with a rule of its own, whose place a framework plugin took.
pub(super) struct Predicate {
    /// Upstream's name.
    pub name: &'static str,
    /// Its page.
    pub doc: &'static str,
    /// The plugin that took its place, which compares and needs the same.
    pub successor: &'static str,
    /// Prepares it for one pod.
    pub prepare: for<'a> fn(&'a Cycle<'a>) -> PreparedPredicate<'a>,
}

impl Plugin for Predicate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        prefilter(cycle, (self.prepare)(cycle))
    }

    as_its_successor!();
}

/// A predicate or priority whose rule is that of the framework plugin which took its place.
pub(super) struct Renamed {
    /// The name it had.
    pub name: &'static str,
    /// Its page.
    pub doc: &'static str,
    /// The plugin's name.
    pub successor: &'static str,
}

impl Plugin for Renamed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    /// Predicates cannot be skipped, nor can they refuse a pod before nodes are evaluated.
    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let rules = &cycle.profile.rules;
        match plugins::rule(self.successor).filter(cycle) {
            PreFilter::Skip => PreFilter::Filter(Box::new(|_| Verdict::Pass)),
            PreFilter::Refuse(refusal) => PreFilter::Filter(Box::new(move |_| translated(Verdict::Reject(refusal.clone()), rules))),
            PreFilter::Filter(filter) | PreFilter::Narrow(_, filter) => {
                PreFilter::Filter(Box::new(move |candidate| translated(filter(candidate), rules)))
            }
            PreFilter::Error(error) => PreFilter::Filter(Box::new(move |_| Verdict::Error(error.clone()))),
        }
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, feasible: &'a Feasible<'a>) -> PreScore<'a> {
        match plugins::rule(self.successor).score(cycle, feasible) {
            PreScore::Skip => PreScore::plain(|_| 0),
            other => other,
        }
    }

    as_its_successor!();
}

/// A framework plugin's verdict in the words of an older release.
fn translated(verdict: Verdict, rules: &Rules) -> Verdict {
    match verdict {
        Verdict::Skip => Verdict::Pass,
        Verdict::Reject(Refusal { reasons, preemption_may_help }) => {
            let reasons = reasons.into_iter().map(|reason| in_words_of(reason, rules)).collect::<Vec<Cow<'static, str>>>();
            Verdict::Reject(Refusal { reasons, preemption_may_help })
        }
        other => other,
    }
}
