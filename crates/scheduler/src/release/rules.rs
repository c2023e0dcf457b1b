//! What differs from release to release, one line each: the switches that plugins and the cycle read.

use crate::cluster::{NamespaceSelectors, RequestRules, RequestSums, ResizeRules, ResizeStatus};

use crate::{Gates, Release};

use super::formulas::{
    AffinityOrder, BalancedFormula, FitErrorFormat, ImageFormula, MultiPointOrder, PreemptionCandidates, SpreadFormula, WithoutConstraints,
};

/// The rules of one release under its gates. The section numbers name upstream's change; "since" is the first minor release.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each field's line in `new` says what it means and since when")]
pub struct Rules {
    pub release: Release,
    pub max_score: i64,
    pub requests: RequestRules,
    pub too_many_pods: &'static str,
    pub zero_request_checked: bool,
    pub zero_scalar_checked: bool,
    pub ignored_resource_groups: bool,
    pub fit_unresolvable: bool,
    pub sidecars_refused: bool,
    pub dra_extended_resources: bool,
    pub sidecar_ports: bool,
    pub taint_named: bool,
    pub taint_comparisons: bool,
    pub node_affinity_skips: bool,
    pub match_fields: bool,
    pub preferred_match_fields: bool,
    pub node_subset: bool,
    pub affinity_order: AffinityOrder,
    pub affinity_reason_pair: Option<&'static str>,
    pub first_pod_needs_keys: bool,
    pub namespace_selector: NamespaceSelectors,
    pub affinity_extremes_from_zero: bool,
    pub affinity_score_skips: bool,
    pub filters_skip: bool,
    pub spread_missing_label_unresolvable: bool,
    pub spread_counts_per_constraint: bool,
    pub spread_counts_other_nodes: bool,
    pub spread_min_domains: bool,
    pub spread_soft_taints: bool,
    pub spread_policies: bool,
    pub spread_match_label_keys: bool,
    pub spread_formula: SpreadFormula,
    pub spread_without_constraints: WithoutConstraints,
    pub spread_system_defaults: bool,
    pub spread_defaults_need_labels: bool,
    pub spread_nothing_counted_passes: bool,
    pub immediate_claims_fail: bool,
    pub missing_volumes_fail: bool,
    pub bound_hosts_narrow: bool,
    pub zone_lookups_fail: bool,
    pub default_selector_by_owner: bool,
    pub balanced: BalancedFormula,
    pub balanced_clamps: bool,
    pub balanced_defaults: bool,
    pub least_skips_empty: bool,
    pub most_clamps: bool,
    pub ratio_by_use: bool,
    pub image_formula: ImageFormula,
    pub image_init_containers: bool,
    pub image_volumes: bool,
    pub image_volumes_raise_maximum: bool,
    pub image_counts_at_snapshot: bool,
    pub score_skips: bool,
    pub fit_error: FitErrorFormat,
    pub all_filters_run: bool,
    pub prefilter_error_lost: bool,
    pub absent_nodes_reported: bool,
    pub named_nodes_must_be: bool,
    pub filtered_out_reported: bool,
    pub prefilter_counts_nodes: bool,
    pub prefilter_refusal_unknown: bool,
    pub multi_point: MultiPointOrder,
    pub nominated_first: bool,
    pub preemption_candidates: PreemptionCandidates,
    pub preemption_never: bool,
    pub victims_sorted: bool,
    pub dra: bool,
    pub group_cycles: bool,
}

