//! A watch's stream on one member: opened where a leader is known first, and proved to work before it counts.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use tonic::Status;

use super::expectation::Expected;
use crate::etcd::answer::{Failed, RangeAsked, RangeContent};
use crate::etcd::calls::{Client, WatchStream};
use crate::etcd::client::Cluster;
use crate::etcd::config::{Consistency, ReadConsistency};
use crate::etcd::rights::{denied, dense_denied};
use crate::etcd::trouble::{Class, Trouble};
use crate::etcd::wire::{nonempty, range_end, range_request};
use crate::proto::etcdserverpb::{RangeRequest, WatchCreateRequest, WatchResponse};
use crate::{KeyRange, Result, Revision};

/// How often a bounded watch asks whether the end is reached, at first.
const FIRST_ASK: Duration = Duration::from_millis(20);
/// How often an endless watch asks, so that after a lost connection a quiet key does not resume behind a compaction (Kubernetes
/// compacts every 5 minutes).
pub(super) const IDLE_ASK: Duration = Duration::from_secs(30);

/// A stream that a member has confirmed.
pub(super) struct MemberWatch {
    pub stream: WatchStream,
    /// What may come on it.
    pub expected: Expected,
    /// The member's confirmation, until it is worked on.
    pub created: Option<WatchResponse>,
    pub member: usize,
    /// Whether this member's answer to a progress request can be believed.
    pub asks: bool,
    pub ask_every: Duration,
    /// Whether the member serves it without a leader.
    pub leaderless: bool,
    /// Set where the whole key space is watched and keys outside the requested range are dropped here; see [`Cluster::open_watch`].
    pub dense: bool,
}

impl Cluster {
    /// Opens a stream on the first member that gives one: a member that lost its leader serves no watch worth following, unless there is
    /// no other.
    ///
    /// The end of a bounded watch is known by etcd's answer to a progress request. Releases before 3.4.25 and 3.5.8 may give that answer
    /// before the events it covers (etcd issue 15220); there the whole key space is watched, in which every revision has an event.
    pub(super) async fn open_watch(&self, keys: &KeyRange, from: Revision, bounded: bool) -> Result<Result<MemberWatch, Vec<Trouble>>> {
        let mut refused = Vec::new();
        for &consistency in self.config.consistency.attempts() {
            let mut troubles = Vec::new();
            for index in self.order() {
                let member = &self.members[index];
                if self.config.user.is_some() {
                    // A request renews a token that the member has forgotten; a stream does not.
                    let _ = self.reads(index, &nonempty(&keys.start), Revision(0)).await;
                }
                let asks = match member.reports_progress_in_order(&self.config).await {
                    Ok(asks) => asks,
                    Err(trouble) if trouble.class == Class::Untrue => return Err(trouble.into_error(&member.endpoint)),
                    Err(trouble) => {
                        troubles.push(trouble);
                        continue;
                    }
                };
                let dense = bounded && !asks;
                let keys = if dense { &KeyRange::all() } else { keys };
                match member.ask(&self.config, consistency, |client| open(client, keys, from)).await {
                    Ok((stream, created, expected)) => {
                        self.prefer(index);
                        let leaderless = consistency == Consistency::Serializable && self.config.consistency == ReadConsistency::Auto;
                        if leaderless {
                            self.lost_leader(&refused, member);
                        }
                        let ask_every = if bounded { FIRST_ASK } else { IDLE_ASK };
                        let created = Some(created);
                        return Ok(Ok(MemberWatch { stream, expected, created, member: index, asks, ask_every, leaderless, dense }));
                    }
                    Err(trouble) if trouble.class.is_of_one_member() => troubles.push(trouble),
                    Err(trouble) if trouble.class == Class::Denied && dense => return Err(dense_denied(&trouble)),
                    Err(trouble) if trouble.class == Class::Denied => return Err(denied(keys, &trouble)),
                    Err(trouble) => return Err(trouble.into_error(&member.endpoint)),
                }
            }
            if !troubles.iter().any(|trouble| trouble.class.may_be_read_serializably()) {
                return Ok(Err(troubles));
            }
            refused = troubles;
        }
        Ok(Err(refused))
    }

    /// The keys that a bounded watch of `keys` reads on the members that answer; see [`Cluster::open_watch`].
    pub(in crate::etcd) async fn bounded_watch_reads(&self, keys: KeyRange) -> Result<KeyRange> {
        let orderly = join_all(self.members.iter().map(|member| member.reports_progress_in_order(&self.config))).await;
        Ok(if orderly.into_iter().all(|orderly| orderly.unwrap_or(true)) { keys } else { KeyRange::all() })
    }

    /// Whether a member, asked for one key at `revision`, has it. Also measures how long that takes.
    pub(super) async fn reads(&self, member: usize, key: &[u8], revision: Revision) -> Result<(), Trouble> {
        let begun = Instant::now();
        let keys = KeyRange::key(key);
        let asked = RangeAsked { keys: &keys, revision: Some(revision).filter(|revision| revision.0 > 0), content: RangeContent::Count };
        let request = RangeRequest { count_only: true, serializable: true, ..range_request(&keys, asked.revision) };
        let get = |client: Client| {
            let request = request.clone();
            async move { Ok(asked.check(&client.range(request).await?)?) }
        };
        let answer = self.members[member].ask(&self.config, Consistency::Serializable, get).await;
        if matches!(&answer, Ok(_) | Err(Trouble { class: Class::Future | Class::Compacted, .. })) {
            self.arrivals.measured(begun.elapsed());
        }
        answer.map(drop)
    }

    /// Whether some member knows a leader again.
    pub(super) async fn has_leader_again(&self) -> bool {
        let answers = join_all(self.members.iter().map(|member| member.status(&self.config))).await;
        answers.into_iter().flatten().any(|status| status.leader != 0 && !status.is_learner)
    }
}

/// Opens a stream and waits for the member's confirmation: over TLS, etcd refuses a watch only on the open stream.
pub(super) async fn open(client: Client, keys: &KeyRange, from: Revision) -> Result<(WatchStream, WatchResponse, Expected), Failed> {
    let start = nonempty(&keys.start);
    let range_end = range_end(keys, &start).unwrap_or_default().into();
    let asked = WatchCreateRequest { key: start.into(), range_end, start_revision: from.0, progress_notify: true, fragment: true };
    let mut stream = client.watch(asked).await?;
    let created = stream.message().await?.ok_or_else(cut_off)?;
    let expected = Expected::new(keys.clone(), &created)?;
    Ok((stream, created, expected))
}

/// What a stream that ended too early fails with: a connection that broke.
pub(super) fn cut_off() -> Status {
    Status::from_error(Box::new(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)))
}
