//! Scores that depend on which of two states an attempt saw: each is marked as uncertain, and its sum gets a range.

use std::sync::Arc;

use crate::framework::{PluginScore, Scores};

/// Marks in `marked` what differs between `certain`, the scores of the state evaluated, and those of another state; nodes that are scored in the other
/// one alone are added. Returns the nodes. No scores: the scheduler does not score where at most one node fits.
pub(super) fn mark_scores(marked: &mut Option<Scores>, certain: Option<&Scores>, other: Option<&Scores>) -> Vec<Arc<str>> {
    match (marked, certain, other) {
        (Some(marked), Some(certain), Some(other)) => {
            let mut found = mark_differing(marked, certain, other);
            found.extend(add_plugins(marked, other));
            found.extend(add_missing(marked, other));
            found
        }
        (Some(marked), Some(certain), None) => {
            let all = 0..certain.nodes.len();
            marked.plugins.iter_mut().for_each(|score| all.clone().for_each(|at| doubt(score, at)));
            certain.nodes.clone()
        }
        (Some(marked), None, Some(other)) => add_missing(marked, other),
        (marked @ None, None, Some(other)) => {
            let added = marked.insert(other.clone());
            for score in &mut added.plugins {
                score.doubtful = (0..added.nodes.len()).collect();
            }
            added.ranges = added.totals.iter().map(|total| (*total, *total)).enumerate().collect();
            added.nodes.clone()
        }
        _ => Vec::new(),
    }
}

fn doubt(score: &mut PluginScore, at: usize) {
    if !score.doubtful.contains(&at) {
        score.doubtful.push(at);
    }
}

/// Marks the scores of nodes that are scored in both states, or no longer in the other one.
fn mark_differing(marked: &mut Scores, certain: &Scores, other: &Scores) -> Vec<Arc<str>> {
    let mut found = Vec::new();
    for at in 0..certain.nodes.len() {
        let there = other.nodes.iter().position(|name| *name == certain.nodes[at]);
        let mut differs = there.map(|there| other.totals[there]) != Some(certain.totals[at]);
        for score in &certain.plugins {
            let points = other.plugins.iter().find(|other| other.plugin == score.plugin).zip(there);
            let points = points.map(|(other, there)| (other.raw[there], other.normalized[there]));
            if points != Some((score.raw[at], score.normalized[at])) {
                differs = true;
                marked.plugins.iter_mut().filter(|marked| marked.plugin == score.plugin).for_each(|marked| doubt(marked, at));
            }
        }
        if differs {
            found.push(certain.nodes[at].clone());
            if let Some(there) = there {
                widen(marked, at, other.totals[there]);
            }
        }
    }
    found
}

/// Adds the plugins that score in the other state alone: here they are skipped for the pod.
fn add_plugins(marked: &mut Scores, other: &Scores) -> Vec<Arc<str>> {
    let all = marked.nodes.len();
    let mut found = Vec::new();
    for score in &other.plugins {
        if !marked.plugins.iter().any(|known| known.plugin == score.plugin) {
            let (raw, normalized) = (vec![0; all], vec![0; all]);
            marked.plugins.push(PluginScore { raw, normalized, doubtful: (0..all).collect(), ..score.clone() });
            found.clone_from(&marked.nodes);
        }
    }
    found
}

/// Widens the range of a sum.
fn widen(marked: &mut Scores, at: usize, total: i64) {
    let own = marked.totals[at];
    let (lowest, highest) = marked.ranges.entry(at).or_insert((own, own));
    (*lowest, *highest) = ((*lowest).min(total), (*highest).max(total));
}

/// Adds the nodes that are scored in the other state alone, each score uncertain.
fn add_missing(marked: &mut Scores, other: &Scores) -> Vec<Arc<str>> {
    let mut found = Vec::new();
    for (there, name) in other.nodes.iter().enumerate() {
        if let Some(at) = marked.nodes.iter().position(|known| known == name) {
            if marked.ranges.contains_key(&at) {
                widen(marked, at, other.totals[there]);
            }
            continue;
        }
        let at = marked.nodes.len();
        for score in &mut marked.plugins {
            let points = other.plugins.iter().find(|other| other.plugin == score.plugin);
            score.raw.push(points.map_or(0, |points| points.raw[there]));
            score.normalized.push(points.map_or(0, |points| points.normalized[there]));
            score.doubtful.push(at);
        }
        marked.nodes.push(name.clone());
        marked.totals.push(other.totals[there]);
        marked.ranges.insert(at, (other.totals[there], other.totals[there]));
        found.push(name.clone());
    }
    found
}