impl Rules {
    /// The rules of a release under its gates; where patches changed them those of its patch (see [`Gates::patch`]). Sources: the upstream file of each plugin named below `pkg/scheduler/framework/plugins/`.
    #[expect(clippy::too_many_lines, reason = "a table: one row a rule")]
    pub fn new(release: Release, gates: &Gates) -> Self {
        let minor = release.0;
        // Whether it is one of these minors, up to that patch.
        let until = |patches: &[(u16, u16)]| patches.iter().any(|(of, last)| *of == minor && gates.patch() <= *last);
        // Whether it is one of these minors, from that patch to that one.
        let within =
            |patches: &[(u16, u16, u16)]| patches.iter().any(|(of, first, last)| *of == minor && (*first..=*last).contains(&gates.patch()));
        Self {
            release,
            // `framework/interface.go` MaxNodeScore; `api/types.go` MaxPriority up to 1.16.
            max_score: if minor <= 16 { 10 } else { 100 },
            requests: RequestRules {
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
                // kubernetes#90455, #90414, #90378.
                init_containers: minor >= 16 && !until(&[(16, 9), (17, 5), (18, 2)]),
                pod_level: gates.on("PodLevelResources"),
                in_place: gates.on("InPlacePodVerticalScaling"),
                pod_level_in_place: gates.on("InPlacePodLevelResourcesVerticalScaling"),
                devices: gates.on("DRANodeAllocatableResources"),
                // `framework/types.go` Resource.Add.
                ephemeral_storage: !(18..=24).contains(&minor) || gates.on("LocalStorageCapacityIsolation"),
            },
            // `noderesources/fit.go`: the words for a full node; a zero request is checked up to 1.27, a zero scalar up to 1.25;
            // `ignoredResourceGroups` since 1.19; more than the node could ever offer is unresolvable since 1.34.
            too_many_pods: if minor <= 17 { "Insufficient pods" } else { "Too many pods" },
            zero_request_checked: minor <= 27,
            zero_scalar_checked: minor <= 25,
            ignored_resource_groups: minor >= 19,
            fit_unresolvable: minor >= 34,
            // Sidecars are known since 1.28; their gate was removed in 1.37.
            sidecars_refused: (28..=36).contains(&minor) && !gates.on("SidecarContainers"),
            dra_extended_resources: gates.on("DRAExtendedResource") && gates.on("DynamicResourceAllocation"),
            // `nodeports/node_ports.go`: sidecars' ports since 1.34.
            sidecar_ports: minor >= 34,
            // `component-helpers/scheduling/corev1/helpers.go`: operators Lt and Gt, a gate since 1.35.
            // `tainttoleration/taint_toleration.go`: the taint is named up to 1.34.1 (kubernetes#135023).
            taint_named: minor <= 33 || until(&[(34, 1)]),
            taint_comparisons: gates.on("TaintTolerationComparisonOperators"),
            // `nodeaffinity/node_affinity.go`: PreScore skips since 1.30; matchFields since 1.11 (of preferred terms since 1.20); a term that does
            // not parse ends the selector up to 1.10 and is skipped since; PreFilter names nodes since 1.24.
            node_affinity_skips: minor >= 30,
            match_fields: minor >= 11,
            preferred_match_fields: minor >= 20,
            node_subset: minor >= 24,
            // `interpodaffinity/filtering.go`: order since 1.19; two reasons up to 1.21; the first pod of a series must see the keys since 1.19;
            // namespaceSelector since 1.21 (its gate is on since 1.22).
            affinity_order: if minor <= 18 { AffinityOrder::ExistingFirst } else { AffinityOrder::OwnFirst },
            affinity_reason_pair: match minor {
                ..=20 => Some("node(s) didn't match pod affinity/anti-affinity"),
                21 => Some("node(s) didn't match pod affinity/anti-affinity rules"),
                _ => None,
            },
            first_pod_needs_keys: minor >= 19,
            namespace_selector: match minor {
                ..=20 => NamespaceSelectors::Unknown,
                _ if gates.on("PodAffinityNamespaceSelector") => NamespaceSelectors::Honored,
                _ => NamespaceSelectors::Ignored,
            },
            // `interpodaffinity/scoring.go`: the extremes start at zero up to 1.20; PreScore skips since 1.28.
            affinity_extremes_from_zero: minor <= 20,
            affinity_score_skips: minor >= 28,
            // `framework/interface.go`: PreFilter may skip a plugin's Filter since 1.27 (see `skips`).
            filters_skip: minor >= 27,
            // `podtopologyspread/filtering.go`.
            spread_missing_label_unresolvable: minor >= 19,
            spread_counts_per_constraint: minor >= 33,
            // From 1.19 to 1.23 pods on nodes that node affinity excludes count too, where their domain has a node it admits.
            spread_counts_other_nodes: (19..=23).contains(&minor),
            spread_min_domains: gates.on("MinDomainsInPodTopologySpread"),
            // Taints of every effect keep a node out with nodeTaintsPolicy Honor (kubernetes#112357).
            spread_soft_taints: until(&[(25, 2)]),
            spread_policies: gates.on("NodeInclusionPolicyInPodTopologySpread"),
            spread_match_label_keys: gates.on("MatchLabelKeysInPodTopologySpread"),
            // `podtopologyspread/scoring.go`, `common.go`; the owner's selector alone since 1.22 (`helper/spread.go`).
            spread_formula: match minor {
                ..=18 => SpreadFormula::Flip,
                19..=23 => SpreadFormula::LogTruncated,
                _ => SpreadFormula::LogRounded,
            },
            spread_without_constraints: match minor {
                ..=18 => WithoutConstraints::Zero,
                19..=27 => WithoutConstraints::Full,
                _ => WithoutConstraints::Skip,
            },
            spread_system_defaults: gates.on("DefaultPodTopologySpread"),
            // The system's default constraints ignore nodes that lack one of their labels (kubernetes#105046 removed it: 1.20.14, 1.21.8, 1.22.5).
            spread_defaults_need_labels: minor <= 19 || until(&[(20, 13), (21, 7), (22, 4)]),
            // A pod whose constraints no node has the labels of fits everywhere (`filtering.go` of 1.18.10 and 1.19.3, not of 1.18.12 and 1.19.4;
            // 1.18.11 was not read).
            spread_nothing_counted_passes: minor <= 17 || until(&[(18, 10), (19, 3)]),
            // `pkg/controller/volume/scheduling/scheduler_binder.go`: errors became rejections in 1.18.9 (unbound immediate claims) and in 1.18.13
            // and 1.19.5 (missing volumes).
            immediate_claims_fail: minor <= 17 || until(&[(18, 8)]),
            missing_volumes_fail: minor <= 17 || until(&[(18, 12), (19, 4)]),
            // `volumebinding/binder.go` GetEligibleNodes, since 1.27; removed in 1.29.11, 1.30.7 and 1.31.3 (kubernetes#127586, #127585, #127584).
            bound_hosts_narrow: (27..=28).contains(&minor) || until(&[(29, 10), (30, 6), (31, 2)]),
            // `volumezone/volume_zone.go`: failing lookups end the attempt up to 1.19.11 and 1.20.7, and reject since.
            zone_lookups_fail: minor <= 18 || until(&[(19, 11), (20, 7)]),
            default_selector_by_owner: minor >= 22,
            // `noderesources/balanced_allocation.go`.
            balanced: match minor {
                ..=21 => BalancedFormula::Difference,
                22..=32 => BalancedFormula::Deviation,
                33..=35 => BalancedFormula::DeviationOrSkip,
                _ => BalancedFormula::Change,
            },
            // kubernetes#102925, reverted by #105239 and #105238.
            balanced_clamps: within(&[(19, 13, 15), (20, 9, 11), (21, 3, 5)]),
            // kubernetes#106081: 1.22.4.
            balanced_defaults: until(&[(22, 3)]),
            // `noderesources/least_allocated.go`, `most_allocated.go`, `requested_to_capacity_ratio.go`.
            least_skips_empty: minor >= 22,
            // Requests above the offered amount count as all of it (kubernetes#102925: 1.19.13, 1.20.9, 1.21.3).
            most_clamps: minor >= 19 && !until(&[(19, 12), (20, 8), (21, 2)]),
            ratio_by_use: minor >= 22,
            // `imagelocality/image_locality.go`.
            image_formula: match minor {
                ..=11 => ImageFormula::Buckets,
                12..=18 => ImageFormula::Spread,
                _ => ImageFormula::SpreadPerContainer,
            },
            image_init_containers: minor >= 30,
            image_volumes: minor >= 36,
            image_volumes_raise_maximum: minor >= 37,
            // `framework/types.go` NodeInfo.Snapshot: counted when a changed node is next snapshotted since 1.29, at the node's own write before.
            image_counts_at_snapshot: minor >= 29,
            score_skips: minor >= 27,
            // `framework/types.go` FitError; `framework/runtime` and `schedule_one.go` for the nodes that the PreFilterResult leaves out.
            fit_error: match minor {
                ..=23 => FitErrorFormat::Reasons,
                24..=25 => FitErrorFormat::ReasonsAndPreemption,
                26..=28 => FitErrorFormat::Dotted,
                _ => FitErrorFormat::PreFilterOrReasons,
            },
            // `framework/runtime/framework.go` RunFilterPlugins runs all filters and merges their statuses (fixed by kubernetes#114526, #114525,
            // #114524).
            all_filters_run: until(&[(24, 9), (25, 5), (26, 0)]),
            // RunPreFilterPlugins words an error by another plugin's status, which has none (read in 1.25.11, not so in 1.25.12).
            prefilter_error_lost: minor == 24 || until(&[(25, 11)]),
            absent_nodes_reported: minor >= 32,
            // `schedule_one.go`: a node of the PreFilterResult that does not exist ends the attempt (fixed by kubernetes#124765, #124764, #124559);
            // then nodes outside the PreFilterResult were reported, until kubernetes#125309, #125308, #125307 and #125306.
            named_nodes_must_be: (24..=26).contains(&minor) || until(&[(27, 13), (28, 9), (29, 4)]),
            filtered_out_reported: within(&[(27, 14, 14), (28, 10, 10), (29, 5, 5), (30, 0, 1)]),
            prefilter_counts_nodes: minor <= 25,
            // A rejection by PreFilter recorded no node statuses, so that preemption was tried everywhere (kubernetes#119953, #119952, #119951).
            prefilter_refusal_unknown: until(&[(26, 8), (27, 5), (28, 1)]),
            // `framework/runtime/framework.go` expandMultiPointPlugins (kubernetes#108890; #122371, #122370, #122368, #122366).
            multi_point: if until(&[(23, 6)]) {
                MultiPointOrder::Last
            } else if minor <= 25 || until(&[(26, 12), (27, 9), (28, 5), (29, 0)]) {
                MultiPointOrder::OverridesInPlace
            } else {
                MultiPointOrder::Overrides
            },
            nominated_first: gates.on("PreferNominatedNode"),
            // `framework/preemption/preemption.go`, `defaultpreemption/default_preemption.go`.
            preemption_candidates: if minor <= 26 || until(&[(27, 14), (28, 10), (29, 5), (30, 1)]) {
                PreemptionCandidates::AllButUnresolvable
            } else {
                PreemptionCandidates::Unschedulable
            },
            // Victims that violate a budget and the others are finally sorted together (kubernetes#128435, #128434, #128431).
            victims_sorted: minor >= 29 && !until(&[(29, 10), (30, 6), (31, 2)]),
            // `defaultpreemption/default_preemption.go` does not check the gate.
            preemption_never: minor >= 19 || gates.on("NonPreemptingPriority"),
            dra: gates.on("DynamicResourceAllocation"),
            // `schedule_one_podgroup.go`: groups have cycles of their own since 1.36.
            group_cycles: minor >= 36 && gates.on("GenericWorkload"),
        }
    }

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
