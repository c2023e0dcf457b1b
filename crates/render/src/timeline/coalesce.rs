//! Many lines into few: the same step of siblings within some seconds becomes one line, and the order of causes stays.

use std::collections::{HashMap, HashSet};

use super::{EntryKind, TimelineEntry};
use crate::change_text::{clock_time_on, day_of, revision_text};
use crate::{duration, request_text};
use ketcd_history::Actor;
use ketcd_history::timeline::StepKind;

/// This many similar steps become one line.
const MIN_STEPS_COALESCED: usize = 3;
/// Seconds within which one step follows the other.
const MAX_STEP_GAP_SECONDS: f64 = 5.0;
const MAX_LINE_SPAN_SECONDS: f64 = 60.0;
/// Different details that are still listed, each with its count.
const MAX_DETAILS_LISTED: usize = 4;

/// Leaves out what another line says: owners that are named there, Endpoints that repeat their EndpointSlices, Events that repeat a refusal.
pub(super) fn tidy(entries: Vec<TimelineEntry>) -> Vec<TimelineEntry> {
    let shown: HashSet<String> = entries.iter().map(|entry| entry.object.clone()).collect();
    let slices = entries.iter().filter(|entry| entry.object.starts_with("endpointslice/"));
    let sliced: HashSet<String> = slices.filter_map(|entry| entry.owner.clone()).collect();
    let repeats =
        |entry: &TimelineEntry| entry.object.strip_prefix("endpoints/").is_some_and(|name| sliced.contains(&format!("svc/{name}")));
    let refused: HashSet<(String, String)> = entries
        .iter()
        .filter(|entry| entry.step == Some(StepKind::Refused))
        .map(|entry| (entry.object.clone(), entry.detail.clone()))
        .collect();
    let repeats = |entry: &TimelineEntry| {
        repeats(entry) || entry.phase == "FailedScheduling" && refused.contains(&(entry.object.clone(), entry.detail.clone()))
    };
    let kept = entries.into_iter().filter(|entry| !repeats(entry));
    let merged = |mut entry: TimelineEntry| {
        if entry.step == Some(StepKind::Created)
            && entry.owner.as_ref().is_some_and(|owner| shown.contains(owner))
            && entry.detail.starts_with("for ")
        {
            entry.detail = entry.detail.split_once(", ").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        }
        entry
    };
    kept.map(merged).collect()
}

/// Puts the steps that one write shows of one object into one line: the one that counts, the others after it.
pub(super) fn by_write(entries: Vec<TimelineEntry>) -> Vec<TimelineEntry> {
    let mut lines: Vec<Vec<TimelineEntry>> = Vec::with_capacity(entries.len());
    let mut known: HashMap<(String, i64), usize> = HashMap::new();
    for entry in entries {
        let alone = entry.one_moment
            || matches!(entry.kind, EntryKind::Note | EntryKind::Gap)
            || entry.step.is_some_and(|step| CHAPTER_STEPS.contains(&step));
        match known.get(&(entry.object.clone(), entry.revision.0)).copied().filter(|_| !alone) {
            Some(place) => lines[place].push(entry),
            None => {
                if !alone {
                    known.insert((entry.object.clone(), entry.revision.0), lines.len());
                }
                lines.push(vec![entry]);
            }
        }
    }
    lines.into_iter().filter_map(outcome).collect()
}

/// Steps that always have a line of their own.
const CHAPTER_STEPS: [StepKind; 3] = [StepKind::Rollout, StepKind::Undo, StepKind::RolledOut];
/// Steps that say more than what follows from them in the same write.
const LEADING_STEPS: [StepKind; 6] =
    [StepKind::Restarted, StepKind::Created, StepKind::Registered, StepKind::Evicted, StepKind::HeartbeatLost, StepKind::Scheduled];

/// One line for the steps of one write: the last is the outcome, unless an earlier one says more.
fn outcome(mut steps: Vec<TimelineEntry>) -> Option<TimelineEntry> {
    let place = steps.iter().position(|line| line.step.is_some_and(|step| LEADING_STEPS.contains(&step))).unwrap_or(steps.len() - 1);
    let mut line = steps.remove(place);
    let summary = |step: &TimelineEntry| match (step.step, step.detail.as_str()) {
        (Some(StepKind::SandboxReady), _) | (_, "") => step.phase.clone(),
        (_, detail) => format!("{}: {detail}", step.phase),
    };
    let others = steps.iter().map(summary).collect::<Vec<_>>().join("; ");
    if !others.is_empty() {
        line.detail = if line.detail.is_empty() { format!("({others})") } else { format!("{} ({others})", line.detail) };
    }
    Some(line)
}

