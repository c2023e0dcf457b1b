//! Watches that end only where they should: resumed after a lost connection, over compactions, and bounded ones proved complete.

use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use futures_util::TryStreamExt;
use futures_util::stream::BoxStream;
use tokio::time::{Instant, sleep, sleep_until};
use tonic::Status;

use super::connection::{IDLE_ASK, MemberWatch};
use super::outage::{MAX_OUTAGE, Outages};
use crate::etcd::answer::Untrue;
use crate::etcd::assemble::Assembler;
use crate::etcd::client::Cluster;
use crate::etcd::endpoint::Endpoint;
use crate::etcd::errors::{no_leader, of_status};
use crate::etcd::head::newest;
use crate::etcd::range::range;
use crate::etcd::rights::{denied, dense_denied};
use crate::etcd::span::span;
use crate::etcd::trouble::{Class, Trouble};
use crate::etcd::wire::nonempty;
use crate::proto::etcdserverpb::WatchResponse;
use crate::{At, Error, Event, EventKind, KeyRange, KeyValue, Origin, Result, Revision, Sources, Until, Want, WatchItem};

/// So often in a row may a member end a watch that it has sent nothing on.
const MOST_ENDS: u32 = 4;
/// So often in a row may it call the revision compacted that a watch begins with. One that is compacted all the time overtakes a watch again and again.
const MOST_COMPACTIONS: u32 = 100;
/// How often a bounded watch asks whether the end is reached, at most.
const SLOWEST_ASK: Duration = Duration::from_secs(1);

