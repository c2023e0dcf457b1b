//! How many nodes the scheduler evaluates before it stops (`percentageOfNodesToScore`), and what does not depend on which nodes those were.

use crate::framework::{Profile, Sample};
use crate::release::Sampling;

impl Sample {
    /// Returns the sample taken when `fit` of `of` nodes fit.
    pub fn new(profile: &Profile, of: usize, fit: usize) -> Self {
        Self { of, fit, enough: enough(profile, of) }
    }
}

/// Returns the number of feasible nodes among `nodes` after which the scheduler stops; `nodes` if it evaluates all of them.
/// Upstream: `numFeasibleNodesToFind` (`core/generic_scheduler.go`, `schedule_one.go`).
pub(crate) fn enough(profile: &Profile, nodes: usize) -> usize {
    const MIN_FEASIBLE_NODES: usize = 100;
    const MINIMUM_PERCENT: usize = 5;
    let configured = profile.percentage_of_nodes_to_score.and_then(|percent| usize::try_from(percent).ok());
    match profile.rules.sampling() {
        Sampling::All => return nodes,
        Sampling::Half => {
            let percent = configured.unwrap_or(50);
            return if nodes < MIN_FEASIBLE_NODES || percent == 0 || percent >= 100 {
                nodes
            } else {
                MIN_FEASIBLE_NODES.max(nodes * percent / 100)
            };
        }
        Sampling::AdaptiveOrFirst if !profile.scoring => return 1,
        Sampling::Adaptive | Sampling::AdaptiveOrFirst => {}
    }
    let percent = match configured.filter(|percent| *percent > 0) {
        Some(percent) => percent,
        None => 50_usize.saturating_sub(nodes / 125).max(MINIMUM_PERCENT),
    };
    if nodes < MIN_FEASIBLE_NODES || percent >= 100 { nodes } else { MIN_FEASIBLE_NODES.max(nodes * percent / 100) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gates, Release};

    #[test]
    fn feasible_nodes_to_find_equal_upstreams() {
        let profile = Profile::new(Release(30), Gates::new(Release(30)));
        let table = [(99, 99), (100, 100), (200, 100), (500, 230), (1000, 420), (5000, 500), (5625, 281), (10000, 500)];
        for (nodes, want) in table {
            assert_eq!(enough(&profile, nodes), want, "{nodes}");
        }
    }
}
