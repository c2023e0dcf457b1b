//! The state besides the keys, which decides whether etcd refuses a request: users and roles, alarms, leases, and how far history was compacted.

use std::collections::{BTreeSet, HashSet};

use super::administration::AuthRequest;
use super::auth::{Auth, Author};
use super::request::{WalRequest, operations};
use crate::proto::etcdserverpb::alarm_request::AlarmAction;
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::proto::etcdserverpb::{AlarmRequest, AlarmType, LeaseGrantRequest, TxnRequest};

/// The longest time to live that a lease can be granted, in seconds (etcd v3.4.23, `lease/lessor.go`).
const MAX_LEASE_TTL: i64 = 9_000_000_000;

/// Why what became of a request cannot be told: a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecided(pub &'static str);

/// The state besides the keys, after some entry.
#[derive(Clone, Debug)]
pub(crate) struct ServerState {
    /// The leases that exist.
    pub leases: HashSet<i64>,
    /// Whether there may be leases besides these.
    pub has_other_leases: bool,
    /// Leases that exist now or were granted by a later entry.
    early_leases: HashSet<i64>,
    /// Whether users and roles may be those after a later entry.
    is_auth_early: bool,
    /// Members and the alarms that they raised.
    pub alarms: BTreeSet<(u64, i32)>,
    /// `None` where it cannot be read.
    pub auth: Option<Auth>,
    /// The revision up to which history was compacted; -1 where it never was.
    pub compacted: i64,
    /// Whether alarms of both kinds met: up to 3.5 the later one replaced the other until etcd was started again.
    alarms_met: bool,
    /// Whether an alarm was raised in the log: up to 3.5 nobody was asked for permissions from then until it was disarmed or etcd was
    /// started again.
    may_skip_auth: bool,
}

impl Default for ServerState {
    /// Those of a new cluster.
    fn default() -> Self {
        Self {
            leases: HashSet::new(),
            has_other_leases: false,
            early_leases: HashSet::new(),
            is_auth_early: false,
            alarms: BTreeSet::new(),
            auth: Some(Auth::default()),
            compacted: -1,
            alarms_met: false,
            may_skip_auth: false,
        }
    }
}

impl ServerState {
    fn has(&self, alarm: AlarmType) -> bool {
        self.alarms.iter().any(|raised| raised.1 == alarm as i32)
    }

    /// Whether an alarm refuses `what`.
    pub(super) fn alarms_refuse(&self, what: AlarmCheck<'_>) -> Result<bool, Undecided> {
        let is_capped = match what {
            AlarmCheck::PutOrGrant => true,
            AlarmCheck::Txn(txn) => holds_put(txn),
            AlarmCheck::Other => false,
        };
        let (no_space, corrupt) = (self.has(AlarmType::Nospace), self.has(AlarmType::Corrupt));
        if self.alarms_met && (no_space || corrupt) && !(no_space && is_capped) {
            return Err(Undecided("two alarms were raised, and releases of etcd disagree about which of them counted"));
        }
        Ok(corrupt || (no_space && is_capped))
    }

    /// Takes into account that these may be the state after one of `entries`, which came later, and not the one they are held to be.
    pub(crate) fn may_be_after(&mut self, entries: impl Iterator<Item = WalRequest>) {
        let is_enabled = self.auth.as_ref().is_some_and(|auth| auth.is_enabled);
        for request in entries {
            match request {
                WalRequest::LeaseGrant(lease) if self.leases.remove(&lease.id) => drop(self.early_leases.insert(lease.id)),
                WalRequest::Auth(request) => {
                    self.is_auth_early |= if is_enabled { request.needs_admin() } else { request == AuthRequest::Disable };
                }
                _ => {}
            }
        }
    }

    /// Raises or disarms an alarm.
    pub(super) fn alarm(&mut self, alarm: &AlarmRequest) {
        let which = (alarm.member_id, alarm.alarm);
        match AlarmAction::try_from(alarm.action) {
            Ok(AlarmAction::Activate) if alarm.alarm != AlarmType::None as i32 => {
                self.may_skip_auth |= self.alarms.insert(which);
            }
            Ok(AlarmAction::Deactivate) => drop(self.alarms.remove(&which)),
            _ => {}
        }
        let is_raised = !self.alarms.is_empty();
        self.may_skip_auth &= is_raised;
        self.alarms_met = is_raised && (self.alarms_met || (self.has(AlarmType::Nospace) && self.has(AlarmType::Corrupt)));
    }

    /// Whether users' permissions refuse a request; `permits` says whether they allow it, `None` where releases disagree.
    pub(super) fn auth_refuses(&self, permits: impl FnOnce(&Auth) -> Option<bool>) -> Result<bool, Undecided> {
        let auth = self.auth.as_ref().ok_or(Undecided("the database's users and roles cannot be read"))?;
        if self.is_auth_early {
            return Err(Undecided("the database's users and roles may be those after a later entry, which up to 3.5 it does not tell"));
        }
        if !auth.is_enabled {
            return Ok(false);
        }
        let permits = permits(auth).ok_or(Undecided("releases of etcd disagree about the permissions that it needs"))?;
        if !permits && self.may_skip_auth {
            return Err(Undecided("its author has no permission, which etcd up to 3.5 does not check while an alarm is raised"));
        }
        Ok(!permits)
    }

    /// Changes users and roles.
    pub(super) fn authenticate(&mut self, request: &AuthRequest, by: &Author) -> Result<(), Undecided> {
        let applied = self.auth.as_mut().map(|auth| auth.apply(request, by));
        if applied == Some(None) {
            return Err(Undecided("releases of etcd disagree about this change of users and roles"));
        }
        Ok(())
    }

    pub(super) fn grant(&mut self, lease: &LeaseGrantRequest) {
        if is_granted(lease) {
            self.early_leases.remove(&lease.id);
            self.leases.insert(lease.id);
        }
    }

    /// Whether a put can be attached to the lease.
    pub(super) fn has_lease(&self, lease: i64) -> Result<bool, Undecided> {
        if self.early_leases.contains(&lease) {
            return Err(Undecided("the database has its lease, but maybe from a later entry, which up to 3.5 it does not tell"));
        }
        match lease == 0 || self.leases.contains(&lease) {
            false if self.has_other_leases => Err(Undecided("the database's leases cannot be read, so its own may not exist")),
            exists => Ok(exists),
        }
    }

    /// Compacts history; `newest` is the newest revision.
    pub(super) fn compact(&mut self, revision: i64, newest: i64) {
        if revision <= newest {
            self.compacted = self.compacted.max(revision);
        }
    }
}

pub(super) fn is_granted(lease: &LeaseGrantRequest) -> bool {
    lease.id != 0 && lease.ttl <= MAX_LEASE_TTL
}

#[derive(Clone, Copy)]
pub(super) enum AlarmCheck<'a> {
    PutOrGrant,
    Txn(&'a TxnRequest),
    Other,
}

/// Whether a branch of the transaction puts a key itself: what a full database refuses, whichever branch would run. It does not look into
/// transactions within (etcd v3.4.23 and v3.7.1, `costTxn`).
fn holds_put(txn: &TxnRequest) -> bool {
    operations(&txn.success).chain(operations(&txn.failure)).any(|operation| matches!(operation, Operation::RequestPut(_)))
}
