//! The order in which a new scheduler process takes the pods that waited when it took over.
//!
//! It lists them when it starts, and each gets its time in the queue as its turn in the list comes (`addPodToSchedulingQueue`,
//! `eventhandlers.go`); those created afterwards follow. API servers list by key since 1.27 (`sortableStoreElements`, `cacher/watch_cache.go`). Since
//! 1.35 informers have lists streamed where etcd reports its progress (WatchListClient, client-go), and a Go map loses the order; whether that is so
//! is not in etcd. Nor is when the process started: it may have waited for the lock. Refusals tell of both, because each is written before the next pod
//! is taken: whatever was written before one was decided about before it.

use crate::cluster::PodInfo;
use crate::release::Listing;

use super::ledger::{Decision, Ledger};
use super::order::Subject;

/// How many decisions of a new process are looked at.
const MAX_FIRST_DECISIONS: usize = 200;

/// How unlikely it must be that refusals fit an order by chance before it is taken for the real one.
const MIN_ORDER_ODDS: f64 = 1000.0;

/// What the decisions after a takeover say of the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Relisting {
    takeover: i64,
    /// Pods created up to this revision were listed.
    listed: i64,
    /// Pods created from this revision on came after the list.
    followed: i64,
}

/// A pod that waited at a takeover.
#[derive(Clone, Copy)]
pub(super) struct RelistedPod<'a> {
    /// The revision of its creation.
    created: i64,
    name: (&'a str, &'a str),
}

impl<'a> RelistedPod<'a> {
    pub(super) fn new(pod: &'a PodInfo, created: i64) -> Self {
        Self { created, name: (&pod.namespace, &pod.name) }
    }

    /// Whether its key comes first: the names compare as they are written in a key, with a slash between them.
    fn is_before_by_key(&self, other: &Self) -> bool {
        let key = |of: &Self| format!("{}/{}", of.name.0, of.name.1);
        key(self) < key(other)
    }
}

impl Relisting {
    /// Finds it for an attempt whose pod waited at a takeover; `None` where the order of the list is not known.
    pub(super) fn of(subject: &Subject, ledger: &Ledger) -> Option<Self> {
        let takeover = subject.relisted?;
        if subject.listing == Listing::InAnyOrder {
            return None;
        }
        let scheduler = &subject.pod.spec.scheduler_name;
        let of_process = |decision: &&Decision| decision.relisted == Some(takeover) && decision.pod.spec.scheduler_name == *scheduler;
        let decisions: Vec<&Decision> = ledger.since(takeover).filter(of_process).take(MAX_FIRST_DECISIONS).collect();
        let mut found = Self { takeover, listed: 0, followed: i64::MAX };
        let mut odds = 1.0_f64;
        for (at, refusal) in decisions.iter().enumerate().filter(|(_, decision)| subject.waits_for_refusals && decision.is_refusal()) {
            let priority = refusal.pod.spec.priority;
            let earlier = decisions[..at].iter().filter(|other| other.pod.spec.priority == priority && other.written < refusal.written);
            let mut by_key = 1.0;
            for other in earlier {
                by_key += 1.0;
                found.follow(other, refusal)?;
            }
            odds *= by_key;
        }
        (found.listed < found.followed && (subject.listing == Listing::ByKey || odds >= MIN_ORDER_ODDS)).then_some(found)
    }

    /// Takes in that one pod was decided about before another. `None` if it fits no list by key.
    fn follow(&mut self, first: &Decision, second: &Decision) -> Option<()> {
        let [first, second] = [first, second].map(|decision| RelistedPod::new(&decision.pod, decision.queued));
        let later = first.created.max(second.created);
        match (first.is_before_by_key(&second), first.created < second.created) {
            (true, true) => {}
            (true, false) => self.listed = self.listed.max(later),
            (false, true) => self.followed = self.followed.min(later),
            (false, false) => return None,
        }
        Some(())
    }

    /// Whether one of two pods of the same process and priority came into the queue first.
    pub(super) fn is_first(&self, one: &RelistedPod, other: &RelistedPod) -> bool {
        let later = one.created.max(other.created);
        let (by_key, by_creation) = (one.is_before_by_key(other), one.created < other.created);
        if later <= self.listed {
            by_key
        } else if later >= self.followed {
            by_creation
        } else {
            by_key && by_creation
        }
    }
}
