//! What stands above and below the axis: rollouts as chapters, what still waits, deletions, outages and cordons.

use std::io;

use super::axis::{Room, wrapped};
use super::detail::{detail, template_change};
use crate::change_text::{clock_time_on, revision_text};
use crate::command_line::Invocation;
use crate::style::{self, StyledWrite, paint};
use crate::value::{columns, padded};
use crate::visible::visible;
use crate::words::name;
use crate::{duration, request_text};
use ketcd_history::ActorFrom;
use ketcd_history::timeline::{Cordon, Deletion, Fate, Outage, Phase, Replacement, Rollout, RolloutEnd, StepKind, Subject, Timeline};

const MAX_PARAGRAPH_LINES: usize = 12;
/// Columns that a paragraph is broken to at least.
const MIN_PARAGRAPH_COLUMNS: usize = 40;

/// A workload's rollouts, a paragraph each: who set what when, and how it ended.
pub(super) fn write_rollouts(rollouts: &[Rollout], room: Room, out: &mut dyn StyledWrite) -> io::Result<()> {
    for (place, rollout) in rollouts.iter().enumerate() {
        let number = rollout.number.clone().unwrap_or_else(|| (place + 1).to_string());
        let what = if rollout.undo.is_some() { "undo, " } else { "" };
        let by = rollout.by.as_ref().map(|by| request_text::actor(by) + if by.from == ActorFrom::Inferred { "*" } else { "" });
        let by = request_text::logged(rollout.logged.as_deref(), room.whole).or(by).map(|by| format!(" by {by}"));
        let cause = rollout.cause.as_ref().map(|cause| format!(" ({cause})")).unwrap_or_default();
        let begun = revision_text(rollout.begun, rollout.is_placed);
        let head = format!("rollout {number}  {}  {begun}{}", clock_time_on(room.day, rollout.dated).trim(), by.unwrap_or_default());
        writeln!(out, "{}: {}", paint(style::STRONG, head), paint(style_of(rollout), ending(rollout)))?;
        paragraph(&format!("{what}{}{cause}", template_change(&rollout.change, rollout.undo.as_ref())), room, out)?;
    }
    Ok(())
}

fn style_of(rollout: &Rollout) -> style::Style {
    match rollout.end {
        Some((RolloutEnd::RolledOut, ..)) => style::ADDED,
        Some(_) => style::CHANGED,
        None => style::WARNING,
    }
}

