//! Watches that end only where they should: resumed after a lost connection, over compactions, and bounded ones proved complete.

use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use etcd_client::proto::PbWatchResponse;
use etcd_client::{Client, WatchOptions, WatchResponse, WatchStream};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::time::{Instant, sleep};

use super::assemble::Assembler;
use super::client::{Cluster, Consistency, LARGEST_MESSAGE};
use super::errors::{Class, Trouble, no_leader};
use super::range::{nonempty, range, range_end};
use super::span::{newest, span};
use crate::{At, Error, Event, EventKind, KeyRange, Origin, Result, Revision, Until, Want, WatchItem};

/// How long a watch of the past tries to get a connection back. One that follows the cluster never gives up.
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often a bounded watch asks whether the end is reached, at first and at most.
const FIRST_ASK: Duration = Duration::from_millis(20);
const SLOWEST_ASK: Duration = Duration::from_secs(1);
/// How often an endless watch asks, so that after a lost connection a quiet key does not resume behind a compaction (Kubernetes
/// compacts every 5 minutes).
const IDLE_ASK: Duration = Duration::from_secs(30);

/// Returns every change of `keys` from revision `from` on, until `until`.
///
/// `sub_revision` counts the changes of a revision among those of `keys`.
pub(super) fn watch(cluster: Arc<Cluster>, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'static, Result<WatchItem>> {
    Box::pin(stream! {
        let mut watch = match Watch::start(cluster, keys, from, until).await {
            Ok(Some(watch)) => watch,
            Ok(None) => return,
            Err(error) => { yield Err(error); return }
        };
        while !watch.finished() {
            match watch.step().await {
                Ok(items) => for item in items { yield Ok(item) },
                Err(error) => { yield Err(error); return }
            }
        }
    })
}

/// Finds the revision at which the history begins: etcd names it to a watch that starts before it.
pub(super) async fn compacted_revision(cluster: &Cluster, keys: &KeyRange) -> Result<Revision> {
    let answer = cluster
        .ask(|client, _| async move {
            let mut stream = open(client, keys, Revision(1)).await?;
            while let Some(response) = stream.message().await? {
                if response.compact_revision() > 0 {
                    return Ok(Revision(response.compact_revision()));
                }
            }
            Err(etcd_client::Error::WatchError("the watch ended without naming the compacted revision".to_owned()))
        })
        .await;
    answer.map_err(|troubles| cluster.error(troubles))
}

/// A watch under way.
struct Watch {
    cluster: Arc<Cluster>,
    keys: KeyRange,
    until: Until,
    assembler: Assembler,
    connection: Option<MemberWatch>,
    /// When the connection was lost, and how long to wait before the next try.
    lost: Option<(Instant, Duration)>,
    ended: bool,
}

struct MemberWatch {
    stream: WatchStream,
    member: usize,
    /// Whether this member's answer to a progress request can be believed.
    asks: bool,
    ask_every: Duration,
    /// Set where the whole key space is watched and keys outside the requested range are dropped here; see [`Watch::try_connect`].
    dense: bool,
}

impl Watch {
    /// Prepares a watch; `None` if there is nothing to wait for.
    async fn start(cluster: Arc<Cluster>, keys: KeyRange, from: Revision, until: Until) -> Result<Option<Self>> {
        let from = from.max(Revision(1));
        let newest = newest(&cluster).await?;
        if from > newest.after() {
            return Err(Error::Future { asked: from, newest });
        }
        // Revision 1 is the empty store: no change made it.
        if matches!(until, Until::Revision(end) if end < from.max(Revision(2))) {
            return Ok(None);
        }
        Ok(Some(Self { cluster, keys, until, assembler: Assembler::new(from), connection: None, lost: None, ended: false }))
    }

    fn finished(&self) -> bool {
        self.ended || matches!(self.until, Until::Revision(end) if self.assembler.next() > end)
    }

    /// Does one thing: connects, or waits for one response. Returns what it brought.
    async fn step(&mut self) -> Result<Vec<WatchItem>> {
        let Some(mut connection) = self.connection.take() else {
            self.connect().await?;
            return Ok(Vec::new());
        };
        let response = tokio::select! {
            response = connection.stream.message() => response,
            () = sleep(connection.ask_every), if connection.asks => {
                let slowest = if matches!(self.until, Until::Forever) { IDLE_ASK } else { SLOWEST_ASK };
                connection.ask_every = (connection.ask_every * 2).min(slowest);
                // Where the request cannot be sent the stream is about to say why.
                let _ = connection.stream.request_progress().await;
                self.connection = Some(connection);
                return Ok(Vec::new());
            }
            () = sleep(SLOWEST_ASK), if connection.dense => return self.check_end_compacted(connection).await,
        };
        match response {
            Ok(Some(response)) => {
                self.lost = None;
                if response.created() {
                    self.check_not_restored(&response).await?;
                }
                self.take(response.0, connection).await
            }
            Ok(None) => self.disconnected(connection.member, None).await,
            Err(error) => self.disconnected(connection.member, Some(error)).await,
        }
    }

