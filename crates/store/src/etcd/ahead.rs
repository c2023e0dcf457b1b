//! The pages of a range after the first, read ahead of the consumer: in one stream where etcd has one (RangeStream, since 3.7), else page by page
//! with one request in flight. Whatever ends the stream early, pages go on where it ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use etcd_client::proto::{PbKeyValue, PbResponseHeader};
use etcd_client::{GetOptions, GetStreamResponse};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};
use tonic::Code;

use super::answer::{RangeAsked, Untrue};
use super::client::Cluster;
use super::config::{Consistency, LARGEST_MESSAGE, PAGE_BYTES, ReadConsistency};
use super::fetch::fetch;
use super::page::{Page, PageSize};
use super::wire::{bytes, options_of};
use crate::{KeyRange, Result, Want};

/// The key-values of one page.
pub(super) type Values = Vec<PbKeyValue>;

/// Begins to read `page` and those after it to the end of `keys`. One page waits while one is worked on.
pub(super) fn read_ahead(cluster: &Arc<Cluster>, keys: &KeyRange, page: Page) -> Receiver<Result<Values>> {
    let (sender, receiver) = channel(1);
    let ahead = Ahead { cluster: Arc::clone(cluster), keys: keys.clone(), sender };
    tokio::spawn(ahead.run(page));
    receiver
}

struct Ahead {
    cluster: Arc<Cluster>,
    keys: KeyRange,
    sender: Sender<Result<Values>>,
}

impl Ahead {
    async fn run(self, first: Page) {
        let mut next = match self.may_stream(&first) {
            true => match self.stream(first).await {
                Ok(next) => next,
                Err(untrue) => return drop(self.sender.send(Err(self.cluster.untrue(&untrue))).await),
            },
            false => Some(first),
        };
        while let Some(mut page) = next {
            let (mut answer, took) = match fetch(&self.cluster, &mut page).await {
                Ok(answered) => answered,
                Err(error) => return drop(self.sender.send(Err(error)).await),
            };
            let rest = page.size.rest(bytes(&answer.0.kvs), took);
            next = page.next(&self.keys, &answer);
            if self.sender.send(Ok(std::mem::take(&mut answer.0.kvs))).await.is_err() {
                return;
            }
            sleep(rest).await;
        }
    }

    /// A user who sets a rate or a page size gets pages.
    fn may_stream(&self, page: &Page) -> bool {
        let config = &self.cluster.config;
        let is_free = config.qps.is_none() && config.page_bytes >= PAGE_BYTES;
        is_free && page.want == Want::Values && !self.cluster.has_no_stream.load(Ordering::Relaxed)
    }

    /// Reads in one stream. Returns the page to go on with where it does not come to the end; `None` if it does, or if no one takes any more.
    async fn stream(&self, page: Page) -> Result<Option<Page>, Untrue> {
        let mut stream = match self.open(&page).await {
            Stream::Open(stream) => stream,
            Stream::Unknown => {
                self.cluster.has_no_stream.store(true, Ordering::Relaxed);
                return Ok(Some(page));
            }
            Stream::Failed => return Ok(Some(page)),
        };
        let mut last = page;
        loop {
            let begun = Instant::now();
            // The page that follows shows why it ends early.
            let Ok(Ok(Some(mut answer))) = timeout(self.cluster.config.command_timeout, stream.message()).await else {
                return Ok(Some(last));
            };
            let took = begun.elapsed();
            // Only the last message has a header.
            let is_last = answer.0.header.is_some();
            let values = std::mem::take(&mut answer.0.kvs);
            last = self.following(last, &values, answer.0.header.as_ref())?;
            if self.sender.send(Ok(values)).await.is_err() || is_last {
                return Ok(None);
            }
            sleep(PageSize::rest_of_stream(took)).await;
        }
    }

    /// Checks a message of a stream that has come as far as `page`; returns the page after it.
    fn following(&self, page: Page, values: &[PbKeyValue], header: Option<&PbResponseHeader>) -> Result<Page, Untrue> {
        let keys = page.whole(&self.keys);
        let asked = RangeAsked { keys: &keys, ..page.asked() };
        if header.is_some() {
            asked.newest(header)?;
        }
        asked.entries(values, page.revision.unwrap_or_default())?;
        let next = match values.last() {
            Some(value) => page.after(&self.keys, &value.key, values.len()),
            None if header.is_none() => return Err(Untrue::new("sent a part of a listing that holds nothing")),
            None => page,
        };
        match (next.left(), header) {
            (Some(left), Some(_)) if left != 0 => Err(Untrue::new(format!("ended a listing {left} keys before its end"))),
            (Some(left), None) if left < 0 => Err(Untrue::new("sent more keys than it counted")),
            _ => Ok(next),
        }
    }

    /// Asks the member that answered the first page.
    async fn open(&self, page: &Page) -> Stream {
        let consistency = match self.cluster.config.consistency {
            ReadConsistency::Linearizable => Consistency::Linearizable,
            // The revision is known.
            ReadConsistency::Auto | ReadConsistency::Serializable => Consistency::Serializable,
        };
        let (start, options) = options_of(&page.whole(&self.keys), page.revision, GetOptions::new());
        self.cluster.pacer.turn().await;
        let open = |client: etcd_client::Client| {
            let (start, mut options) = (start.clone(), options.clone());
            if consistency == Consistency::Serializable {
                options = options.with_serializable();
            }
            async move {
                match client.kv_client().max_decoding_message_size(LARGEST_MESSAGE).get_stream(start, Some(options)).await {
                    Err(etcd_client::Error::GRpcStatus(status)) if status.code() == Code::Unimplemented => Ok(Stream::Unknown),
                    opened => Ok(Stream::Open(Box::new(opened?))),
                }
            }
        };
        // The page that follows shows why it failed.
        self.cluster.preferred().ask(&self.cluster.config, consistency, open).await.unwrap_or(Stream::Failed)
    }
}

/// What became of a stream.
enum Stream {
    Open(Box<GetStreamResponse>),
    /// The member knows no such call: it is older than 3.7.
    Unknown,
    Failed,
}
