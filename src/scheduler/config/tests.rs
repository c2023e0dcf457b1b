//! Configurations, good and bad, against what upstream makes of them.

use crate::scheduler::{Gates, Profile, Release, ScoringStrategy};

use super::SchedulerConfiguration;

fn read(yaml: &str, minor: u16) -> Result<SchedulerConfiguration, Vec<String>> {
    let release = Release(minor);
    SchedulerConfiguration::read(&serde_saphyr::from_str(yaml).unwrap(), release, &Gates::new(release))
}

/// What the reasons that a profile cannot be made begin with, since 1.24.
const MADE: &str = "initializing profiles: creating profile for scheduler name default-scheduler: ";

fn v1(rest: &str) -> String {
    format!("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n{rest}")
}

fn beta(version: &str, rest: &str) -> String {
    format!("apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n{rest}")
}

fn scores(profile: &Profile) -> String {
    profile.scores.iter().map(|entry| format!("{}×{}", entry.name, entry.weight)).collect::<Vec<_>>().join(" ")
}

fn filters(profile: &Profile) -> Vec<&'static str> {
    profile.filters.iter().map(|entry| entry.name).collect()
}

/// What a file is refused for.
fn refused(yaml: &str, minor: u16, reasons: &[&str]) {
    let found = read(yaml, minor).map(|_| ()).unwrap_err();
    assert_eq!(found, reasons, "{yaml}");
}