/// What must be equal for lines to become one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Likeness {
    /// Kind and namespace of siblings, `pod/lab`; the object itself if it has no owner; the kind for unrelated objects.
    place: String,
    owner: Option<String>,
    phase: String,
    note: bool,
    by: Option<String>,
    /// Among strangers.
    detail: Option<String>,
}

impl Likeness {
    /// The group of siblings: the same namespace and owner.
    fn of(entry: &TimelineEntry) -> Self {
        let by = |by: &Actor| format!("{} {:?}", by.name, by.from);
        let logged = request_text::logged(entry.logged.as_deref(), false);
        let place = match &entry.owner {
            Some(_) => entry.object.rsplit_once('/').map(|(place, _)| place.to_owned()).unwrap_or_default(),
            // An object without an owner has no siblings, but may take the same step again and again.
            None => entry.object.clone(),
        };
        Self {
            place,
            owner: entry.owner.clone(),
            phase: entry.phase.clone(),
            note: entry.kind == EntryKind::Note,
            by: logged.or_else(|| entry.by.as_ref().map(by)),
            detail: None,
        }
    }

    /// The group of unrelated objects to which the same author did the same.
    fn among_strangers(entry: &TimelineEntry) -> Self {
        let place = entry.object.split('/').next().unwrap_or_default().to_owned();
        let detail = (entry.kind != EntryKind::Note).then(|| entry.detail.clone());
        Self { place, owner: None, detail, ..Self::of(entry) }
    }
}

/// Positions of lines that a later line must not be moved before.
#[derive(Default)]
struct Order {
    /// The last line of each object.
    of_object: HashMap<String, usize>,
    /// The last line of each object that makes others act: scaled, rolled out, deleted.
    as_owner: HashMap<String, usize>,
    /// The last rollout in each namespace: a chapter begins.
    chapter: HashMap<String, usize>,
}

impl Order {
    /// Whether a line may be moved to `place`.
    fn allows(&self, entry: &TimelineEntry, place: usize) -> bool {
        let before = |line: Option<&usize>| line.is_none_or(|&line| line <= place);
        before(self.of_object.get(&entry.object))
            && before(entry.owner.as_ref().and_then(|owner| self.as_owner.get(owner)))
            && before(self.chapter.get(namespace(entry)))
    }

    fn note(&mut self, entry: &TimelineEntry, place: usize) {
        if entry.kind == EntryKind::Note {
            return;
        }
        self.of_object.insert(entry.object.clone(), place);
        if entry.step != Some(StepKind::Progress) {
            self.as_owner.insert(entry.object.clone(), place);
        }
        if matches!(entry.step, Some(StepKind::Rollout | StepKind::Undo)) {
            self.chapter.insert(namespace(entry).to_owned(), place);
        }
    }
}

fn namespace(entry: &TimelineEntry) -> &str {
    let parts: Vec<&str> = entry.object.split('/').collect();
    if let [_, namespace, _] = parts[..] { namespace } else { "" }
}

/// Puts like steps of siblings that follow each other within some seconds into one line, at the place of the first of them; then
/// equal steps of any objects of one kind.
/// A step is never moved before another of the same object, before what its owner did to it, or across a rollout.
pub(super) fn coalesce(entries: Vec<TimelineEntry>) -> Vec<TimelineEntry> {
    let single = entries.into_iter().enumerate().map(|(place, entry)| (place, vec![entry])).collect();
    let siblings = gather(single, Likeness::of);
    let groups = gather(siblings, Likeness::among_strangers);
    groups
        .into_iter()
        .filter_map(|(_, members)| if members.len() == 1 { members.into_iter().next() } else { Some(joined(&members)) })
        .collect()
}

/// Lines that stand for one or more entries, each with the place of the first.
type Groups = Vec<(usize, Vec<TimelineEntry>)>;

