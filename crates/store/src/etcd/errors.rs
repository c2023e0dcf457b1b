//! What a failed call means: which endpoint, in one sentence, what to do next, and whether another endpoint may do better.

use jiff::Timestamp;
use rustls::{AlertDescription, CertificateError};
use tonic::{Code, Status};

use super::config::EtcdConfig;
use super::connector::Failure;
use super::endpoint::Endpoint;
use crate::Error;

/// Why one endpoint did not answer one call.
#[derive(Debug)]
pub(super) struct Trouble {
    pub class: Class,
    /// A clause that names the endpoint.
    pub problem: String,
    /// What the user can do about it.
    pub hint: Option<String>,
}

/// What follows from a trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// This endpoint cannot be reached, or does not trust us, or we not it; another may do better.
    Endpoint,
    /// The member can be reached but no leader confirms its answer: what it holds itself can be read all the same.
    NoLeader,
    /// The requested revision was compacted.
    Compacted,
    /// The requested revision does not exist yet.
    Future,
    /// etcd's authentication is off: go on without a user.
    AuthenticationOff,
    /// The user may not do this.
    Denied,
    /// No endpoint will say otherwise.
    Final,
}

impl Trouble {
    pub(super) fn new(class: Class, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { class, problem: problem.into(), hint: Some(hint.into()) }
    }

    /// What a call that took longer than `--command-timeout` means.
    pub(super) fn timeout(endpoint: &Endpoint, config: &EtcdConfig) -> Self {
        Self::new(
            Class::NoLeader,
            format!("{} did not answer within {:?}", endpoint.url(), config.command_timeout),
            "raise --command-timeout, or check that the cluster has a leader",
        )
    }

    /// What etcd-client's error means, together with what the connection saw.
    pub(super) fn of_call(error: etcd_client::Error, failure: Option<Failure>, endpoint: &Endpoint, config: &EtcdConfig) -> Self {
        match error {
            etcd_client::Error::GRpcStatus(status) => of_status(&status, failure, endpoint, config),
            other => match failure {
                Some(failure) => of_failure(failure, endpoint, config),
                None => Self { class: Class::Endpoint, problem: format!("{}: {other}", endpoint.url()), hint: None },
            },
        }
    }

    /// The error for the user.
    pub(super) fn into_error(self, endpoint: &Endpoint) -> Error {
        Error::Remote { endpoint: endpoint.to_string(), problem: self.problem, hint: self.hint }
    }
}

/// The error when no endpoint answered: one sentence for one endpoint, a list for several.
pub(super) fn none_answered(mut troubles: Vec<Trouble>, endpoints: &str) -> Error {
    let hint = troubles.first_mut().and_then(|first| first.hint.take());
    let problem = match troubles.as_slice() {
        [only] => only.problem.clone(),
        many => {
            let each: Vec<&str> = many.iter().map(|trouble| trouble.problem.as_str()).collect();
            format!("none of {} endpoints answers: {}", many.len(), each.join("; "))
        }
    };
    Error::Remote { endpoint: endpoints.to_owned(), problem, hint }
}