#[test]
fn nothing_said_is_the_default_profile_of_every_release() {
    for (version, minors) in [("v1beta1", 19..=22), ("v1beta2", 22..=22), ("v1beta3", 23..=28), ("v1", 25..=37)] {
        for minor in minors.filter(|minor| (version, *minor) != ("v1beta1", 22)) {
            let profile = read(&beta(version, ""), minor).unwrap().profiles.remove(0);
            let default = Profile::new(Release(minor), Gates::new(Release(minor)));
            assert_eq!((filters(&profile), scores(&profile)), (filters(&default), scores(&default)), "{version} in 1.{minor}");
            assert_eq!((profile.preempts, profile.arguments), (default.preempts, default.arguments), "{version} in 1.{minor}");
            assert_eq!(profile.unverifiable, Vec::<String>::new(), "{version} in 1.{minor}");
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
fn multi_point_and_points_together() {
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
    assert!(profile.unverifiable.iter().any(|text| text.contains("OurOwn")), "{:?}", profile.unverifiable);
}

#[test]
fn disabling_everything_leaves_what_is_enabled() {
    let yaml = v1(
        "profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality, weight: 3}]}, postFilter: {disabled: [{name: '*'}]}}}]",
    );
    let profile = &read(&yaml, 36).unwrap().profiles[0];
    assert_eq!((scores(profile).as_str(), profile.preempts, profile.post_filters.len()), ("ImageLocality×3", false, 0));
    assert_eq!(profile.scheduler_name, "default-scheduler");
}

#[test]
fn an_enabled_default_takes_its_place_since_v1beta2_only() {
    let plugins = "profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 5}]}}}]";
    let profile = &read(&beta("v1beta2", plugins), 22).unwrap().profiles[0];
    assert!(scores(profile).starts_with("NodeResourcesBalancedAllocation×1 ImageLocality×5 "), "{}", scores(profile));
    let made = "couldn't create scheduler using provider \"DefaultProvider\": initializing profiles: creating profile for scheduler name default-scheduler";
    refused(&beta("v1beta1", plugins), 21, &[&format!("{made}: plugin \"ImageLocality\" already registered as \"ScorePlugin\"")]);
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
fn versions_have_their_releases() {
    let reason = |version: &str, minor| read(&beta(version, ""), minor).map(|_| ()).unwrap_err().remove(0);
    assert!(reason("v1", 24).ends_with(
        "kube-scheduler 1.24 reads KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1beta2, kubescheduler.config.k8s.io/v1beta3"
    ));
    assert!(
        reason("v1beta3", 29)
            .starts_with("no kind \"KubeSchedulerConfiguration\" is registered for version \"kubescheduler.config.k8s.io/v1beta3\"")
    );
    assert!(read("kind: Pod", 30).is_err());
}

#[test]
fn bad_files_get_upstreams_reasons() {
    let both = "profiles: [{schedulerName: a}, {schedulerName: a}, {}]";
    refused(&v1(both), 30, &["profiles[1].schedulerName: Duplicate value: \"a\"", "profiles[2].schedulerName: Required value"]);
    refused(&v1("percentageOfNodesToScore: 101"), 30, &["percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"]);
    refused(&v1("profilez: []"), 30, &["strict decoding error: unknown field \"profilez\""]);
    refused(
        &v1("profiles: [{plugins: {filter: {enabled: [{name: ImageLocality}]}}}]"),
        30,
        &[
            "initializing profiles: creating profile for scheduler name default-scheduler: plugin \"ImageLocality\" does not extend FilterPlugin plugin",
        ],
    );
    refused(
        &v1("profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]"),
        31,
        &[
            "profiles[0].plugins.filter.enabled[0]: Invalid value: \"EBSLimits\": was invalid in version \"v1\" (KubeSchedulerConfiguration is version \"kubescheduler.config.k8s.io/v1\")",
        ],
    );
    let args = |name: &str, args: &str| v1(&format!("profiles: [{{pluginConfig: [{{name: {name}, args: {args}}}]}}]"));
    let place = "profiles[0].pluginConfig[0].args";
    let invalid = |field: &str, rest: &str| format!("{place}.{field}: {rest}");
    refused(
        &args("InterPodAffinity", "{hardPodAffinityWeight: 101}"),
        30,
        &[&invalid("hardPodAffinityWeight", "Invalid value: 101: not in valid range [0, 100]")],
    );
    refused(
        &args(
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: Perhaps}], defaultingType: List}",
        ),
        30,
        &[
            &invalid("defaultConstraints[0].maxSkew", "Invalid value: 0: not in valid range (0, inf)"),
            &invalid(
                "defaultConstraints[0].whenUnsatisfiable",
                "Unsupported value: \"Perhaps\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\"",
            ),
        ],
    );
    refused(
        &args("PodTopologySpread", "{defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}"),
        30,
        &[&invalid("defaultingType", "Invalid value: \"System\": when .defaultConstraints are not empty")],
    );
    refused(
        &args("DefaultPreemption", "{minCandidateNodesPercentage: 101}"),
        30,
        &[&invalid("minCandidateNodesPercentage", "Invalid value: 101: not in valid range [0, 100]")],
    );
    refused(
        &args("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}"),
        30,
        &[&invalid("resources[0].weight", "Invalid value: 2: must be 1")],
    );
    refused(
        &args("VolumeBinding", "{bindTimeoutSeconds: -1}"),
        30,
        &[&invalid("bindTimeoutSeconds", "Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value")],
    );
}

#[test]
fn extenders_are_named() {
    let profile =
        read(&v1("extenders: [{urlPrefix: 'http://x', filterVerb: filter, prioritizeVerb: p, weight: 2}]"), 30).unwrap().profiles.remove(0);
    assert_eq!(profile.unverifiable, ["The extender http://x may refuse nodes and add points; what it answered is not in etcd."]);
    refused(
        &v1("extenders: [{urlPrefix: 'http://x', prioritizeVerb: p}]"),
        30,
        &["extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
    );
}

#[test]
fn what_a_plugin_checks_itself_is_told_from_its_arguments_on() {
    let yaml = v1("
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 1}]
        requestedToCapacityRatio: {shape: [{utilization: 50, score: 2}, {utilization: 40, score: 11}]}
");
    let told = |path: &str, what: &str| {
        format!(
            "{MADE}initializing plugin \"NodeResourcesFit\": [{path}[1].utilization: Invalid value: 40: {what} must be sorted in increasing \
             order, {path}[1].score: Invalid value: 11: not in valid range [0, 10]]"
        )
    };
    refused(&yaml, 29, &[&told("scoringStrategy.shape", "utilization values")]);
    refused(&yaml, 34, &[&told("scoringStrategy.shape", "values")]);
    refused(&yaml, 36, &[&told("scoringStrategy.requestedToCapacityRatio.shape", "values")]);
}

#[test]
fn leader_election_is_checked_while_it_is_on() {
    let election = |fields: &str| v1(&format!("leaderElection: {{{fields}}}"));
    let place = "leaderElection";
    let reasons = |lease: &str, renew: &str, before: &str| {
        [
            format!("{place}.leaseDuration: Invalid value: {lease}: must be greater than zero"),
            format!("{place}.renewDeadline: Invalid value: {renew}: must be greater than zero"),
            format!("{place}.leaseDuration: Invalid value: {renew}: {before}"),
        ]
    };
    let both = election("leaseDuration: -1m, renewDeadline: -15s");
    let old = reasons(
        "v1.Duration{Duration:-60000000000}",
        "v1.Duration{Duration:-15000000000}",
        "LeaseDuration must be greater than RenewDeadline",
    );
    refused(&both, 33, &old.each_ref().map(String::as_str));
    let new = reasons("\"-1m0s\"", "\"-15s\"", "must be greater than `RenewDeadline`");
    refused(&both, 34, &new.each_ref().map(String::as_str));
    // Equal durations are refused since 1.26.
    let equal = election("leaseDuration: 10s, retryPeriod: 0s");
    assert!(read(&equal, 25).is_ok());
    assert!(read(&equal, 26).is_err());
    refused(
        &election("resourceLock: endpoints"),
        36,
        &[&format!("{place}.resourceLock: Invalid value: \"endpoints\": resourceLock value must be \"leases\"")],
    );
    assert!(read(&election("leaderElect: false, leaseDuration: -1s, resourceLock: endpoints"), 36).is_ok());
    refused(&v1("clientConnection: {burst: -1}"), 30, &["clientConnection.burst: Invalid value: -1: must be non-negative"]);
}

#[test]
fn names_of_labels_and_resources_are_checked() {
    let name = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or \
                'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let args = |name: &str, args: &str| v1(&format!("profiles: [{{pluginConfig: [{{name: {name}, args: {args}}}]}}]"));
    refused(
        &args(
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 1, topologyKey: 'a zone', whenUnsatisfiable: ScheduleAnyway}], defaultingType: List}",
        ),
        30,
        &[&format!("profiles[0].pluginConfig[0].args.defaultConstraints[0].topologyKey: Invalid value: \"a zone\": name part {name}")],
    );
    let fit =
        args("NodeResourcesFit", "{ignoredResources: [example.com/gpu, 'example.com/'], ignoredResourceGroups: [example.com, a/b/c]}");
    let reasons = |key: &str| {
        format!(
            "{MADE}initializing plugin \"NodeResourcesFit\": [ignoredResources[1]: Invalid value: \"example.com/\": name part must be non-empty, \
             ignoredResources[1]: Invalid value: \"example.com/\": name part {name}, ignoredResourceGroups[1]: Invalid value: \"a/b/c\": resource \
             group name can't contain '/', ignoredResourceGroups[1]: Invalid value: \"a/b/c\": a {key} {name} with an optional DNS subdomain \
             prefix and '/' (e.g. 'example.com/MyName')]"
        )
    };
    refused(&fit, 34, &[&reasons("qualified name")]);
    refused(&fit, 35, &[&reasons("valid label key")]);
}

