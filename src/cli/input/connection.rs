//! The flags that reach a live etcd: etcdctl's names, variables and defaults. A flag wins over its variable.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::size::size;

/// How to reach a live etcd.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Live etcd")]
pub(in crate::cli) struct ConnectionArgs {
    /// The members' endpoints, separated by commas; they are tried in order [env: ETCDCTL_ENDPOINTS] [default: 127.0.0.1:2379].
    #[arg(long, value_name = "URL", value_delimiter = ',', global = true)]
    pub endpoints: Vec<String>,
    /// The CA that signed etcd's certificates [env: ETCDCTL_CACERT].
    #[arg(long, value_name = "FILE", global = true)]
    pub cacert: Option<PathBuf>,
    /// The client certificate [env: ETCDCTL_CERT].
    #[arg(long, value_name = "FILE", global = true)]
    pub cert: Option<PathBuf>,
    /// The private key of the client certificate: PKCS#8, PKCS#1 or SEC1, not encrypted [env: ETCDCTL_KEY].
    #[arg(long, value_name = "FILE", global = true)]
    pub key: Option<PathBuf>,
    /// The etcd user; without a password, ketcd asks for it on the terminal [env: ETCDCTL_USER].
    #[arg(long, value_name = "NAME[:PASSWORD]", global = true)]
    pub user: Option<String>,
    /// The user's password; then --user is the name alone [env: ETCDCTL_PASSWORD].
    #[arg(long, value_name = "PASSWORD", global = true)]
    pub password: Option<String>,
    /// The timeout for connecting [env: ETCDCTL_DIAL_TIMEOUT] [default: 2s].
    #[arg(long, value_name = "DURATION", global = true)]
    pub dial_timeout: Option<String>,
    /// The timeout for one request [env: ETCDCTL_COMMAND_TIMEOUT] [default: 5s].
    #[arg(long, value_name = "DURATION", global = true)]
    pub command_timeout: Option<String>,
    /// Accept any server certificate [env: ETCDCTL_INSECURE_SKIP_TLS_VERIFY].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", global = true)]
    pub insecure_skip_tls_verify: Option<String>,
    /// Connect without TLS if an endpoint has no scheme and no certificate flag is given [env: ETCDCTL_INSECURE_TRANSPORT] [default: true].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", global = true)]
    pub insecure_transport: Option<String>,
    /// Who answers reads: the leader confirms them (`l`, linearizable), or the member asked answers alone (`s`, serializable).
    ///
    /// Default: the leader confirms the newest revision; data at a known revision is read from one member. Without a leader, one member
    /// answers everything, and ketcd says so once.
    #[arg(long, value_name = "l|s", global = true)]
    pub consistency: Option<Consistency>,
    /// Request about this many bytes at a time.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4Mi", global = true)]
    pub page_size: u64,
    /// Make at most this many requests a second [default: 1000, after the first 32].
    #[arg(long, value_name = "N", value_parser = rate, global = true)]
    pub qps: Option<f64>,
}

impl ConnectionArgs {
    /// The flags that say which etcd is read and as whom, each with its value, as they are to be typed again; of a user with a password the name.
    pub(in crate::cli) fn typed(&self) -> Vec<(&'static str, String)> {
        let path = |path: &PathBuf| path.display().to_string();
        let name = |user: &String| user.split_once(':').map_or(user.as_str(), |(name, _)| name).to_owned();
        let endpoints = (!self.endpoints.is_empty()).then(|| self.endpoints.join(","));
        let given = [
            ("--endpoints", endpoints),
            ("--cacert", self.cacert.as_ref().map(path)),
            ("--cert", self.cert.as_ref().map(path)),
            ("--key", self.key.as_ref().map(path)),
            ("--user", self.user.as_ref().map(name)),
            ("--dial-timeout", self.dial_timeout.clone()),
            ("--command-timeout", self.command_timeout.clone()),
            ("--insecure-skip-tls-verify", self.insecure_skip_tls_verify.clone()),
            ("--insecure-transport", self.insecure_transport.clone()),
        ];
        given.into_iter().filter_map(|(flag, value)| Some((flag, value?))).collect()
    }

    /// A flag that was given; the endpoints before those that say how to reach them.
    pub(in crate::cli) fn given(&self) -> Option<Given> {
        let of_endpoints = (!self.endpoints.is_empty()).then_some(Given { flag: "--endpoints <URL>", names_endpoints: true });
        let others = [
            (self.cacert.is_some(), "--cacert <FILE>"),
            (self.cert.is_some(), "--cert <FILE>"),
            (self.key.is_some(), "--key <FILE>"),
            (self.user.is_some(), "--user <NAME[:PASSWORD]>"),
            (self.password.is_some(), "--password <PASSWORD>"),
            (self.dial_timeout.is_some(), "--dial-timeout <DURATION>"),
            (self.command_timeout.is_some(), "--command-timeout <DURATION>"),
            (self.insecure_skip_tls_verify.is_some(), "--insecure-skip-tls-verify[=<BOOL>]"),
            (self.insecure_transport.is_some(), "--insecure-transport[=<BOOL>]"),
            (self.consistency.is_some(), "--consistency <l|s>"),
            (![0, DEFAULT_PAGE].contains(&self.page_size), "--page-size <SIZE>"),
            (self.qps.is_some(), "--qps <N>"),
        ];
        let other = || others.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| Given { flag, names_endpoints: false });
        of_endpoints.or_else(other)
    }
}

/// What `--page-size` is where it is not given.
const DEFAULT_PAGE: u64 = 4 << 20;

/// A flag of a live etcd that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Given {
    /// The flag, as its usage shows it.
    pub flag: &'static str,
    /// Whether it says which endpoints, and not how to reach them.
    pub names_endpoints: bool,
}

/// `--consistency`, as etcdctl has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Consistency {
    /// Linearizable.
    L,
    /// Serializable.
    S,
}

/// Requests a second.
fn rate(text: &str) -> std::result::Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "it must be a number greater than 0".to_owned())
}

impl fmt::Debug for ConnectionArgs {
    /// A password may be in several of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionArgs").finish_non_exhaustive()
    }
}
