//! The pages of a range after the first, read ahead of the consumer: in one stream where etcd has one (RangeStream, since 3.7), else page by page
//! with one request in flight. Whatever ends the stream early, pages go on where it ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};
use tonic::{Code, Streaming};

use super::answer::{RangeAsked, Untrue};
use super::calls::Client;
use super::client::Cluster;
use super::config::{Consistency, PAGE_BYTES, ReadConsistency};
use super::fetch::fetch;
use super::page::{PageRequest, PageSize};
use super::wire::{bytes, range_request};
use crate::proto::etcdserverpb::{RangeStreamResponse, ResponseHeader};
use crate::proto::mvccpb::KeyValue;
use crate::{KeyRange, Result, Want};

pub(super) type PageValues = Vec<KeyValue>;

/// Begins to read `page` and those after it to the end of `keys`. One page waits while one is worked on.
pub(super) fn read_ahead(cluster: &Arc<Cluster>, keys: &KeyRange, page: PageRequest) -> Receiver<Result<PageValues>> {
    let (sender, receiver) = channel(1);
    let ahead = Ahead { cluster: Arc::clone(cluster), keys: keys.clone(), sender };
    tokio::spawn(ahead.run(page));
    receiver
}

struct Ahead {
    cluster: Arc<Cluster>,
    keys: KeyRange,
    sender: Sender<Result<PageValues>>,
}

impl Ahead {
    async fn run(self, first: PageRequest) {
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
            let rest = page.size.rest(bytes(&answer.kvs), took);
            next = page.next(&self.keys, &answer);
            if self.sender.send(Ok(std::mem::take(&mut answer.kvs))).await.is_err() {
                return;
            }
            sleep(rest).await;
        }
    }

    /// A user who sets a rate or a page size gets pages.
    fn may_stream(&self, page: &PageRequest) -> bool {
        let config = &self.cluster.config;
        let is_free = config.qps.is_none() && config.page_bytes >= PAGE_BYTES;
        is_free && page.want == Want::Values && !self.cluster.has_no_stream.load(Ordering::Relaxed)
    }

    /// Reads in one stream. Returns the page to go on with where it does not come to the end; `None` if it does, or if no one takes any more.
    async fn stream(&self, page: PageRequest) -> Result<Option<PageRequest>, Untrue> {
        let mut stream = match self.open(&page).await {
            PageStream::Open(stream) => stream,
            PageStream::Unknown => {
                self.cluster.has_no_stream.store(true, Ordering::Relaxed);
                return Ok(Some(page));
            }
            PageStream::Failed => return Ok(Some(page)),
        };
        let mut last = page;
        loop {
            let begun = Instant::now();
            // The page that follows shows why it ends early.
            let part = timeout(self.cluster.config.command_timeout, stream.message()).await;
            let Ok(Ok(Some(RangeStreamResponse { range_response: Some(mut answer) }))) = part else { return Ok(Some(last)) };
            let took = begun.elapsed();
            // Only the last message has a header.
            let is_last = answer.header.is_some();
            let values = std::mem::take(&mut answer.kvs);
            last = self.following(last, &values, answer.header.as_ref())?;
            if self.sender.send(Ok(values)).await.is_err() || is_last {
                return Ok(None);
            }
            sleep(PageSize::rest_of_stream(took)).await;
        }
    }

    /// Checks a message of a stream that has come as far as `page`; returns the page after it.
    fn following(&self, page: PageRequest, values: &[KeyValue], header: Option<&ResponseHeader>) -> Result<PageRequest, Untrue> {
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
    async fn open(&self, page: &PageRequest) -> PageStream {
        let consistency = match self.cluster.config.consistency {
            ReadConsistency::Linearizable => Consistency::Linearizable,
            // The revision is known.
            ReadConsistency::Auto | ReadConsistency::Serializable => Consistency::Serializable,
        };
        let asked = range_request(&page.whole(&self.keys), page.revision).with(consistency);
        let open = |client: Client| {
            let asked = asked.clone();
            async move {
                match client.range_stream(asked).await {
                    Err(status) if status.code() == Code::Unimplemented => Ok(PageStream::Unknown),
                    opened => Ok(PageStream::Open(Box::new(opened?))),
                }
            }
        };
        // The page that follows shows why it failed.
        self.cluster.preferred().ask(&self.cluster.config, consistency, open).await.unwrap_or(PageStream::Failed)
    }
}

enum PageStream {
    Open(Box<Streaming<RangeStreamResponse>>),
    /// The member knows no such call: it is older than 3.7.
    Unknown,
    Failed,
}