/// Gathers the lines of one entry by what they have in common; those already gathered stay.
fn gather(lines: Groups, likeness: fn(&TimelineEntry) -> Likeness) -> Groups {
    let mut groups: Vec<Vec<(usize, TimelineEntry)>> = Vec::new();
    let mut gathered: Groups = Vec::new();
    let mut open: HashMap<Likeness, usize> = HashMap::new();
    let mut order = Order::default();
    for (place, mut members) in lines {
        if members.len() != 1 {
            members.iter().for_each(|entry| order.note(entry, place));
            gathered.push((place, members));
            continue;
        }
        let Some(entry) = members.pop() else { continue };
        let likeness = likeness(&entry);
        let joins = |&group: &usize| {
            let members: &Vec<(usize, TimelineEntry)> = &groups[group];
            let (first, last) = (&members[0], &members[members.len() - 1].1);
            entry.kind != EntryKind::Gap
                && near(last, &entry, MAX_STEP_GAP_SECONDS)
                && near(&first.1, &entry, MAX_LINE_SPAN_SECONDS)
                && order.allows(&entry, first.0)
        };
        match open.get(&likeness).copied().filter(joins) {
            Some(group) => {
                order.note(&entry, groups[group][0].0);
                groups[group].push((place, entry));
            }
            None => {
                order.note(&entry, place);
                open.insert(likeness, groups.len());
                groups.push(vec![(place, entry)]);
            }
        }
    }
    for group in groups {
        if group.len() < MIN_STEPS_COALESCED {
            gathered.extend(group.into_iter().map(|(place, entry)| (place, vec![entry])));
        } else {
            gathered.push((group[0].0, group.into_iter().map(|(_, entry)| entry).collect()));
        }
    }
    gathered.sort_by_key(|(place, _)| *place);
    gathered
}

fn near(first: &TimelineEntry, next: &TimelineEntry, seconds: f64) -> bool {
    first.dated.zip(next.dated).is_some_and(|(first, next)| duration::seconds_between(first, next) <= seconds)
}

/// `12 pods of rs/lab/web-7d9  Ready  until 14:03:09.120 r560: a, b, c`.
fn joined(members: &[TimelineEntry]) -> TimelineEntry {
    let mut line = members[0].clone();
    let last = &members[members.len() - 1];
    let time = clock_time_on(line.dated.map(|dated| day_of(dated.time)), last.dated);
    let until = match last.place() == line.place() {
        true => String::new(),
        false if last.one_moment => format!("until {}", time.trim()),
        false => format!("until {} {}", time.trim(), revision_text(last.revision, last.is_placed)),
    };
    if members.iter().all(|entry| entry.object == line.object) {
        let more = if last.detail.is_empty() { String::new() } else { format!("; last: {}", last.detail) };
        line.detail = format!("×{} {until}{more}", members.len());
        return line;
    }
    let details = counted(members);
    let detail = [until, details].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let mut objects: Vec<&str> = members.iter().map(|entry| entry.object.as_str()).collect();
    objects.sort_unstable();
    objects.dedup();
    let names: Vec<&str> = objects.iter().map(|object| object.rsplit('/').next().unwrap_or_default()).collect();
    if let Some(by) = line.by.as_mut().filter(|by| members.iter().any(|entry| entry.by.as_ref().is_some_and(|other| other.on != by.on))) {
        by.on = None;
    }
    line.owner = None;
    line.object = many(members, names.len());
    line.detail = if detail.is_empty() { names.join(", ") } else { format!("{detail}: {}", names.join(", ")) };
    line.warns = members.iter().any(|entry| entry.warns);
    line
}

