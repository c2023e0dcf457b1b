//! The formulas, orders and wordings that differ between releases: possible values of [`Rules`](super::Rules).

/// The order in which inter-pod affinity is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum AffinityOrder {
    /// Existing pods' anti-affinity, then the pod's affinity, then its anti-affinity.
    ExistingFirst,
    /// The pod's affinity, its anti-affinity, then existing pods' anti-affinity.
    OwnFirst,
}

/// The formula of the spread constraints' score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum SpreadFormula {
    /// The share of matching pods, reversed.
    Flip,
    /// Weighted by the logarithm of the number of domains, truncated.
    LogTruncated,
    /// The same, rounded.
    LogRounded,
}

/// The score of a pod without spread constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum WithoutConstraints {
    /// Zero on every node.
    Zero,
    /// The maximum score on every node.
    Full,
    /// The plugin does not run.
    Skip,
}

/// The formula of balance between resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum BalancedFormula {
    /// The difference of two fractions.
    Difference,
    /// The standard deviation of the fractions.
    Deviation,
    /// The same, skipped for pods that request none of the resources.
    DeviationOrSkip,
    /// The change that the pod makes.
    Change,
}

/// The formula of the score for the size of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum ImageFormula {
    /// Size alone, in ten buckets.
    Buckets,
    /// Spread over the cluster, one maximum for every pod.
    Spread,
    /// Spread over the cluster, the maximum grows with the number of containers.
    SpreadPerContainer,
}

/// The format of an unschedulable pod's message (FitError).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum FitErrorFormat {
    /// `0/N nodes are available: R.`
    Reasons,
    /// The same, and PostFilter's message.
    ReasonsAndPreemption,
    /// Three parts, each with a full stop of its own (1.26 to 1.28).
    Dotted,
    /// PreFilter's message or the reasons, and PostFilter's message.
    PreFilterOrReasons,
}

/// Which nodes preemption tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum PreemptionCandidates {
    /// Every node whose status is not UnschedulableAndUnresolvable, nodes without a status too.
    AllButUnresolvable,
    /// Only nodes whose status is Unschedulable.
    Unschedulable,
}

/// The order of plugins that MultiPoint and an extension point name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum MultiPointOrder {
    /// The extension point's, then those that only MultiPoint names.
    Last,
    /// Those named in both places, then those of MultiPoint, then the extension point's others; a loop that changes the list it iterates over may
    /// name plugins twice.
    OverridesInPlace,
    /// The same without that bug.
    Overrides,
}