fn ending(rollout: &Rollout) -> String {
    let stuck = rollout.stuck.as_ref().map(|stuck| format!(", stuck: {stuck}")).unwrap_or_default();
    let Some((end, revision, dated)) = rollout.end else { return format!("not finished{stuck}") };
    let after = rollout.dated.zip(dated).map(|(from, to)| format!(" after {}", duration::between(from, to))).unwrap_or_default();
    match end {
        RolloutEnd::RolledOut => format!("rolled out{after} (r{revision}){stuck}"),
        RolloutEnd::Superseded => format!("overtaken by the next{after} (r{revision}){stuck}"),
        RolloutEnd::Deleted => format!("deleted{after} (r{revision}){stuck}"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// Words below a head, indented, within the columns of the terminal.
fn paragraph(text: &str, room: Room, out: &mut dyn StyledWrite) -> io::Result<()> {
    let most = if room.whole { usize::MAX } else { MAX_PARAGRAPH_LINES };
    wrapped(text, room.width.map(|width| width.max(MIN_PARAGRAPH_COLUMNS) - 4), most)
        .iter()
        .filter(|line| !line.is_empty())
        .try_for_each(|line| writeln!(out, "    {line}"))
}

/// What keeps a workload from being finished, in the words of who refused it.
pub(super) fn write_waiting(waiting: &[(&Timeline, &Phase)], room: Room, out: &mut dyn StyledWrite) -> io::Result<()> {
    for (timeline, phase) in waiting {
        let since = clock_time_on(room.day, phase.dated);
        writeln!(out, "{}", paint(style::WARNING, format!("waits: {}, {} since {}", name(&timeline.subject), phase.phase, since.trim())))?;
        paragraph(&detail(phase.phase, &phase.detail), room, out)?;
    }
    Ok(())
}

/// How the object came to be deleted, in a few lines.
pub(super) fn write_deletion(
    deletion: &Deletion,
    object: &str,
    invocation: &Invocation,
    room: Room,
    out: &mut dyn StyledWrite,
) -> io::Result<()> {
    let took = match (deletion.asked_at, deletion.gone_at) {
        (Some(asked), Some(gone)) if deletion.gone != Some(deletion.asked) => format!(", gone after {}", duration::between(asked, gone)),
        _ if deletion.vanished => ", gone; the time is no longer readable".to_owned(),
        (_, None) if deletion.gone.is_none() => ", still there".to_owned(),
        _ => String::new(),
    };
    let asked = revision_text(deletion.asked, deletion.is_placed);
    writeln!(out, "{}{took}", paint(style::STRONG, format!("deletion: {} in {asked}", deletion.chain)))?;
    paragraph(&deletion.evidence, room, out)?;
    for finalizer in &deletion.finalizers {
        let how = match (finalizer.removed, finalizer.dated, deletion.asked_at) {
            (Some(revision), Some(removed), Some(asked)) => {
                format!("held it for {} (removed in r{revision})", duration::between(asked, removed))
            }
            (Some(revision), ..) => format!("held it until r{revision}"),
            (None, ..) if deletion.vanished => "held it".to_owned(),
            (None, ..) => "still holds it".to_owned(),
        };
        writeln!(out, "    finalizer {} {how}", visible(&finalizer.name))?;
    }
    if deletion.gone.is_some() || deletion.vanished {
        let command = invocation.ketcd("get").word(object).and("--rev").word(&deletion.last_manifest.to_string()).and("-o yaml");
        let manifest = format!("last manifest: {command}");
        writeln!(out, "{}", paint(style::FAINT, manifest))?;
    }
    Ok(())
}

/// A node's outages: how long, what was evicted when, replaced by what and where, and what stayed.
pub(super) fn write_outages(outages: &[Outage], room: Room, out: &mut dyn StyledWrite) -> io::Result<()> {
    for outage in outages {
        let span = outage.from.dated.zip(outage.until.as_ref().and_then(|until| until.dated));
        let length = span
            .map_or_else(|| "until the end of the history".to_owned(), |(from, until)| format!("for {}", duration::between(from, until)));
        let since = clock_time_on(room.day, outage.from.dated);
        writeln!(out, "{}", paint(style::STRONG, format!("outage: no heartbeat since {}, {length}", since.trim())))?;
        let mut steps = Vec::new();
        match outage.from.dated.zip(outage.lost.dated) {
            Some((from, lost)) if lost.time > from.time => steps.push(format!("noticed after {}", duration::between(from, lost))),
            _ if outage.lost.phase == StepKind::LastHeartbeat => steps.push("not noticed by the control plane".to_owned()),
            _ => {}
        }
        match outage.tainted.as_ref().and_then(|tainted| tainted.dated).zip(outage.first_evicted) {
            Some((tainted, evicted)) => steps.push(format!(
                "{} evicted, the first {} after the NoExecute taint",
                outage.evicted.len(),
                duration::between(tainted, evicted)
            )),
            None if outage.evicted.is_empty() => steps.push("no pod was evicted".to_owned()),
            None => steps.push(format!("{} evicted", outage.evicted.len())),
        }
        paragraph(&steps.join(", "), room, out)?;
        fates(&outage.evicted, out)?;
        for (pod, ready) in &outage.stayed {
            let again = ready.as_ref().map_or_else(
                || "not ready again within the history".to_owned(),
                |ready| format!("ready again {}", clock_time_on(room.day, ready.dated).trim()),
            );
            writeln!(out, "    {}  stayed bound, {again}", visible(&pod.name))?;
        }
    }
    Ok(())
}

/// A node's cordons: how long, and which pods left meanwhile.
pub(super) fn write_cordons(cordons: &[Cordon], room: Room, out: &mut dyn StyledWrite) -> io::Result<()> {
    for cordon in cordons {
        let span = cordon.from.dated.zip(cordon.until.as_ref().and_then(|until| until.dated));
        let length = span.map_or_else(
            || "still, as far as the history goes".to_owned(),
            |(from, until)| format!("for {}", duration::between(from, until)),
        );
        let by = request_text::logged(cordon.from.logged.as_deref(), room.whole).or(cordon.from.by.as_ref().map(request_text::actor));
        let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
        let left = match cordon.left.len() {
            0 => "no pod left".to_owned(),
            count => format!("{count} pods left"),
        };
        let since = clock_time_on(room.day, cordon.from.dated);
        writeln!(out, "{}: {left}", paint(style::STRONG, format!("cordon: since {}{by}, {length}", since.trim())))?;
        fates(&cordon.left, out)?;
    }
    Ok(())
}

fn fates(pods: &[(Subject, Fate)], out: &mut dyn StyledWrite) -> io::Result<()> {
    let width = pods.iter().map(|(pod, _)| columns(&visible(&pod.name))).max().unwrap_or(0);
    for (pod, fate) in pods {
        let instead = match fate {
            Fate::Replaced(Replacement { pod, node: Some(node) }) => format!("replaced by {} on {node}", pod.name),
            Fate::Replaced(Replacement { pod, node: None }) => format!("replaced by {}, which waits for a node", pod.name),
            Fate::Ended => "had ended before".to_owned(),
            Fate::NotReplaced => "not replaced by its controller".to_owned(),
            Fate::Alone => "did not come back: it has no controller".to_owned(),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        writeln!(out, "    {}  {}", padded(&visible(&pod.name), width), visible(&instead))?;
    }
    Ok(())
}
