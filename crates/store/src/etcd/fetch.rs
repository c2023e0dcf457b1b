//! One answer to a range: a page, or a count. The error of a revision that cannot be read names one that can.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::answer::Untrue;
use super::calls::Client;
use super::client::Cluster;
use super::page::PageRequest;
use super::rights::denied;
use super::span::span;
use super::trouble::{Class, Trouble};
use super::wire::range_request;
use crate::proto::etcdserverpb::{RangeRequest, RangeResponse};
use crate::{EarlierRevisions, Error, KeyRange, Result, Revision, Want};

/// Reads a page; returns how long etcd took. A page that would be too long becomes one of fewer keys.
pub(super) async fn fetch(cluster: &Cluster, page: &mut PageRequest) -> Result<(RangeResponse, Duration)> {
    loop {
        let keys_only = page.want == Want::Keys;
        let asked = RangeRequest { limit: page.limit, keys_only, ..range_request(&page.keys, page.revision) };
        let begun = Instant::now();
        match ask(cluster, &asked, |answer| page.check(answer)).await {
            Ok(mut answer) => {
                if keys_only {
                    answer.kvs.iter_mut().for_each(|kv| kv.value = Bytes::new());
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
pub(super) async fn ask(
    cluster: &Cluster,
    asked: &RangeRequest,
    check: impl Fn(&RangeResponse) -> Result<(), Untrue>,
) -> Result<RangeResponse, Vec<Trouble>> {
    let get = |client: Client, consistency| {
        let (asked, check) = (asked.with(consistency), &check);
        async move {
            let answer = client.range(asked).await?;
            check(&answer)?;
            Ok(answer)
        }
    };
    if asked.revision > 0 { cluster.ask_settled(get).await } else { cluster.ask(get).await }
}

/// The error of a range that could not be read.
pub(super) async fn error_of(cluster: &Cluster, keys: &KeyRange, revision: Option<Revision>, troubles: Vec<Trouble>) -> Error {
    match troubles.iter().find(|trouble| trouble.class == Class::Denied) {
        Some(trouble) => denied(keys, trouble),
        None => of_revision(cluster, troubles, revision).await,
    }
}

/// The error of a revision that cannot be read names the oldest one that can.
async fn of_revision(cluster: &Cluster, troubles: Vec<Trouble>, asked: Option<Revision>) -> Error {
    let (Some(asked), [trouble]) = (asked, troubles.as_slice()) else { return cluster.error(troubles) };
    match (trouble.class, span(cluster).await) {
        (Class::Compacted, Ok(span)) => Error::Compacted { asked, oldest: span.oldest, earlier: EarlierRevisions::Compacted },
        (Class::Future, Ok(span)) => Error::Future { asked, newest: span.newest },
        (Class::Compacted | Class::Future, Err(error)) => error,
        _ => cluster.error(troubles),
    }
}
