//! The members of a cluster, asked in order until one answers: an etcd-client per endpoint over a channel of ours.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use etcd_client::{Client, ConnectOptions};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tonic::transport::Channel;

use super::config::EtcdConfig;
use super::connector::{Connector, Failure, LastFailure};
use super::endpoint::Endpoint;
use super::errors::{Class, Trouble, none_answered};
use super::pacer::Pacer;
use super::range::nonempty;
use super::tls;
use crate::{Error, KeyRange, Result};

/// Reports to the user during a call: a lost connection, a read without a leader.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// etcd refuses clients that ping more often than every 5 s (`--grpc-keepalive-min-time`).
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// The most etcd sends in one message.
pub(super) const LARGEST_MESSAGE: usize = i32::MAX as usize;

/// Whether an answer needs the cluster's leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consistency {
    /// The newest the cluster agrees on; refused at once without a leader.
    Linearizable,
    /// What the member itself holds, maybe behind.
    Serializable,
}

/// All endpoints of one cluster.
pub(super) struct Cluster {
    pub config: EtcdConfig,
    pub members: Vec<Member>,
    /// The member that answered last.
    preferred: AtomicUsize,
    told_no_leader: AtomicBool,
    notice: Notice,
    /// Spaces out the reads.
    pub pacer: Pacer,
    /// A key that is asked for anyway, so that the user may read it.
    permitted: Mutex<Option<Vec<u8>>>,
}

/// One endpoint and its connection.
pub(super) struct Member {
    pub endpoint: Arc<Endpoint>,
    channel: Channel,
    connector: Connector,
    leader_required: OnceCell<Client>,
    any_state: OnceCell<Client>,
}

impl Cluster {
    /// Reads certificates and endpoints; nothing is sent yet. Must be called on a tokio runtime.
    pub(super) fn new(config: EtcdConfig, notice: Notice) -> Result<Self> {
        let prefers_tls = config.prefers_tls();
        let endpoints = Endpoint::parse_all(&config.endpoints, prefers_tls)?;
        if endpoints.is_empty() {
            return Err(Error::Remote {
                endpoint: String::new(),
                problem: "no endpoint was given".to_owned(),
                hint: Some("give --endpoints HOST:PORT".to_owned()),
            });
        }
        let tls = endpoints.iter().any(|endpoint| endpoint.tls).then(|| tls::client_config(&config)).transpose()?;
        let members = endpoints
            .into_iter()
            .map(|endpoint| {
                let tls = tls.clone().filter(|_| endpoint.tls);
                Member::new(Connector {
                    endpoint: Arc::new(endpoint),
                    tls,
                    dial_timeout: config.dial_timeout,
                    last_failure: Arc::new(LastFailure::default()),
                })
            })
            .collect();
        Ok(Self {
            pacer: Pacer::new(config.qps),
            permitted: Mutex::new(None),
            config,
            members,
            preferred: AtomicUsize::new(0),
            told_no_leader: AtomicBool::new(false),
            notice,
        })
    }

    /// Notes keys that will be asked for.
    pub(super) fn will_read(&self, keys: &KeyRange) {
        *self.permitted.lock().unwrap_or_else(PoisonError::into_inner) = Some(nonempty(&keys.start));
    }

    /// A key that will be asked for anyway.
    pub(super) fn permitted(&self) -> Option<Vec<u8>> {
        self.permitted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The endpoints as the user gave them.
    pub(super) fn name(&self) -> String {
        self.config.endpoints.join(",")
    }

    /// Reports to the user.
    pub(super) fn report(&self, text: &str) {
        (self.notice)(text);
    }

    /// Asks the members in order, beginning with the one that answered last, and goes on to the next where an endpoint is at fault.
    /// Without a leader the request is sent once more to each member for its own state, and the user is notified.
    pub(super) async fn ask<T, F>(&self, call: impl Fn(Client, Consistency) -> F) -> Result<T, Vec<Trouble>>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let troubles = match self.ask_all(Consistency::Linearizable, &call).await {
            Ok(answer) => return Ok(answer),
            Err(troubles) => troubles,
        };
        if !troubles.iter().any(|trouble| trouble.class == Class::NoLeader) {
            return Err(troubles);
        }
        let answer = self.ask_all(Consistency::Serializable, &call).await?;
        if !self.told_no_leader.swap(true, Ordering::Relaxed) {
            let member = &self.members[self.preferred.load(Ordering::Relaxed)];
            self.report(&format!(
                "no leader of the cluster answers: what follows is what {} holds by itself, which may be behind",
                member.endpoint.url()
            ));
        }
        Ok(answer)
    }

