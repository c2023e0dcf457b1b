//! A watch that lost its connection or its leader: tries again with growing pauses, and tells the user.

use std::time::Duration;

use futures_util::TryStreamExt;
use tokio::time::{Instant, sleep};
use tonic::Status;

use super::connection::MemberWatch;
use super::outage::MAX_OUTAGE;
use super::stream::Watch;
use crate::etcd::range::range;
use crate::etcd::trouble::{Class, Trouble};
use crate::etcd::wire::nonempty;
use crate::{At, Error, KeyRange, KeyValue, Result, Revision, Want, WatchItem};

/// How often a watch on a member without a leader looks for one.
const LEADER_CHECK: Duration = Duration::from_secs(5);

impl Watch {
    /// A bounded watch that brings nothing: without a leader, a member that is behind never catches up.
    pub(super) fn stuck(&self, connection: &MemberWatch) -> Error {
        let member = &self.cluster.members[connection.member].endpoint;
        let reached = self.assembler.next().before();
        Error::Remote {
            endpoint: member.to_string(),
            problem: format!("{} sent no change after revision {reached} for {MAX_OUTAGE:?}, though there are newer ones", member.url()),
            hint: Some("it is behind the other members: ask another endpoint, or wait until the cluster has a leader".to_owned()),
        }
    }

    /// Where a leader is found, connects anew: only a stream that was opened with one ends where it is lost.
    pub(super) async fn look_for_leader(&mut self, connection: MemberWatch) -> Result<Vec<WatchItem>> {
        self.next_leader_check = Instant::now() + LEADER_CHECK;
        if self.cluster.has_leader_again().await {
            self.assembler.forget_incomplete();
            self.outages.begin(Instant::now());
        } else {
            self.connection = Some(connection);
        }
        Ok(Vec::new())
    }

    pub(super) async fn disconnected(&mut self, member: usize, status: Option<Status>) -> Result<Vec<WatchItem>> {
        self.assembler.forget_incomplete();
        self.outages.begin(Instant::now());
        let member = &self.cluster.members[member];
        let problem = match status {
            None => format!("{} ended the watch", member.endpoint.url()),
            Some(status) => {
                let trouble = member.explain(status, &self.cluster.config).await;
                if !trouble.class.is_of_one_member() {
                    return Err(self.refused(trouble, &member.endpoint, false));
                }
                trouble.problem
            }
        };
        if self.outages.is_time_to_tell(Instant::now()) {
            let next = self.assembler.next();
            self.cluster.report(&format!("{problem}; ketcd resumes the watch at revision {next} when etcd answers again"));
        }
        Ok(Vec::new())
    }

    /// Opens a stream on the first member that gives one. After a lost connection, tries again with growing pauses.
    pub(super) async fn connect(&mut self) -> Result<()> {
        if self.outages.since().is_some() {
            sleep(self.outages.pause()).await;
        }
        let troubles = match self.cluster.open_watch(&self.keys, self.assembler.next(), self.is_bounded()).await? {
            Ok(connection) => return self.connected(connection).await,
            Err(troubles) => troubles,
        };
        let now = Instant::now();
        // A learner serves no watch however long one waits, nor does what answers reads and has never confirmed a watch.
        let is_hopeless = |trouble: &Trouble| match trouble.class {
            Class::Learner => true,
            Class::Silent => !self.confirmed,
            _ => false,
        };
        let may_come_back = !troubles.iter().all(is_hopeless);
        if !self.is_bounded() && self.cluster.has_answered() && may_come_back {
            self.outages.begin(now);
        }
        let error = self.cluster.error(troubles);
        let gone_for = self.outages.since().map(|since| now - since);
        match (gone_for, error) {
            (Some(gone_for), Error::Remote { problem, hint, .. }) if may_come_back && (!self.is_bounded() || gone_for < MAX_OUTAGE) => {
                if self.outages.is_time_to_tell(now) {
                    let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
                    self.cluster.report(&format!("not connected for {} s: {problem}{hint}", gone_for.as_secs_f64().round()));
                }
                Ok(())
            }
            (_, error) => Err(error),
        }
    }

    /// Notes a new connection, how late its changes are, and tells the user after an outage that was told.
    async fn connected(&mut self, connection: MemberWatch) -> Result<()> {
        self.confirmed = true;
        let (member, next) = (connection.member, self.assembler.next());
        let lost = self.outages.since();
        if lost.is_some() && !connection.leaderless && !self.goes_on().await? {
            return Ok(());
        }
        // A member that stopped answering was found out later.
        let since = lost.map(|_| self.heard.checked_sub(self.cluster.config.keepalive()).unwrap_or(self.heard));
        let created = connection.created.as_ref().and_then(|created| created.header.as_ref());
        let is_behind = created.is_some_and(|header| header.revision < next.before().0);
        let up_to = match (connection.leaderless, created) {
            (false, Some(header)) => Revision(header.revision),
            // What a member without a leader will bring once it has one may be of any age.
            _ => Revision(i64::MAX),
        };
        self.cluster.arrivals.connected(up_to, since);
        self.next_leader_check = Instant::now() + LEADER_CHECK;
        let was_leaderless = !connection.leaderless && self.cluster.found_leader();
        if !self.is_bounded() || lost.is_some() {
            let found = self.cluster.reads(member, &nonempty(&self.keys.start), next).await;
            if self.outages.end(Instant::now()) || was_leaderless {
                let url = self.cluster.members[member].endpoint.url();
                let leader = if was_leaderless { ", which has a leader" } else { "" };
                let missed = match found {
                    // Nothing was read yet.
                    _ if next <= Revision(1) => String::new(),
                    // A member that is behind, or a cluster that was restored from a backup.
                    _ if is_behind => String::new(),
                    Ok(()) | Err(Trouble { class: Class::Future, .. }) => format!(", nothing missed since r{}", next.before()),
                    // The gap itself comes as an item.
                    Err(Trouble { class: Class::Compacted, .. }) => ", but revisions were compacted meanwhile".to_owned(),
                    Err(_) => String::new(),
                };
                self.cluster.report(&format!("connected to {url} again{leader}{missed}"));
            }
        }
        self.connection = Some(connection);
        Ok(())
    }

    /// Whether the cluster still has the last value that was passed on. Where it does not answer, `false`: it is connected to again.
    ///
    /// # Errors
    ///
    /// It has something else at that revision: it was restored from a backup, and what follows is of another history.
    async fn goes_on(&self) -> Result<bool> {
        let Some(last) = &self.last else { return Ok(true) };
        let keys = KeyRange::key(&last.key[..]);
        let found = async { range(&self.cluster, keys, At::Revision(last.mod_revision), Want::Values).await?.entries.try_collect().await };
        let found: Vec<KeyValue> = match found.await {
            Ok(found) => found,
            Err(Error::Remote { .. }) => return Ok(false),
            // A compaction took it; a cluster that is behind is found out by its revision.
            Err(_) => return Ok(true),
        };
        let is_same = |entry: &KeyValue| {
            (entry.mod_revision, entry.create_revision, entry.version) == (last.mod_revision, last.create_revision, last.version)
                && entry.value == last.value
        };
        match found.first().is_some_and(is_same) {
            true => Ok(true),
            false => Err(Error::Remote {
                endpoint: self.cluster.name(),
                problem: format!(
                    "revision {} ({}) is gone: the cluster was restored from a backup",
                    last.mod_revision,
                    String::from_utf8_lossy(&last.key)
                ),
                hint: Some("start the watch again".to_owned()),
            }),
        }
    }
}
