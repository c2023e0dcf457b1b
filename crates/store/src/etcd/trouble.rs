//! Why a call failed, and whether another endpoint may do better.

use super::answer::Untrue;
use super::config::EtcdConfig;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// This endpoint cannot be reached, or does not trust us, or we not it; another may do better.
    Endpoint,
    /// The member can be reached but no leader confirms its answer: what it holds itself can be read all the same.
    NoLeader,
    /// The member did not answer in time, perhaps for want of a leader.
    Silent,
    /// The member is a learner, which answers for itself only.
    Learner,
    /// The requested revision was compacted.
    Compacted,
    /// The requested revision does not exist yet.
    Future,
    /// etcd's authentication is off: go on without a user.
    AuthenticationOff,
    /// The user may not do this.
    Denied,
    /// An answer is larger than what is read at once.
    TooLarge,
    /// The server's answer cannot be true.
    Untrue,
    /// No endpoint will say otherwise.
    Final,
}

impl Class {
    pub(super) fn is_of_one_member(self) -> bool {
        matches!(self, Self::Endpoint | Self::NoLeader | Self::Silent | Self::Learner)
    }

    /// Whether the member may answer for itself.
    pub(super) fn may_be_read_serializably(self) -> bool {
        matches!(self, Self::NoLeader | Self::Silent | Self::Learner)
    }
}

impl Trouble {
    pub(super) fn new(class: Class, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { class, problem: problem.into(), hint: Some(hint.into()) }
    }

    /// What a call that took longer than `--command-timeout` means.
    pub(super) fn timeout(endpoint: &Endpoint, config: &EtcdConfig) -> Self {
        Self::new(
            Class::Silent,
            format!("{} did not answer within {:?}", endpoint.url(), config.command_timeout),
            "raise --command-timeout, or check that the cluster has a leader",
        )
    }

    /// What an answer that cannot be true means.
    pub(super) fn untrue(untrue: &Untrue, endpoint: &Endpoint) -> Self {
        let problem = format!("{} answers, but not as etcd does: it {}", endpoint.url(), untrue.problem());
        Self { class: Class::Untrue, problem, hint: None }
    }

    pub(super) fn into_error(self, endpoint: &Endpoint) -> Error {
        none_answered(vec![self], &endpoint.to_string())
    }
}

/// The error when no endpoint answered: one sentence for one endpoint, a list for several.
pub(super) fn none_answered(mut troubles: Vec<Trouble>, endpoints: &str) -> Error {
    if let Some(untrue) = troubles.iter().position(|trouble| trouble.class == Class::Untrue) {
        return Error::Untrue { endpoint: endpoints.to_owned(), problem: troubles.swap_remove(untrue).problem };
    }
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