#[test]
fn a_weight_below_zero_counts_as_it_stands_and_must_come_last() {
    let yaml = |first: &str, last: &str| {
        v1(&format!(
            "profiles: [{{plugins: {{score: {{disabled: [{{name: '*'}}], enabled: [{first}, {last}]}}, multiPoint: {{disabled: [{{name: '*'}}], enabled: [{{name: PrioritySort}}, {{name: DefaultBinder}}]}}}}}}]"
        ))
    };
    let (below, zero) = ("{name: ImageLocality, weight: -2}", "{name: NodeAffinity, weight: 0}");
    assert_eq!(scores(&read(&yaml(zero, below), 36).unwrap().profiles[0]), "NodeAffinity×1 ImageLocality×-2");
    refused(&yaml(below, zero), 36, &[&format!("{MADE}score plugins: total score of Score plugins could overflow")]);
    refused(&yaml(below, zero), 35, &[&format!("{MADE}total score of Score plugins could overflow")]);
}

#[test]
fn decoding_is_strict() {
    refused(
        &v1("parallelism: x"),
        30,
        &["json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism of type int32"],
    );
    refused(
        &v1("profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 2147483648}]}}}]"),
        30,
        &["json: cannot unmarshal number 2147483648 into Go struct field Plugin.profiles.plugins.score.enabled.weight of type int32"],
    );
    refused(
        &v1("leaderElection: {leaseDuration: 5}"),
        30,
        &["json: cannot unmarshal number into Go struct field LeaderElectionConfiguration.leaderElection.leaseDuration of type string"],
    );
    refused(&v1("leaderElection: {leaseDuration: 5d}"), 30, &["time: unknown unit \"d\" in duration \"5d\""]);
    refused(&v1("a: 1\nprofiles: [{b: 1}]"), 30, &["strict decoding error: unknown field \"a\", unknown field \"profiles[0].b\""]);
    let args = |args: &str| v1(&format!("profiles: [{{pluginConfig: [{{name: InterPodAffinity, args: {args}}}]}}]"));
    let place = "decoding .profiles[0].pluginConfig[0]: ";
    refused(
        &args("{x: 1}"),
        30,
        &[&format!(
            "strict decoding error: {place}strict decoding error: decoding args for plugin InterPodAffinity: strict decoding error: unknown field \"x\""
        )],
    );
    refused(
        &args("{kind: NodeAffinityArgs}"),
        30,
        &[&format!(
            "{place}args for plugin InterPodAffinity were not of type InterPodAffinityArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io"
        )],
    );
    refused(
        &args("{kind: FooArgs}"),
        36,
        &[&format!(
            "{place}decoding args for plugin InterPodAffinity: no kind \"FooArgs\" is registered for version \"kubescheduler.config.k8s.io/v1\" in scheme \"pkg/runtime/scheme.go:111\""
        )],
    );
    // The arguments of plugins outside the tree may be anything.
    assert!(read(&v1("profiles: [{pluginConfig: [{name: Homemade, args: {x: 1}}]}]"), 36).is_ok());
}

