//! What a layer must have and lacks. etcd's own rules prove it: above the last compaction every revision made a change, the changes
//! of a revision are numbered without holes, and the versions of a key follow each other.
//!
//! Source: etcd v3.6, `server/storage/mvcc`, `kvstore_txn.go` (numbers) and `key_index.go` (what a compaction keeps: of each key the
//! newest version at or before it, unless that is a deletion).

use super::{Layer, Version, Versions};
use crate::{Origin, RevisionSpan};

/// The first revision that can hold a change: an empty store is at 1.
pub(super) const FIRST_CHANGE: i64 = 2;

/// More sentences of a kind are not written; the rest is counted.
const MAX_SENTENCES: usize = 20;

/// The runs of revisions from `first` to `newest` that are not among `mains` (ascending), both ends included.
pub(super) fn gaps(mains: impl Iterator<Item = i64>, skipped: &[(i64, i64)], first: i64, newest: i64) -> Vec<(i64, i64)> {
    let mut gaps = Vec::new();
    let mut expected = first;
    let mut skipped = skipped.iter().copied().peekable();
    for main in mains.chain([newest + 1]) {
        while let Some((from, to)) = skipped.next_if(|&(_, to)| to <= main) {
            if from > expected {
                gaps.push((expected, from - 1));
            }
            expected = expected.max(to + 1);
        }
        if main > expected {
            gaps.push((expected, main - 1));
        }
        expected = expected.max(main + 1);
    }
    gaps
}

/// Gives each layer that holds the whole key space the changes it lacks and another one has.
pub(super) fn fill(versions: &mut [Version], layers: &[Layer]) {
    for (layer, span) in layers.iter().enumerate().filter_map(|(layer, held)| Some((layer, held.span?))) {
        let first = versions.partition_point(|version| version.main < first_complete(span));
        let end = versions.partition_point(|version| version.main <= span.newest.0);
        for change in versions[first.min(end)..end].chunk_by_mut(|one, next| one.main == next.main) {
            if !is_complete(change.iter().filter(|version| version.is_of(layer))) {
                change.iter_mut().filter(|version| version.origin != Origin::FreePage).for_each(|version| version.layers |= 1 << layer);
            }
        }
    }
}

/// The first revision of which a layer has all changes.
pub(super) fn first_complete(span: RevisionSpan) -> i64 {
    span.compacted.map_or(FIRST_CHANGE, |compacted| compacted.0 + 1)
}

/// Whether these changes of one revision are all up to the last.
fn is_complete<'a>(changes: impl Iterator<Item = &'a Version>) -> bool {
    let mut next = 0;
    changes.fold(true, |complete, change| {
        let in_turn = change.sub == next;
        next += 1;
        complete && in_turn
    }) && next > 0
}

impl Version {
    fn is_of(&self, layer: usize) -> bool {
        self.layers >> layer & 1 == 1
    }
}

impl Versions {
    /// What `layer` provably lacks, or has and cannot have, though other layers were asked too; each a sentence.
    pub(crate) fn missing(&self, layer: usize) -> Vec<String> {
        let Some(span) = self.layers[layer].span else { return Vec::new() };
        let first = first_complete(span);
        let from = self.versions.partition_point(|version| version.main < first);
        let all =
            || self.versions[from..].iter().take_while(|version| version.main <= span.newest.0).filter(|version| version.is_of(layer));
        let gaps = gaps(all().map(|version| version.main), &self.skipped, first, span.newest.0);
        let why = match span.compacted {
            Some(compacted) => format!("though only revisions up to {compacted} were compacted"),
            None if self.layers[layer].is_compaction_unknown => "compacted or lost".to_owned(),
            None => "though nothing was compacted".to_owned(),
        };
        let mut sentences = listed(gaps.iter().map(|gap| gap_sentence(*gap, &why)), "runs of revisions are missing");
        let of_revision: Vec<&Version> = all().collect();
        let holes: Vec<i64> = of_revision
            .chunk_by(|one, next| one.main == next.main)
            .filter(|changes| !is_complete(changes.iter().copied()))
            .map(|changes| changes[0].main)
            .collect();
        let hole = |main: &i64| format!("revision {main} has lost changes: later ones of it are there, earlier ones are not");
        sentences.extend(listed(holes.iter().map(hole), "revisions have lost changes"));
        let known = KnownLosses { layer, span, gaps: &gaps, holes: &holes };
        let broken = (0..self.key_count()).flat_map(|key| self.breaks(key, &known));
        sentences.extend(listed(broken, "versions of keys are missing or contradict each other"));
        sentences
    }

