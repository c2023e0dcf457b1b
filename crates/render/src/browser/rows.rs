//! Rows of the page: an object's states as bars, its changes and Events as ticks, cut to a window and thinned to its pixels.

use std::io;

use ketcd_history::diff::ManagedFields;
use ketcd_history::state::{State as ObjectState, Tone};
use ketcd_history::{AttributedChange, ChangeKind, Leases};
use ketcd_kube::LabelSelector;
use ketcd_store::Revision;

use super::refusals::is_refused_by;
use crate::contract::browser::{Bar, PageEventMark, PageName, PageRow, PageState, PageTick};
use crate::report::Report;
use crate::report::row::{ReportRow, Tick as RowTick};

/// Gathers rows of changes, oldest first.
pub struct RowSet(Report);

/// An object through all of its life that was read.
pub struct FullRow(ReportRow);

/// What of a row is shown, and how.
#[derive(Clone, Copy, Debug)]
pub struct RowView {
    /// Changes after this revision are shown.
    pub after: Revision,
    /// The last revision that is.
    pub to: Revision,
    /// The window's ends and the cursor, in milliseconds since 1970, as far as they are dated.
    pub from_ms: Option<i64>,
    /// The end.
    pub to_ms: Option<i64>,
    /// The cursor.
    pub at_ms: Option<i64>,
    /// In how many stretches of time no more than one mark of a sort is shown; 0 for all marks.
    pub buckets: i64,
}

/// What a row must have, as far as only its versions show it.
#[derive(Clone, Debug, Default)]
pub struct RowFilter {
    /// Each must occur in its kind, namespace, name or in one of its states; in small letters.
    pub words: Vec<String>,
    /// Labels of its last version.
    pub labels: Option<LabelSelector>,
    /// A part of one of its images.
    pub image: String,
    /// A part of the name of somebody who changed it.
    pub by: String,
    /// A part of the message of an Event about it or of a condition.
    pub message: String,
    /// The reason of an Event about it, or a word of what happened to it, such as a plugin's name.
    pub reason: String,
}

impl RowSet {
    /// An empty set.
    pub fn new(managed_fields: ManagedFields) -> Self {
        Self(Report::of_rows(managed_fields))
    }

    /// Adds a change; `leases` say when nodes fell silent.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub fn observe(&mut self, attributed: &AttributedChange, leases: &Leases) -> io::Result<()> {
        self.0.observe(attributed, leases)
    }

    /// Returns the rows, in the order in which their objects were seen first.
    pub fn finish(self) -> Vec<FullRow> {
        self.0.into_rows().into_iter().map(FullRow).collect()
    }
}

impl FullRow {
    /// The object's key.
    pub fn key(&self) -> &[u8] {
        &self.0.key
    }

    /// Its uid; empty where it has none.
    pub fn uid(&self) -> &str {
        &self.0.uid
    }

    /// The first revision of it that was read.
    pub fn first(&self) -> Revision {
        Revision(self.0.ticks.first().map_or(0, |tick| tick.revision))
    }

    /// When it was broken, in milliseconds since 1970: from when, to when.
    pub fn bad(&self) -> Vec<(i64, Option<i64>)> {
        let bars = self.bars().into_iter().filter(|(.., state)| state.tone == Tone::Bad);
        bars.filter_map(|(from, to, _)| Some((from?, to))).collect()
    }

    /// The scheduling attempts that its changes record, between two revisions.
    fn attempts(&self, view: &RowView) -> usize {
        let of_window = |revision: &i64| *revision > view.after.0 && *revision <= view.to.0;
        self.0.attempts.iter().filter_map(|attempt| attempt["attempt"]["revision"].as_i64()).filter(of_window).count()
    }

