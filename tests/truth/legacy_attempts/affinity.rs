//! Affinity between pods and spreading as 1.9 to 1.17 count them.

use serde_json::{Value, json};

use super::cluster::{Cluster, fitting, node, placed, pod, term, with};

/// An existing pod's two anti-affinity terms: up to 1.11 the term that matches is checked with the key of the last one.
#[test]
fn the_last_terms_key_up_to_1_11() {
    let zoned = |name: &str| with(node(name), "/metadata/labels/zone", json!("a"));
    let anti = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("zone", "web"), term("kubernetes.io/hostname", "other")]}});
    let cluster = Cluster::new([zoned("n1"), zoned("n2"), placed("old", "n1", json!({}), anti)]);
    for release in 9..=17 {
        let want: &[&str] = if release <= 11 { &["n2"] } else { &[] };
        assert_eq!(fitting(&cluster.evaluate(release, &pod(json!({})))), want, "1.{release}");
    }
}

/// Two affinity terms met by different pods: each for itself up to 1.10, never by one pod from 1.11 on.
#[test]
fn affinity_terms_alone_or_together() {
    let affinity = |terms: Value| pod(json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}));
    let host = "kubernetes.io/hostname";
    let cluster =
        Cluster::new([node("n1"), placed("a", "n1", json!({"app": "a"}), json!({})), placed("b", "n1", json!({"app": "b"}), json!({}))]);
    let both = affinity(json!([term(host, "a"), term(host, "b")]));
    for release in 9..=17 {
        assert_eq!(fitting(&cluster.evaluate(release, &both)).len(), usize::from(release <= 10), "1.{release}");
    }
    // One pod for one key, another for the other: 1.11 wants one node's pods to share both, later releases do not.
    let labelled = |name: &str, zone: &str, rack: &str| {
        let node = with(node(name), "/metadata/labels/zone", json!(zone));
        with(node, "/metadata/labels/rack", json!(rack))
    };
    let cluster = Cluster::new([
        labelled("n1", "z1", "r1"),
        labelled("n2", "z1", "r2"),
        labelled("n3", "z2", "r1"),
        placed("a", "n2", json!({"app": "a"}), json!({})),
        placed("b", "n3", json!({"app": "a"}), json!({})),
    ]);
    let keys = affinity(json!([term("zone", "a"), term("rack", "a")]));
    for release in 9..=17 {
        let want: &[&str] = if release == 11 { &["n2", "n3"] } else { &["n1", "n2", "n3"] };
        assert_eq!(fitting(&cluster.evaluate(release, &keys)), want, "1.{release}");
    }
}

/// The first pod of a series passes everywhere, also where the key is missing; a sibling on a node without the key counts up to 1.11 only.
#[test]
fn the_first_pod_of_a_series() {
    let own = pod(json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("zone", "web")]}}}));
    let zoned = with(node("n1"), "/metadata/labels/zone", json!("a"));
    for release in 9..=17 {
        let cluster = Cluster::new([zoned.clone(), node("n2")]);
        assert_eq!(fitting(&cluster.evaluate(release, &own)), ["n1", "n2"], "1.{release}");
        let sibling = placed("old", "n2", json!({"app": "web"}), json!({}));
        let cluster = Cluster::new([zoned.clone(), node("n2"), sibling]);
        let want: &[&str] = if release <= 11 { &[] } else { &["n1", "n2"] };
        assert_eq!(fitting(&cluster.evaluate(release, &own)), want, "1.{release}");
    }
}

/// Two anti-affinity terms: 1.11 refuses only where one pod matches both.
#[test]
fn anti_affinity_terms_of_1_11_are_held_together() {
    let host = "kubernetes.io/hostname";
    let anti = pod(
        json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(host, "a"), term(host, "b")]}}}),
    );
    let cluster = Cluster::new([node("n1"), placed("a", "n1", json!({"app": "a"}), json!({}))]);
    for release in 9..=17 {
        assert_eq!(fitting(&cluster.evaluate(release, &anti)).len(), usize::from(release == 11), "1.{release}");
    }
}

#[test]
fn pods_are_spread_over_those_of_every_namespace_up_to_1_17() {
    let running = json!({"kind": "Pod", "metadata": {"name": "other", "namespace": "elsewhere", "labels": {"app": "a"}},
                         "spec": {"nodeName": "n1", "containers": [{"name": "c"}]}});
    let constraint = json!({"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                            "labelSelector": {"matchLabels": {"app": "a"}}});
    let pod = json!({"kind": "Pod", "metadata": {"name": "p", "namespace": "default", "labels": {"app": "a"}},
                     "spec": {"containers": [{"name": "c"}], "topologySpreadConstraints": [constraint]}});
    let cluster = Cluster { gates: "EvenPodsSpread=true", ..Cluster::new([node("n1"), node("n2"), running]) };
    let points = [(16, "EvenPodsSpreadPriority", [0, 10]), (17, "PodTopologySpread", [0, 100]), (18, "PodTopologySpread", [100, 100])];
    for (release, plugin, expected) in points {
        let scores = cluster.evaluate(release, &pod).scores.unwrap();
        let scored = scores.plugins.iter().find(|scored| scored.plugin == plugin).unwrap();
        assert_eq!(scored.normalized, expected, "1.{release}");
    }
}
