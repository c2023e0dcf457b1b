//! Several sources read as one history: each change once with all its sources, what none of them has as a gap, and none that is not of the
//! same cluster.
//!
//! A part says cheaply which revisions it has (`part`): a database file by some of its pages, a recording by its manifest. Many files are
//! opened when a question needs them and closed again (`plan`); so are their damage and what their free pages hold only known then. Neighbours
//! are compared when the sources are opened (`lineage`), and every change that several have when they are read (`merge`; `joint` with a live
//! etcd).

mod gaps;
mod lineage;
mod live;
mod merge;
mod merged_changes;
mod part;
mod plan;
mod reading;
mod state;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::BoxStream;
use tokio::sync::OnceCell;

use crate::arrival::each_once;
use crate::{
    Arrival, Arrivals, At, Companion, EarlierRevisions, Error, Event, Facts, Generations, HistoryKind, KeyHistory, KeyRange, KeyValue,
    LateDamage, Listing, PartGap, Result, Revision, RevisionSpan, Shortcuts, Source, SourceStatus, Until, Want, WatchItem, Withheld,
};
use lineage::{Verdict, Witness, compare};
use live::LivePart;
use part::Pool;

#[cfg(feature = "recording")]
pub(crate) use lineage::disagreement;
pub(crate) use live::LiveInput;
pub(crate) use part::{Opener, Part, PartState};

/// Several sources.
pub(crate) struct Fused {
    /// Files, in the order in which they were given.
    parts: Vec<Part>,
    live: Option<LivePart>,
    pool: Pool,
    damage: Vec<String>,
    left_out: Vec<String>,
    /// Those of `left_out` that name files which were not written to their end.
    unfinished: Vec<String>,
    /// Those of `left_out` that are not a problem of the files.
    notes: Vec<String>,
    companions: Vec<Companion>,
    /// Whether one of them is a bundle without the values of Secrets.
    lacks_secret_values: bool,
    /// The classes of values that were replaced in one of them.
    redacted: Vec<String>,
    /// Between files.
    gaps: Vec<PartGap>,
    /// Those of all sources' gaps, by their places, that a reading came past.
    passed: Mutex<BTreeSet<usize>>,
    /// What free pages hold of files that cannot all be open at once, with the part.
    recovered: OnceCell<Vec<(usize, Event)>>,
}

impl Fused {
    /// Makes one history of files and, where there is one, a live etcd.
    ///
    /// # Errors
    ///
    /// They are not of one cluster.
    pub(crate) fn new(mut parts: Vec<Part>, beside: Option<LiveInput>) -> Result<Self> {
        check_cluster_ids(&parts)?;
        // Nothing of a file has to be waited for.
        let checked = check_neighbours(&parts).now_or_never();
        let unproven = checked.ok_or_else(|| not_readable(&names(&parts, None)))??;
        for part in &mut parts {
            if let PartState::Closed { peek, .. } = &mut part.held {
                *peek = None;
            }
        }
        let gaps = gaps::between(&parts);
        let (mut damage, mut left_out, mut companions) = (Vec::new(), Vec::new(), Vec::new());
        let (mut lacks_secret_values, mut redacted) = (false, Vec::<String>::new());
        let mut notes = unproven;
        for part in &parts {
            let PartState::Open(source) = &part.held else { continue };
            left_out.extend_from_slice(source.left_out());
            companions.extend_from_slice(source.facts().companions);
            let Withheld { secret_values, classes } = source.facts().withheld;
            lacks_secret_values |= secret_values;
            for class in classes {
                if !redacted.contains(class) {
                    redacted.push(class.clone());
                }
            }
            match covering(&parts, part) {
                _ if !part.is_damaged() => {}
                Some(whole) => notes.extend(source.damage().iter().map(|problem| replaced(problem, whole))),
                None => damage.extend_from_slice(source.damage()),
            }
        }
        let live = beside.map(LivePart::new);
        // A live etcd may have what lies between files, and says what it has not.
        if live.is_none() {
            notes.extend(gaps::sentences(&gaps));
        }
        left_out.extend(notes.iter().cloned());
        let (pool, passed, recovered) = (Pool::default(), Mutex::default(), OnceCell::new());
        Ok(Self {
            parts,
            live,
            pool,
            damage,
            left_out,
            unfinished: Vec::new(),
            notes,
            companions,
            lacks_secret_values,
            redacted,
            gaps,
            passed,
            recovered,
        })
    }

    /// The same, with what else is damaged or left out (also because it was not written to its end), what was chosen, and what configuration was found,
    /// where the files lay.
    pub(crate) fn saying(
        mut self,
        damage: Vec<String>,
        (unread, unfinished): (Vec<String>, Vec<String>),
        chosen: Vec<String>,
        companions: Vec<Companion>,
    ) -> Self {
        self.damage.extend(damage);
        self.left_out.extend(unfinished.iter().cloned().chain(unread).chain(chosen.iter().cloned()));
        self.unfinished.extend(unfinished);
        self.notes.extend(chosen);
        self.companions.extend(companions);
        self
    }

