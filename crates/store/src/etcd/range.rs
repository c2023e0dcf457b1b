//! Ranges: paged at one fixed revision, with pages sized to the values, one request in flight.

use std::sync::Arc;

use async_stream::try_stream;
use futures_util::stream::BoxStream;

use super::answer::{RangeAsked, RangeContent};
use super::client::Cluster;
use super::fetch::{ask, error_of, fetch};
use super::page::{PageRequest, PageSize};
use super::read_ahead::read_ahead;
use super::wire::{key_value, range_request};
use crate::proto::etcdserverpb::{RangeRequest, RangeResponse};
use crate::{At, KeyRange, KeyValue, Listing, Result, Revision, Want};

/// Returns the keys of `keys` alive at `at`. The first page is read at once and fixes the revision, the others as they are wanted.
pub(super) async fn range(cluster: &Arc<Cluster>, keys: KeyRange, at: At, want: Want) -> Result<Listing<'static>> {
    let asked = revision_of(at);
    let mut page = PageRequest::first(&keys, asked, want, PageSize::of(cluster.config.page_bytes));
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
    let mut page = PageRequest::first(keys, revision_of(at), want, PageSize::of(cluster.config.page_bytes)).limited(most);
    let mut found: Vec<KeyValue> = Vec::new();
    while found.len() < most {
        let (mut answer, _) = fetch(cluster, &mut page).await?;
        page.revision.get_or_insert(header_revision(&answer));
        let next = page.next(keys, &answer);
        found.extend(std::mem::take(&mut answer.kvs).into_iter().map(key_value));
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
    let asked = RangeAsked { keys, revision: revision_of(at), content: RangeContent::Count };
    let request = RangeRequest { count_only: true, ..range_request(keys, asked.revision) };
    match ask(cluster, &request, |answer| asked.check(answer).map(drop)).await {
        Ok(answer) => Ok(answer.count.unsigned_abs()),
        Err(troubles) => Err(error_of(cluster, keys, asked.revision, troubles).await),
    }
}

fn entries(cluster: Arc<Cluster>, keys: KeyRange, page: PageRequest, mut first: RangeResponse) -> BoxStream<'static, Result<KeyValue>> {
    Box::pin(try_stream! {
        let mut next = page.next(&keys, &first);
        let mut coming = None;
        let values = std::mem::take(&mut first.kvs);
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

fn header_revision(answer: &RangeResponse) -> Revision {
    Revision(answer.header.as_ref().map_or(0, |header| header.revision))
}