#[test]
fn v1beta2_overlooks_multi_point() {
    let disabled = "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}]}, preEnqueue: {disabled: [{name: '*'}]}}}]";
    let profile = &read(&beta("v1beta2", disabled), 27).unwrap().profiles[0];
    assert!(scores(profile).starts_with("NodeResourcesBalancedAllocation×1 ") && profile.gates.on("PodSchedulingReadiness"));
    assert_eq!(profile.unverifiable, Vec::<String>::new());
}

#[test]
fn up_to_1_25_a_plugin_enabled_twice_may_come_twice() {
    let plugins =
        "profiles: [{plugins: {score: {enabled: [{name: ImageLocality}, {name: SelectorSpread}, {name: TaintToleration, weight: 5}]}}}]";
    let profile = &read(&beta("v1beta3", plugins), 25).unwrap().profiles[0];
    assert!(scores(profile).starts_with("ImageLocality×1 TaintToleration×5 NodeAffinity×2"), "{}", scores(profile));
    assert!(profile.unverifiable[0].starts_with("The score of TaintToleration runs twice"), "{:?}", profile.unverifiable);
    let fault = "The plugin SelectorSpread scores but its PreScore is disabled: upstream fails, or decides without it.";
    assert_eq!(read(&beta("v1beta3", plugins), 26).unwrap().profiles[0].unverifiable, [fault]);
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