/// Returns every change of `keys` from revision `from` on, until `until`.
///
/// `sub_revision` counts the changes of a revision among those of `keys`.
pub(in crate::etcd) fn watch(cluster: Arc<Cluster>, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'static, Result<WatchItem>> {
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

pub(super) struct Watch {
    pub(super) cluster: Arc<Cluster>,
    pub(super) keys: KeyRange,
    pub(super) until: Until,
    pub(super) assembler: Assembler,
    pub(super) connection: Option<MemberWatch>,
    pub(super) outages: Outages,
    /// When something was last received from a member that knew a leader.
    pub(super) heard: Instant,
    /// When a revision was last passed on, or shown to bring nothing.
    pub(super) advanced: Instant,
    pub(super) next_leader_check: Instant,
    /// The last value that was passed on: another connection has to have it too.
    pub(super) last: Option<KeyValue>,
    /// How often these happened since something came.
    pub(super) ends: u32,
    pub(super) compactions: u32,
    /// Whether any member ever confirmed it.
    pub(super) confirmed: bool,
    pub(super) ended: bool,
}

impl Watch {
    /// Prepares a watch; `None` if there is nothing to wait for.
    async fn start(cluster: Arc<Cluster>, keys: KeyRange, from: Revision, until: Until) -> Result<Option<Self>> {
        let from = from.max(Revision(1));
        match newest(&cluster).await {
            Ok(newest) if from > newest.after() => return Err(Error::Future { asked: from, newest }),
            // One that never gives up does not do so before it has begun.
            Err(Error::Remote { .. }) if until == Until::Forever && cluster.has_answered() => {}
            Ok(_) => {}
            Err(error) => return Err(error),
        }
        // Revision 1 is the empty store: no change made it.
        if matches!(until, Until::Revision(end) if end < from.max(Revision(2))) {
            return Ok(None);
        }
        let (assembler, outages, now) = (Assembler::new(from), Outages::default(), Instant::now());
        let (heard, advanced, next_leader_check) = (now, now, now);
        Ok(Some(Self {
            cluster,
            keys,
            until,
            assembler,
            connection: None,
            outages,
            heard,
            advanced,
            next_leader_check,
            ends: 0,
            compactions: 0,
            last: None,
            confirmed: false,
            ended: false,
        }))
    }

    fn finished(&self) -> bool {
        self.ended || matches!(self.until, Until::Revision(end) if self.assembler.next() > end)
    }

    pub(super) fn is_bounded(&self) -> bool {
        matches!(self.until, Until::Revision(_))
    }

    /// Does one thing: connects, or waits for one response. Returns what it brought.
    async fn step(&mut self) -> Result<Vec<WatchItem>> {
        let Some(mut connection) = self.connection.take() else {
            self.connect().await?;
            return Ok(Vec::new());
        };
        if let Some(created) = connection.created.take() {
            self.check_not_restored(&created).await?;
            return self.received(created, Revision(0), connection).await;
        }
        // Answers without content, and connections that are lost at once, do not prolong the wait.
        if self.is_bounded() && self.advanced.elapsed() > MAX_OUTAGE * 2 {
            return Err(self.stuck(&connection));
        }
        let (bounded, leaderless) = (self.is_bounded(), connection.leaderless);
        let response = tokio::select! {
            response = connection.stream.message() => response,
            () = sleep_until(self.advanced + MAX_OUTAGE), if bounded => return Err(self.stuck(&connection)),
            () = sleep_until(self.next_leader_check), if leaderless => return self.look_for_leader(connection).await,
            () = sleep(connection.ask_every), if connection.asks => {
                let slowest = if bounded { SLOWEST_ASK } else { IDLE_ASK };
                connection.ask_every = (connection.ask_every * 2).min(slowest);
                connection.stream.request_progress().await;
                self.connection = Some(connection);
                return Ok(Vec::new());
            }
            () = sleep(SLOWEST_ASK), if connection.dense => return self.check_end_compacted(connection).await,
        };
        match response {
            Ok(Some(response)) => match connection.expected.check(&response) {
                Ok(newest) => self.received(response, newest, connection).await,
                Err(untrue) => Err(self.untrue(&untrue, connection.member)),
            },
            Ok(None) => {
                self.ends += 1;
                if self.ends > MOST_ENDS {
                    return Err(self.untrue(&Untrue::new("ends the watch again and again, and sends nothing"), connection.member));
                }
                self.disconnected(connection.member, None).await
            }
            Err(status) => self.disconnected(connection.member, Some(status)).await,
        }
    }

    /// Works on a checked response, whose header names the revision `newest`.
    async fn received(&mut self, response: WatchResponse, newest: Revision, connection: MemberWatch) -> Result<Vec<WatchItem>> {
        if !connection.leaderless {
            self.heard = Instant::now();
        }
        if !response.created && response.compact_revision == 0 {
            (self.ends, self.compactions) = (0, 0);
        }
        let before = self.assembler.next();
        let items = self.take(response, newest, connection).await?;
        if self.assembler.next() > before {
            self.advanced = Instant::now();
        }
        Ok(items)
    }

    /// The error of a member's answer that cannot be true.
    fn untrue(&self, untrue: &Untrue, member: usize) -> Error {
        let endpoint = &self.cluster.members[member].endpoint;
        Trouble::untrue(untrue, endpoint).into_error(endpoint)
    }

    /// A cluster whose newest revision lies before what we have seen was restored from a backup: its history is another one. A member
    /// that merely lags behind is waited for.
    async fn check_not_restored(&self, created: &WatchResponse) -> Result<()> {
        let seen = self.assembler.next().before();
        if created.header.is_none_or(|header| header.revision >= seen.0) {
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
                let listing =
                    async { range(&self.cluster, self.keys.clone(), At::Revision(end), Want::Values).await?.entries.try_collect().await };
                let alive: Vec<KeyValue> = match listing.await {
                    // Another compaction came between: it is met when the watch begins anew.
                    Err(Error::Compacted { .. }) => return Ok(Vec::new()),
                    alive => alive?,
                };
                for entry in alive {
                    if entry.mod_revision == end {
                        let (revision, kind, origin) = (end, EventKind::Put, Origin::Live);
                        items.push(WatchItem::Event(Event {
                            revision,
                            sub_revision: items.len() as i64,
                            kind,
                            key_value: entry,
                            origin,
                            sources: Sources::default(),
                        }));
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
    async fn take(&mut self, response: WatchResponse, header: Revision, connection: MemberWatch) -> Result<Vec<WatchItem>> {
        if response.compact_revision > 0 {
            return self.cross_compaction(Revision(response.compact_revision), connection.member).await;
        }
        if response.canceled {
            return self.canceled(&response.cancel_reason, &connection).await;
        }
        let progress = response.events.is_empty() && !response.created && !response.fragment;
        let mut items: Vec<WatchItem> = Vec::new();
        let accepted = self.assembler.accept(response).map_err(|untrue| self.untrue(&untrue, connection.member))?;
        for event in accepted {
            if event.kind == EventKind::Put {
                self.last = Some(event.key_value.clone());
            }
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
    async fn cross_compaction(&mut self, compacted: Revision, member: usize) -> Result<Vec<WatchItem>> {
        self.compactions += 1;
        if self.compactions > MOST_COMPACTIONS {
            return Err(self.untrue(&Untrue::new("says that every revision it is asked to begin from was compacted"), member));
        }
        let from = self.assembler.next();
        // The member must have the revision to which it compacted.
        match self.cluster.reads(member, &nonempty(&self.keys.start), compacted).await {
            Err(trouble) if trouble.class == Class::Future => {
                let problem = format!("says that revision {compacted} was compacted, which it does not have yet");
                return Err(self.untrue(&Untrue::new(problem), member));
            }
            Err(trouble) if trouble.class == Class::Untrue => return Err(trouble.into_error(&self.cluster.members[member].endpoint)),
            _ => {}
        }
        if compacted <= from {
            let problem = format!("refuses revision {from} as compacted at {compacted}");
            return Err(self.untrue(&Untrue::new(problem), member));
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
            return self.disconnected(connection.member, Some(Status::unavailable(reason))).await;
        }
        let member = &self.cluster.members[connection.member];
        let status = match reason.contains("permission denied") {
            true => Status::permission_denied(reason),
            false => Status::failed_precondition(reason),
        };
        let trouble = of_status(&status, None, &member.endpoint, &self.cluster.config);
        Err(self.refused(trouble, &member.endpoint, connection.dense))
    }

    /// The error of a member that serves no such watch. `dense` says whether the whole key space was to be watched.
    pub(super) fn refused(&self, trouble: Trouble, endpoint: &Endpoint, dense: bool) -> Error {
        match trouble.class {
            Class::Denied if dense => dense_denied(&trouble),
            Class::Denied => denied(&self.keys, &trouble),
            _ => trouble.into_error(endpoint),
        }
    }
}
