//! Errors of strict decoding.

use super::{SchedulerConfiguration, beta, read, refused, v1};

#[test]
fn each_version_is_read_by_its_releases() {
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
    // The arguments of out-of-tree plugins may be anything.
    assert!(read(&v1("profiles: [{pluginConfig: [{name: Homemade, args: {x: 1}}]}]"), 36).is_ok());
}

#[test]
fn json_errors_keep_its_order_and_yaml_errors_are_sorted() {
    let json = r#"{"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1", "b": 1, "a": 1,
        "percentageOfNodesToScore": 1, "b": 2, "percentageOfNodesToScore": 2}"#;
    refused(json, 36, &["strict decoding error: unknown field \"b\", unknown field \"a\", duplicate field \"percentageOfNodesToScore\""]);
    refused(
        &v1("b: 1\na: 1\nparallelism: 1\nprofiles: []\nparallelism: 2"),
        36,
        &[
            "strict decoding error: yaml: unmarshal errors:\n  line 7: key \"parallelism\" already set in map, unknown field \"a\", unknown field \"b\"",
        ],
    );
}

#[test]
fn an_invalid_duration_stops_decoding() {
    let yaml = v1("extenders: [{urlPrefix: 5, httpTimeout: 7}]");
    refused(&yaml, 30, &["json: cannot unmarshal number into Go struct field Extender.extenders.httpTimeout of type string"]);
    refused(&v1("leaderElection: {renewDeadline: null}"), 30, &["time: invalid duration \"\""]);
}

#[test]
fn up_to_1_22_the_release_of_the_wording_is_reported() {
    let reason = read(&beta("v1beta2", "profilez: []"), 22).map(|_| ()).unwrap_err().remove(0);
    assert_eq!(
        reason,
        "strict decoding error: unknown field \"profilez\" (1.23's words; those of 1.22 quote what stands around the fault)"
    );
}

#[test]
fn extenders_of_1_18_are_decoded_leniently() {
    assert!(read(&beta("v1alpha2", "extenders: [{urlPrefix: 'http://x', enableHTTPS: true, more: 1}]"), 18).is_ok());
}

/// Checked against sigs.k8s.io/yaml 1.4.0: `YAMLToJSONStrict` takes the first document, and the others are not looked at.
#[test]
fn of_several_documents_the_first_is_read() {
    let named = |text: &str| {
        let parsed = read(text, 31).unwrap();
        let names: Vec<String> = parsed.profiles.iter().map(|profile| profile.scheduler_name.clone()).collect();
        (names.join(" "), parsed.notes.iter().any(|note| note.contains("reads the first, and ignores the others")))
    };
    let (first, second) = (v1("profiles: [{schedulerName: first}]"), v1("profiles: [{schedulerName: second}]"));
    assert_eq!(named(&first), ("first".to_owned(), false));
    assert_eq!(named(&format!("{first}\n---\n{second}")), ("first".to_owned(), true));
    assert_eq!(named(&format!("# a comment\n--- # the first\n{first}\n...\n---\n{second}")), ("first".to_owned(), true));
    assert_eq!(named(&format!("%YAML 1.1\n---\n{first}\n---\n: : not YAML [\n")), ("first".to_owned(), true));
    assert_eq!(named(&format!("---\n{first}\n---\n# nothing\n")), ("first".to_owned(), false));
    // One that holds nothing is null, and null has no kind.
    let empty = read(&format!("---\n---\n{first}"), 31).map(|_| ()).unwrap_err().remove(0);
    assert!(empty.starts_with("Object 'Kind' is missing"), "{empty}");
}

#[test]
fn a_config_map_holds_configurations() {
    let (one, other) = (v1("profiles: [{schedulerName: a}]"), v1("profiles: [{schedulerName: b}]"));
    let map = |data: serde_json::Value| {
        serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}).to_string()
    };
    let found = |text: &str| SchedulerConfiguration::in_config_map(text);
    assert_eq!(
        found(&map(serde_json::json!({"scheduler-config.yaml": one, "README": "kind: x"}))),
        [("scheduler-config.yaml".to_owned(), one.clone())]
    );
    assert_eq!(found(&map(serde_json::json!({"a": one, "b": other}))).len(), 2);
    assert!(found(&one).is_empty() && found(&map(serde_json::json!({"a": "b"}))).is_empty() && found(": [").is_empty());
}
