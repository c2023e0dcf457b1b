//! What differs from release to release: the switches that plugins and the cycle read. A row is a rule: what it means and since when, its type, and
//! its value by the release.

use crate::cluster::{NamespaceSelectors, RequestRules, RequestSums, ResizeRules, ResizeStatus};

use crate::{Gates, Release};

use super::formulas::{
    AffinityOrder, BalancedFormula, FitErrorFormat, ImageFormula, MultiPointOrder, PreemptionCandidates, SpreadFormula, WithoutConstraints,
};

/// Makes [`Rules`] of rows. The names in front are those that the rows' values use.
macro_rules! rules {
    (
        ($release:ident, $minor:ident, $gates:ident, $until:ident, $within:ident);
        $($(#[$doc:meta])* $rule:ident: $type:ty = $value:expr;)*
    ) => {
        /// The rules of one release under its gates.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct Rules {
            $($(#[$doc])* pub $rule: $type,)*
        }

        impl Rules {
            /// The rules of a release under its gates; where patches changed them those of its patch (see [`Gates::patch`]). Sources: the upstream
            /// file of each plugin named below `pkg/scheduler/framework/plugins/`.
            pub fn new($release: Release, $gates: &Gates) -> Self {
                let $minor = $release.0;
                // Whether it is one of these minors, up to that patch.
                let $until = |patches: &[(u16, u16)]| patches.iter().any(|(of, last)| *of == $minor && $gates.patch() <= *last);
                // Whether it is one of these minors, from that patch to that one.
                let $within = |patches: &[(u16, u16, u16)]| {
                    patches.iter().any(|(of, first, last)| *of == $minor && (*first..=*last).contains(&$gates.patch()))
                };
                Self { $($rule: $value,)* }
            }
        }
    };
}

rules! {
    (release, minor, gates, until, within);

    /// The release.
    release: Release = release;
    /// The most points that a plugin gives a node: 10 up to 1.16, 100 since (`framework/interface.go` MaxNodeScore; `api/types.go` MaxPriority).
    max_score: i64 = if minor <= 16 { 10 } else { 100 };
    /// How requests of pods and containers are summed.
    requests: RequestRules = request_rules(minor, gates, until(&[(16, 9), (17, 5), (18, 2)]));

    /// The reason that a node has no room for one more pod (`noderesources/fit.go`): other words since 1.18.
    too_many_pods: &'static str = if minor <= 17 { "Insufficient pods" } else { "Too many pods" };
    /// Resources that a pod does not request are checked too (`noderesources/fit.go`, up to 1.27).
    zero_request_checked: bool = minor <= 27;
    /// Extended resources requested as zero are checked too (`noderesources/fit.go`, up to 1.25).
    zero_scalar_checked: bool = minor <= 25;
    /// `ignoredResourceGroups` counts (`noderesources/fit.go`, since 1.19).
    ignored_resource_groups: bool = minor >= 19;
    /// A request above what the node could ever offer cannot be resolved by preemption (`noderesources/fit.go`, since 1.34).
    fit_unresolvable: bool = minor >= 34;
    /// Pods with sidecars are refused: sidecars are known since 1.28, and the gate SidecarContainers was removed in 1.37.
    sidecars_refused: bool = (28..=36).contains(&minor) && !gates.on("SidecarContainers");
    /// Extended resources may be backed by devices (DRAExtendedResource).
    dra_extended_resources: bool = gates.on("DRAExtendedResource") && gates.on("DynamicResourceAllocation");
    /// Host ports of sidecars count (`nodeports/node_ports.go`, since 1.34).
    sidecar_ports: bool = minor >= 34;

    /// The reason names the taint (`tainttoleration/taint_toleration.go`, up to 1.34.1; kubernetes#135023).
    taint_named: bool = minor <= 33 || until(&[(34, 1)]);
    /// Tolerations have the operators Lt and Gt (TaintTolerationComparisonOperators, a gate since 1.35;
    /// `component-helpers/scheduling/corev1/helpers.go`).
    taint_comparisons: bool = gates.on("TaintTolerationComparisonOperators");

    /// PreScore skips pods without preferred terms (`nodeaffinity/node_affinity.go`, since 1.30).
    node_affinity_skips: bool = minor >= 30;
    /// `matchFields` of required terms counts (since 1.11). A term that does not parse ends the selector up to 1.10 and is skipped since.
    match_fields: bool = minor >= 11;
    /// `matchFields` of preferred terms counts (since 1.20).
    preferred_match_fields: bool = minor >= 20;
    /// PreFilter narrows the nodes to those that node affinity names (`nodeaffinity/node_affinity.go`, since 1.24).
    node_subset: bool = minor >= 24;

    /// The order of the checks (`interpodaffinity/filtering.go`): other since 1.19.
    affinity_order: AffinityOrder = if minor <= 18 { AffinityOrder::ExistingFirst } else { AffinityOrder::OwnFirst };
    /// The general reason that is listed before the specific one (`interpodaffinity/filtering.go`, up to 1.21).
    affinity_reason_pair: Option<&'static str> = match minor {
        ..=20 => Some("node(s) didn't match pod affinity/anti-affinity"),
        21 => Some("node(s) didn't match pod affinity/anti-affinity rules"),
        _ => None,
    };
    /// The first pod of a series fits only nodes that have all topology keys (`interpodaffinity/filtering.go`, since 1.19).
    first_pod_needs_keys: bool = minor >= 19;
    /// What `namespaceSelector` does: the field is known since 1.21, its gate is on since 1.22.
    namespace_selector: NamespaceSelectors = match minor {
        ..=20 => NamespaceSelectors::Unknown,
        _ if gates.on("PodAffinityNamespaceSelector") => NamespaceSelectors::Honored,
        _ => NamespaceSelectors::Ignored,
    };
    /// Lowest and highest score start at zero when scores are normalized (`interpodaffinity/scoring.go`, up to 1.20).
    affinity_extremes_from_zero: bool = minor <= 20;
    /// PreScore skips pods for which no term counts (`interpodaffinity/scoring.go`, since 1.28).
    affinity_score_skips: bool = minor >= 28;
    /// PreFilter may skip a plugin's Filter (`framework/interface.go`, since 1.27); see [`Self::skips`].
    filters_skip: bool = minor >= 27;

    /// Preemption cannot help on a node without the topology key (`podtopologyspread/filtering.go`, since 1.19).
    spread_missing_label_unresolvable: bool = minor >= 19;
    /// Each constraint counts its own domains (`podtopologyspread/filtering.go`, since 1.33); before, constraints with the same topology key share
    /// the counts of the first.
    spread_counts_per_constraint: bool = minor >= 33;
    /// Pods on nodes that node affinity excludes count too, where their domain has a node that it admits (1.19 to 1.23).
    spread_counts_other_nodes: bool = (19..=23).contains(&minor);
    /// `minDomains` counts (MinDomainsInPodTopologySpread).
    spread_min_domains: bool = gates.on("MinDomainsInPodTopologySpread");
    /// With `nodeTaintsPolicy: Honor`, taints of every effect exclude a node (1.25.0 to 1.25.2; kubernetes#112357).
    spread_soft_taints: bool = until(&[(25, 2)]);
    /// `nodeAffinityPolicy` and `nodeTaintsPolicy` count (NodeInclusionPolicyInPodTopologySpread).
    spread_policies: bool = gates.on("NodeInclusionPolicyInPodTopologySpread");
    /// `matchLabelKeys` counts (MatchLabelKeysInPodTopologySpread).
    spread_match_label_keys: bool = gates.on("MatchLabelKeysInPodTopologySpread");
    /// The formula of the score (`podtopologyspread/scoring.go`).
    spread_formula: SpreadFormula = match minor {
        ..=18 => SpreadFormula::Flip,
        19..=23 => SpreadFormula::LogTruncated,
        _ => SpreadFormula::LogRounded,
    };
    /// The score of a pod without constraints (`podtopologyspread/scoring.go`).
    spread_without_constraints: WithoutConstraints = match minor {
        ..=18 => WithoutConstraints::Zero,
        19..=27 => WithoutConstraints::Full,
        _ => WithoutConstraints::Skip,
    };
    /// Pods without constraints get the system's default ones (DefaultPodTopologySpread; `podtopologyspread/common.go`).
    spread_system_defaults: bool = gates.on("DefaultPodTopologySpread");
    /// The system's default constraints ignore nodes that lack one of their labels (until 1.20.14, 1.21.8 and 1.22.5; kubernetes#105046).
    spread_defaults_need_labels: bool = minor <= 19 || until(&[(20, 13), (21, 7), (22, 4)]);
    /// A pod fits everywhere if no node has the labels of its constraints (`filtering.go` of 1.18.10 and 1.19.3, not of 1.18.12 and 1.19.4;
    /// 1.18.11 was not read).
    spread_nothing_counted_passes: bool = minor <= 17 || until(&[(18, 10), (19, 3)]);

    /// An unbound claim of an immediate class ends the attempt with an error, and rejects the pod since 1.18.9
    /// (`pkg/controller/volume/scheduling/scheduler_binder.go`).
    immediate_claims_fail: bool = minor <= 17 || until(&[(18, 8)]);
    /// A missing volume ends the attempt with an error, and rejects the pod since 1.18.13 and 1.19.5 (`scheduler_binder.go`).
    missing_volumes_fail: bool = minor <= 17 || until(&[(18, 12), (19, 4)]);
    /// Bound volumes that name hosts narrow the nodes (`volumebinding/binder.go` GetEligibleNodes, since 1.27; removed in 1.29.11, 1.30.7 and
    /// 1.31.3: kubernetes#127586, #127585, #127584).
    bound_hosts_narrow: bool = (27..=28).contains(&minor) || until(&[(29, 10), (30, 6), (31, 2)]);
    /// Failing lookups end the attempt, and reject the pod since 1.19.12 and 1.20.8 (`volumezone/volume_zone.go`).
    zone_lookups_fail: bool = minor <= 18 || until(&[(19, 11), (20, 7)]);

    /// Only the controller that owns the pod selects its siblings (`helper/spread.go`, since 1.22); before, every controller whose selector matches
    /// the pod does.
    default_selector_by_owner: bool = minor >= 22;
    /// The formula of balance (`noderesources/balanced_allocation.go`).
    balanced: BalancedFormula = match minor {
        ..=21 => BalancedFormula::Difference,
        22..=32 => BalancedFormula::Deviation,
        33..=35 => BalancedFormula::DeviationOrSkip,
        _ => BalancedFormula::Change,
    };
    /// Balance counts a request above the offered amount as all of it (kubernetes#102925, reverted by #105239 and #105238).
    balanced_clamps: bool = within(&[(19, 13, 15), (20, 9, 11), (21, 3, 5)]);
    /// Balance counts defaults for containers without requests (1.22.0 to 1.22.3; kubernetes#106081).
    balanced_defaults: bool = until(&[(22, 3)]);
    /// Resources that a node does not offer are left out of the mean (`noderesources/least_allocated.go`, `most_allocated.go`, since 1.22).
    least_skips_empty: bool = minor >= 22;
    /// Requests above the offered amount count as all of it (`most_allocated.go`; kubernetes#102925: 1.19.13, 1.20.9, 1.21.3).
    most_clamps: bool = minor >= 19 && !until(&[(19, 12), (20, 8), (21, 2)]);
    /// Use is computed directly, not as what is left of all (`requested_to_capacity_ratio.go`, since 1.22).
    ratio_by_use: bool = minor >= 22;

    /// The formula for the size of images (`imagelocality/image_locality.go`).
    image_formula: ImageFormula = match minor {
        ..=11 => ImageFormula::Buckets,
        12..=18 => ImageFormula::Spread,
        _ => ImageFormula::SpreadPerContainer,
    };
    /// Images of init containers count (`imagelocality/image_locality.go`, since 1.30).
    image_init_containers: bool = minor >= 30;
    /// Image volumes count (since 1.36).
    image_volumes: bool = minor >= 36;
    /// Image volumes count as containers when the size for full points is computed (since 1.37).
    image_volumes_raise_maximum: bool = minor >= 37;
    /// Nodes with an image are counted when a changed node is next snapshotted (`framework/types.go` NodeInfo.Snapshot, since 1.29), at the
    /// node's own write before.
    image_counts_at_snapshot: bool = minor >= 29;

    /// PreScore may skip a plugin's Score (since 1.27).
    score_skips: bool = minor >= 27;
    /// The format of the message that a pod fits no node (`framework/types.go` FitError).
    fit_error: FitErrorFormat = match minor {
        ..=23 => FitErrorFormat::Reasons,
        24..=25 => FitErrorFormat::ReasonsAndPreemption,
        26..=28 => FitErrorFormat::Dotted,
        _ => FitErrorFormat::PreFilterOrReasons,
    };
    /// All filters run on a node, and their statuses are merged (`framework/runtime/framework.go` RunFilterPlugins; fixed by kubernetes#114526,
    /// #114525 and #114524).
    all_filters_run: bool = until(&[(24, 9), (25, 5), (26, 0)]);
    /// An error of PreFilter is worded by another plugin's status, which has none (RunPreFilterPlugins; read in 1.25.11, not so in 1.25.12).
    prefilter_error_lost: bool = minor == 24 || until(&[(25, 11)]);
    /// Nodes that the PreFilterResult leaves out are reported (`framework/runtime`, `schedule_one.go`, since 1.32).
    absent_nodes_reported: bool = minor >= 32;
    /// A node of the PreFilterResult that does not exist ends the attempt (`schedule_one.go`; fixed by kubernetes#124765, #124764, #124559).
    named_nodes_must_be: bool = (24..=26).contains(&minor) || until(&[(27, 13), (28, 9), (29, 4)]);
    /// Nodes outside the PreFilterResult are reported as rejected, between the fix above and kubernetes#125309, #125308, #125307 and #125306.
    filtered_out_reported: bool = within(&[(27, 14, 14), (28, 10, 10), (29, 5, 5), (30, 0, 1)]);
    /// The message repeats a rejection by PreFilter for every node (up to 1.25).
    prefilter_counts_nodes: bool = minor <= 25;
    /// A rejection by PreFilter records no node statuses, so preemption is tried everywhere (kubernetes#119953, #119952, #119951).
    prefilter_refusal_unknown: bool = until(&[(26, 8), (27, 5), (28, 1)]);
    /// Where plugins of `multiPoint` come in a point's order (`framework/runtime/framework.go` expandMultiPointPlugins; kubernetes#108890, #122371,
    /// #122370, #122368, #122366).
    multi_point: MultiPointOrder = if until(&[(23, 6)]) {
        MultiPointOrder::Last
    } else if minor <= 25 || until(&[(26, 12), (27, 9), (28, 5), (29, 0)]) {
        MultiPointOrder::OverridesInPlace
    } else {
        MultiPointOrder::Overrides
    };
    /// The nominated node is evaluated first (PreferNominatedNode).
    nominated_first: bool = gates.on("PreferNominatedNode");

    /// The nodes that preemption tries (`framework/preemption/preemption.go`, `defaultpreemption/default_preemption.go`).
    preemption_candidates: PreemptionCandidates = if minor <= 26 || until(&[(27, 14), (28, 10), (29, 5), (30, 1)]) {
        PreemptionCandidates::AllButUnresolvable
    } else {
        PreemptionCandidates::Unschedulable
    };
    /// Pods with `preemptionPolicy: Never` do not preempt: `defaultpreemption/default_preemption.go` (since 1.19) does not check the gate
    /// NonPreemptingPriority.
    preemption_never: bool = minor >= 19 || gates.on("NonPreemptingPriority");
    /// Victims that violate a budget and the others are finally sorted together (kubernetes#128435, #128434, #128431).
    victims_sorted: bool = minor >= 29 && !until(&[(29, 10), (30, 6), (31, 2)]);

    /// Claims of devices are scheduled (DynamicResourceAllocation).
    dra: bool = gates.on("DynamicResourceAllocation");
    /// Groups of pods have scheduling cycles of their own (GenericWorkload; `schedule_one_podgroup.go`, since 1.36).
    group_cycles: bool = minor >= 36 && gates.on("GenericWorkload");
}

/// How requests are summed; `without_init_containers` says that the release's patch does not count init containers yet (kubernetes#90455, #90414,
/// #90378).
fn request_rules(minor: u16, gates: &Gates, without_init_containers: bool) -> RequestRules {
    RequestRules {
        // `nodeinfo/node_info.go`, `framework/types.go`, `component-helpers/resource/helpers.go`.
        sums: match minor {
            ..=15 => RequestSums::RegularContainers,
            16..=26 => RequestSums::Containers,
            _ => RequestSums::Pods,
        },
        native_scalars: minor >= 11,
        zero_scalars: minor >= 22,
        sidecars: minor >= 28,
        sidecars_scored_apart: (28..=31).contains(&minor),
        gates_in_default_scores: minor <= 32,
        resize: ResizeRules {
            sidecars: minor >= 33,
            status: match minor {
                ..=31 => ResizeStatus::Allocated,
                32 => ResizeStatus::Actual,
                _ => ResizeStatus::Both,
            },
            largest_sum: minor >= 37,
        },
        overhead: gates.on("PodOverhead"),
        init_containers: minor >= 16 && !without_init_containers,
        pod_level: gates.on("PodLevelResources"),
        in_place: gates.on("InPlacePodVerticalScaling"),
        pod_level_in_place: gates.on("InPlacePodLevelResourcesVerticalScaling"),
        devices: gates.on("DRANodeAllocatableResources"),
        // `framework/types.go` Resource.Add.
        ephemeral_storage: !(18..=24).contains(&minor) || gates.on("LocalStorageCapacityIsolation"),
    }
}

impl Rules {
    /// Whether the filter of that name is skipped where its PreFilter returns Skip, and does not run and pass. In 1.27 only these four are
    /// (`nodeaffinity`, `volumebinding`, `volumezone` and `interpodaffinity` of 1.27.16).
    pub fn skips(&self, filter: &str) -> bool {
        self.filters_skip
            && (self.release.0 >= 28 || matches!(filter, "NodeAffinity" | "VolumeBinding" | "VolumeZone" | "InterPodAffinity"))
    }
}

/// Whether patches of a release have rules of their own here.
pub(crate) fn patches_differ(release: Release) -> bool {
    matches!(release.0, 16..=31 | 34)
}

#[cfg(test)]
mod tests {
    use super::{FitErrorFormat, MultiPointOrder, PreemptionCandidates, Rules};
    use crate::{Gates, Release};

    fn rules(minor: u16, patch: Option<u16>) -> Rules {
        Rules::new(Release(minor), &Gates::new(Release(minor)).at_patch(patch))
    }

    #[test]
    fn some_patches_have_their_own_rules() {
        let at = |minor, patch| rules(minor, Some(patch));
        assert!(at(34, 1).taint_named && !at(34, 2).taint_named && !rules(34, None).taint_named);
        assert!(at(24, 9).all_filters_run && !at(24, 10).all_filters_run && !at(23, 0).all_filters_run);
        assert!(at(30, 1).filtered_out_reported && !at(30, 2).filtered_out_reported && !at(29, 4).filtered_out_reported);
        assert!(at(28, 1).prefilter_refusal_unknown && !at(28, 2).prefilter_refusal_unknown);
        assert!(at(20, 10).balanced_clamps && !at(20, 8).balanced_clamps && !rules(20, None).balanced_clamps);
        assert!(!at(31, 2).victims_sorted && at(31, 3).victims_sorted && !rules(28, None).victims_sorted);
        assert!(!at(17, 5).requests.init_containers && at(17, 6).requests.init_containers && at(19, 0).requests.init_containers);
        assert_eq!(at(29, 5).preemption_candidates, PreemptionCandidates::AllButUnresolvable);
        assert_eq!(at(29, 6).preemption_candidates, PreemptionCandidates::Unschedulable);
        assert_eq!([at(23, 6).multi_point, at(23, 7).multi_point], [MultiPointOrder::Last, MultiPointOrder::OverridesInPlace]);
        assert_eq!([at(28, 0).fit_error, at(28, 15).fit_error], [FitErrorFormat::Dotted; 2]);
    }
}
