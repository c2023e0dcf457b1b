//! What differs between releases in how they read a Policy: `factory/factory.go`, `factory/plugins.go`, since 1.18
//! `framework/plugins/legacy_registry.go`.

use crate::Release;

#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyRules {
    minor: u16,
}

impl PolicyRules {
    /// The last release that reads a Policy.
    pub(crate) const LAST: Release = Release(22);

    pub(crate) fn of(release: Release) -> Self {
        Self { minor: release.0 }
    }

    /// Whether the scheduler of a Policy has a PostFilter (`factory.go` createFromConfig: not from 1.19.0 to 1.19.4, kubernetes#96472).
    pub(crate) fn has_post_filter(self, patch: u16) -> bool {
        !(self.minor == 19 && patch <= 4)
    }
}

rules_of! {
    PolicyRules, self, minor = self.minor;

    reads_policy: bool = minor <= Self::LAST.0;
    /// Whether predicates and priorities are plugins of the scheduling framework, one for all entries of a kind (since 1.17).
    entries_are_plugins: bool = minor >= 17;
    /// Whether names are looked up in the legacy registry (`legacy_registry.go`, since 1.18): a registered name wins over its argument, omitted lists
    /// have their own defaults, arguments are those of plugins.
    has_legacy_registry: bool = minor >= 18;
    /// Whether an omitted list is an empty one (1.9).
    absent_lists_are_empty: bool = minor == 9;
    /// Whether predicates run sorted by name (1.9), not in the order of predicates (`predicates.go` predicatesOrdering).
    runs_predicates_by_name: bool = minor == 9;
    /// Whether a plugin that several entries map to runs once, for the first of them (since 1.20).
    merges_repeated_plugins: bool = minor >= 20;
    /// Whether a plugin gets no arguments where only its name is given, and fails because of that (1.22).
    named_plugins_lack_arguments: bool = minor == 22;
    /// Whether pods without constraints are spread only where SelectorSpreadPriority is listed (`legacy_registry.go`, since 1.20), by
    /// PodTopologySpread where its gate is on.
    selector_spread_sets_defaults: bool = minor >= 20;
    /// The plugin that SelectorSpreadPriority became (`selectorspread/selector_spread.go`; up to 1.18 `defaultpodtopologyspread`).
    selector_spread_plugin: &'static str = if minor >= 19 { "SelectorSpread" } else { "DefaultPodTopologySpread" };
    /// Whether `alwaysCheckAllPredicates` counts (since 1.10, not in 1.17).
    checks_all_predicates: bool = minor >= 10 && minor != 17;
    /// Whether `hardPodAffinitySymmetricWeight` counts (`factory.go` CreateFromConfig, `algorithm_factory.go`: checked alone in 1.17).
    counts_symmetric_weight: bool = minor != 17;
    /// Whether NodeResourcesFit may ignore the resources that an extender manages (since 1.10).
    leaves_resources_to_extenders: bool = minor >= 10;
    /// Whether spread constraints are listed by default without their gate, with twice the weight (`legacy_registry.go`, since 1.19).
    spreads_by_default: bool = minor >= 19;
    /// Whether a priority may have the argument `requestedToCapacityRatioArguments` (since 1.11).
    takes_capacity_ratio: bool = minor >= 11;
    /// Whether that argument has resources (since 1.16).
    capacity_ratio_has_resources: bool = minor >= 16;
    /// Whether resources it does not name are not scored (`noderesources/requested_to_capacity_ratio.go`, since 1.19); before, cpu and memory are.
    capacity_ratio_without_resources: bool = minor >= 19;
}
