//! What a failed call means: which endpoint, in one sentence, what to do next, and whether another endpoint may do better.

use tonic::{Code, Status};

use super::answer::Untrue;
use super::config::{EtcdConfig, LARGEST_MESSAGE, ReadConsistency};
use super::connector::Failure;
use super::endpoint::Endpoint;
use super::identity::{user_name, who};
use super::parts::TOO_MANY;
use super::tls_errors::of_tls;
use super::trouble::{Class, Trouble};

/// What a call's status means, together with what the connection saw.
pub(super) fn of_status(status: &Status, failure: Option<Failure>, endpoint: &Endpoint, config: &EtcdConfig) -> Trouble {
    let (url, text) = (endpoint.url(), status.message());
    match status.code() {
        Code::OutOfRange if text.contains("compacted") => Trouble { class: Class::Compacted, problem: first_line(text), hint: None },
        Code::OutOfRange if text.contains("future revision") => Trouble { class: Class::Future, problem: first_line(text), hint: None },
        Code::OutOfRange if text == TOO_MANY => Trouble::untrue(&Untrue::new("sent a message of more parts than an etcd's has"), endpoint),
        // Ours, of an answer that would be longer than what is read, and etcd's, of one that is longer than it sends.
        Code::OutOfRange | Code::ResourceExhausted if text.contains("larg") && text.contains("message") => Trouble::new(
            Class::TooLarge,
            format!("{url} answers with more than {} MiB at once", LARGEST_MESSAGE >> 20),
            "a value of this size cannot be read; see what writes it (etcdctl get --prefix --write-out=fields)",
        ),
        Code::FailedPrecondition if text.contains("authentication is not enabled") => {
            Trouble { class: Class::AuthenticationOff, problem: first_line(text), hint: None }
        }
        Code::InvalidArgument if text.contains("authentication failed") => Trouble::new(
            Class::Final,
            format!("{url} does not accept the password of user {:?}", user_name(config).unwrap_or_default()),
            "check --user and --password (ETCDCTL_USER, ETCDCTL_PASSWORD)",
        ),
        Code::InvalidArgument if text.contains("user name is empty") => Trouble::new(
            Class::Final,
            format!("{url} requires a user"),
            "give --user NAME:PASSWORD, or a client certificate whose common name is a user",
        ),
        Code::Unauthenticated => {
            Trouble::new(Class::Final, format!("{url} rejects the credentials: {}", first_line(text)), "give --user NAME:PASSWORD")
        }
        _ if is_denied(status) => Trouble::new(
            Class::Denied,
            format!("{url} does not let {}", who(config)),
            "grant its role what it lacks: etcdctl role grant-permission",
        ),
        _ if no_leader(text) => Trouble::new(Class::NoLeader, format!("{url} has no leader"), no_leader_hint(config)),
        _ if text.contains("not supported for learner") => Trouble::new(
            Class::Learner,
            format!("{url} is a learner: it serves no watches, and only serializable reads"),
            "add the endpoint of a voting member to --endpoints (etcdctl member list)",
        ),
        _ if text.contains("etcdserver: server stopped") || is_stopping(status) => {
            Trouble::new(Class::Endpoint, format!("etcd at {url} is shutting down"), STILL_RUNS)
        }
        _ if was_cut_off(status) => {
            Trouble::new(Class::Endpoint, format!("{url} ended the watch early, as etcd does when it shuts down"), STILL_RUNS)
        }
        _ if failure.is_none() && keepalive_lost(status) => Trouble::new(
            Class::Endpoint,
            format!("{url} has not answered for {:?}: the connection was given up", config.keepalive()),
            "check that etcd's process is not stopped or starved, and the network to it",
        ),
        _ => match failure {
            Some(failure) => of_failure(failure, endpoint, config),
            None if text.contains("etcdserver:") => {
                Trouble::new(Class::Endpoint, format!("{url} reports: {}", first_line(text)), STILL_RUNS)
            }
            None if status.code() == Code::Unimplemented => Trouble::new(
                Class::Endpoint,
                format!("{url} does not know this call of etcd's v3 API"),
                "check that the endpoint is an etcd 3.4 or newer",
            ),
            None if is_broken(status) => Trouble::new(Class::Endpoint, format!("the connection to {url} broke"), STILL_RUNS),
            None => Trouble::new(Class::Endpoint, format!("{url} answers, but not as etcd does: {}", first_line(text)), CLIENT_PORT),
        },
    }
}

