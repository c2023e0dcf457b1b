//! What stands out: what is wrong at the end, as `triage` finds it, and the troubles before that lasted longest and weigh most.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use serde_json::{Value, json};

use ketcd_cluster::triage::Answer;
use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::{Episodes, Trouble, TroubleKind, troubles_of, waits_for_pod};

use super::lines::ReportLine;
use super::row::ReportRow;
use crate::words::trouble;

/// The most that are shown.
const MAX_TROUBLES_SHOWN: usize = 8;
/// A trouble must have lasted this many milliseconds, or this part of the time that the report covers, to be listed.
const MIN_TROUBLE_MILLIS: i64 = 2_000;
const MIN_TROUBLE_FRACTION: i64 = 200;

/// A container that ran for this many milliseconds begins another crash loop (twice the longest backoff: client-go
/// util/flowcontrol/backoff.go, hasExpired).
const NEXT_LOOP: i64 = 600_000;

/// What was wrong with one object, and when: milliseconds since 1970.
#[derive(Default)]
pub(crate) struct Troubles {
    is_known: bool,
    over: Vec<(Trouble, i64, i64)>,
    open: Option<(Trouble, i64)>,
}

impl Troubles {
    /// Takes in what the object says at `time`. What its first readable version shows began when that says it did, and the silence of a node with its
    /// last heartbeat, of its lease (`renewed`) or status. Returns when a node fell silent that was not before.
    pub(super) fn see(&mut self, object: &Value, time: Option<i64>, renewed: Option<Timestamp>) -> Option<i64> {
        let is_first = !std::mem::replace(&mut self.is_known, true);
        let gravest = troubles_of(object).into_iter().next();
        // Its message would never be shown.
        let gravest = gravest.map(|trouble| Trouble { message: None, ..trouble });
        match (&mut self.open, gravest) {
            // A claim that is meant for a node waits for somebody else than before.
            (Some((open, _)), Some(trouble)) if is_still(open, &trouble) => {
                *open = trouble;
                None
            }
            (_, gravest) => {
                self.close(time);
                self.open = gravest.and_then(|trouble| {
                    let is_silent = trouble.kind == TroubleKind::NodeSilent;
                    let said = if is_silent { trouble.silent_since(renewed) } else { trouble.since };
                    let said = said.map(Timestamp::as_millisecond);
                    let said = said.filter(|_| is_first || is_silent || time.is_none());
                    let begun = [said, time].into_iter().flatten().min()?;
                    Some((trouble, begun))
                });
                self.go_on();
                self.open.as_ref().filter(|(open, _)| open.kind == TroubleKind::NodeSilent).map(|(_, begun)| *begun)
            }
        }
    }

    /// A crash loop goes on where the container runs for a while in between.
    fn go_on(&mut self) {
        let Some((Trouble { kind: TroubleKind::CrashLooping, .. }, begun)) = &mut self.open else { return };
        let goes_on = |(trouble, _, ended): &(Trouble, i64, i64)| trouble.kind == TroubleKind::CrashLooping && *begun - ended < NEXT_LOOP;
        if let Some(place) = self.over.iter().rposition(goes_on) {
            *begun = self.over.remove(place).1;
        }
    }

    /// Ends what is wrong at a time.
    pub(super) fn close(&mut self, time: Option<i64>) {
        if let Some((trouble, begun)) = self.open.take() {
            self.over.push((trouble, begun, time.unwrap_or(begun)));
        }
    }
}

/// Whether what was wrong is wrong still, though its details may be others.
fn is_still(open: &Trouble, trouble: &Trouble) -> bool {
    let is_about_the_same = match open.kind {
        // A node that is short of something else.
        TroubleKind::NodePressure => open.about == trouble.about,
        _ => open.about.len() == trouble.about.len(),
    };
    open.kind == trouble.kind && is_about_the_same
}

/// Something that stands out.
struct Chip {
    weight: i128,
    shown: Value,
}

