//! Scores of the nodes that fit: raw, normalised, weighted, and their sums.

use std::borrow::Cow;

use super::in_parallel;
use crate::framework::{Cycle, Feasible, PluginScore, PreScore, ScoreEntry, Scores};

/// The result of one score plugin.
enum Scored {
    Skipped,
    Unknown(Cow<'static, str>),
    Points(PluginScore),
}

/// Runs every score plugin of the profile on the nodes that fit. Where no plugin scores, every node's sum is 1 (`prioritizeNodes` of
/// `core/generic_scheduler.go`, 1.17–1.21, `generic_scheduler.go`, `schedule_one.go`). An error of one plugin ends the attempt.
pub(crate) fn score<'a>(cycle: &'a Cycle<'a>, feasible: &'a Feasible<'a>) -> Result<Scores, String> {
    let nodes = feasible.iter().map(|node| node.name.clone()).collect();
    let mut scores = Scores { nodes, totals: vec![i64::from(!cycle.profile.scoring); feasible.len()], ..Scores::default() };
    for entry in &cycle.profile.scores {
        let (scored, unread) = cycle.state.collect(|| scored(cycle, entry, feasible));
        let pod = || cycle.state.unreadable_pods().find(|pod| !pod.idle && entry.plugin.looks_at_pods());
        let pod = if matches!(scored, Ok(Scored::Points(_))) { pod() } else { None };
        if let Some(unread) = unread.first().or(pod) {
            scores.unknown.push((entry.name, unread.to_string().into()));
            continue;
        }
        match scored? {
            Scored::Skipped => {}
            Scored::Unknown(why) => scores.unknown.push((entry.name, why)),
            Scored::Points(score) => {
                for (total, points) in scores.totals.iter_mut().zip(&score.normalized) {
                    *total += points * entry.weight;
                }
                scores.plugins.push(score);
            }
        }
    }
    Ok(scores)
}

fn scored<'a>(cycle: &'a Cycle<'a>, entry: &ScoreEntry, feasible: &'a Feasible<'a>) -> Result<Scored, String> {
    let mut prescore = entry.plugin.score(cycle, feasible);
    if cycle.profile.without_prescore.contains(&entry.name) {
        prescore = entry.plugin.score_without_state(entry.name, cycle, prescore);
    }
    Ok(match prescore {
        PreScore::Skip => Scored::Skipped,
        PreScore::Error(error) => return Err(error),
        PreScore::Unknown(why) => Scored::Unknown(why),
        PreScore::Score(score) => {
            let raw = in_parallel(cycle.state, feasible, |node| (score.raw)(node));
            let mut normalized = raw.clone();
            score.normalize.apply(feasible, &mut normalized, cycle.profile.rules.max_score);
            let sampled = !score.normalize.holds_without(feasible.unseen, &raw);
            let doubtful = (0..if sampled { raw.len() } else { 0 }).collect();
            Scored::Points(PluginScore { plugin: entry.name, weight: entry.weight, raw, normalized, doubtful, sampled })
        }
    })
}