    /// A cluster whose newest revision lies before what we have seen was restored from a backup: its history is another one. A member
    /// that merely lags behind is waited for.
    async fn check_not_restored(&self, created: &WatchResponse) -> Result<()> {
        let seen = self.assembler.next().before();
        if created.header().is_none_or(|header| header.revision() >= seen.0) {
            return Ok(());
        }
        match newest(&self.cluster).await {
            Ok(newest) if newest < seen => Err(Error::Remote {
                endpoint: self.cluster.name(),
                problem: format!("the cluster's newest revision went back from {seen} to {newest}: it was restored from a backup"),
                hint: Some("start the watch again".to_owned()),
            }),
            _ => Ok(()),
        }
    }

    /// In a silent watch of the whole key space: the change of the last revision will not come if a compaction took it away. A compaction
    /// at a revision keeps its puts, but not its deletions.
    async fn check_end_compacted(&mut self, connection: MemberWatch) -> Result<Vec<WatchItem>> {
        let (Until::Revision(end), span) = (self.until, span(&self.cluster).await?) else { return Ok(Vec::new()) };
        let next = self.assembler.next();
        match span.compacted {
            Some(compacted) if next < compacted && compacted >= end => Ok(Vec::new()),
            Some(compacted) if next == compacted && compacted == end => {
                let mut items: Vec<WatchItem> = Vec::new();
                let mut listing = range(&self.cluster, self.keys.clone(), At::Revision(end), Want::Values).await?;
                while let Some(entry) = listing.entries.next().await.transpose()? {
                    if entry.mod_revision == end {
                        let (revision, kind, origin) = (end, EventKind::Put, Origin::Live);
                        items.push(WatchItem::Event(Event { revision, sub_revision: items.len() as i64, kind, key_value: entry, origin }));
                    }
                }
                if items.is_empty() {
                    items.push(WatchItem::Gap { from: end, to: end });
                }
                self.ended = true;
                Ok(items)
            }
            _ => {
                self.connection = Some(connection);
                Ok(Vec::new())
            }
        }
    }

    /// Works on one response; keeps the connection unless the response ends it.
    async fn take(&mut self, response: PbWatchResponse, connection: MemberWatch) -> Result<Vec<WatchItem>> {
        if response.compact_revision > 0 {
            return self.cross_compaction(Revision(response.compact_revision));
        }
        if response.canceled {
            return self.canceled(&response.cancel_reason, &connection).await;
        }
        let header = Revision(response.header.as_ref().map_or(0, |header| header.revision));
        let progress = response.events.is_empty() && !response.created && !response.fragment;
        let mut items: Vec<WatchItem> = Vec::new();
        for event in self.assembler.accept(response) {
            match self.until {
                Until::Revision(end) if event.revision > end => self.ended = true,
                _ if !connection.dense || self.keys.contains(&event.key_value.key) => items.push(WatchItem::Event(event)),
                _ => {}
            }
        }
        if progress && header >= self.assembler.next() {
            let reached = match self.until {
                Until::Revision(end) => header.min(end),
                Until::Forever => header,
            };
            self.assembler.advance(reached);
            items.push(WatchItem::Progress(reached));
        }
        self.connection = Some(connection);
        Ok(items)
    }

    /// The history up to `compacted` is gone: reports it and continues from there.
    fn cross_compaction(&mut self, compacted: Revision) -> Result<Vec<WatchItem>> {
        let from = self.assembler.next();
        if compacted <= from {
            let problem = format!("{} refuses revision {from} as compacted at {compacted}", self.cluster.name());
            return Err(Error::Remote { endpoint: self.cluster.name(), problem, hint: None });
        }
        let to = match self.until {
            Until::Revision(end) => compacted.before().min(end),
            Until::Forever => compacted.before(),
        };
        self.assembler.skip_to(to.after());
        Ok(vec![WatchItem::Gap { from, to }])
    }

