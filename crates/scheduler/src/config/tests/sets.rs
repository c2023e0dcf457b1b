//! The profiles made from sets of plugins and arguments.

use crate::{Gates, Profile, Release, SchedulerConfiguration, ScoringStrategy, Unverifiable};

use super::{beta, filters, read, refused, scores, v1};

#[test]
fn an_empty_configuration_is_the_default_profile_of_every_release() {
    for (version, minors) in [("v1beta1", 19..=22), ("v1beta2", 22..=22), ("v1beta3", 23..=28), ("v1", 25..=37)] {
        for minor in minors.filter(|minor| (version, *minor) != ("v1beta1", 22)) {
            let profile = read(&beta(version, ""), minor).unwrap().profiles.remove(0);
            let default = Profile::new(Release(minor), Gates::new(Release(minor)));
            assert_eq!((filters(&profile), scores(&profile)), (filters(&default), scores(&default)), "{version} in 1.{minor}");
            assert_eq!((profile.preempts, profile.arguments), (default.preempts, default.arguments), "{version} in 1.{minor}");
            assert_eq!(profile.unverifiable, [], "{version} in 1.{minor}");
        }
    }
}

#[test]
fn an_older_api_keeps_its_own_weights() {
    let profile = &read(&beta("v1beta2", ""), 24).unwrap().profiles[0];
    assert!(scores(profile).ends_with("NodeAffinity×1 PodTopologySpread×2 TaintToleration×1"), "{}", scores(profile));
    let profile = &read(&beta("v1beta1", ""), 22).unwrap().profiles[0];
    assert!(scores(profile).contains("NodeResourcesLeastAllocated×1 NodeAffinity×1 NodePreferAvoidPods×10000"), "{}", scores(profile));
}

#[test]
fn multi_point_and_extension_points() {
    let yaml = v1("
profiles:
- schedulerName: a
  plugins:
    multiPoint:
      enabled: [{name: TaintToleration, weight: 7}, {name: OurOwn}]
      disabled: [{name: ImageLocality}]
    score:
      disabled: [{name: NodeResourcesFit}, {name: PodTopologySpread}]
      enabled: [{name: NodeResourcesFit, weight: 4}, {name: InterPodAffinity}]
    filter:
      disabled: [{name: NodePorts}]
");
    let profile = &read(&yaml, 34).unwrap().profiles[0];
    assert_eq!(profile.scheduler_name, "a");
    assert_eq!(
        scores(profile),
        "InterPodAffinity×1 TaintToleration×7 NodeAffinity×2 VolumeBinding×1 NodeResourcesBalancedAllocation×1 NodeResourcesFit×4"
    );
    assert!(!filters(profile).contains(&"NodePorts") && filters(profile).contains(&"TaintToleration"));
    assert_eq!(profile.unverifiable, [Unverifiable::OutOfTreePlugin("OurOwn".to_owned())]);
}

#[test]
fn disabling_all_keeps_enabled_plugins() {
    let yaml = v1(
        "profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality, weight: 3}]}, postFilter: {disabled: [{name: '*'}]}}}]",
    );
    let profile = &read(&yaml, 36).unwrap().profiles[0];
    assert_eq!((scores(profile).as_str(), profile.preempts, profile.post_filters.len()), ("ImageLocality×3", false, 0));
    assert_eq!(profile.scheduler_name, "default-scheduler");
}

#[test]
fn an_enabled_plugin_replaces_its_default_since_v1beta2() {
    let plugins = "profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 5}]}}}]";
    let profile = &read(&beta("v1beta2", plugins), 22).unwrap().profiles[0];
    assert!(scores(profile).starts_with("NodeResourcesBalancedAllocation×1 ImageLocality×5 "), "{}", scores(profile));
    refused(&beta("v1beta1", plugins), 21, &["profile default-scheduler: plugin \"ImageLocality\" is enabled twice at score"]);
}

#[test]
fn arguments_and_percentages() {
    let yaml = v1("
percentageOfNodesToScore: 30
profiles:
- schedulerName: a
  percentageOfNodesToScore: 70
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: cpu, weight: 3}, {name: memory}], requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}
  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}}
- schedulerName: b
");
    let profiles = read(&yaml, 30).unwrap().profiles;
    let [a, b] = &profiles[..] else { panic!("{} profiles", profiles.len()) };
    assert_eq!((a.percentage_of_nodes_to_score, b.percentage_of_nodes_to_score), (Some(70), Some(30)));
    assert_eq!(a.arguments.strategy, ScoringStrategy::RequestedToCapacityRatio(vec![(0, 0), (100, 10)]));
    assert_eq!(a.arguments.strategy_resources, [("cpu".into(), 3), ("memory".into(), 1)]);
    assert_eq!((a.arguments.hard_pod_affinity_weight, b.arguments.hard_pod_affinity_weight), (0, 1));
    assert!(a.arguments.ignore_preferred_terms_of_existing_pods);
}