fn of_status(status: &Status, failure: Option<Failure>, endpoint: &Endpoint, config: &EtcdConfig) -> Trouble {
    let (url, text) = (endpoint.url(), status.message());
    match status.code() {
        Code::OutOfRange if text.contains("compacted") => Trouble { class: Class::Compacted, problem: text.to_owned(), hint: None },
        Code::OutOfRange if text.contains("future revision") => Trouble { class: Class::Future, problem: text.to_owned(), hint: None },
        Code::FailedPrecondition if text.contains("authentication is not enabled") => {
            Trouble { class: Class::AuthenticationOff, problem: text.to_owned(), hint: None }
        }
        Code::InvalidArgument if text.contains("authentication failed") => Trouble::new(
            Class::Final,
            format!("{url} does not accept the password of user {:?}", user_name(config).unwrap_or_default()),
            "check --user and --password (ETCDCTL_USER, ETCDCTL_PASSWORD)",
        ),
        Code::InvalidArgument if text.contains("user name is empty") => Trouble::new(
            Class::Final,
            format!("{url} wants a user"),
            "give --user NAME:PASSWORD, or a client certificate whose common name is a user",
        ),
        Code::Unauthenticated => Trouble::new(Class::Final, format!("{url} does not know us: {text}"), "give --user NAME:PASSWORD"),
        Code::PermissionDenied if text.contains("etcdserver") => Trouble::new(
            Class::Denied,
            format!("{url} does not let {}", user_name(config).map_or("this client".to_owned(), |user| format!("user {user:?}"))),
            "grant its role read permission on the prefix: etcdctl role grant-permission ROLE read --prefix=true /registry/",
        ),
        Code::Unimplemented => Trouble::new(
            Class::Endpoint,
            format!("{url} does not know this call of etcd's v3 API: {text}"),
            "check that the endpoint is an etcd 3.4 or newer",
        ),
        _ if no_leader(text) => Trouble::new(
            Class::NoLeader,
            format!("{url} has no leader: {text}"),
            "bring back a majority of the members, or read a member's data with -f",
        ),
        _ => match failure {
            Some(failure) => of_failure(failure, endpoint, config),
            None => Trouble::new(
                Class::Endpoint,
                format!("{url} answers, but not as etcd does: {}", first_line(text)),
                "check that the endpoint is etcd's client port (2379, not the API server's 6443 nor etcd's peer port 2380)",
            ),
        },
    }
}

/// The user without what follows a colon: given with --password, `NAME:PASSWORD` is taken for a whole name.
fn user_name(config: &EtcdConfig) -> Option<&str> {
    config.user.as_deref().map(|user| user.split(':').next().unwrap_or_default())
}

/// Whether the text is one of those etcd gives when a request could not get through the cluster's leader.
pub(super) fn no_leader(text: &str) -> bool {
    ["etcdserver: no leader", "etcdserver: request timed out", "etcdserver: leader changed", "etcdserver: not healthy"]
        .iter()
        .any(|known| text.contains(known))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn of_failure(failure: Failure, endpoint: &Endpoint, config: &EtcdConfig) -> Trouble {
    let url = endpoint.url();
    let at_endpoint = |problem: String, hint: &str| Trouble::new(Class::Endpoint, problem, hint);
    match failure {
        Failure::Resolve(why) => at_endpoint(format!("cannot resolve {}: {why}", endpoint.host), "check --endpoints (ETCDCTL_ENDPOINTS)"),
        Failure::Connect(std::io::ErrorKind::ConnectionRefused, _) => at_endpoint(
            format!("no etcd answers at {url}: connection refused"),
            "check --endpoints (ETCDCTL_ENDPOINTS) and that etcd runs there, or read a file with -f",
        ),
        Failure::Connect(_, why) => {
            at_endpoint(format!("no etcd answers at {url}: {why}"), "check --endpoints (ETCDCTL_ENDPOINTS) and the network")
        }
        Failure::DialTimeout(limit) => at_endpoint(
            format!("no etcd answers at {url} within {limit:?}"),
            "check --endpoints (ETCDCTL_ENDPOINTS) and the network, or raise --dial-timeout",
        ),
        Failure::PlainServer => {
            at_endpoint(format!("{url} speaks plain text, not TLS"), "use http:// in its place and give no certificate")
        }
        Failure::TlsServer => at_endpoint(
            format!("{url} wants TLS, and was spoken to in plain text"),
            "use https:// in its place, with --cacert, --cert and --key",
        ),
        Failure::ClosedInHandshake => match &config.cert {
            Some(cert) => refused_certificate(&url, &cert.display().to_string(), "it closed the connection in the TLS handshake"),
            None => at_endpoint(
                format!("{url} closed the connection in the TLS handshake"),
                "it may want a client certificate: give --cert and --key",
            ),
        },
        Failure::Tls(error) => of_tls(&error, endpoint, config),
        Failure::Broken(why) => at_endpoint(format!("the connection to {url} broke: {why}"), "check that etcd still runs and try again"),
    }
}

fn refused_certificate(url: &str, cert: &str, how: &str) -> Trouble {
    Trouble::new(
        Class::Endpoint,
        format!("{url} refused the client certificate in {cert} ({how})"),
        "it must be signed by the CA that etcd trusts (--trusted-ca-file), be valid today and allow client authentication",
    )
}

fn of_tls(error: &rustls::Error, endpoint: &Endpoint, config: &EtcdConfig) -> Trouble {
    let url = endpoint.url();
    match error {
        rustls::Error::InvalidCertificate(why) => of_server_certificate(why, endpoint, config),
        rustls::Error::AlertReceived(alert) if about_client_certificate(*alert) => match &config.cert {
            Some(cert) => refused_certificate(&url, &cert.display().to_string(), &format!("TLS alert {alert:?}")),
            None => Trouble::new(
                Class::Endpoint,
                format!("{url} wants a client certificate (TLS alert {alert:?})"),
                "give --cert and --key (kubeadm: /etc/kubernetes/pki/etcd/healthcheck-client.crt and .key)",
            ),
        },
        rustls::Error::AlertReceived(AlertDescription::ProtocolVersion) | rustls::Error::PeerIncompatible(_) => Trouble::new(
            Class::Endpoint,
            format!("{url} and ketcd cannot agree on TLS: {error}"),
            "ketcd speaks TLS 1.2 and 1.3 with AEAD ciphers: allow one of them in etcd (--cipher-suites, --tls-min-version)",
        ),
        other => Trouble::new(Class::Endpoint, format!("TLS to {url} failed: {other}"), "check that the endpoint is etcd's client port"),
    }
}

/// Alerts that Go's TLS server sends when it does not like the client's certificate, or misses it.
fn about_client_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::CertificateRequired
    )
}

