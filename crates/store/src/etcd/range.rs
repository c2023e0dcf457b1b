//! Ranges: paged at one fixed revision, with pages sized to the values, one request in flight.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_stream::try_stream;
use bytes::Bytes;
use etcd_client::proto::{PbKeyValue, PbRangeResponse};
use etcd_client::{Client, GetOptions, GetResponse};
use futures_util::stream::BoxStream;

use super::ahead::read_ahead;
use super::answer::{Content, RangeAsked, Untrue};
use super::client::{Cluster, Consistency, LARGEST_MESSAGE};
use super::errors::{Class, Trouble};
use super::page::{Page, PageSize};
use super::rights::denied;
use super::span::span;
use crate::{At, Error, KeyRange, KeyValue, Listing, Result, Revision, Want};

/// Returns the keys of `keys` alive at `at`. The first page is read at once and fixes the revision, the others as they are wanted.
pub(super) async fn range(cluster: &Arc<Cluster>, keys: KeyRange, at: At, want: Want) -> Result<Listing<'static>> {
    let asked = revision_of(at);
    let mut page = Page::first(&keys, asked, want, PageSize::of(cluster.config.page_bytes));
    let (first, _) = fetch(cluster, &mut page).await?;
    let revision = asked.unwrap_or_else(|| header_revision(&first));
    page.revision = Some(revision);
    Ok(Listing { revision, entries: entries(Arc::clone(cluster), keys, page, first) })
}

/// Returns the key as it was at a revision, if it was there.
pub(super) async fn get(cluster: &Cluster, key: &[u8], at: Revision, want: Want) -> Result<Option<KeyValue>> {
    Ok(first(cluster, &KeyRange::key(key), At::Revision(at), want, 1).await?.pop())
}

/// Returns the first keys of a range, no more than `most`.
pub(super) async fn first(cluster: &Cluster, keys: &KeyRange, at: At, want: Want, most: usize) -> Result<Vec<KeyValue>> {
    let mut page = Page::first(keys, revision_of(at), want, PageSize::of(cluster.config.page_bytes)).limited(most);
    let mut found: Vec<KeyValue> = Vec::new();
    while found.len() < most {
        let (mut answer, _) = fetch(cluster, &mut page).await?;
        page.revision.get_or_insert(header_revision(&answer));
        let next = page.next(keys, &answer);
        found.extend(std::mem::take(&mut answer.0.kvs).into_iter().map(key_value));
        let Some(next) = next else { break };
        page = next;
        page.limit = page.limit.min(i64::try_from(most.saturating_sub(found.len())).unwrap_or(i64::MAX)).max(1);
    }
    found.truncate(most);
    Ok(found)
}

fn revision_of(at: At) -> Option<Revision> {
    match at {
        At::Newest => None,
        At::Revision(revision) => Some(revision),
    }
}

/// Returns whether the key was there at a revision; etcd looks into its index alone.
pub(super) async fn is_alive(cluster: &Cluster, key: &[u8], at: Revision) -> Result<bool> {
    count(cluster, &KeyRange::key(key), At::Revision(at)).await.map(|count| count > 0)
}

/// Returns how many keys are alive at `at`; etcd looks into its index alone.
pub(super) async fn count(cluster: &Cluster, keys: &KeyRange, at: At) -> Result<u64> {
    let asked = RangeAsked { keys, revision: revision_of(at), content: Content::Count };
    let check = |answer: &PbRangeResponse| asked.check(answer).map(drop);
    match ask(cluster, keys, asked.revision, GetOptions::new().with_count_only(), check).await {
        Ok(answer) => Ok(answer.count().unsigned_abs()),
        Err(troubles) => Err(error_of(cluster, keys, asked.revision, troubles).await),
    }
}

fn entries(cluster: Arc<Cluster>, keys: KeyRange, page: Page, mut first: GetResponse) -> BoxStream<'static, Result<KeyValue>> {
    Box::pin(try_stream! {
        let mut next = page.next(&keys, &first);
        let mut coming = None;
        let values = std::mem::take(&mut first.0.kvs);
        // What comes after the first page is asked for once it is clear that more than the beginning is wanted.
        let ahead_at = values.len() / 2;
        for (place, kv) in values.into_iter().enumerate() {
            if place == ahead_at {
                coming = next.take().map(|next| read_ahead(&cluster, &keys, next));
            }
            yield key_value(kv);
        }
        let mut coming = coming.or_else(|| next.map(|next| read_ahead(&cluster, &keys, next)));
        while let Some(pages) = &mut coming
            && let Some(values) = pages.recv().await
        {
            for kv in values? {
                yield key_value(kv);
            }
        }
    })
}

/// How many bytes of keys and values these are.
pub(super) fn bytes(values: &[PbKeyValue]) -> usize {
    values.iter().map(|kv| kv.key.len() + kv.value.len()).sum()
}

