//! Rights: which keys a command reads of a live etcd, and what to grant a user who may not read them.

mod reads;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use ketcd_kube::{Kinds, normalize_prefix};
use ketcd_store::etcd::grant_command;
use ketcd_store::{At, KeyRange, Listing, Want};

use super::error::{Error, Refusal, Result};
use super::output::note;
use super::session::{BUILT_IN, DEFAULT_PREFIX, Session};

pub(super) use reads::{Beside, DEFINITIONS, Reads, Unaddressed, scheduling};

/// What the user may not read and the command does without.
#[derive(Default)]
pub(super) struct Refused {
    definitions: OnceLock<Refusal>,
    definitions_noted: AtomicBool,
    prefix: AtomicBool,
    missed: Mutex<Vec<KeyRange>>,
}

impl Refused {
    /// Notes why the definitions of custom kinds cannot be read.
    pub(super) fn definitions(&self, refusal: Refusal) {
        let _ = self.definitions.set(refusal);
    }

    /// Notes that the prefix is taken for the usual one because no key that shows it may be read.
    pub(super) fn assume_prefix(&self) {
        self.prefix.store(true, Ordering::Relaxed);
    }

    /// Notes keys that would have added something.
    pub(super) fn miss(&self, keys: &KeyRange) {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).push(keys.clone());
    }

    /// Whether anything was noted that the user may not read.
    pub(super) fn has_missed(&self) -> bool {
        !self.missed.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn take_missed(&self) -> Vec<KeyRange> {
        std::mem::take(&mut *self.missed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns what was read, or `None` where the user may not read it.
///
/// # Errors
/// The source cannot be read for another reason.
pub(super) fn unless_denied<T>(read: ketcd_store::Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.is_denied() => Ok(None),
        other => Ok(Some(other?)),
    }
}

impl Session {
    /// Tells the source what will be read: of a user of few rights it asks that and nothing else.
    pub(super) fn announce(&self, reads: &Reads<'_>) {
        let prefix = self.args.prefix.as_deref().map_or(DEFAULT_PREFIX.to_owned(), normalize_prefix);
        let keys = reads.keys(self, &prefix, BUILT_IN.get_or_init(Kinds::builtin));
        keys.iter().for_each(|keys| self.source.will_read(keys));
    }

    /// Whether the user may read all of these keys.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn may_read(&self, keys: &KeyRange) -> Result<bool> {
        if !self.source.is_shared() {
            return Ok(true);
        }
        Ok(unless_denied(self.source.count(keys.clone(), At::Newest).await)?.is_some())
    }

    /// Reads keys that add something; `None` where the user may not read them, which is noted.
    ///
    /// # Errors
    /// The source cannot be read for another reason.
    pub(super) async fn range_or_miss(&self, keys: KeyRange, at: At, want: Want) -> Result<Option<Listing<'_>>> {
        let listing = unless_denied(self.source.range(keys.clone(), at, want).await)?;
        if listing.is_none() {
            self.refused.miss(&keys);
        }
        Ok(listing)
    }

    /// Completes the error of a refusal: with the commands that grant all that the command lacks.
    pub(super) async fn with_grants(&self, error: Error, reads: &Reads<'_>) -> Error {
        let Some(refusal) = error.refusal() else { return error };
        let (needed, is_watched_whole) = self.needed(reads).await;
        let mut refused = vec![refusal.keys.clone()];
        for keys in needed {
            // What cannot be asked for now is not known to be refused.
            if !self.may_read(&keys).await.unwrap_or(true) {
                refused.push(keys);
            }
        }
        let lacking: Vec<&KeyRange> = apart(&refused);
        let mut hint = String::new();
        if is_watched_whole && refusal.keys != KeyRange::all() {
            hint.push_str(
                "etcd before 3.4.25 and 3.5.8 says too early that a past watch has ended (etcd issue 15220), so all keys are read; ",
            );
        }
        if self.refused.prefix.load(Ordering::Relaxed) {
            hint.push_str(&format!("where the API server's --etcd-prefix is not {DEFAULT_PREFIX}, give --prefix; "));
        }
        hint.push_str("grant its role what it lacks:");
        let commands = lacking.into_iter().map(grant_command).collect();
        error.hint(hint).commands(commands)
    }

    /// The keys that the command needs, and whether they are all because of etcd's release.
    async fn needed(&self, reads: &Reads<'_>) -> (Vec<KeyRange>, bool) {
        let prefix = self.prefix().await.unwrap_or(DEFAULT_PREFIX);
        let kinds = match self.kinds().await {
            Ok(kinds) => kinds,
            Err(_) => BUILT_IN.get_or_init(Kinds::builtin),
        };
        let mut needed = reads.keys(self, prefix, kinds);
        let is_whole = |keys: &KeyRange| *keys == KeyRange::key(&keys.start[..]);
        if !reads.past || needed.iter().all(is_whole) || needed.contains(&KeyRange::all()) {
            return (needed, false);
        }
        let watched = self.source.bounded_watch_reads(KeyRange::hull(&needed)).await;
        let is_everything = watched.is_ok_and(|watched| watched == KeyRange::all());
        needed.extend(is_everything.then(KeyRange::all));
        (needed, is_everything)
    }

    /// Says once what is missing because the user may not read it.
    ///
    /// # Errors
    /// The prefix cannot be found.
    pub(super) async fn note_missed(&self) -> Result<()> {
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let of_range = |range: &KeyRange| {
            let kind = kinds.iter().find(|kind| kind.is_stored() && range.start.starts_with(kind.key_prefix(prefix, None).as_bytes()));
            kind.map_or_else(|| String::from_utf8_lossy(&range.start).into_owned(), |kind| kind.resource())
        };
        let mut names: Vec<String> = self.refused.take_missed().iter().map(of_range).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            note(&format!("what this user may not read is missing: {}", names.join(", ")));
        }
        Ok(())
    }

    /// Says once, where every kind is looked at, that only Kubernetes' own are known.
    pub(super) fn note_undefined(&self) {
        let Some(Refusal { problem, .. }) = self.refused.definitions.get() else { return };
        if !self.refused.definitions_noted.swap(true, Ordering::Relaxed) {
            note(&format!("{problem}, which define custom kinds: only objects of Kubernetes' own kinds are looked at"));
        }
    }

    /// The error of a kind that is none of Kubernetes' own, where the definitions of others may not be read.
    pub(super) fn undefined(&self, word: &str) -> Option<Error> {
        let Refusal { keys, problem } = self.refused.definitions.get()?.clone();
        let error = Error::new(format!("no kind of Kubernetes' own is called \"{word}\", and {problem}, where others are defined"));
        Some(error.refused(Refusal { keys, problem }))
    }
}

/// The ranges that no other holds.
fn apart(ranges: &[KeyRange]) -> Vec<&KeyRange> {
    let mut apart: Vec<&KeyRange> = Vec::new();
    for range in ranges {
        if !apart.iter().any(|other| other.covers(range)) {
            apart.retain(|other| !range.covers(other));
            apart.push(range);
        }
    }
    apart
}
