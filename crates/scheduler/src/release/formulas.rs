//! The ways in which releases compute, order and word the same thing: what a rule of [`Rules`](super::Rules) may be.

/// In which order inter-pod affinity is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityOrder {
    /// Existing pods' anti-affinity, then the pod's affinity, then its anti-affinity.
    ExistingFirst,
    /// The pod's affinity, its anti-affinity, then existing pods' anti-affinity.
    OwnFirst,
}

/// How spread constraints score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpreadFormula {
    /// The share of matching pods, turned round.
    Flip,
    /// Weighted by the logarithm of the number of domains, cut off.
    LogTruncated,
    /// The same, rounded.
    LogRounded,
}

/// What a pod without spread constraints gets from their score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutConstraints {
    /// Zero on every node.
    Zero,
    /// The scale's end on every node.
    Full,
    /// The plugin does not run.
    Skip,
}

/// How balance between resources scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalancedFormula {
    /// The difference of two fractions.
    Difference,
    /// The standard deviation of the fractions.
    Deviation,
    /// The same, skipped for pods that request none of the resources.
    DeviationOrSkip,
    /// What the pod changes about it.
    Change,
}

/// How the size of images becomes a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormula {
    /// Size alone, in ten buckets.
    Buckets,
    /// Spread over the cluster, one maximum for every pod.
    Spread,
    /// Spread over the cluster, the maximum grows with the number of containers.
    SpreadPerContainer,
}

/// How the sentence about an unschedulable pod is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitErrorFormat {
    /// `0/N nodes are available: R.`
    Reasons,
    /// The same, and what preemption said.
    ReasonsAndPreemption,
    /// Three parts, each with a full stop of its own (1.26 to 1.28).
    Dotted,
    /// PreFilter's refusal or the reasons, and what preemption said.
    PreFilterOrReasons,
}

/// Which of the nodes without a refusal on record preemption looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreemptionCandidates {
    /// Every node whose refusal is not unresolvable, nodes without a status too.
    AllButUnresolvable,
    /// Only nodes that were refused and may be helped.
    Unschedulable,
}

/// In which order plugins run that MultiPoint and an extension point name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultiPointOrder {
    /// The extension point's, then those that only MultiPoint names.
    Last,
    /// Those named in both places, then those of MultiPoint, then the extension point's others; a loop that changes the list it walks may
    /// name plugins twice.
    OverridesInPlace,
    /// The same without that fault.
    Overrides,
}
