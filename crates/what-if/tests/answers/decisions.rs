//! Recorded decisions by another configuration: the decisions of `k136-random` by the two profiles of `custom-config`.

use std::collections::BTreeMap;
use std::fs;

use ketcd_cluster::Options;
use ketcd_cluster::replay::{ConfigurationFile, SchedulerOptions};
use ketcd_testing::testdata;
use ketcd_what_if::{DecisionVerdict, JudgedDecision, judged_decisions};

use super::fixture::capture;

async fn judged(configuration: &str) -> Vec<JudgedDecision> {
    let file = ConfigurationFile { name: "scheduler-config.yaml".to_owned(), text: configuration };
    let options = SchedulerOptions { configuration: Some(file), ..SchedulerOptions::default() };
    judged_decisions(&capture("k136-random", Options::default()).await, &options).await.unwrap()
}

/// How many there are of each verdict, and of the other nodes by what turned them.
fn counts(judged: &[JudgedDecision]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for decision in judged {
        let word = match &decision.verdict {
            DecisionVerdict::Same => "same",
            DecisionVerdict::Tied => "tied",
            DecisionVerdict::Other { plugin, .. } => plugin.unwrap_or("?"),
            DecisionVerdict::Fits { .. } => "fits",
            DecisionVerdict::FitsNowhere { .. } => "nowhere",
            DecisionVerdict::StillRefused => "refused",
            _ => "unknown",
        };
        *counts.entry(word).or_default() += 1;
    }
    counts
}

fn configuration() -> String {
    fs::read_to_string(testdata::path("captures/custom-config/scheduler-config.yaml")).unwrap()
}

/// The configuration demands a label of nodes (`addedAffinity`, example.com/pool) that none of these has: all 224 pods that were bound would fit nowhere.
#[tokio::test]
async fn a_demand_that_no_node_meets_leaves_no_pod_a_node() {
    let judged = judged(&configuration()).await;
    assert_eq!(counts(&judged), BTreeMap::from([("nowhere", 224), ("refused", 22)]));
    for decision in &judged {
        if let DecisionVerdict::FitsNowhere { message } = &decision.verdict {
            assert!(message.as_ref().unwrap().contains("didn't match scheduler-enforced node affinity"), "{message:?}");
        }
    }
}

/// Without that demand: packing (MostAllocated) and the preferred generation (NodeAffinity, weight 30) turn most of 167 choices, three pods are refused by
/// the profile's own hard spread over zones, and 53 choices stay.
#[tokio::test]
async fn without_the_demand_scores_turn_the_choices() {
    let whole = configuration();
    let (before, rest) = whole.split_once("        requiredDuringSchedulingIgnoredDuringExecution:").unwrap();
    let (_, after) = rest.split_once("        preferredDuringSchedulingIgnoredDuringExecution:").unwrap();
    let judged = judged(&format!("{before}        preferredDuringSchedulingIgnoredDuringExecution:{after}")).await;
    let expected = [
        ("InterPodAffinity", 3),
        ("NodeAffinity", 78),
        ("NodeResourcesBalancedAllocation", 1),
        ("NodeResourcesFit", 61),
        ("PodTopologySpread", 24),
        ("nowhere", 3),
        ("refused", 22),
        ("same", 53),
        ("tied", 1),
    ];
    assert_eq!(counts(&judged), BTreeMap::from(expected));
}