#[test]
fn extenders_are_reported() {
    let profile =
        read(&v1("extenders: [{urlPrefix: 'http://x', filterVerb: filter, prioritizeVerb: p, weight: 2}]"), 30).unwrap().profiles.remove(0);
    assert_eq!(profile.unverifiable, [Unverifiable::Extender { url: "http://x".to_owned(), filters: true, prioritizes: true }]);
    refused(
        &v1("extenders: [{urlPrefix: 'http://x', prioritizeVerb: p}]"),
        30,
        &["extenders[0].weight: an extender that scores needs a weight above zero"],
    );
}

#[test]
fn v1beta2_ignores_multi_point() {
    let disabled = "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}]}, preEnqueue: {disabled: [{name: '*'}]}}}]";
    let profile = &read(&beta("v1beta2", disabled), 27).unwrap().profiles[0];
    assert!(scores(profile).starts_with("NodeResourcesBalancedAllocation×1 ") && profile.pre_enqueues.contains(&"SchedulingGates"));
    assert_eq!(profile.unverifiable, []);
}

#[test]
fn placement_scores_have_their_own_plugins_and_weights() {
    for minor in [36, 37] {
        let gates = Gates::new(Release(minor)).parse("TopologyAwareWorkloadScheduling=true").unwrap();
        let made = |plugins: &str| {
            let yaml = v1(&format!("profiles: [{{plugins: {{{plugins}}}}}]"));
            let profile = SchedulerConfiguration::parse(&yaml, Release(minor), &gates).unwrap().profiles.remove(0);
            (profile.generates_placements, profile.placement_scores)
        };
        let default = Profile::new(Release(minor), gates.clone());
        assert_eq!(made(""), (default.generates_placements, default.placement_scores));
        assert_eq!(made(""), (true, vec![("NodeResourcesFit", 1), ("PodGroupPodsCount", 1)]));
        let fit = "score: {disabled: [{name: NodeResourcesFit}], enabled: [{name: NodeResourcesFit, weight: 3}]}";
        assert_eq!(made(fit), made(""));
        let counts = "placementScore: {disabled: [{name: NodeResourcesFit}], enabled: [{name: PodGroupPodsCount, weight: 5}]}";
        assert_eq!(made(counts), (true, vec![("PodGroupPodsCount", 5)]));
        assert_eq!(made("placementGenerate: {disabled: [{name: '*'}]}, placementScore: {disabled: [{name: '*'}]}"), (false, vec![]));
        let all = "multiPoint: {disabled: [{name: NodeResourcesFit}], enabled: [{name: NodeResourcesFit, weight: 4}]}";
        assert_eq!(made(all).1, [("PodGroupPodsCount", 1), ("NodeResourcesFit", 4)]);
    }
}

#[test]
fn up_to_1_25_a_plugin_enabled_twice_may_run_twice() {
    let plugins =
        "profiles: [{plugins: {score: {enabled: [{name: ImageLocality}, {name: SelectorSpread}, {name: TaintToleration, weight: 5}]}}}]";
    let profile = &read(&beta("v1beta3", plugins), 25).unwrap().profiles[0];
    assert!(scores(profile).starts_with("ImageLocality×1 TaintToleration×5 NodeAffinity×2"), "{}", scores(profile));
    assert_eq!(profile.unverifiable[0], Unverifiable::ScoreRunsTwice { plugin: "TaintToleration".to_owned(), release: Release(25) });
    let profile = &read(&beta("v1beta3", plugins), 26).unwrap().profiles[0];
    assert_eq!((&*profile.without_prescore, &*profile.unverifiable), (&["SelectorSpread"][..], &[][..]));
}

#[test]
fn plugins_of_older_releases_take_their_arguments() {
    let yaml = beta(
        "v1beta1",
        "
profiles:
- plugins: {filter: {enabled: [{name: NodeLabel}, {name: ServiceAffinity}]}, score: {enabled: [{name: NodeLabel, weight: 3}, {name: NodeResourcesMostAllocated}]}}
  pluginConfig:
  - {name: NodeLabel, args: {presentLabels: [disk], absentLabelsPreference: [old]}}
  - {name: NodeResourcesMostAllocated, args: {resources: [{name: memory, weight: 4}]}}
  - {name: NodeResourcesLeastAllocated, args: {resources: [{name: cpu, weight: 2}]}}
",
    );
    let profile = &read(&yaml, 21).unwrap().profiles[0];
    assert!(
        scores(profile).ends_with("NodeLabel×3 NodeResourcesMostAllocated×1")
            && filters(profile).ends_with(&["NodeLabel", "ServiceAffinity"])
    );
    assert_eq!(profile.arguments.most_allocated, [("memory".into(), 4)]);
    assert_eq!(profile.arguments.least_allocated, [("cpu".into(), 2)]);
}

#[test]
fn resources_left_to_extenders_are_not_checked() {
    let yaml = v1(
        "extenders: [{urlPrefix: 'http://x', filterVerb: f, managedResources: [{name: example.com/a, ignoredByScheduler: true}, {name: example.com/b}]}]",
    );
    assert_eq!(read(&yaml, 30).unwrap().profiles[0].arguments.ignored_resources, ["example.com/a".into()]);
}
