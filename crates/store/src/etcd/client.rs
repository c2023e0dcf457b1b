//! The members of a cluster, asked in order until one answers.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::answer::{Failed, Untrue};
use super::arrivals::CommitLateness;
use super::calls::Client;
use super::config::{Consistency, EtcdConfig, ReadConsistency};
use super::endpoint::Endpoint;
use super::member::EndpointConnection;
use super::pacer::Pacer;
use super::rights::denied;
use super::tls;
use super::trouble::{Class, Trouble, none_answered};
use crate::{Error, KeyRange, Result};

/// Reports to the user during a call: a lost connection, a read without a leader.
pub type Reporter = Arc<dyn Fn(&str) + Send + Sync>;

/// How long a cluster that has no leader is not asked for one again.
const LEADERLESS_PAUSE: Duration = Duration::from_secs(15);

pub(super) struct Cluster {
    pub config: Arc<EtcdConfig>,
    pub members: Vec<EndpointConnection>,
    /// How late changes arrive.
    pub arrivals: CommitLateness,
    /// The member that answered last.
    preferred: AtomicUsize,
    answered: AtomicBool,
    /// The revision of the last compaction that was seen; 0 before that.
    pub compacted: AtomicI64,
    leader: Mutex<Leader>,
    notice: Reporter,
    /// Whether a member was asked for a stream and did not know what that is.
    pub has_no_stream: AtomicBool,
    /// Keys that are asked for anyway, so that the user may read them; one that may be read comes first.
    announced: Mutex<Vec<KeyRange>>,
}

/// What is known of the cluster's leader.
#[derive(Debug, Default)]
struct Leader {
    missed: Option<Instant>,
    told: bool,
}

impl Cluster {
    /// Reads certificates and endpoints; nothing is sent yet. Must be called on a tokio runtime.
    pub(super) fn new(config: EtcdConfig, notice: Reporter) -> Result<Self> {
        let endpoints = Endpoint::parse_all(&config.endpoints, config.prefers_tls())?;
        if endpoints.is_empty() {
            return Err(Error::Remote {
                endpoint: String::new(),
                problem: "no endpoint was given".to_owned(),
                hint: Some("give --endpoints HOST:PORT".to_owned()),
            });
        }
        if endpoints.iter().any(|endpoint| endpoint.tls) {
            // Every connection reads the files again; those that cannot be used are refused before the first.
            tls::client_config(&config)?;
        }
        let config = Arc::new(config);
        let pacer = Arc::new(Pacer::new(config.qps));
        let members = endpoints.into_iter().map(|endpoint| EndpointConnection::new(endpoint, &config, &pacer)).collect();
        Ok(Self {
            has_no_stream: AtomicBool::new(false),
            announced: Mutex::default(),
            config,
            members,
            arrivals: CommitLateness::default(),
            preferred: AtomicUsize::new(0),
            answered: AtomicBool::new(false),
            compacted: AtomicI64::new(0),
            leader: Mutex::default(),
            notice,
        })
    }

    /// Notes keys that will be asked for.
    pub(super) fn will_read(&self, keys: &KeyRange) {
        let mut announced = self.announced.lock().unwrap_or_else(PoisonError::into_inner);
        if !announced.contains(keys) {
            announced.push(keys.clone());
        }
    }

    /// Keys that will be asked for anyway.
    pub(super) fn announced(&self) -> Vec<KeyRange> {
        self.announced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes keys that the user may read: they are asked for first from now on.
    pub(super) fn may_read(&self, keys: &KeyRange) {
        let mut announced = self.announced.lock().unwrap_or_else(PoisonError::into_inner);
        announced.retain(|known| known != keys);
        announced.insert(0, keys.clone());
    }

    /// The endpoints as the user gave them.
    pub(super) fn name(&self) -> String {
        self.config.endpoints.join(",")
    }

    pub(super) fn report(&self, text: &str) {
        (self.notice)(text);
    }

    /// Asks for the newest there is: the members in order, beginning with the one that answered last, and the next where an endpoint is
    /// at fault. Where no member has a leader, each is asked for what it holds by itself, which is reported once.
    pub(super) async fn ask<T, F>(&self, call: impl Fn(Client, Consistency) -> F) -> Result<T, Vec<Trouble>>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        let attempts = match self.config.consistency {
            ReadConsistency::Auto if self.is_leaderless() => ReadConsistency::Serializable.attempts(),
            given => given.attempts(),
        };
        let mut refused = Vec::new();
        for &consistency in attempts {
            match self.ask_all(consistency, &call).await {
                Ok(answer) => {
                    if consistency == Consistency::Serializable && !refused.is_empty() {
                        self.lost_leader(&refused, self.preferred());
                    }
                    return Ok(answer);
                }
                Err(troubles) if troubles.iter().any(|trouble| trouble.class.may_be_read_serializably()) => refused = troubles,
                Err(troubles) => return Err(troubles),
            }
        }
        Err(refused)
    }

