//! The cycle of a pod's group as text: the placements tried, which pod found no node, and the result for the group.

use std::io;

use crate::style::{PLAIN, STRONG, StyledWrite, paint};
use ketcd_scheduler::{CompositeGroupResult, Explanation, GroupCycle, GroupOutcome, PlacementResult};

use super::words::{count, hanging};

/// Writes the group's cycle for people.
pub(super) fn write(explanation: &Explanation, all: bool, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let Some(cycle) = &explanation.judgement.group else { return Ok(()) };
    writeln!(out, "\n{}", paint(STRONG, title(cycle)))?;
    for group in &cycle.above {
        hanging("  ", &above(group), 4, width, PLAIN, out)?;
    }
    if !cycle.message.is_empty() {
        hanging("  ", &cycle.message, 4, width, PLAIN, out)?;
    }
    let shown = if all { usize::MAX } else { 6 };
    // The one that decides comes first.
    let decisive = |at: &usize| cycle.chosen != Some(*at);
    let mut order: Vec<usize> = (0..cycle.placements.len()).collect();
    order.sort_by_key(decisive);
    for at in order.iter().take(shown) {
        placement(cycle, &cycle.placements[*at], !decisive(at), width, out)?;
    }
    if order.len() > shown {
        writeln!(out, "  … and {} (-o wide has them)", count(order.len() - shown, "more placement"))?;
    }
    if !cycle.victims.is_empty() {
        let victims: Vec<String> =
            cycle.victims.iter().map(|pod| format!("{} (priority {})", pod.full_name(), pod.spec.priority)).collect();
        hanging("  ", &format!("evicting for the group: {}", victims.join(", ")), 4, width, PLAIN, out)?;
    }
    Ok(())
}

fn title(cycle: &GroupCycle) -> String {
    let what = match cycle.min_count {
        Some(least) => format!("gang {} of {}, {} bound before", cycle.name, count(least, "pod"), cycle.scheduled),
        None => format!("group {}", cycle.name),
    };
    let tried = count(cycle.order.len(), "pod");
    let became = match cycle.outcome {
        GroupOutcome::Scheduled => "fits",
        GroupOutcome::Unschedulable => "does not fit",
        GroupOutcome::WaitsForPreemption => "waits for its victims to terminate",
        GroupOutcome::Error => "its cycle ends with an error",
        GroupOutcome::Unknown => "the result of its cycle is not known",
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    format!("{what}, {tried} tried together: {became}")
}

/// A line about a group that the pod's belongs to.
fn above(group: &CompositeGroupResult) -> String {
    let fitting = group.groups.iter().filter(|(_, fits)| *fits == Some(true)).count();
    let wanted = group.min_group_count.map(|least| format!(", {least} wanted")).unwrap_or_default();
    let place = group.topology_key.as_ref().zip(group.chosen.and_then(|at| group.placements[at].name.as_ref()));
    let place = place.map(|(key, name)| format!(" on {key}={name}")).unwrap_or_default();
    let verb = if fitting == 1 { "fits" } else { "fit" };
    let became = if group.fits { "it fits".to_owned() } else { format!("it does not fit: {}", group.message) };
    format!("part of {}, {fitting} of {} {verb}{wanted}{place}: {became}", group.name, count(group.groups.len(), "group"))
}

fn placement(cycle: &GroupCycle, placement: &PlacementResult, chosen: bool, width: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    if let (Some(key), Some(name)) = (&cycle.topology_key, &placement.name) {
        let scores: Vec<String> =
            placement.scores.iter().map(|(plugin, _, normalized, weight)| format!("{plugin} {}", normalized * weight)).collect();
        let scored = placement.total().map(|total| format!(", score {total} ({})", scores.join(", "))).unwrap_or_default();
        let verdict = match (chosen, placement.feasible) {
            (true, true) => "taken",
            (false, true) => "fits too",
            (_, false) => "does not fit",
        };
        hanging("  ", &format!("{key}={name} ({}): {verdict}{scored}", count(placement.nodes, "node")), 4, width, PLAIN, out)?;
        if !chosen {
            return Ok(());
        }
    }
    for member in &placement.members {
        let pod = format!("{}/{}", member.pod.0, member.pod.1);
        let text = match (&member.node, &member.message) {
            (Some(node), _) if member.preempts => format!("{pod} → {node}, once that has room"),
            (Some(node), _) => format!("{pod} → {node}"),
            (None, Some(message)) => format!("{pod} → nowhere: {message}"),
            (None, None) => format!("{pod} → nowhere"),
        };
        hanging("    ", &text, 6, width, PLAIN, out)?;
    }
    Ok(())
}
