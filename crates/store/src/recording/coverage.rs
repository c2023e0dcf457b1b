//! Which revisions the files of a recording cover, and the messages about those that none covers.

use super::facts::{FileFacts, MissingRevisions, RecordingScope};

const MOST_HOLES: usize = 8;

/// What a recorder leaves out by default.
const SECRETS_COVERAGE: &str = "Secrets";
/// What cannot be recorded through an API server.
const API_SERVER_COVERAGE: &str = "keys and bytes of etcd that the API server does not return, through which it was recorded";

/// Runs of revisions, joined where they touch.
pub(super) fn joined(runs: impl Iterator<Item = (i64, i64)>) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = runs.filter(|run| run.0 < run.1).collect();
    runs.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (after, upto) in runs {
        match joined.last_mut() {
            Some(last) if after <= last.1 => last.1 = last.1.max(upto),
            _ => joined.push((after, upto)),
        }
    }
    joined
}

/// The runs of revisions from `from` to `to` that are not covered, both ends included.
pub(super) fn uncovered(covered: &[(i64, i64)], from: i64, to: i64) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    let mut next = from;
    for &(after, upto) in covered.iter().filter(|run| run.1 >= from && run.0 < to) {
        if after >= next {
            found.push((next, after));
        }
        next = next.max(upto + 1);
    }
    if next <= to {
        found.push((next, to));
    }
    found
}

/// Revisions that no file has though the recording goes on behind them, and no recorder said why; each run a sentence. A recorder writes a state only where
/// it has recorded all before, so what a state is ahead of the changes was lost.
pub(super) fn holes(covered: &[(i64, i64)], changes: &[&FileFacts], states: &[&FileFacts], newest: i64) -> Vec<String> {
    let said = changes.iter().flat_map(|file| &file.missing).map(|missing| (missing.from - 1, missing.to));
    let known = joined(covered.iter().copied().chain(said));
    let first_state = states.iter().filter_map(|state| state.upto()).min();
    let Some(begin) = known.first().map(|run| run.0).into_iter().chain(first_state).min() else { return Vec::new() };
    let found = uncovered(&known, begin + 1, newest);
    let more = found.len().saturating_sub(MOST_HOLES);
    let sentence =
        |&(from, to): &(i64, i64)| format!("revisions {from} to {to} are lost: no file has them, and the recording continues after them");
    let mut sentences: Vec<String> = found.iter().take(MOST_HOLES).map(sentence).collect();
    sentences.extend((more > 0).then(|| format!("{more} more runs of revisions are lost in the same way")));
    sentences
}

/// What the recording does not hold because it was not to; each a phrase.
pub(super) fn not_asked(scope: &RecordingScope) -> Vec<String> {
    let mut phrases = Vec::new();
    if !scope.prefixes.is_empty() {
        phrases.push(format!("keys that are not under {}", scope.prefixes.join(", ")));
    }
    phrases.extend(scope.left_out.iter().map(|what| match what.as_str() {
        SECRETS_COVERAGE => format!("{SECRETS_COVERAGE} (record --show-secrets records them)"),
        other => other.to_owned(),
    }));
    // A bundle of such a recording has taken it over.
    if scope.api_server.is_some() && !phrases.iter().any(|phrase| phrase == API_SERVER_COVERAGE) {
        phrases.push(API_SERVER_COVERAGE.to_owned());
    }
    phrases
}

/// What the recording does not hold because it could not be recorded; each a sentence.
pub(super) fn left_out(changes: &[&FileFacts]) -> Vec<String> {
    let missing = changes.iter().flat_map(|file| &file.missing);
    let sentence =
        |MissingRevisions { from, to, reason }: &MissingRevisions| format!("revisions {from} to {to} were not recorded: {reason}");
    missing.map(sentence).collect()
}