    /// Whether a filter takes it.
    pub fn is_taken(&self, filter: &RowFilter) -> bool {
        let ReportRow { kind, namespace, name, states, ticks, events, last, .. } = &self.0;
        let has = |part: &str, text: &str| text.to_lowercase().contains(part);
        let path = format!("{kind}/{namespace}/{name}");
        let word = |word: &String| has(word, &path) || states.iter().any(|(_, state)| has(word, &state.label));
        let message = |text: &str| has(&filter.message, text);
        let reason = |text: &str| has(&filter.reason, text);
        filter.words.iter().all(word)
            && filter.labels.as_ref().is_none_or(|labels| labels.matches(&last.labels))
            && (filter.image.is_empty() || last.images.iter().any(|image| has(&filter.image, image)))
            && (filter.by.is_empty() || ticks.iter().any(|tick| tick.by.as_deref().is_some_and(|by| has(&filter.by, by))))
            && (filter.message.is_empty() || self.messages().any(message))
            && (filter.reason.is_empty()
                || events.iter().filter_map(|event| event.reason.as_deref()).any(reason)
                || ticks.iter().any(|tick| reason(&tick.label))
                || (kind == "Pod" && self.messages().any(|text| is_refused_by(&filter.reason, text))))
    }

    /// What Events and conditions say of it.
    fn messages(&self) -> impl Iterator<Item = &str> {
        let ReportRow { events, last, .. } = &self.0;
        events.iter().filter_map(|event| event.message.as_deref()).chain(last.messages.iter().map(|text| &**text))
    }

    /// Its states, each with its beginning and its end.
    fn bars(&self) -> Vec<(Option<i64>, Option<i64>, &ObjectState)> {
        let row = &self.0;
        let seen = row.ticks.iter().filter_map(|tick| tick.time).max();
        let end = if row.vanished { seen } else { row.end };
        let ends = row.states.iter().skip(1).map(|(time, _)| *time).chain([end]);
        row.states.iter().zip(ends).map(|((from, state), to)| (*from, to, state)).collect()
    }

    /// Its last state before the end of the window.
    pub fn last_state(&self, view: &RowView) -> Option<PageState> {
        self.state_at(view.to_ms)
    }

    fn state_at(&self, at: Option<i64>) -> Option<PageState> {
        let row = &self.0;
        let is_gone = row.end.zip(at).is_some_and(|(end, at)| end <= at) || (at.is_none() && (row.end.is_some() || row.vanished));
        let begun = |from: Option<i64>| from.zip(at).is_none_or(|(from, at)| from <= at);
        row.states.iter().rfind(|(from, _)| begun(*from)).filter(|_| !is_gone).map(|(_, state)| PageState::from(state))
    }

    /// Returns the row of a window. `object` says how it is named; group, depth and owner are the caller's to set. `changes` is how many changes the
    /// window has of it, of which some may not have been read.
    pub fn row(&self, object: PageName, changes: usize, view: &RowView) -> PageRow {
        let row = &self.0;
        let is_open = !row.ended() && !row.vanished;
        PageRow {
            object: PageName { uid: row.uid.clone(), ..object },
            attempts: self.attempts(view),
            bars: thinned(self.bars(), view),
            begin: row.begin,
            changes,
            depth: 0,
            end: row.end.filter(|_| !is_open),
            events: merged_events(row, view),
            group: String::new(),
            node: row.last.node.clone(),
            now: self.state_at(view.at_ms),
            owner: None,
            readable: row.readable,
            ticks: merged_ticks(&row.ticks, view),
            vanished: row.vanished,
        }
    }

    /// Takes it for gone, by a time, though no readable version shows its deletion.
    pub fn vanish(&mut self, by: Option<i64>) {
        self.0.vanished = true;
        self.0.end = by.max(self.0.ticks.iter().filter_map(|tick| tick.time).max());
    }
}

/// The most bars of a row.
const MAX_BARS: usize = 200;

impl RowView {
    /// How long a bucket is, in milliseconds; 0 where all marks are shown.
    fn width(&self) -> i64 {
        match (self.from_ms, self.to_ms, self.buckets) {
            (Some(from), Some(to), 1..) => (to - from) / self.buckets,
            _ => 0,
        }
    }
}

