//! What strict decoding refuses.

use super::{SchedulerConfiguration, beta, read, refused, v1};

#[test]
fn each_version_is_read_by_its_releases() {
    let reason = |version: &str, minor| read(&beta(version, ""), minor).map(|_| ()).unwrap_err().remove(0);
    assert_eq!(
        reason("v1", 24),
        "it is a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1: kube-scheduler 1.24 reads KubeSchedulerConfiguration of \
         kubescheduler.config.k8s.io/v1beta2, kubescheduler.config.k8s.io/v1beta3"
    );
    assert!(reason("v1beta3", 29).starts_with("it is a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1beta3: "));
    refused("kind: Pod", 30, &["it has no apiVersion: a KubeSchedulerConfiguration or a Policy is expected"]);
    refused(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs",
        30,
        &[
            "it is the arguments of a plugin (NodeAffinityArgs): put them into a KubeSchedulerConfiguration, under profiles[].pluginConfig[].args",
        ],
    );
}

#[test]
fn each_field_is_named_with_what_it_holds() {
    let no_field = |path: &str| format!("{path}: kube-scheduler 1.30 has no such field in v1");
    refused(&v1("parallelism: x"), 30, &["parallelism: a whole number is expected, not text"]);
    refused(
        &v1("profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 2147483648}]}}}]"),
        30,
        &["profiles[0].plugins.score.enabled[0].weight: 2147483648 is not a whole number of 32 bits"],
    );
    refused(
        &v1("leaderElection: {leaseDuration: 5, renewDeadline: 5d, retryPeriod: null}"),
        30,
        &[
            "leaderElection.leaseDuration: a duration such as 15s is expected, not a number",
            "leaderElection.renewDeadline: \"5d\" is not a duration such as 15s",
            "leaderElection.retryPeriod: a duration such as 15s is expected, not null",
        ],
    );
    refused(&v1("a: 1\nprofiles: [{b: 1}]"), 30, &[&no_field("a"), &no_field("profiles[0].b")]);
    let twice =
        r#"{"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1", "parallelism": 1, "parallelism": 2}"#;
    refused(twice, 30, &["parallelism: the field is given twice"]);
    refused(&v1("parallelism: 1\nprofiles: []\nparallelism: 2"), 30, &["line 5: the field \"parallelism\" is given twice"]);
}

#[test]
fn the_arguments_of_a_plugin_are_its_own() {
    let args = |args: &str| v1(&format!("profiles: [{{pluginConfig: [{{name: InterPodAffinity, args: {args}}}]}}]"));
    let place = "profiles[0].pluginConfig[0].args";
    refused(&args("{x: 1}"), 30, &[&format!("{place}.x: kube-scheduler 1.30 has no such field in v1")]);
    let other = format!("{place}.kind: plugin InterPodAffinity takes InterPodAffinityArgs, not NodeAffinityArgs");
    refused(&args("{kind: NodeAffinityArgs}"), 30, &[&other]);
    let unread = format!("{place}.apiVersion: kube-scheduler 1.36 reads no kubescheduler.config.k8s.io/v1beta3");
    refused(&args("{apiVersion: kubescheduler.config.k8s.io/v1beta3}"), 36, &[&unread]);
    // The arguments of out-of-tree plugins may be anything.
    assert!(read(&v1("profiles: [{pluginConfig: [{name: Homemade, args: {x: 1}}]}]"), 36).is_ok());
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
    assert!(empty.starts_with("it has no kind"), "{empty}");
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