    fn source(&self, number: usize) -> Result<Arc<dyn Source>> {
        self.pool.get(&self.parts, number)
    }

    /// The file that reaches back the furthest.
    fn oldest_file(&self) -> Option<&Part> {
        self.parts.iter().filter(|part| !part.is_empty()).min_by_key(|part| part.span.oldest)
    }

    /// What became of the revisions before the oldest of the files.
    fn earlier(&self) -> EarlierRevisions {
        self.oldest_file().map(|part| part.earlier).unwrap_or_default()
    }

    fn span_of_files(&self) -> RevisionSpan {
        let (oldest, compacted) = self.oldest_file().map_or((Revision(1), None), |part| (part.span.oldest, part.span.compacted));
        let newest = self.parts.iter().map(|part| part.span.newest).max().unwrap_or(Revision(1));
        RevisionSpan { oldest, newest, compacted }
    }

    /// What none of the sources has, once a live etcd was asked too.
    fn gaps(&self) -> &[PartGap] {
        self.live.as_ref().and_then(LivePart::gaps).unwrap_or(&self.gaps)
    }

    /// An item that is read: missing revisions are said to be missing at the end too.
    fn passing(&self, item: WatchItem) -> WatchItem {
        if let WatchItem::Gap { from, to } = item {
            let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
            let touched = self.gaps().iter().enumerate().filter(|(_, gap)| gap.from <= to && from <= gap.to);
            passed.extend(touched.map(|(place, _)| place));
        }
        item
    }

    fn conflict(&self, conflict: &str) -> Error {
        not_of_one_cluster(&self.name(), conflict)
    }

    /// The names of all sources, or how many there are.
    fn name(&self) -> String {
        names(&self.parts, self.live.as_ref())
    }
}

fn names(parts: &[Part], live: Option<&LivePart>) -> String {
    let names: Vec<&str> = parts.iter().map(|part| &*part.name).chain(live.map(|live| &*live.name)).collect();
    joined_name(&names)
}

/// The names of several sources as one.
pub(crate) fn joined_name(names: &[&str]) -> String {
    /// More are counted.
    const MAX_FILES_NAMED: usize = 8;
    match names {
        [first, .., last] if names.len() > MAX_FILES_NAMED => format!("{first} … {last} ({} sources)", names.len()),
        _ => names.join(", "),
    }
}

fn not_of_one_cluster(path: &str, conflict: &str) -> Error {
    let problem = format!(
        "these are not from one etcd cluster: {conflict}; give the files of one cluster only; if it was restored from a backup, only those from before or only those from after"
    );
    Error::Format { path: path.to_owned(), problem }
}

/// The error of the files of a cluster before and after it was restored.
fn parted(one: &str, other: &str, after: Revision, conflict: &str) -> Error {
    let problem = format!(
        "these are not from one etcd cluster any more: they agree up to revision {after} and differ after it, as if the cluster was restored from a backup of \
         about that revision; {conflict}. Give the files of one history only, from before or from after; to see what differs now: ketcd diff {one} \
         {other}"
    );
    Error::Format { path: format!("{one}, {other}"), problem }
}

fn not_readable(path: &str) -> Error {
    Error::Format { path: path.to_owned(), problem: "cannot be compared with each other; name fewer files".to_owned() }
}

fn replaced(problem: &str, whole: &Part) -> String {
    format!("{problem} ({} has every revision of it)", whole.name)
}

/// A sound part that has every revision of another.
fn covering<'a>(parts: &'a [Part], part: &Part) -> Option<&'a Part> {
    parts.iter().find(|whole| {
        let (ours, theirs) = (whole.span, part.span);
        let is_sound = whole.has_all_keys() && whole.damage.get().is_some_and(Vec::is_empty);
        is_sound && ours.oldest <= theirs.oldest && theirs.newest <= ours.newest
    })
}

/// Compares the cluster ids that are known.
fn check_cluster_ids(parts: &[Part]) -> Result<()> {
    let mut known = parts.iter().filter_map(|part| Some((part, part.cluster_id.as_ref()?)));
    let Some((first, id)) = known.next() else { return Ok(()) };
    match known.find(|(_, other)| *other != id) {
        None => Ok(()),
        Some((other, other_id)) => {
            let conflict = format!("{} is of cluster {id}, {} of cluster {other_id}", first.name, other.name);
            Err(not_of_one_cluster(&names(parts, None), &conflict))
        }
    }
}

