//! The contents: every value of every key is decoded, and etcd's hash is computed on the way.
//!
//! Files are read with every version that etcd still has, a live etcd and a state without history with the newest ones alone. KEP-3926 lists the objects that
//! an API server cannot read; this list has those of all kinds, since when, and the last version that could be read.

mod unreadable;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_kube::encryption::{KeyRing, Scheme};
use ketcd_kube::{Decoder, Kinds, RegistryKey};
use ketcd_store::{
    At, Event, EventKind, HashKv, KeyRange, KeyValue, KeyValueHasher, Origin, Result as StoreResult, Revision, RevisionSpan, SourceKind,
    SourceStatus, Until, Want, WatchItem,
};

use super::asked::VerifyAsked;
use super::part::Part;
use crate::cluster::Cluster;
use crate::cores;
use crate::error::Result;
use unreadable::{ReadChange, Unreadable, Value};

/// What reading all values came to.
pub(super) struct ContentsRead {
    pub part: Part,
    /// Keys that are alive at the revision looked at.
    pub keys: u64,
    /// etcd's hash; `None` where what is read is not etcd's file, or not all of it.
    pub hash_kv: Option<HashKv>,
}

/// Reads all values, or of `sample_every` only some.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn check(cluster: &Cluster, asked: &VerifyAsked, status: &SourceStatus, span: RevisionSpan) -> Result<ContentsRead> {
    let keys = cluster.source.count(KeyRange::all(), At::Revision(span.newest)).await?;
    let has_history = !cluster.source.is_shared() && !cluster.source.is_one_moment() && asked.sample_every.is_none();
    let is_etcds = matches!(status.kind, SourceKind::Db | SourceKind::DataDir) && status.parts.is_empty();
    let mut hasher = match has_history && is_etcds {
        true => Some(KeyValueHasher::at(&*cluster.source, span.newest).await?),
        false => None,
    };
    let mut found = Unreadable::of(has_history, cluster.source.reads_before());
    {
        let items = if has_history {
            cluster.source.watch(KeyRange::all(), Revision(1), Until::Revision(span.newest))
        } else {
            state(cluster, asked, span).await?
        };
        let hashed = items.map_ok(|item| {
            hasher.iter_mut().for_each(|hasher| hasher.add(&item));
            item
        });
        let look = Look::of(cluster, asked).await?;
        let mut read = cores::in_order_ahead(hashed, stored_bytes, move |item| look.at(item)).boxed();
        while let Some(read) = read.next().await.transpose()? {
            read.into_iter().for_each(|read| found.see(read, &*cluster.source));
        }
    }
    let decode = found.all_decode();
    let mut part = found.finish();
    let hash_kv = hasher.map(KeyValueHasher::finish);
    // The findings say enough about a damaged file.
    if let Some(why) = without_hash(status, has_history, hash_kv.as_ref()).filter(|_| cluster.source.damage().is_empty()) {
        part.not_checked.push(format!("HashKV: {why}"));
    }
    let what = if has_history { "every value decodes" } else { "every value of the newest state decodes" };
    match asked.sample_every {
        Some(every) => part.not_checked.push(format!("values of {} of {every} keys", every - 1)),
        None if decode => part.checked.push(what.to_owned()),
        None => {}
    }
    Ok(ContentsRead { part, keys, hash_kv: hash_kv.flatten() })
}

/// Why a file of etcd's has no HashKV that a member would give; `computed` is what came of computing it.
fn without_hash(status: &SourceStatus, has_history: bool, computed: Option<&Option<HashKv>>) -> Option<&'static str> {
    match computed {
        Some(Some(_)) => None,
        Some(None) => Some("not all that etcd had is there"),
        None if has_history && !status.parts.is_empty() => {
            Some("several files make the history, and what etcd had compacted of it is not known; each by itself has one")
        }
        None => None,
    }
}

/// The newest state as writes, or each n-th key of it.
async fn state<'c>(cluster: &'c Cluster, asked: &VerifyAsked, span: RevisionSpan) -> Result<BoxStream<'c, StoreResult<WatchItem>>> {
    let every = asked.sample_every.unwrap_or(1).max(1);
    let entries = cluster.source.range(KeyRange::all(), At::Revision(span.newest), Want::Values).await?.entries;
    let picked = entries.enumerate().filter(move |(place, _)| std::future::ready(place % every == 0));
    Ok(picked.map(|(_, entry)| entry.map(|entry| WatchItem::Event(Event::put(entry, Origin::Db)))).boxed())
}

fn stored_bytes(item: &WatchItem) -> usize {
    if let WatchItem::Event(event) = item { event.key_value.value.len() } else { 0 }
}

/// What looking at a value takes.
struct Look {
    prefix: String,
    kinds: Kinds,
    decoder: Decoder,
    keys: KeyRing,
    /// Whether the API server's own configuration of keys is at hand.
    has_config: bool,
}

impl Look {
    async fn of(cluster: &Cluster, asked: &VerifyAsked) -> Result<Self> {
        let (prefix, kinds) = (cluster.prefix().await?.to_owned(), cluster.kinds().await?.clone());
        let (decoder, keys, has_config) = (cluster.decoder.clone(), cluster.options.keys.clone(), asked.encryption.is_some());
        Ok(Self { prefix, kinds, decoder, keys, has_config })
    }

    /// Looks at one change; `None` for what etcd itself no longer has.
    fn at(&self, item: WatchItem) -> Option<ReadChange> {
        let WatchItem::Event(Event { revision, kind, key_value, origin, .. }) = item else { return None };
        // What was recovered is no longer in etcd.
        if matches!(origin, Origin::FreePage | Origin::OldValue) {
            return None;
        }
        let value = match kind {
            EventKind::Delete => Value::Deleted,
            EventKind::Put => self.value(&key_value),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        Some(ReadChange { key: key_value.key.clone(), revision, version: without_value(key_value), value })
    }

    fn value(&self, written: &KeyValue) -> Value {
        let KeyValue { key, value, mod_revision, .. } = written;
        let place = RegistryKey::parse(&self.prefix, key, &self.kinds);
        if matches!(place, RegistryKey::Foreign) {
            return Value::Foreign;
        }
        let sealed = self.keys.seal_of(value);
        if sealed.scheme != Scheme::Identity
            && let Err(unopened) = self.keys.open(key, value)
        {
            // Plugins hold keys that no configuration has; any other key should be in the one that is given.
            let is_plugins = matches!(sealed.scheme, Scheme::KmsV1 | Scheme::KmsV2);
            let is_lost = !unopened.expected || self.has_config && !is_plugins;
            return if is_lost { Value::Unreadable(unopened.reason) } else { Value::Sealed(sealed.scheme.to_string()) };
        }
        let mut text = Vec::new();
        match self.decoder.decode_text(key, value, mod_revision.0, &mut text) {
            Ok(_) => Value::Good,
            // Bookkeeping of the API server, and keys of no resource, need not hold objects.
            Err(_) if place.object().is_none() => Value::Good,
            Err(opaque) if opaque.expected && place.object().is_some_and(|path| path.kind().is_none()) => Value::Unknown(opaque.reason),
            Err(opaque) => Value::Unreadable(opaque.reason),
        }
    }
}

fn without_value(version: KeyValue) -> KeyValue {
    KeyValue { value: Bytes::new(), ..version }
}
