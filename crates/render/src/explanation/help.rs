//! What would make a pod that fits on no node fit, and the pods that preemption would evict for it.

use std::io;

use crate::style::{FAINT, PLAIN, STRONG, StyledWrite, paint};
use ketcd_scheduler::{Explanation, Fix, Victim};

use super::fixes;
use super::words::{count, hanging, names};
use crate::words::grouped;

/// Writes what preemption would do and whom it did evict.
pub(super) fn preemption(explanation: &Explanation, all: bool, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let shown = if all { usize::MAX } else { 3 };
    let evicting = |victim: &Victim| {
        let budget = if victim.violates_budget { ", against its disruption budget" } else { "" };
        format!("{} (priority {}{budget})", victim.pod.full_name(), victim.pod.spec.priority)
    };
    let places: Vec<String> = explanation
        .preemption
        .iter()
        .map(|place| {
            let picked = if place.picked { ", the node it picks" } else { "" };
            let victims: Vec<String> = place.victims.iter().map(evicting).collect();
            format!("{}{picked}: {}", place.node, if victims.is_empty() { "without victims".to_owned() } else { victims.join(", ") })
        })
        .collect();
    if !places.is_empty() {
        writeln!(out, "\n{}", paint(STRONG, "preemption would evict"))?;
        for place in places.iter().take(shown) {
            hanging("  ", place, 4, width, PLAIN, out)?;
        }
        let more = places.len().saturating_sub(shown);
        if more > 0 {
            writeln!(out, "  {}", paint(FAINT, format!("… or make room on {} (-o wide has them)", count(more, "more node"))))?;
        }
    }
    if !explanation.preempted.is_empty() {
        writeln!(out, "\n{}", paint(STRONG, "preempted for it"))?;
        for (pod, revision) in &explanation.preempted {
            hanging("  ", &format!("{} (priority {}) at r{revision}", pod.full_name(), pod.spec.priority), 4, width, PLAIN, out)?;
        }
    }
    Ok(())
}

/// Writes the remedies, equal ones together: `what to change → where it fits then`.
pub(super) fn remedies(explanation: &Explanation, all: bool, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    const MAX_NODES_NAMED: usize = 4;
    let shown = if all { usize::MAX } else { 5 };
    let mut equal: Vec<(&[Fix], Vec<&str>)> = Vec::new();
    for remedy in &explanation.help.remedies {
        match equal.iter_mut().find(|(fixes, _)| *fixes == remedy.fixes) {
            Some((_, nodes)) => nodes.push(&remedy.node),
            None => equal.push((&remedy.fixes, vec![&remedy.node])),
        }
    }
    let help = &explanation.help;
    if equal.is_empty() {
        nothing(explanation, shown, width, out)?;
        return refuted(explanation, width, out);
    }
    writeln!(out, "\n{}", paint(STRONG, "what would help"))?;
    for (fixes, nodes) in equal.iter().take(shown) {
        let changes: Vec<String> = fixes.iter().map(|fix| fixes::fix(fix, "the node")).collect();
        let line = format!("{} → {}", changes.join(" and "), names(nodes.iter().copied(), MAX_NODES_NAMED, width / 2));
        hanging("  ", &line, 4, width, PLAIN, out)?;
    }
    let more = equal.len().saturating_sub(shown);
    if more > 0 {
        writeln!(out, "  {}", paint(FAINT, format!("… and {} more (-o wide has them)", grouped(more))))?;
    }
    refuted(explanation, width, out)?;
    if help.searched < help.of {
        let line = format!("searched on the {} of {} nodes that seem to need the fewest changes", grouped(help.searched), grouped(help.of));
        hanging("  ", &line, 2, width, FAINT, out)?;
    }
    if !help.cut.is_empty() {
        let line = format!(
            "the search was cut short on {}: fewer changes may suffice there",
            names(help.cut.iter().map(|node| &**node), MAX_NODES_NAMED, width / 2)
        );
        hanging("  ", &line, 2, width, FAINT, out)?;
    }
    Ok(())
}

/// Writes how many changes do not help, though every filter would accept them.
fn refuted(explanation: &Explanation, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let line = match explanation.help.refuted {
        0 => return Ok(()),
        1 => "1 change that the filters accept is left out: with the controllers played forward, the pod still finds no place".to_owned(),
        several => format!(
            "{} changes that the filters accept are left out: with the controllers played forward, the pod still finds no place",
            grouped(several)
        ),
    };
    hanging("  ", &line, 2, width, FAINT, out)
}

/// Writes why nothing helps, where that was searched for: the obstacles, equal nodes together.
fn nothing(explanation: &Explanation, shown: usize, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    const MAX_NODES_NAMED: usize = 4;
    let mut equal: Vec<(String, Vec<&str>)> = Vec::new();
    for hopeless in &explanation.help.hopeless {
        let why = fixes::obstacles(&hopeless.obstacles);
        match equal.iter_mut().find(|(known, _)| *known == why) {
            Some((_, nodes)) => nodes.push(&hopeless.node),
            None => equal.push((why, vec![&hopeless.node])),
        }
    }
    equal.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    if equal.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(STRONG, "no change to the pod or to a node is known to help"))?;
    for (why, nodes) in equal.iter().take(shown) {
        hanging("  ", &format!("{}: {why}", names(nodes.iter().copied(), MAX_NODES_NAMED, width / 2)), 4, width, PLAIN, out)?;
    }
    let more = equal.len().saturating_sub(shown);
    if more > 0 {
        writeln!(out, "  {}", paint(FAINT, format!("… and {} more reasons (-o wide has them)", grouped(more))))?;
    }
    Ok(())
}