    /// Where the versions of a key do not follow each other, unless what is known to be missing explains it; each a sentence.
    fn breaks(&self, key: u32, known: &KnownLosses<'_>) -> Vec<String> {
        let KnownLosses { layer, span, .. } = *known;
        let first = first_complete(span);
        let name = || String::from_utf8_lossy(&self.key_bytes[self.key_range(key)]).into_owned();
        let versions = self.versions_of(key).iter().map(|&index| &self.versions[index as usize]);
        let mut before: Option<&Version> = None;
        let mut breaks = Vec::new();
        for version in versions.filter(|version| version.is_of(layer) && version.main <= span.newest.0) {
            let main = version.main;
            if main < first {
                let replaced = before.map(|before| before.main).or((version.deleted && main + 1 < first).then_some(main));
                if let Some(old) = replaced.filter(|_| self.layers[layer].is_compaction_finished) {
                    let compacted = first - 1;
                    breaks.push(format!("{} has a version of revision {old}, which the compaction at {compacted} removed", name()));
                }
            } else if !known.explains(before.map_or(first - 1, |before| before.main), main) {
                breaks.extend(wrong_step(before, version).map(|problem| format!("{}: {problem}", name())));
            }
            before = Some(version);
        }
        breaks
    }
}

/// What is known to be missing from a layer.
struct KnownLosses<'a> {
    layer: usize,
    span: RevisionSpan,
    gaps: &'a [(i64, i64)],
    holes: &'a [i64],
}

impl KnownLosses<'_> {
    /// Whether something between two revisions is known to be missing.
    fn explains(&self, after: i64, upto: i64) -> bool {
        let gap = self.gaps.partition_point(|gap| gap.1 <= after);
        let hole = self.holes.partition_point(|&hole| hole < after);
        self.gaps.get(gap).is_some_and(|gap| gap.0 < upto) || self.holes.get(hole).is_some_and(|&hole| hole <= upto)
    }
}

/// What is missing between a key's version and the one before it. Where a log has a change without its version, nothing is known.
fn wrong_step(before: Option<&Version>, version: &Version) -> Option<String> {
    let put = before.filter(|before| !before.deleted);
    let Version { main, version: number, .. } = *version;
    if version.deleted {
        return put.is_none().then(|| format!("what was deleted at revision {main} is missing"));
    }
    match (number, put) {
        (0, _) | (1, None) | (_, Some(Version { version: 0, .. })) => None,
        (1, Some(put)) => Some(format!("made anew at revision {main}, but its deletion after revision {} is missing", put.main)),
        (_, Some(put)) if put.version + 1 == number && put.create_revision == version.create_revision => None,
        _ => Some(format!("version {} is missing, though version {number} was written at revision {main}", number - 1)),
    }
}

fn gap_sentence((from, to): (i64, i64), why: &str) -> String {
    if from == to {
        format!("revision {from} is missing, {why}: what is shown from there on may be older than it looks")
    } else {
        format!("revisions {from} to {to} are missing, {why}: what is shown from {from} on may be older than it looks")
    }
}

/// The first sentences, and how many more there are.
fn listed(sentences: impl Iterator<Item = String>, more: &str) -> Vec<String> {
    let mut sentences = sentences;
    let mut listed: Vec<String> = sentences.by_ref().take(MAX_SENTENCES).collect();
    let rest = sentences.count();
    if rest > 0 {
        listed.push(format!("{rest} more {more}"));
    }
    listed
}
