//! Policy files: what each release makes of one, and why it refuses one.

use ketcd_scheduler::{FilterMode, Gates, Profile, Release, SchedulerConfiguration, Unverifiable};
use serde_json::{Value, json};

fn read(release: u16, file: &Value) -> Result<Profile, Vec<String>> {
    let release = Release(release);
    SchedulerConfiguration::read(file, release, &Gates::new(release)).map(|mut read| read.profiles.remove(0))
}

fn refused(release: u16, file: &Value) -> String {
    read(release, file).err().unwrap_or_default().join("\n")
}

fn filters(profile: &Profile) -> Vec<&str> {
    profile.filters.iter().map(|entry| entry.name).collect()
}

fn scores(profile: &Profile) -> Vec<(&str, i64)> {
    profile.scores.iter().map(|entry| (entry.name, entry.weight)).collect()
}

#[test]
fn absent_lists_are_empty_in_1_9_and_stand_for_the_default_from_1_10_on() {
    let file = json!({ "kind": "Policy" });
    let bare = read(9, &file).unwrap();
    assert_eq!(filters(&bare), ["CheckNodeCondition"], "it is mandatory");
    assert_eq!(scores(&bare), [("EqualPriority", 1)]);
    for release in 10..=17 {
        let (read, default) = (read(release, &file).unwrap(), Profile::new(Release(release), Gates::new(Release(release))));
        assert_eq!(filters(&read), filters(&default), "1.{release}");
        assert_eq!(scores(&read), scores(&default), "1.{release}");
    }
}

/// Since 1.18 they are lists of their own, not those of the default profile.
#[test]
fn absent_lists_stand_for_the_legacy_ones_from_1_18_on() {
    let file = json!({ "kind": "Policy" });
    for release in 18..=22 {
        let profile = read(release, &file).unwrap();
        let wanted = "NodeUnschedulable NodeResourcesFit NodeName NodePorts NodeAffinity VolumeRestrictions TaintToleration EBSLimits GCEPDLimits \
                      NodeVolumeLimits AzureDiskLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity";
        assert_eq!(filters(&profile).join(" "), wanted, "1.{release}");
    }
    let wanted = [
        ("NodeResourcesBalancedAllocation", 1),
        ("PodTopologySpread", 2),
        ("ImageLocality", 1),
        ("InterPodAffinity", 1),
        ("NodeResourcesLeastAllocated", 1),
        ("NodeAffinity", 1),
        ("NodePreferAvoidPods", 10000),
        ("TaintToleration", 1),
    ];
    assert_eq!(scores(&read(20, &file).unwrap()), wanted);
}

#[test]
fn predicates_run_in_upstreams_order_and_one_outside_it_never_runs() {
    let zones = json!({ "labelsPresence": { "labels": ["zone"], "presence": true } });
    let file = json!({ "kind": "Policy", "predicates": [
        { "name": "MatchInterPodAffinity" },
        { "name": "Zones", "argument": zones },
        { "name": "HostName" },
        { "name": "PodFitsPorts" },
    ] });
    let sorted = ["CheckNodeCondition", "HostName", "MatchInterPodAffinity", "PodFitsPorts", "Zones"];
    assert_eq!(filters(&read(9, &file).unwrap()), sorted, "1.9 knows no order");
    let profile = read(13, &file).unwrap();
    assert_eq!(filters(&profile), ["CheckNodeUnschedulable", "HostName", "PodToleratesNodeTaints", "MatchInterPodAffinity"]);
    let dropped: Vec<_> = profile.unverifiable.iter().filter(|caveat| matches!(caveat, Unverifiable::UnorderedPredicate { .. })).collect();
    assert_eq!(dropped.len(), 2, "{dropped:?}");
}

#[test]
fn every_predicate_is_checked_when_asked_but_in_1_17() {
    let file = json!({ "kind": "Policy", "alwaysCheckAllPredicates": true });
    for (release, all) in [(9, true), (10, true), (16, true), (17, false)] {
        assert_eq!(read(release, &file).unwrap().filter_mode == FilterMode::All, all, "1.{release}");
    }
}