/// Returns what stands out of the rows, the weightiest first, as the page's script takes it: `row` is the place of a line. What is over comes from
/// the rows, what is not from the findings at the end.
pub(super) fn standing_out(
    rows: &[ReportRow],
    by_uid: &HashMap<String, usize>,
    lines: &[ReportLine],
    still: &Answer,
    (first, last): (i64, i64),
) -> Vec<Value> {
    let place_of = |wanted: usize| lines.iter().position(|line| matches!(line, ReportLine::Object(row, _) if *row == wanted));
    let least = MIN_TROUBLE_MILLIS.max((last - first) / MIN_TROUBLE_FRACTION);
    let mut chips: Vec<Chip> = over(rows, by_uid, &still.patient_classes, first)
        .standing_out(least, MAX_TROUBLES_SHOWN)
        .into_iter()
        .filter_map(|episode| {
            let owner = top(rows, by_uid, episode.longest).map(|owner| subject(&rows[owner]));
            let who = trouble::several(episode.objects, &subject(&rows[episode.longest]), owner.as_ref());
            Some(chip(&episode.trouble, who, episode.lasted, false, place_of(episode.longest)?))
        })
        .collect();
    let places: HashMap<[&str; 3], usize> =
        rows.iter().enumerate().map(|(place, row)| ([row.kind.as_str(), row.namespace.as_str(), row.name.as_str()], place)).collect();
    let mut findings: Vec<&Finding> = still.findings.iter().collect();
    while let Some(finding) = findings.pop() {
        findings.extend(&finding.effects);
        let place = |subject: &Subject| places.get(&[subject.kind.as_str(), subject.namespace.as_str(), subject.name.as_str()]).copied();
        let Some(row) = finding.subjects.iter().find_map(place) else { continue };
        let opened = rows[row].troubles.open.as_ref().filter(|(open, _)| open.kind == finding.trouble.kind).map(|(_, begun)| *begun);
        let since = finding.since().map(Timestamp::as_millisecond).or(opened);
        let lasted = since.map_or(0, |since| (last - since.max(first)).max(0));
        chips.extend(place_of(row).map(|row| chip(&finding.trouble, trouble::who(finding), lasted, true, row)));
    }
    chips.sort_by_key(|chip| std::cmp::Reverse(chip.weight));
    chips.truncate(MAX_TROUBLES_SHOWN);
    chips.into_iter().map(|chip| chip.shown).collect()
}

fn chip(what: &Trouble, who: String, lasted: i64, lasts: bool, row: usize) -> Chip {
    let (tone, weight) = (what.kind.tone().as_str(), i128::from(lasted.max(1)) * i128::from(what.kind.weight()));
    let shown = json!({ "tone": tone, "who": who, "what": trouble::what(what), "lasted": lasted, "lasts": lasts, "row": row });
    Chip { weight, shown }
}

/// What was wrong with the objects of the rows and is over.
fn over(rows: &[ReportRow], by_uid: &HashMap<String, usize>, patient_classes: &BTreeSet<String>, first: i64) -> Episodes {
    let mut episodes = Episodes::default();
    for (place, row) in rows.iter().enumerate() {
        let group = match top(rows, by_uid, place) {
            // As `triage` does: its Deployment is what is short.
            Some(_) if row.kind == "ReplicaSet" => continue,
            Some(owner) => rows[owner].uid.clone(),
            None => format!("{} {}", row.kind, row.namespace),
        };
        let Troubles { over, open, .. } = &row.troubles;
        let over = over.iter().map(|(trouble, begun, ended)| (trouble, *begun, *ended));
        let seen_last = row.ticks.last().and_then(|tick| tick.time);
        // For what still exists, the findings at the end say what is wrong.
        let ended = if row.vanished { Some(seen_last.unwrap_or(first)) } else { row.end };
        let open = open.iter().filter_map(|(trouble, begun)| Some((trouble, *begun, ended?)));
        for (trouble, begun, ended) in over.chain(open).filter(|(trouble, ..)| !waits_for_pod(trouble, patient_classes)) {
            episodes.add(&group, place, trouble, (begun.max(first), ended));
        }
    }
    episodes
}

/// The topmost owner of a row among those that have a row; `None` if no owner has one.
fn top(rows: &[ReportRow], by_uid: &HashMap<String, usize>, place: usize) -> Option<usize> {
    let owner = |place: usize| rows[place].owner.as_ref().and_then(|uid| by_uid.get(uid)).copied().filter(|&owner| owner != place);
    // Owners that own each other in a circle have no topmost one.
    std::iter::successors(owner(place), |&place| owner(place)).take(8).last()
}

fn subject(row: &ReportRow) -> Subject {
    Subject { kind: row.kind.clone(), namespace: row.namespace.clone(), name: row.name.clone(), ..Subject::default() }
}
