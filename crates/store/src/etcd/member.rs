//! One member of a cluster, and its connection.

use std::sync::Arc;

use tokio::sync::OnceCell;
use tokio::time::timeout;
use tonic::Status;
use tonic::transport::Channel;

use super::answer::Failed;
use super::calls::Client;
use super::config::{Consistency, EtcdConfig, KEEPALIVE_INTERVAL};
use super::connector::{Connector, Failure, LastFailure};
use super::endpoint::Endpoint;
use super::errors::of_status;
use super::pacer::Pacer;
use super::parts::CountedChannel;
use super::trouble::Trouble;

/// How many bytes of answers etcd may send ahead: a page and some more, rather than 64 KiB at a time.
const HTTP2_WINDOW_BYTES: u32 = 8 << 20;
/// The same of all answers together: what nobody reads yet, such as a new watch's backlog, leaves room for the answers to other calls.
const CONNECTION_WINDOW: u32 = 4 * HTTP2_WINDOW_BYTES;

pub(super) struct EndpointConnection {
    pub endpoint: Arc<Endpoint>,
    channel: Channel,
    connector: Connector,
    pacer: Arc<Pacer>,
    leader_required: OnceCell<Client>,
    any_state: OnceCell<Client>,
    pub(super) is_learner: OnceCell<bool>,
}

impl EndpointConnection {
    /// Prepares a channel, which connects when it is first used. All members' requests wait for their turn with one `pacer`.
    pub(super) fn new(endpoint: Endpoint, config: &Arc<EtcdConfig>, pacer: &Arc<Pacer>) -> Self {
        let endpoint = Arc::new(endpoint);
        let connector =
            Connector { endpoint: Arc::clone(&endpoint), config: Arc::clone(config), last_failure: Arc::new(LastFailure::default()) };
        // The connector speaks TLS itself, so the channel sees plain HTTP only; the name is for the :authority header.
        let authority = if endpoint.host.contains(':') { format!("[{}]", endpoint.host) } else { endpoint.host.clone() };
        let uri = format!("http://{authority}:{}", endpoint.port);
        let channel = Channel::from_shared(uri)
            .unwrap_or_else(|_| Channel::from_static("http://etcd.invalid"))
            .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(config.command_timeout)
            .initial_stream_window_size(HTTP2_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .connect_with_connector_lazy(connector.clone());
        Self {
            endpoint,
            channel,
            connector,
            pacer: Arc::clone(pacer),
            leader_required: OnceCell::new(),
            any_state: OnceCell::new(),
            is_learner: OnceCell::new(),
        }
    }

    /// Asks this member alone, when it is the request's turn, within the timeouts.
    pub(super) async fn ask<T, F>(&self, config: &EtcdConfig, consistency: Consistency, call: impl Fn(Client) -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        self.pacer.turn().await;
        self.connector.last_failure.take();
        let asked = async {
            let client = self.client(consistency).await?;
            call(client).await
        };
        match timeout(config.dial_timeout + config.command_timeout, asked).await {
            Err(_) => Err(Trouble::timeout(&self.endpoint, config)),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Failed::Untrue(untrue))) => Err(Trouble::untrue(&untrue, &self.endpoint)),
            Ok(Err(Failed::Call(status))) => Err(self.explain(status, config).await),
        }
    }

    /// What an error of this member's channel means. Where etcd's protocol was not spoken, the port is looked at once more.
    pub(super) async fn explain(&self, status: Status, config: &EtcdConfig) -> Trouble {
        use tonic::Code::{Cancelled, Internal, Unavailable, Unimplemented, Unknown};
        let mut failure = self.connector.last_failure.take();
        let is_of_transport = matches!(status.code(), Unavailable | Unknown | Cancelled | Internal | Unimplemented)
            && !status.message().contains("etcdserver:");
        if is_of_transport && matches!(failure, None | Some(Failure::Broken(_))) {
            failure = self.connector.identify().await.or(failure);
        }
        of_status(&status, failure, &self.endpoint, config)
    }

    /// The member's client, logged in where a user was given.
    async fn client(&self, consistency: Consistency) -> Result<Client, Status> {
        let (cell, requires_leader) = match consistency {
            Consistency::Linearizable => (&self.leader_required, true),
            Consistency::Serializable => (&self.any_state, false),
        };
        cell.get_or_try_init(|| Client::open(CountedChannel(self.channel.clone()), &self.connector.config, requires_leader)).await.cloned()
    }
}