    /// Asks for what is settled, such as a revision already known: one member's word is enough, unless it does not have that revision yet.
    pub(super) async fn ask_settled<T, F>(&self, call: impl Fn(Client, Consistency) -> F) -> Result<T, Vec<Trouble>>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        if self.config.consistency == ReadConsistency::Auto {
            match self.ask_all(Consistency::Serializable, &call).await {
                Err(troubles) if troubles.iter().any(|trouble| trouble.class == Class::Future) => {}
                answered => return answered,
            }
        }
        self.ask(call).await
    }

    async fn ask_all<T, F>(&self, consistency: Consistency, call: &impl Fn(Client, Consistency) -> F) -> Result<T, Vec<Trouble>>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        let mut troubles = Vec::new();
        for index in self.order() {
            match self.members[index].ask(&self.config, consistency, |client| call(client, consistency)).await {
                Ok(answer) => {
                    self.prefer(index);
                    return Ok(answer);
                }
                Err(trouble) if trouble.class.is_of_one_member() => troubles.push(trouble),
                Err(trouble) => return Err(vec![trouble]),
            }
        }
        Err(troubles)
    }

    /// The members' indices, the one that answered last first.
    pub(super) fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (self.preferred.load(Ordering::Relaxed), self.members.len());
        (0..count).map(move |step| (first + step) % count)
    }

    /// The member that answered last.
    pub(super) fn preferred(&self) -> &EndpointConnection {
        &self.members[self.preferred.load(Ordering::Relaxed)]
    }

    /// Whether the member that answered last serves watches: a learner does not.
    pub(super) async fn serves_watches(&self) -> bool {
        !self.preferred().is_learner(&self.config).await
    }

    /// Notes that this member answered.
    pub(super) fn prefer(&self, index: usize) {
        self.preferred.store(index, Ordering::Relaxed);
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Whether any member ever answered: then it can be reached, and is only lost just now.
    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Whether the cluster had no leader a moment ago.
    pub(super) fn is_leaderless(&self) -> bool {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner).missed.is_some_and(|missed| missed.elapsed() < LEADERLESS_PAUSE)
    }

    /// Notes that `member` answers without a leader, and tells the user once.
    pub(super) fn lost_leader(&self, refused: &[Trouble], member: &EndpointConnection) {
        let mut leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        leader.missed = Some(Instant::now());
        if std::mem::replace(&mut leader.told, true) {
            return;
        }
        let url = member.endpoint.url();
        let why = match refused.iter().all(|trouble| trouble.class == Class::Learner) {
            true => format!("{url} is a learner"),
            false => "no leader of the cluster answers".to_owned(),
        };
        self.report(&format!("{why}: what follows is what {url} holds by itself, which may be behind"));
    }

    /// Notes that the cluster has a leader; returns whether the user was told that it had none.
    pub(super) fn found_leader(&self) -> bool {
        std::mem::take(&mut *self.leader.lock().unwrap_or_else(PoisonError::into_inner)).told
    }

    /// The error of answers of the member that answered last which cannot all be true.
    pub(super) fn untrue(&self, untrue: &Untrue) -> Error {
        let endpoint = &self.preferred().endpoint;
        Trouble::untrue(untrue, endpoint).into_error(endpoint)
    }

    /// The error for troubles that need no further look.
    pub(super) fn error(&self, troubles: Vec<Trouble>) -> Error {
        none_answered(troubles, &self.name())
    }

    /// The error for troubles met on the way to `keys`.
    pub(super) fn error_reading(&self, keys: &KeyRange, troubles: Vec<Trouble>) -> Error {
        match troubles.iter().find(|trouble| trouble.class == Class::Denied) {
            Some(trouble) => denied(keys, trouble),
            None => self.error(troubles),
        }
    }
}
