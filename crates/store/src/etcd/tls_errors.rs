//! What a failed TLS handshake means: whose certificate was not accepted, why, and what to do about it.

use jiff::Timestamp;
use rustls::{AlertDescription, CertificateError};

use super::config::EtcdConfig;
use super::endpoint::Endpoint;
use super::trouble::{Class, Trouble};

/// The trouble of a handshake that TLS itself ended.
pub(super) fn of_tls(error: &rustls::Error, endpoint: &Endpoint, config: &EtcdConfig) -> Trouble {
    let url = endpoint.url();
    match error {
        rustls::Error::InvalidCertificate(why) => of_server_certificate(why, endpoint, config),
        rustls::Error::AlertReceived(alert) if about_client_certificate(*alert) => match &config.cert {
            Some(cert) => Trouble::new(
                Class::Endpoint,
                format!("{url} refused the client certificate in {} (TLS alert {})", cert.display(), alert_name(*alert)),
                "it must be signed by the CA that etcd trusts (--trusted-ca-file), be valid today and allow client authentication",
            ),
            None => Trouble::new(
                Class::Endpoint,
                format!("{url} requires a client certificate (TLS alert {})", alert_name(*alert)),
                "give --cert and --key (kubeadm: /etc/kubernetes/pki/etcd/healthcheck-client.crt and .key)",
            ),
        },
        rustls::Error::AlertReceived(AlertDescription::ProtocolVersion) | rustls::Error::PeerIncompatible(_) => Trouble::new(
            Class::Endpoint,
            format!("{url} and ketcd cannot agree on a TLS version or cipher suite"),
            "ketcd speaks TLS 1.2 and 1.3 with AEAD ciphers: allow one of them in etcd (--cipher-suites, --tls-min-version)",
        ),
        rustls::Error::AlertReceived(alert) => Trouble::new(
            Class::Endpoint,
            format!("{url} ended the TLS handshake with the alert {}", alert_name(*alert)),
            "check that the endpoint is etcd's client port, and etcd's log",
        ),
        rustls::Error::InvalidMessage(_) => Trouble::new(
            Class::Endpoint,
            format!("{url} does not speak TLS"),
            "check that the endpoint is etcd's client port and that nothing between answers in its place",
        ),
        other => Trouble::new(Class::Endpoint, format!("TLS to {url} failed: {other}"), "check that the endpoint is etcd's client port"),
    }
}

/// An alert in the words of RFC 8446: `bad certificate`.
fn alert_name(alert: AlertDescription) -> String {
    let name = format!("{alert:?}");
    let mut words = String::new();
    for (place, c) in name.char_indices() {
        let begins = c.is_ascii_uppercase() && place > 0 && !name[..place].ends_with(|before: char| before.is_ascii_uppercase());
        words.extend(begins.then_some(' ').into_iter().chain(c.to_lowercase()));
    }
    words
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
                CertificateError::NotValidForNameContext { presented, .. } => {
                    format!(" but for {}", presented.iter().map(|name| plain_name(name)).collect::<Vec<_>>().join(", "))
                }
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
        CertificateError::BadEncoding => {
            trouble(format!("the certificate of {url} cannot be read"), format!("issue it again, {OR_UNCHECKED}"))
        }
        CertificateError::Revoked => trouble(format!("the certificate of {url} was revoked"), format!("issue it again, {OR_UNCHECKED}")),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => trouble(
            format!("the certificate of {url} is not for servers: its extended key usage lacks serverAuth"),
            format!("issue it again with serverAuth, {OR_UNCHECKED}"),
        ),
        other => trouble(format!("the certificate of {url} cannot be accepted: {other}"), format!("issue it again, {OR_UNCHECKED}")),
    }
}

/// A name of a certificate without what the TLS library puts around it: `DnsName("a.lab")`, `IpAddress(10.0.0.1)`.
fn plain_name(presented: &str) -> &str {
    let inner = presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(presented);
    inner.trim_matches('"')
}

fn utc(seconds: u64) -> String {
    i64::try_from(seconds)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map_or_else(|| seconds.to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_alerts_are_plain_words() {
        assert_eq!(["DnsName(\"a.lab\")", "IpAddress(10.0.0.1)", "a.lab"].map(plain_name), ["a.lab", "10.0.0.1", "a.lab"]);
        let alerts = [AlertDescription::BadCertificate, AlertDescription::UnknownCA, AlertDescription::HandshakeFailure];
        assert_eq!(alerts.map(alert_name), ["bad certificate", "unknown ca", "handshake failure"]);
    }
}