/// Compares each file with the one before it in time. Returns what nothing shows.
async fn check_neighbours(parts: &[Part]) -> Result<Vec<String>> {
    let mut in_time: Vec<&Part> = parts.iter().filter(|part| !part.is_empty()).collect();
    in_time.sort_by_key(|part| (part.span.newest, part.span.oldest));
    let (mut unproven, mut uncompared) = (Vec::new(), 0);
    for (place, part) in in_time.iter().enumerate().skip(1) {
        let Some(ours) = Witness::of(part) else {
            uncompared += 1;
            continue;
        };
        let before = &in_time[..place];
        let whole = before.iter().rev().find(|part| part.has_all_keys());
        let neighbours = before.last().into_iter().chain(whole.filter(|_| !before[place - 1].has_all_keys()));
        for neighbour in neighbours {
            let Some(theirs) = Witness::of(neighbour) else { continue };
            match compare(&theirs, &ours).await? {
                Verdict::Agree => {}
                Verdict::Conflict(conflict) => return Err(not_of_one_cluster(&format!("{}, {}", neighbour.name, part.name), &conflict)),
                Verdict::Parted { after, conflict } => return Err(parted(&neighbour.name, &part.name, after, &conflict)),
                Verdict::Recovered(sentence) => unproven.push(sentence),
                Verdict::Unknown(why) => {
                    unproven.push(format!("cannot tell that {} and {} are from one cluster: {why}", neighbour.name, part.name));
                }
            }
        }
    }
    if uncompared > 0 {
        unproven.push(format!(
            "{uncompared} compressed files are not compared with the others before they are read: unpacked they are too large"
        ));
    }
    Ok(unproven)
}

impl Source for Fused {
    fn facts(&self) -> Facts<'_> {
        Facts {
            history: HistoryKind::Changes,
            earlier: self.earlier(),
            withheld: Withheld { secret_values: self.lacks_secret_values, classes: &self.redacted },
            has_all_keys: self.live.is_some() || self.parts.iter().any(Part::has_all_keys),
            damage: &self.damage,
            left_out: &self.left_out,
            companions: &self.companions,
            late_damage: Some(self),
            before: None,
            arrivals: self.recordings().next().is_some().then_some(self as &dyn Arrivals),
            log: None,
            live: self.live.as_ref().and_then(|live| live.source.facts().live),
        }
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        Box::pin(self.status_of_all())
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        Box::pin(async move {
            let files = self.span_of_files();
            let Some(live) = &self.live else { return Ok(files) };
            let span = live.checked(self).await?.span().await?;
            let older = if span.oldest < files.oldest { span } else { files };
            Ok(RevisionSpan { newest: files.newest.max(span.newest), ..older })
        })
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        Box::pin(self.state(keys, at, want))
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.read(vec![keys], from.0, until, false)
    }
}

impl Shortcuts for Fused {
    fn first(&self, keys: KeyRange, at: At, want: Want, most: usize) -> BoxFuture<'_, Result<Vec<KeyValue>>> {
        Box::pin(self.first_of_state(keys, at, want, most))
    }

    fn count(&self, keys: KeyRange, at: At) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.count_of_state(keys, at))
    }

    fn watch_ranges(&self, ranges: Vec<KeyRange>, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        self.read(ranges, from.0, until, true)
    }

    fn key_history(&self, key: Vec<u8>, until: Revision, _: Generations) -> BoxFuture<'_, Result<KeyHistory<'_>>> {
        let items = self.read(vec![KeyRange::key(key)], 1, Until::Revision(until), true);
        Box::pin(std::future::ready(Ok(KeyHistory::of(items))))
    }
}

impl Fused {
    /// The parts that say when changes arrived. Recordings stay open.
    fn recordings(&self) -> impl Iterator<Item = &Arc<dyn Source>> {
        let open = self.parts.iter().filter_map(|part| if let PartState::Open(source) = &part.held { Some(source) } else { None });
        open.filter(|source| source.facts().arrivals.is_some())
    }
}

impl Arrivals for Fused {
    fn arrivals(&self, from: Revision, to: Revision) -> Vec<Arrival> {
        each_once(self.recordings().flat_map(|source| source.arrivals(from, to)).collect())
    }

    fn are_dates(&self) -> bool {
        self.recordings().all(|source| source.arrivals_are_dates())
    }
}

impl LateDamage for Fused {
    fn late_damage(&self) -> Vec<String> {
        let mut late: Vec<String> = Vec::new();
        for part in &self.parts {
            late.extend(part.late().iter().cloned());
            // Damage of a file that was opened at once has been reported.
            let is_late = matches!(part.held, PartState::Closed { .. }) && part.is_damaged() && covering(&self.parts, part).is_none();
            late.extend(part.damage.get().filter(|_| is_late).into_iter().flatten().cloned());
            if let PartState::Open(source) = &part.held {
                late.extend(source.late_damage());
            }
        }
        late.extend(self.pool.opened().iter().flat_map(|(_, source)| source.late_damage()));
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        late.extend(gaps::passed_over(passed.iter().filter_map(|&place| self.gaps().get(place))));
        late
    }

    fn read_all(&self) {
        let read = |source: &dyn Source| source.facts().late_damage.into_iter().for_each(LateDamage::read_all);
        for part in &self.parts {
            if let PartState::Open(source) = &part.held {
                read(&**source);
            }
        }
        self.pool.opened().iter().for_each(|(_, source)| read(&**source));
    }
}