#[test]
fn from_1_17_on_entries_are_plugins() {
    let label = |label: &str| json!({ "labelPreference": { "label": label, "presence": true } });
    let file = json!({
        "kind": "Policy",
        "predicates": [{ "name": "GeneralPredicates" }],
        "priorities": [
            { "name": "A", "weight": 2, "argument": label("a") },
            { "name": "B", "weight": 2, "argument": label("b") },
            { "name": "EqualPriority", "weight": 1 },
        ],
    });
    assert_eq!(scores(&read(16, &file).unwrap()), [("A", 2), ("B", 2), ("EqualPriority", 1)]);
    let profile = read(17, &file).unwrap();
    assert_eq!(scores(&profile), [("NodeLabel", 4)], "labels come together and so do their weights");
    for plugin in ["NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "TaintToleration"] {
        assert!(filters(&profile).contains(&plugin), "{plugin}");
    }
    let mut uneven = file.clone();
    uneven["priorities"][1]["weight"] = json!(3);
    assert_eq!(refused(17, &uneven), r#"priorities[1].weight: it must be that of priority "A", which is a LabelPreference too"#);
    let twice = json!({ "kind": "Policy", "predicates": [{ "name": "GeneralPredicates" }, { "name": "PodFitsResources" }] });
    assert!(read(16, &twice).is_ok());
    assert_eq!(refused(17, &twice), "two predicates are the plugin NodeResourcesFit, which this release allows once");
}

/// The released code of 1.18 to 1.22 was asked each of these.
#[test]
fn since_1_18_a_registered_name_is_taken_and_its_argument_counts_for_nothing() {
    let labels = json!({ "labels": ["zone"], "presence": true });
    let predicate =
        |name: &str, argument: Value| json!({ "kind": "Policy", "predicates": [{ "name": name, "argument": argument }], "priorities": [] });
    let priority = |name: &str, argument: Value| json!({ "kind": "Policy", "predicates": [], "priorities": [{ "name": name, "weight": 3, "argument": argument }] });
    for release in 18..=21 {
        let file = predicate("GeneralPredicates", json!({ "labelsPresence": labels }));
        let wanted = ["NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "TaintToleration"];
        assert_eq!(filters(&read(release, &file).unwrap()), wanted, "1.{release}");
        let file = predicate("CheckServiceAffinity", json!({ "labelsPresence": labels }));
        assert_eq!(filters(&read(release, &file).unwrap()), ["NodeUnschedulable", "TaintToleration", "ServiceAffinity"], "1.{release}");
        let file = priority("LeastRequestedPriority", json!({ "labelPreference": { "label": "zone", "presence": true } }));
        assert_eq!(scores(&read(release, &file).unwrap()), [("NodeResourcesLeastAllocated", 3)], "1.{release}");
        assert_eq!(
            refused(release, &priority("NodeLabel", Value::Null)),
            "NodeLabel needs arguments: give it by an entry with an argument"
        );
    }
    let bare = predicate("CheckNodeLabelPresence", json!({ "labelsPresence": labels }));
    assert_eq!(refused(22, &bare), "NodeLabel needs arguments: give it by an entry with an argument");
    let ratio = priority("RequestedToCapacityRatio", Value::Null);
    for release in 18..=21 {
        assert_eq!(refused(release, &ratio), "the arguments of RequestedToCapacityRatio: shape: it needs a point", "1.{release}");
    }
    assert_eq!(refused(22, &ratio), "RequestedToCapacityRatio needs arguments: give it by an entry with an argument");
    assert_eq!(refused(20, &priority("Mine", Value::Null)), r#"priorities[0]: kube-scheduler 1.20 has no priority "Mine""#);
}

#[test]
fn since_1_18_a_bad_ratio_is_refused_as_in_a_configuration() {
    let ratio = |arguments: Value| json!({ "kind": "Policy", "priorities": [{ "name": "R", "weight": 1, "argument": { "requestedToCapacityRatioArguments": arguments } }] });
    let high = json!({ "shape": [{ "utilization": 0, "score": 12 }] });
    let unweighed = json!({ "shape": [{ "utilization": 0, "score": 1 }], "resources": [{ "name": "cpu", "weight": 0 }] });
    let of_ratio = "the arguments of RequestedToCapacityRatio: ";
    for release in [18, 20, 22] {
        assert_eq!(refused(release, &ratio(high.clone())), format!("{of_ratio}shape[0].score: 12 is not between 0 and 10"), "1.{release}");
    }
    assert_eq!(refused(18, &ratio(unweighed.clone())), "");
    assert_eq!(refused(22, &ratio(unweighed)), format!("{of_ratio}resources[0].weight: 0 is not above zero"));
}

#[test]
fn a_label_cannot_be_wanted_and_not_wanted() {
    let one = |name: &str, presence: bool| json!({ "name": name, "weight": 2, "argument": { "labelPreference": { "label": "zone", "presence": presence } } });
    let file = json!({ "kind": "Policy", "priorities": [one("a", true), one("b", false)] });
    assert_eq!(refused(16, &file), "");
    let both = r#"the arguments of NodeLabel: presentLabelsPreference[0]: the label "zone" is also in absentLabelsPreference"#;
    assert_eq!([20, 22].map(|release| refused(release, &file)), [both; 2]);
}

#[test]
fn names_are_known_to_the_releases_that_register_them() {
    let predicate = |name: &str| json!({ "kind": "Policy", "predicates": [{ "name": name }] });
    let priority = |name: &str| json!({ "kind": "Policy", "priorities": [{ "name": name, "weight": 1 }] });
    for (name, first) in [("MaxCSIVolumeCountPred", 12), ("MaxCinderVolumeCount", 14), ("PodFitsPorts", 9), ("CheckVolumeBinding", 9)] {
        for release in 9..=22 {
            let refused = refused(release, &predicate(name));
            let absent = format!("predicates[0]: kube-scheduler 1.{release} has no predicate {name:?}");
            let expected = if release < first { absent } else { String::new() };
            assert_eq!(refused, expected, "1.{release}");
        }
    }
    assert_eq!(
        refused(10, &priority("RequestedToCapacityRatioPriority")),
        "priorities[0]: kube-scheduler 1.10 has no priority \"RequestedToCapacityRatioPriority\""
    );
    assert_eq!(refused(11, &priority("RequestedToCapacityRatioPriority")), "");
    assert_eq!(
        refused(9, &priority("ResourceLimitsPriority")),
        "priorities[0]: kube-scheduler 1.9 has no priority \"ResourceLimitsPriority\""
    );
}

#[test]
fn bad_files_are_refused_with_their_field() {
    let ratio = |shape: Value| json!({ "priorities": [{ "name": "R", "weight": 1, "argument": { "requestedToCapacityRatioArguments": { "shape": shape } } }] });
    let point = |utilization: i64, score: i64| json!({ "utilization": utilization, "score": score });
    let shape = "priorities[0].argument.requestedToCapacityRatioArguments.shape";
    let table = [
        (json!({ "priorities": [{ "name": "EqualPriority" }] }), "priorities[0].weight: it is not above zero, or too large".to_owned()),
        (
            json!({ "priorities": [{ "name": "P", "weight": 1, "argument": {} }] }),
            "priorities[0].argument: a priority takes exactly one argument, and P has 0".to_owned(),
        ),
        (
            json!({ "predicates": [{ "name": "P", "argument": {} }] }),
            "predicates[0].argument: a predicate takes exactly one argument, and P has 0".to_owned(),
        ),
        (json!({ "predicates": [{ "name": "Nonsense" }] }), "predicates[0]: kube-scheduler 1.13 has no predicate \"Nonsense\"".to_owned()),
        (
            json!({ "predicates": [], "hardPodAffinitySymmetricWeight": 101 }),
            "hardPodAffinitySymmetricWeight: 101 is not between 1 and 100".to_owned(),
        ),
        (
            json!({ "extenders": [{ "urlPrefix": "http://one", "prioritizeVerb": "p" }] }),
            "extenders[0].weight: an extender that scores needs a weight above zero".to_owned(),
        ),
        (
            json!({ "extenders": [{ "bindVerb": "b" }, { "bindVerb": "b" }] }),
            "extenders: only one extender can bind, and 2 have a bindVerb".to_owned(),
        ),
        (ratio(json!([])), format!("{shape}: it needs a point")),
        (ratio(json!([point(50, 0), point(50, 1)])), format!("{shape}[1].utilization: 50 is not above 50, that of the point before")),
        (ratio(json!([point(0, 11)])), format!("{shape}[0].score: 11 is not between 0 and 10")),
    ];
    for (mut file, reason) in table {
        file["kind"] = json!("Policy");
        assert_eq!(refused(13, &file), reason);
    }
    assert!(refused(23, &json!({ "kind": "Policy" })).contains("reads no Policy"));
}

#[test]
fn extenders_are_named_and_keep_the_resources_they_manage() {
    let file = json!({ "kind": "Policy", "extenders": [{
        "urlPrefix": "http://gpu", "filterVerb": "filter",
        "managedResources": [{ "name": "example.com/gpu", "ignoredByScheduler": true }],
    }] });
    let profile = read(13, &file).unwrap();
    assert_eq!(profile.unverifiable, [Unverifiable::Extender { url: "http://gpu".to_owned(), filters: true, prioritizes: false }]);
    assert_eq!(profile.arguments.ignored_resources.len(), 1);
}
