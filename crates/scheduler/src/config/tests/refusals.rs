//! What validation refuses, and what cannot be made into profiles.

use crate::Unverifiable;

use super::{beta, read, refused, scores, v1};

#[test]
fn each_fault_is_named_with_its_field() {
    refused(
        &v1("profiles: [{schedulerName: a}, {schedulerName: a}, {}]"),
        30,
        &["profiles[1].schedulerName: another profile is called \"a\" too", "profiles[2].schedulerName: a profile needs a name"],
    );
    refused(&v1("percentageOfNodesToScore: 101"), 30, &["percentageOfNodesToScore: 101 is not between 0 and 100"]);
    refused(
        &v1("profiles: [{plugins: {filter: {enabled: [{name: ImageLocality}]}}}]"),
        30,
        &["profile default-scheduler: plugin \"ImageLocality\" cannot be enabled at filter"],
    );
    refused(
        &v1("profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]"),
        31,
        &["profiles[0].plugins.filter.enabled[0]: v1 has no plugin \"EBSLimits\" any more"],
    );
    refused(&v1("clientConnection: {burst: -1}"), 30, &["clientConnection.burst: -1 is below zero"]);
}

#[test]
fn each_argument_is_held_against_its_range() {
    let table = [
        ("InterPodAffinity", "{hardPodAffinityWeight: 101}", "hardPodAffinityWeight: 101 is not between 0 and 100"),
        (
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}], defaultingType: List}",
            "defaultConstraints[0].maxSkew: 0 is not above zero",
        ),
        (
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 1, topologyKey: 'a zone', whenUnsatisfiable: ScheduleAnyway}], defaultingType: List}",
            "defaultConstraints[0].topologyKey: \"a zone\" is not a valid label key",
        ),
        (
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}",
            "defaultingType: it must be List where there are defaultConstraints, not System",
        ),
        ("DefaultPreemption", "{minCandidateNodesPercentage: 101}", "minCandidateNodesPercentage: 101 is not between 0 and 100"),
        ("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}", "resources[0].weight: 2 is not 1"),
        ("VolumeBinding", "{bindTimeoutSeconds: -1}", "bindTimeoutSeconds: -1 is below zero"),
    ];
    for (plugin, args, reason) in table {
        let yaml = v1(&format!("profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]"));
        refused(&yaml, 30, &[&format!("profiles[0].pluginConfig[0].args.{reason}")]);
    }
}

#[test]
fn what_a_plugin_checks_itself_is_reported_below_its_arguments() {
    let fit = |strategy: &str| {
        v1(&format!(
            "profiles: [{{pluginConfig: [{{name: NodeResourcesFit, args: {{scoringStrategy: {{type: RequestedToCapacityRatio{strategy}}}}}}}]}}]"
        ))
    };
    let made = "profile default-scheduler: the arguments of NodeResourcesFit: scoringStrategy.requestedToCapacityRatio";
    let shape = fit(", requestedToCapacityRatio: {shape: [{utilization: 50, score: 2}, {utilization: 40, score: 11}]}");
    let reasons = format!(
        "{made}.shape[1].utilization: 40 is not above 50, that of the point before, \
         scoringStrategy.requestedToCapacityRatio.shape[1].score: 11 is not between 0 and 10"
    );
    for minor in [29, 36] {
        refused(&shape, minor, &[&reasons]);
        // Up to 1.35 kube-scheduler panics.
        refused(&fit(""), minor, &[&format!("{made}: the strategy RequestedToCapacityRatio needs it")]);
    }
}

#[test]
fn leader_election_and_addresses_are_decoded_and_not_validated() {
    let fields = "leaderElection: {leaseDuration: -1m, renewDeadline: 1m, resourceLock: endpoints}";
    assert!(read(&v1(fields), 36).is_ok());
    assert!(read(&beta("v1beta2", "healthzBindAddress: nowhere"), 24).is_ok());
    refused(&v1("healthzBindAddress: nowhere"), 30, &["healthzBindAddress: kube-scheduler 1.30 has no such field in v1"]);
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
    let overflow = "profile default-scheduler: the weights of its score plugins are too large: their sum could overflow";
    refused(&yaml(below, zero), 35, &[overflow]);
}

#[test]
fn files_of_an_extender_are_reported() {
    let yaml = v1("extenders: [{urlPrefix: 'http://x', bindVerb: b, tlsConfig: {caFile: /etc/ca, certFile: /etc/c, certData: YQ==}}]");
    let profile = read(&yaml, 30).unwrap().profiles.remove(0);
    assert_eq!(profile.unverifiable[1], Unverifiable::ExtenderFiles { url: "http://x".to_owned(), files: vec!["/etc/ca".to_owned()] });
}
