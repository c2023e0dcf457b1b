//! Errors of validation and of making profiles.

use crate::Unverifiable;

use super::{MADE, beta, read, refused, scores, v1};

#[test]
fn invalid_files_get_upstreams_errors() {
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
fn what_a_plugin_checks_itself_is_reported_below_its_arguments() {
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
    let error = |path: &str, what: &str| {
        format!(
            "{MADE}initializing plugin \"NodeResourcesFit\": [{path}[1].utilization: Invalid value: 40: {what} must be sorted in increasing \
             order, {path}[1].score: Invalid value: 11: not in valid range [0, 10]]"
        )
    };
    refused(&yaml, 29, &[&error("scoringStrategy.shape", "utilization values")]);
    refused(&yaml, 34, &[&error("scoringStrategy.shape", "values")]);
    refused(&yaml, 36, &[&error("scoringStrategy.requestedToCapacityRatio.shape", "values")]);
}

#[test]
fn leader_election_and_addresses_are_decoded_and_not_validated() {
    let fields = "leaderElection: {leaseDuration: -1m, renewDeadline: 1m, resourceLock: endpoints}";
    assert!(read(&v1(fields), 36).is_ok());
    assert!(read(&beta("v1beta2", "healthzBindAddress: nowhere"), 24).is_ok());
    refused(&v1("healthzBindAddress: nowhere"), 30, &["strict decoding error: unknown field \"healthzBindAddress\""]);
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
fn a_negative_weight_counts_and_must_come_last() {
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
fn a_panic_is_an_error() {
    let yaml = v1("profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio}}}]}]");
    let reason = read(&yaml, 35).map(|_| ()).unwrap_err().remove(0);
    assert!(reason.ends_with(
        "scoringStrategy.requestedToCapacityRatio is not given: kube-scheduler panics: runtime error: invalid memory address or nil pointer dereference"
    ));
}

#[test]
fn files_of_an_extender_are_reported() {
    let yaml = v1("extenders: [{urlPrefix: 'http://x', bindVerb: b, tlsConfig: {caFile: /etc/ca, certFile: /etc/c, certData: YQ==}}]");
    let profile = read(&yaml, 30).unwrap().profiles.remove(0);
    assert_eq!(profile.unverifiable[1], Unverifiable::ExtenderFiles { url: "http://x".to_owned(), files: vec!["/etc/ca".to_owned()] });
}
