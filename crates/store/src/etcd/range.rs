//! Ranges: paged at one fixed revision, with pages sized to the values.

use async_stream::try_stream;
use bytes::Bytes;
use etcd_client::{GetOptions, GetResponse};
use futures_util::stream::BoxStream;

use super::client::{Cluster, Consistency, LARGEST_MESSAGE};
use super::errors::{Class, Trouble};
use super::span::span;
use crate::{At, Error, KeyRange, KeyValue, Listing, Result, Revision, Want};
use std::sync::Arc;

/// The first page's limit; Kubernetes' own client pages by 500, but the first page is asked before any value's size is known.
const FIRST_PAGE: i64 = 200;
const LARGEST_PAGE: i64 = 10_000;
/// Pages are sized so that their values come to about this many bytes.
const PAGE_BYTES: usize = 2 << 20;

/// Returns the keys of `keys` alive at `at`. The first page is read at once and fixes the revision, the others as they are wanted.
pub(super) async fn range(cluster: &Arc<Cluster>, keys: KeyRange, at: At, want: Want) -> Result<Listing<'static>> {
    let asked = match at {
        At::Newest => None,
        At::Revision(revision) => Some(revision),
    };
    let mut page = Page { start: keys.start.clone(), limit: FIRST_PAGE, revision: asked, want };
    let first = fetch(cluster, &keys, &page).await?;
    let revision = asked.unwrap_or_else(|| header_revision(&first));
    page.revision = Some(revision);
    Ok(Listing { revision, entries: entries(Arc::clone(cluster), keys, page, first) })
}

/// One request of many.
#[derive(Clone)]
struct Page {
    start: Vec<u8>,
    limit: i64,
    revision: Option<Revision>,
    want: Want,
}

impl Page {
    /// The request after the one that `answer` answers, if there is more.
    fn next(&self, answer: &GetResponse) -> Option<Self> {
        let last = answer.0.kvs.last().filter(|_| answer.0.more)?;
        let mut start = last.key.clone();
        start.push(0);
        let bytes: usize = answer.0.kvs.iter().map(|kv| kv.key.len() + kv.value.len()).sum();
        let average = bytes / answer.0.kvs.len() + 1;
        let fitting = i64::try_from(PAGE_BYTES / average).unwrap_or(LARGEST_PAGE);
        Some(Self { start, limit: fitting.clamp(1, LARGEST_PAGE.min(self.limit * 4)), ..self.clone() })
    }
}

fn entries(cluster: Arc<Cluster>, keys: KeyRange, mut page: Page, first: GetResponse) -> BoxStream<'static, Result<KeyValue>> {
    Box::pin(try_stream! {
        let mut answer = first;
        loop {
            let next = page.next(&answer);
            // The next page is under way while this one is worked on.
            let coming = next.clone().map(|next| {
                let (cluster, keys) = (Arc::clone(&cluster), keys.clone());
                tokio::spawn(async move { fetch(&cluster, &keys, &next).await })
            });
            for kv in std::mem::take(&mut answer.0.kvs) {
                yield key_value(kv);
            }
            let (Some(next), Some(coming)) = (next, coming) else { break };
            answer = coming.await.map_err(|error| Error::Remote { endpoint: cluster.name(), problem: error.to_string(), hint: None })??;
            page = next;
        }
    })
}

async fn fetch(cluster: &Cluster, keys: &KeyRange, page: &Page) -> Result<GetResponse> {
    let answer = cluster
        .ask(|client, consistency| async move {
            let mut options = range_of(keys, &page.start, GetOptions::new()).with_limit(page.limit);
            if let Some(revision) = page.revision {
                options = options.with_revision(revision.0);
            }
            if page.want == Want::Keys {
                options = options.with_keys_only();
            }
            if consistency == Consistency::Serializable {
                options = options.with_serializable();
            }
            client.kv_client().max_decoding_message_size(LARGEST_MESSAGE).get(nonempty(&page.start), Some(options)).await
        })
        .await;
    match answer {
        Ok(answer) => Ok(answer),
        Err(troubles) => Err(of_revision(cluster, troubles, page.revision).await),
    }
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

pub(super) fn key_value(kv: etcd_client::proto::PbKeyValue) -> KeyValue {
    KeyValue {
        key: Bytes::from(kv.key),
        value: Bytes::from(kv.value),
        create_revision: Revision(kv.create_revision),
        mod_revision: Revision(kv.mod_revision),
        version: kv.version,
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
