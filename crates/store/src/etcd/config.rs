//! How to reach a live etcd: plain data, as the command line or a test gives it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

/// What an answer must be: etcdctl's `--consistency`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadConsistency {
    /// The leader confirms the newest revision; a revision that is already known is read from one member. Without a leader everything is
    /// what one member holds, which is reported.
    #[default]
    Auto,
    /// The newest the cluster agrees on; nothing is read without a leader.
    Linearizable,
    /// What one member holds, which may be behind.
    Serializable,
}

/// Whether an answer needs the cluster's leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consistency {
    /// The newest the cluster agrees on; refused at once without a leader.
    Linearizable,
    /// What the member itself holds, maybe behind.
    Serializable,
}

impl ReadConsistency {
    /// The ways to ask, the better first.
    pub(super) fn attempts(self) -> &'static [Consistency] {
        match self {
            Self::Auto => &[Consistency::Linearizable, Consistency::Serializable],
            Self::Linearizable => &[Consistency::Linearizable],
            Self::Serializable => &[Consistency::Serializable],
        }
    }
}

/// How many bytes are asked for at once, unless the user says otherwise.
pub(super) const PAGE_BYTES: usize = 4 << 20;

/// The longest message that is read, in bytes: more than any value, which `--max-request-bytes` holds at 1.5 MiB unless it is raised.
pub const LARGEST_MESSAGE: usize = 64 << 20;
/// etcd refuses clients that ping more often than every 5 s (`--grpc-keepalive-min-time`).
pub(super) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Where etcd is and who we are. Names and defaults are etcdctl's.
#[derive(Clone)]
pub struct EtcdConfig {
    /// `https://host:port`, `http://host:port` or `host:port`, tried in this order.
    pub endpoints: Vec<String>,
    /// The CA that signed the servers' certificates (PEM); none means the system's.
    pub cacert: Option<PathBuf>,
    /// Our client certificate (PEM).
    pub cert: Option<PathBuf>,
    /// The client certificate's private key (PEM: PKCS#8, PKCS#1 or SEC1).
    pub key: Option<PathBuf>,
    /// The user, where etcd's own authentication is on.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<Password>,
    /// The longest time for one connection to be made, TLS included.
    pub dial_timeout: Duration,
    /// The longest time for one request, and for the answer to a ping.
    pub command_timeout: Duration,
    /// Take any server certificate.
    pub insecure_skip_tls_verify: bool,
    /// Speak plain text to endpoints without a scheme, unless a certificate flag requires TLS.
    pub insecure_transport: bool,
    /// About how many bytes of keys and values to ask for at once.
    pub page_bytes: usize,
    /// At most this many reads a second.
    pub qps: Option<f64>,
    /// Whether the leader must confirm what is read.
    pub consistency: ReadConsistency,
}

impl Default for EtcdConfig {
    /// etcdctl's defaults: 127.0.0.1:2379 in plain text, 2 s to connect, 5 s for a request.
    fn default() -> Self {
        Self {
            endpoints: vec!["127.0.0.1:2379".to_owned()],
            cacert: None,
            cert: None,
            key: None,
            user: None,
            password: None,
            dial_timeout: Duration::from_secs(2),
            command_timeout: Duration::from_secs(5),
            insecure_skip_tls_verify: false,
            insecure_transport: true,
            page_bytes: PAGE_BYTES,
            qps: None,
            consistency: ReadConsistency::Auto,
        }
    }
}

impl EtcdConfig {
    /// How long a member that does not answer stays unnoticed.
    pub(super) fn keepalive(&self) -> Duration {
        KEEPALIVE_INTERVAL + self.command_timeout
    }

    /// Whether an endpoint without a scheme means TLS. As in etcdctl any certificate flag asks for it; here
    /// `insecure_skip_tls_verify` does too, because it has no other meaning.
    pub fn prefers_tls(&self) -> bool {
        !self.insecure_transport || self.insecure_skip_tls_verify || [&self.cacert, &self.cert, &self.key].into_iter().any(Option::is_some)
    }
}

impl fmt::Debug for EtcdConfig {
    /// Endpoints are not shown as they are: until they are read they may have a password in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints: Vec<&str> = self.endpoints.iter().map(|endpoint| if endpoint.contains('@') { "***" } else { endpoint }).collect();
        f.debug_struct("EtcdConfig").field("endpoints", &endpoints).field("user", &self.user).finish_non_exhaustive()
    }
}

/// A password: never shown, wiped from memory when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// Keeps `text` from sight.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text itself, for the wire.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let password = Some(Password::new("hunter2".to_owned()));
        assert_eq!(format!("{password:?}"), "Some(***)");
        let config = EtcdConfig { password, endpoints: vec!["https://root:hunter2@a:1".to_owned()], ..EtcdConfig::default() };
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn a_certificate_flag_asks_for_tls() {
        assert!(!EtcdConfig::default().prefers_tls());
        assert!(EtcdConfig { cacert: Some("ca.crt".into()), ..EtcdConfig::default() }.prefers_tls());
        assert!(EtcdConfig { insecure_transport: false, ..EtcdConfig::default() }.prefers_tls());
        assert!(EtcdConfig { insecure_skip_tls_verify: true, ..EtcdConfig::default() }.prefers_tls());
    }
}