/// The bars of a window; those that are shorter than a pixel become one, of the worst of their tones.
fn thinned(bars: Vec<(Option<i64>, Option<i64>, &ObjectState)>, view: &RowView) -> Vec<Bar> {
    let is_within = |from: Option<i64>, to: Option<i64>| {
        let ends_before = to.zip(view.from_ms).is_some_and(|(to, from)| to < from);
        let begins_after = from.zip(view.to_ms).is_some_and(|(from, to)| from > to);
        !ends_before && !begins_after
    };
    let width = view.width();
    let mut thinned: Vec<(Bar, u8)> = Vec::new();
    for (from, to, state) in bars.into_iter().filter(|(from, to, _)| is_within(*from, *to)) {
        let is_short = from.zip(to).is_some_and(|(from, to)| to - from < width);
        let severity = state.tone.severity();
        let bar = (from, to, state.tone.as_str(), state.label.to_string());
        match thinned.last_mut() {
            Some((last, worst)) if is_short && last.0.zip(to).is_some_and(|(begun, to)| to - begun < width) => {
                *last = if severity >= *worst { (last.0, to, bar.2, bar.3) } else { (last.0, to, last.2, std::mem::take(&mut last.3)) };
                *worst = severity.max(*worst);
            }
            _ => thinned.push((bar, severity)),
        }
    }
    let surplus = thinned.len().saturating_sub(MAX_BARS);
    thinned.into_iter().skip(surplus).map(|(bar, _)| bar).collect()
}

/// The ticks of a window: of changes in one bucket the first stands for all, but none for a creation or a deletion.
fn merged_ticks(ticks: &[RowTick], view: &RowView) -> Vec<PageTick> {
    let width = view.width();
    let mut merged: Vec<PageTick> = Vec::new();
    for tick in ticks.iter().filter(|tick| tick.revision > view.after.0 && tick.revision <= view.to.0) {
        let Some(time) = tick.time else { continue };
        let letter = letter(tick.kind);
        match merged.last_mut().filter(|last| width > 0 && last.1 == "~" && letter == "~" && time / width == last.0 / width) {
            Some(last) => last.4 += 1,
            None => merged.push((time, letter, tick.label.clone(), tick.revision, 1)),
        }
    }
    merged
}

fn letter(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "+",
        ChangeKind::Modified => "~",
        ChangeKind::Deleted => "-",
    }
}

/// The Events of a window: of those of one reason in one bucket the first stands for all.
fn merged_events(row: &ReportRow, view: &RowView) -> Vec<PageEventMark> {
    let width = view.width();
    let mut merged: Vec<PageEventMark> = Vec::new();
    for event in row.events.iter().filter(|event| event.revision > view.after.0 && event.revision <= view.to.0) {
        let Some(time) = event.time else { continue };
        let reason = event.reason.as_deref().unwrap_or_default();
        match merged.iter_mut().rev().take(8).find(|last| width > 0 && last.1 == reason && time / width == last.0 / width) {
            Some(last) => last.3 += 1,
            None => merged.push((time, reason.to_owned(), event.kind.as_deref() == Some("Warning"), 1)),
        }
    }
    merged
}

/// The worst tone of some states.
pub fn worst<'s>(states: impl IntoIterator<Item = &'s PageState>) -> Option<&'static str> {
    let rank = |tone: &str| ["neutral", "done", "good", "working", "ending", "waiting", "bad"].iter().position(|other| *other == tone);
    states.into_iter().map(|state| state.tone).max_by_key(|tone| rank(tone))
}

/// How much room rows take in an answer, about, in bytes.
pub fn merged(rows: &[PageRow]) -> usize {
    let text = |row: &PageRow| {
        let ticks: usize = row.ticks.iter().map(|tick| tick.2.len() + 48).sum();
        let bars: usize = row.bars.iter().map(|bar| bar.3.len() + 56).sum();
        ticks + bars + row.events.len() * 64 + 400
    };
    rows.iter().map(text).sum()
}