/// Reads a page; returns how long etcd took. A page that would be too long becomes one of fewer keys.
pub(super) async fn fetch(cluster: &Cluster, page: &mut Page) -> Result<(GetResponse, Duration)> {
    loop {
        let mut options = GetOptions::new().with_limit(page.limit);
        if page.want == Want::Keys {
            options = options.with_keys_only();
        }
        let begun = Instant::now();
        match ask(cluster, &page.keys, page.revision, options, |answer| page.check(answer)).await {
            Ok(mut answer) => {
                if page.want == Want::Keys {
                    answer.0.kvs.iter_mut().for_each(|kv| kv.value = Vec::new());
                }
                return Ok((answer, begun.elapsed()));
            }
            Err(troubles) if page.limit > 1 && troubles.iter().any(|trouble| trouble.class == Class::TooLarge) => {
                page.limit = (page.limit / 8).max(1);
            }
            Err(troubles) => return Err(error_of(cluster, &page.keys, page.revision, troubles).await),
        }
    }
}

/// Asks for a range, and checks the answer.
async fn ask(
    cluster: &Cluster,
    keys: &KeyRange,
    revision: Option<Revision>,
    options: GetOptions,
    check: impl Fn(&PbRangeResponse) -> Result<(), Untrue>,
) -> Result<GetResponse, Vec<Trouble>> {
    let (start, options) = options_of(keys, revision, options);
    cluster.pacer.turn().await;
    let get = |client: Client, consistency| {
        let (start, mut options, check) = (start.clone(), options.clone(), &check);
        if consistency == Consistency::Serializable {
            options = options.with_serializable();
        }
        async move {
            let answer = client.kv_client().max_decoding_message_size(LARGEST_MESSAGE).get(start, Some(options)).await?;
            check(&answer.0)?;
            Ok(answer)
        }
    };
    if revision.is_some() { cluster.ask_settled(get).await } else { cluster.ask(get).await }
}

/// The error of a range that could not be read.
async fn error_of(cluster: &Cluster, keys: &KeyRange, revision: Option<Revision>, troubles: Vec<Trouble>) -> Error {
    match troubles.iter().find(|trouble| trouble.class == Class::Denied) {
        Some(trouble) => denied(keys, trouble),
        None => of_revision(cluster, troubles, revision).await,
    }
}

/// The first key and the options that ask for a range.
pub(super) fn options_of(keys: &KeyRange, revision: Option<Revision>, options: GetOptions) -> (Vec<u8>, GetOptions) {
    let options = range_of(keys, &keys.start, options);
    (nonempty(&keys.start), options.with_revision(revision.map_or(0, |revision| revision.0)))
}

/// The error of a revision that cannot be read names the oldest one that can.
async fn of_revision(cluster: &Cluster, troubles: Vec<Trouble>, asked: Option<Revision>) -> Error {
    let (Some(asked), [trouble]) = (asked, troubles.as_slice()) else { return cluster.error(troubles) };
    match (trouble.class, span(cluster).await) {
        (Class::Compacted, Ok(span)) => Error::Compacted { asked, oldest: span.oldest },
        (Class::Future, Ok(span)) => Error::Future { asked, newest: span.newest },
        (Class::Compacted | Class::Future, Err(error)) => error,
        _ => cluster.error(troubles),
    }
}

/// etcd takes a single key without a range end, and `\0` as "no upper end".
pub(super) fn range_of(keys: &KeyRange, start: &[u8], options: GetOptions) -> GetOptions {
    match range_end(keys, start) {
        Some(end) => options.with_range(end),
        None => options,
    }
}

/// The `range_end` of etcd's requests; none for one key alone.
pub(super) fn range_end(keys: &KeyRange, start: &[u8]) -> Option<Vec<u8>> {
    match &keys.end {
        None => Some(vec![0]),
        Some(end) if end.len() == start.len() + 1 && end.starts_with(start) && end.ends_with(&[0]) => None,
        Some(end) => Some(end.clone()),
    }
}

/// etcd has no empty key; the first possible one is `\0`.
pub(super) fn nonempty(start: &[u8]) -> Vec<u8> {
    if start.is_empty() { vec![0] } else { start.to_vec() }
}

fn header_revision(answer: &GetResponse) -> Revision {
    Revision(answer.0.header.as_ref().map_or(0, |header| header.revision))
}

pub(super) fn key_value(kv: PbKeyValue) -> KeyValue {
    KeyValue {
        key: Bytes::from(kv.key),
        value: Bytes::from(kv.value),
        create_revision: Revision(kv.create_revision),
        mod_revision: Revision(kv.mod_revision),
        version: kv.version,
        replaced: Revision(0),
        lease: kv.lease,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_has_no_range_end_and_all_keys_have_none_above() {
        let key = KeyRange::key("/registry/pods/a/b");
        assert_eq!(range_end(&key, &key.start), None);
        let prefix = KeyRange::prefix("/registry/pods/");
        assert_eq!(range_end(&prefix, &prefix.start), Some(b"/registry/pods0".to_vec()));
        assert_eq!(range_end(&prefix, b"/registry/pods/a/b\0"), Some(b"/registry/pods0".to_vec()));
        assert_eq!(range_end(&KeyRange::all(), &[0]), Some(vec![0]));
        assert_eq!(nonempty(&KeyRange::prefix("").start), vec![0]);
    }
}
