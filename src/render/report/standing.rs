//! What stands out: the troubles that lasted longest and weigh most, by the module that `triage` weighs with.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Episodes, Trouble, TroubleKind, troubles_of};

use super::lines::Line;
use super::row::ObjectRow;
use crate::render::trouble;

/// So many are shown.
const MOST: usize = 8;
/// What lasted less is not worth a place: so many milliseconds, or such a part of the time that the report covers.
const SHORTEST: i64 = 2_000;
const PART: i64 = 200;

/// A container that ran so many milliseconds begins another crash loop (twice the longest backoff: client-go util/flowcontrol/backoff.go, hasExpired).
const NEXT_LOOP: i64 = 600_000;

/// What was wrong with one object, and when: milliseconds since 1970.
#[derive(Default)]
pub(super) struct Troubles {
    is_known: bool,
    over: Vec<(Trouble, i64, i64)>,
    open: Option<(Trouble, i64)>,
}

impl Troubles {
    /// Takes in what the object says at `time`. What its first readable version shows began when that says it did.
    pub(super) fn see(&mut self, object: &Value, time: Option<i64>) {
        let is_first = !std::mem::replace(&mut self.is_known, true);
        let gravest = troubles_of(object).into_iter().next();
        // Its message would be kept for nothing.
        let gravest = gravest.map(|trouble| Trouble { message: None, ..trouble });
        match (&mut self.open, gravest) {
            (Some((open, _)), Some(trouble)) if open.kind == trouble.kind => *open = trouble,
            (_, gravest) => {
                self.close(time);
                self.open = gravest.and_then(|trouble| {
                    let said = trouble.since.filter(|_| is_first || time.is_none()).map(Timestamp::as_millisecond);
                    let begun = [said, time].into_iter().flatten().min()?;
                    Some((trouble, begun))
                });
                self.go_on();
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

/// Returns what stands out of the rows, the weightiest first, as the page's script takes it: `row` is the place of a line.
pub(super) fn standing_out(rows: &[ObjectRow], by_uid: &HashMap<String, usize>, lines: &[Line], (first, last): (i64, i64)) -> Vec<Value> {
    let mut episodes = Episodes::default();
    for (place, row) in rows.iter().enumerate() {
        let group = match top(rows, by_uid, place) {
            // As `triage` does: its Deployment is what is short.
            Some(_) if row.kind == "ReplicaSet" => continue,
            Some(owner) => rows[owner].uid.clone(),
            None => format!("{} {}", row.kind, row.namespace),
        };
        let Troubles { over, open, .. } = &row.troubles;
        let over = over.iter().map(|(trouble, begun, ended)| (trouble, *begun, *ended, false));
        let seen_last = row.ticks.last().and_then(|tick| tick.time);
        let until = if row.vanished { seen_last.unwrap_or(first) } else { row.end.unwrap_or(last) };
        let open = open.iter().map(|(trouble, begun)| (trouble, *begun, until, row.end.is_none() && !row.vanished));
        for (trouble, begun, ended, lasts) in over.chain(open) {
            episodes.add(&group, place, trouble, (begun.max(first), ended), lasts);
        }
    }
    let place_of = |wanted: usize| lines.iter().position(|line| matches!(line, Line::Object(row, _) if *row == wanted));
    let shown = episodes.standing_out(SHORTEST.max((last - first) / PART), MOST).into_iter().filter_map(|episode| {
        let owner = top(rows, by_uid, episode.longest).map(|owner| subject(&rows[owner]));
        let who = trouble::several(episode.objects, &subject(&rows[episode.longest]), owner.as_ref());
        Some(json!({
            "tone": episode.trouble.kind.tone().as_str(), "who": who, "what": trouble::what(&episode.trouble), "lasted": episode.lasted,
            "lasts": episode.lasts, "row": place_of(episode.longest)?,
        }))
    });
    shown.collect()
}

/// The topmost owner of a row that has a row itself; `None` where it has none.
fn top(rows: &[ObjectRow], by_uid: &HashMap<String, usize>, place: usize) -> Option<usize> {
    let owner = |place: usize| rows[place].owner.as_ref().and_then(|uid| by_uid.get(uid)).copied().filter(|&owner| owner != place);
    // Owners that own each other in a circle have no topmost one.
    std::iter::successors(owner(place), |&place| owner(place)).take(8).last()
}

fn subject(row: &ObjectRow) -> Subject {
    Subject { kind: row.kind.clone(), namespace: row.namespace.clone(), name: row.name.clone(), ..Subject::default() }
}