    async fn ask_all<T, F>(&self, consistency: Consistency, call: &impl Fn(Client, Consistency) -> F) -> Result<T, Vec<Trouble>>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let mut troubles = Vec::new();
        for index in self.order() {
            match self.members[index].ask(&self.config, consistency, |client| call(client, consistency)).await {
                Ok(answer) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(trouble) if matches!(trouble.class, Class::Endpoint | Class::NoLeader) => troubles.push(trouble),
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

    /// Notes that this member answered.
    pub(super) fn prefer(&self, index: usize) {
        self.preferred.store(index, Ordering::Relaxed);
    }

    /// The error for troubles that need no further look.
    pub(super) fn error(&self, troubles: Vec<Trouble>) -> Error {
        none_answered(troubles, &self.name())
    }
}

impl Member {
    fn new(connector: Connector) -> Self {
        // The connector speaks TLS itself, so the channel sees plain HTTP only; the name is for the :authority header.
        let authority =
            if connector.endpoint.host.contains(':') { format!("[{}]", connector.endpoint.host) } else { connector.endpoint.host.clone() };
        let uri = format!("http://{authority}:{}", connector.endpoint.port);
        let channel = Channel::from_shared(uri)
            .unwrap_or_else(|_| Channel::from_static("http://etcd.invalid"))
            .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .connect_with_connector_lazy(connector.clone());
        Self { endpoint: Arc::clone(&connector.endpoint), channel, connector, leader_required: OnceCell::new(), any_state: OnceCell::new() }
    }

    /// Asks this member alone, within the timeouts.
    pub(super) async fn ask<T, F>(&self, config: &EtcdConfig, consistency: Consistency, call: impl Fn(Client) -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        self.connector.last_failure.take();
        let asked = async {
            let client = self.client(config, consistency).await?;
            call(client).await
        };
        match timeout(config.dial_timeout + config.command_timeout, asked).await {
            Err(_) => Err(Trouble::timeout(&self.endpoint, config)),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.explain(error, config).await),
        }
    }

    /// What an error of this member's channel means.
    pub(super) async fn explain(&self, error: etcd_client::Error, config: &EtcdConfig) -> Trouble {
        let mut failure = self.connector.last_failure.take();
        let transport = match &error {
            etcd_client::Error::GRpcStatus(status) => {
                matches!(status.code(), tonic::Code::Unavailable | tonic::Code::Unknown | tonic::Code::Cancelled | tonic::Code::Internal)
            }
            _ => true,
        };
        let connected = matches!(failure, None | Some(Failure::Broken(_)));
        if transport && connected && !self.endpoint.tls && self.connector.speaks_tls().await {
            failure = Some(Failure::TlsServer);
        }
        Trouble::of_call(error, failure, &self.endpoint, config)
    }

    /// The member's client, authenticated where a user was given.
    pub(super) async fn client(&self, config: &EtcdConfig, consistency: Consistency) -> Result<Client, etcd_client::Error> {
        let cell = match consistency {
            Consistency::Linearizable => &self.leader_required,
            Consistency::Serializable => &self.any_state,
        };
        cell.get_or_try_init(|| self.open(config, consistency)).await.cloned()
    }

    async fn open(&self, config: &EtcdConfig, consistency: Consistency) -> Result<Client, etcd_client::Error> {
        let channel = || etcd_client::Channel::Tonic(self.channel.clone());
        let anonymous = ConnectOptions::new().with_require_leader(consistency == Consistency::Linearizable);
        let Some(user) = &config.user else { return Client::from_channel(channel(), Some(anonymous)).await };
        let password = config.password.as_ref().map_or("", |password| password.reveal());
        let known = anonymous.clone().with_user(user, password).with_auto_token_refresh(true);
        match Client::from_channel(channel(), Some(known)).await {
            // As etcdctl does: a user is no error where etcd asks for none.
            Err(etcd_client::Error::GRpcStatus(status)) if status.message().contains("authentication is not enabled") => {
                Client::from_channel(channel(), Some(anonymous)).await
            }
            opened => opened,
        }
    }
}