const STILL_RUNS: &str = "check that etcd still runs, and its log";
const CLIENT_PORT: &str = "check that the endpoint is etcd's client port (2379, not the API server's 6443 nor etcd's peer port 2380)";

fn no_leader_hint(config: &EtcdConfig) -> &'static str {
    match config.consistency {
        ReadConsistency::Linearizable => "bring back a majority of the members, or read what this member holds by itself: --consistency s",
        _ => "bring back a majority of the members, or read a member's data with -f",
    }
}

/// The errors that a status was made from, in their own words.
fn causes(status: &Status) -> impl Iterator<Item = String> {
    std::iter::successors(std::error::Error::source(status), |error| error.source()).map(ToString::to_string)
}

/// A ping was not answered: a call hears so, a stream only that its connection was dropped, by nobody else.
fn keepalive_lost(status: &Status) -> bool {
    let says_so = |text: &str| text.contains("keep-alive timed out") || text.contains("stream closed because of a broken pipe");
    says_so(status.message()) || causes(status).any(|cause| says_so(&cause))
}

/// The answer ended without its status.
fn was_cut_off(status: &Status) -> bool {
    status.message().contains("missing grpc-status trailer")
}

/// The server said that it takes no more calls (HTTP/2's GOAWAY without an error).
fn is_stopping(status: &Status) -> bool {
    let says_so = |text: &str| text.contains("not a result of an error") || text.contains("NO_ERROR");
    says_so(status.message()) || causes(status).any(|cause| says_so(&cause))
}

/// Whether the status is the client's own, about a transport that broke, and not a server's answer.
fn is_broken(status: &Status) -> bool {
    std::error::Error::source(status).is_some()
}

/// Whether etcd refuses what a user has no right to. In answer to what only root may ask, 3.5.1 hands out the error of its auth store as it is
/// (server/etcdserver/api/v3rpc/maintenance.go).
fn is_denied(status: &Status) -> bool {
    match status.code() {
        Code::PermissionDenied => status.message().contains("etcdserver"),
        Code::Unknown => status.message() == "auth: permission denied",
        _ => false,
    }
}

/// Whether the text is one of those etcd gives when a request could not get through the cluster's leader.
pub(super) fn no_leader(text: &str) -> bool {
    ["etcdserver: no leader", "etcdserver: request timed out", "etcdserver: leader changed", "etcdserver: not healthy"]
        .iter()
        .any(|known| text.contains(known))
}

/// The beginning of what a server says, as far as a sentence can hold it.
pub(super) fn first_line(text: &str) -> String {
    const MAX_LINE_BYTES: usize = 300;
    let line = text.lines().next().unwrap_or_default().trim();
    let mut shown: String = line.chars().take(MAX_LINE_BYTES).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
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
            format!("{url} expects TLS, but ketcd connected in plain text"),
            "use https:// in its place, with --cacert, --cert and --key",
        ),
        Failure::ClosedInHandshake => at_endpoint(
            format!("{url} closed the connection in the TLS handshake or right after it, without giving a reason"),
            match config.cert {
                Some(_) => "check that etcd still runs, its log, and what stands between: a proxy, a load balancer, a firewall",
                None => "it may require a client certificate: give --cert and --key",
            },
        ),
        Failure::Tls(error) => of_tls(&error, endpoint, config),
        Failure::PeerPort => at_endpoint(
            format!("{url} is etcd's peer port, which serves other members only"),
            "use its client port (2379; etcd's --listen-client-urls)",
        ),
        Failure::OtherServer(answer) => at_endpoint(
            format!("{url} is not etcd: another server answers there ({}), perhaps an HTTP proxy", first_line(&answer)),
            CLIENT_PORT,
        ),
        Failure::Files(problem, hint) => Trouble { class: Class::Endpoint, problem, hint },
        Failure::Broken(why) => at_endpoint(format!("the connection to {url} broke: {why}"), STILL_RUNS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_that_is_missing_is_known_in_the_words_of_each_release() {
        assert!(is_denied(&Status::permission_denied("etcdserver: permission denied")));
        assert!(is_denied(&Status::unknown("auth: permission denied")));
        assert!(!is_denied(&Status::permission_denied("no access through this proxy")));
        assert!(!is_denied(&Status::unknown("auth: user name not found")));
    }
}