fn of_server_certificate(why: &CertificateError, endpoint: &Endpoint, config: &EtcdConfig) -> Trouble {
    const OR_UNCHECKED: &str = "or read without checking it: --insecure-skip-tls-verify";
    let url = endpoint.url();
    let trouble = |problem: String, hint: String| Trouble::new(Class::Endpoint, problem, hint);
    match why {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            let trusted = config.cacert.as_ref().map_or("the system's CAs".to_owned(), |path| path.display().to_string());
            trouble(
                format!("the certificate of {url} is not signed by {trusted}"),
                "give the CA that signed it with --cacert (kubeadm: /etc/kubernetes/pki/etcd/ca.crt)".to_owned(),
            )
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            let when = match why {
                CertificateError::ExpiredContext { not_after, .. } => format!(" on {}", utc(not_after.as_secs())),
                _ => String::new(),
            };
            trouble(format!("the certificate of {url} expired{when}"), format!("renew it, {OR_UNCHECKED}"))
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            let when = match why {
                CertificateError::NotValidYetContext { not_before, .. } => format!(" before {}", utc(not_before.as_secs())),
                _ => String::new(),
            };
            trouble(format!("the certificate of {url} is not valid{when}"), format!("check this machine's clock, {OR_UNCHECKED}"))
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => trouble(
            format!("the certificate of {url} names no host: it has no subjectAltName, and its common name does not count"),
            format!("issue it again with subjectAltName {}, {OR_UNCHECKED}", endpoint.host),
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let names = match why {
                CertificateError::NotValidForNameContext { presented, .. } => format!(" but for {}", presented.join(", ")),
                _ => String::new(),
            };
            trouble(
                format!("the certificate of {url} is not for {}{names}", endpoint.host),
                format!("use an endpoint that it names, {OR_UNCHECKED}"),
            )
        }
        other if other.to_string().contains("UnsupportedCertVersion") => trouble(
            format!("the certificate of {url} is X.509 version 1, which has no subjectAltName and cannot be checked"),
            format!("issue it again as version 3 with subjectAltName {}, {OR_UNCHECKED}", endpoint.host),
        ),
        other => trouble(format!("the certificate of {url} cannot be accepted: {other}"), format!("issue it again, {OR_UNCHECKED}")),
    }
}

fn utc(seconds: u64) -> String {
    i64::try_from(seconds)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map_or_else(|| seconds.to_string(), |time| time.to_string())
}
