//! What spread constraints compare: the counts of a node's domains, the skew, and the most it may be.

use crate::framework::Fact;
use crate::{Candidate, Cycle};

use super::filter::{Comparison, comparisons};

/// Each constraint that must hold: the counts of its domains, the skew, and the most it may be.
pub(super) fn spread(cycle: &Cycle, node: &Candidate, passes: bool) -> Vec<Fact> {
    let told = comparisons(cycle, node).into_iter().map(|compared| match compared {
        Err(key) => Fact::new(passes, format!("it has no label {key}")),
        Ok(of) => Fact::new(!of.is_skewed(), skew(&of)),
    });
    let told: Vec<Fact> = told.collect();
    if told.is_empty() { vec![Fact::holding("the pod has no spread constraint that must hold".to_owned())] } else { told }
}

fn skew(of: &Comparison) -> String {
    const DOMAINS: usize = 6;
    let pods = if of.count == 1 { "pod" } else { "pods" };
    let one_more = if of.own > 0 { " and this one" } else { "" };
    let least = if of.few {
        format!("the emptiest counts as 0, as there are fewer than minDomains ({})", of.min_domains)
    } else {
        format!("the emptiest domain {}", of.least)
    };
    let mut domains: Vec<String> = of.domains.iter().take(DOMAINS).map(|(value, count)| format!("{value} {count}")).collect();
    let more = of.domains.len().saturating_sub(DOMAINS);
    domains.extend((more > 0).then(|| format!("{more} more")));
    let skew = of.count + of.own - of.least;
    let (key, value, count) = (&of.key, &of.value, of.count);
    format!("{key}={value} holds {count} matching {pods}{one_more}, {least}: skew {skew}, maxSkew {} ({})", of.max_skew, domains.join(", "))
}