    async fn canceled(&mut self, reason: &str, connection: &MemberWatch) -> Result<Vec<WatchItem>> {
        if no_leader(reason) {
            return self.disconnected(connection.member, None).await;
        }
        let member = &self.cluster.members[connection.member];
        let status = match reason.contains("permission denied") {
            true => tonic::Status::permission_denied(reason),
            false => tonic::Status::failed_precondition(reason),
        };
        let mut trouble = Trouble::of_call(etcd_client::Error::GRpcStatus(status), None, &member.endpoint, &self.cluster.config);
        if connection.dense && trouble.class == Class::Denied {
            trouble.hint = Some(
                "this release of etcd says too early that a watch has ended (etcd issue 15220), so its whole key space must be read: \
                 upgrade etcd to 3.4.25, 3.5.8 or newer, or take a user who may read all keys"
                    .to_owned(),
            );
        }
        Err(trouble.into_error(&member.endpoint))
    }

    async fn disconnected(&mut self, member: usize, error: Option<etcd_client::Error>) -> Result<Vec<WatchItem>> {
        self.assembler.forget_incomplete();
        let member = &self.cluster.members[member];
        if let Some(error) = error {
            let trouble = member.explain(error, &self.cluster.config).await;
            if !matches!(trouble.class, Class::Endpoint | Class::NoLeader) {
                return Err(trouble.into_error(&member.endpoint));
            }
            self.cluster.report(&format!(
                "{}; the watch goes on from revision {} when etcd answers again",
                trouble.problem,
                self.assembler.next()
            ));
        }
        self.lost = Some((Instant::now(), FIRST_PAUSE));
        sleep(FIRST_PAUSE).await;
        Ok(Vec::new())
    }

    /// Opens a stream on the first member that gives one. After a lost connection, tries again with growing pauses.
    async fn connect(&mut self) -> Result<()> {
        let troubles = match self.try_connect().await? {
            Ok(connection) => {
                self.connection = Some(connection);
                return Ok(());
            }
            Err(troubles) => troubles,
        };
        let Some((since, pause)) = self.lost else { return Err(self.cluster.error(troubles)) };
        if matches!(self.until, Until::Revision(_)) && since.elapsed() > PATIENCE {
            return Err(self.cluster.error(troubles));
        }
        sleep(pause).await;
        self.lost = Some((since, (pause * 2).min(LONGEST_PAUSE)));
        Ok(())
    }

    /// Opens a stream on the first member that gives one.
    ///
    /// The end of a bounded watch is known by etcd's answer to a progress request. Releases before 3.4.25 and 3.5.8 may give that answer
    /// before the events it covers (etcd issue 15220); there the whole key space is watched, in which every revision has an event.
    async fn try_connect(&self) -> Result<Result<MemberWatch, Vec<Trouble>>> {
        let bounded = matches!(self.until, Until::Revision(_));
        let config = &self.cluster.config;
        let mut troubles = Vec::new();
        // A member that lost its leader serves no watch worth following, unless there is no other.
        for consistency in [Consistency::Linearizable, Consistency::Serializable] {
            for index in self.cluster.order() {
                let member = &self.cluster.members[index];
                let asks = member.reports_progress_in_order(config).await;
                let dense = bounded && !asks;
                let keys = if dense { &KeyRange::all() } else { &self.keys };
                match member.ask(config, consistency, |client| open(client, keys, self.assembler.next())).await {
                    Ok(stream) => {
                        self.cluster.prefer(index);
                        let ask_every = if bounded { FIRST_ASK } else { IDLE_ASK };
                        return Ok(Ok(MemberWatch { stream, member: index, asks, ask_every, dense }));
                    }
                    Err(trouble) if matches!(trouble.class, Class::Endpoint | Class::NoLeader) => troubles.push(trouble),
                    Err(trouble) => return Err(trouble.into_error(&member.endpoint)),
                }
            }
            if !troubles.iter().any(|trouble| trouble.class == Class::NoLeader) {
                break;
            }
        }
        Ok(Err(troubles))
    }
}

async fn open(client: Client, keys: &KeyRange, from: Revision) -> Result<WatchStream, etcd_client::Error> {
    let start = nonempty(&keys.start);
    let mut options = WatchOptions::new().with_start_revision(from.0).with_fragment().with_progress_notify();
    if let Some(end) = range_end(keys, &start) {
        options = options.with_range(end);
    }
    client.watch_client().max_decoding_message_size(LARGEST_MESSAGE).watch(start, Some(options)).await
}