/// The details with their numbers, where they are few.
fn counted(members: &[TimelineEntry]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for entry in members {
        match counts.iter_mut().find(|(detail, _)| *detail == entry.detail) {
            Some((_, count)) => *count += 1,
            None => counts.push((&entry.detail, 1)),
        }
    }
    match counts.as_slice() {
        [(only, _)] => (*only).to_owned(),
        few if few.len() <= MAX_DETAILS_LISTED && few.len() < members.len() && members[0].kind != EntryKind::Note => {
            few.iter().map(|(detail, count)| format!("{detail} ×{count}")).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

/// `12 pods of rs/lab/web-7d9`, `3 nodes`, `4 cms in lab`.
fn many(members: &[TimelineEntry], count: usize) -> String {
    let parts: Vec<&str> = members[0].object.split('/').collect();
    let kind = if parts[0].ends_with('s') { parts[0].to_owned() } else { format!("{}s", parts[0]) };
    let shared = |of: fn(&TimelineEntry) -> Option<&str>| {
        let first = of(&members[0])?;
        members.iter().all(|entry| of(entry) == Some(first)).then(|| first.to_owned())
    };
    let owner = shared(|entry| entry.owner.as_deref());
    let place = shared(|entry| Some(namespace(entry)).filter(|namespace| !namespace.is_empty()));
    match (owner, place) {
        (Some(owner), _) => format!("{count} {kind} of {owner}"),
        (None, Some(namespace)) => format!("{count} {kind} in {namespace}"),
        (None, None) => format!("{count} {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ketcd_history::clock::Dated;
    use ketcd_store::Revision;

    fn entry(revision: i64, seconds: i64, object: &str, owner: Option<&str>, step: StepKind) -> TimelineEntry {
        TimelineEntry {
            revision: Revision(revision),
            dated: Some(Dated { time: jiff::Timestamp::from_second(seconds).unwrap(), error: 0.1 }),
            object: object.to_owned(),
            step: Some(step),
            phase: step.as_str().to_owned(),
            detail: String::new(),
            by: None,
            logged: None,
            is_placed: false,
            kind: EntryKind::Phase,
            owner: owner.map(str::to_owned),
            warns: false,
            one_moment: false,
        }
    }

    fn summaries(entries: Vec<TimelineEntry>) -> Vec<String> {
        coalesce(entries).iter().map(|entry| format!("{} {}", entry.object, entry.phase)).collect()
    }

    #[test]
    fn siblings_join_across_other_lines() {
        let mut entries = Vec::new();
        for pod in 0..4 {
            let name = format!("pod/lab/web-{pod}");
            entries.push(entry(10 + 3 * pod, pod, &name, Some("rs/lab/web"), StepKind::Created));
            entries.push(entry(11 + 3 * pod, pod, &name, Some("rs/lab/web"), StepKind::Scheduled));
            entries.push(entry(12 + 3 * pod, pod, "rs/lab/web", None, StepKind::Progress));
        }
        assert_eq!(summaries(entries), ["4 pods of rs/lab/web Created", "4 pods of rs/lab/web Scheduled", "rs/lab/web Progress"]);
    }

    #[test]
    fn nothing_is_listed_before_its_cause() {
        let (owner, pod) = (Some("rs/lab/web"), |n: i64| format!("pod/lab/web-{n}"));
        let entries = vec![
            entry(1, 0, &pod(1), owner, StepKind::Created),
            entry(2, 0, &pod(2), owner, StepKind::Created),
            entry(3, 0, &pod(3), owner, StepKind::Created),
            entry(4, 1, "rs/lab/web", None, StepKind::ScaledUp),
            entry(5, 1, &pod(4), owner, StepKind::Created),
            entry(6, 1, &pod(1), owner, StepKind::Deleted),
            entry(7, 2, &pod(1), owner, StepKind::Created),
        ];
        assert_eq!(
            summaries(entries),
            [
                "3 pods of rs/lab/web Created",
                "rs/lab/web ScaledUp",
                "pod/lab/web-4 Created",
                "pod/lab/web-1 Deleted",
                "pod/lab/web-1 Created"
            ]
        );
    }

    #[test]
    fn a_line_that_ends_on_another_day_says_which() {
        let step = |number: i64, seconds: i64| entry(number, seconds, "rs/lab/web", None, StepKind::ScaledUp);
        let ends = |seconds: [i64; 3]| joined(&[step(1, seconds[0]), step(2, seconds[1]), step(3, seconds[2])]).detail;
        assert_eq!(ends([86_397, 86_398, 86_399]), "×3 until 23:59:59.0 r3");
        assert_eq!(ends([86_398, 86_399, 86_400]), "×3 until 1970-01-02 00:00:00.0 r3");
    }

    #[test]
    fn strangers_join_where_the_same_was_done_to_them() {
        let evicted = |n: i64| entry(n, 0, &format!("pod/ns{n}/p"), Some(&format!("rs/ns{n}/p")), StepKind::Evicted);
        assert_eq!(summaries((0..3).map(evicted).collect()), ["3 pods Evicted"]);
    }

    #[test]
    fn far_apart_stays_apart() {
        let entries = (0..6).map(|n| entry(n, n * 10, &format!("pod/lab/p{n}"), None, StepKind::Ready)).collect();
        assert_eq!(summaries(entries).len(), 6);
    }
}
