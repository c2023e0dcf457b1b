//! One answer to a range: a page, or a count. The error of a revision that cannot be read names one that can.

use std::time::{Duration, Instant};

use etcd_client::proto::PbRangeResponse;
use etcd_client::{Client, GetOptions, GetResponse};

use super::answer::Untrue;
use super::client::Cluster;
use super::config::{Consistency, LARGEST_MESSAGE};
use super::page::Page;
use super::rights::denied;
use super::span::span;
use super::trouble::{Class, Trouble};
use super::wire::options_of;
use crate::{Error, KeyRange, Result, Revision, Want};

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
pub(super) async fn ask(
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
        (Class::Compacted, Ok(span)) => Error::Compacted { asked, oldest: span.oldest },
        (Class::Future, Ok(span)) => Error::Future { asked, newest: span.newest },
        (Class::Compacted | Class::Future, Err(error)) => error,
        _ => cluster.error(troubles),
    }
}
