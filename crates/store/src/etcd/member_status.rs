//! What a member's status decides: whether it serves watches, and whether its reports of a watch's progress can be trusted.

use super::answer;
use super::calls::Client;
use super::config::{Consistency, EtcdConfig};
use super::member::EndpointConnection;
use super::trouble::{Class, Trouble};
use crate::proto::etcdserverpb::StatusResponse;

impl EndpointConnection {
    pub(super) async fn status(&self, config: &EtcdConfig) -> Result<StatusResponse, Trouble> {
        let asked = |client: Client| async move {
            let answer = client.status().await?;
            answer::status(&answer)?;
            Ok(answer)
        };
        self.ask(config, Consistency::Serializable, asked).await
    }

    /// Whether this member is a learner: it serves no watches. One that does not tell is taken for none: what it is asked next says why.
    pub(super) async fn is_learner(&self, config: &EtcdConfig) -> bool {
        let asked = self.is_learner.get_or_try_init(|| async { self.status(config).await.map(|status| status.is_learner) });
        asked.await.copied().unwrap_or(false)
    }

    /// Whether this member answers a progress request only after the events the answer covers (etcd issue 15220: from 3.4.25, 3.5.8
    /// and 3.6 on). A member that does not tell its version is not trusted.
    ///
    /// # Errors
    /// It does not answer at all.
    pub(super) async fn reports_progress_in_order(&self, config: &EtcdConfig) -> Result<bool, Trouble> {
        match self.status(config).await {
            Ok(status) => Ok(in_order(&status.version)),
            Err(trouble) if trouble.class.is_of_one_member() || trouble.class == Class::Untrue => Err(trouble),
            Err(_) => Ok(false),
        }
    }
}

fn in_order(version: &str) -> bool {
    let mut numbers = version.split(['.', '-', '+']).map(|part| part.parse::<u32>().ok());
    let (major, minor, patch) = (numbers.next().flatten(), numbers.next().flatten(), numbers.next().flatten());
    match (major, minor, patch) {
        (Some(3), Some(4), Some(patch)) => patch >= 25,
        (Some(3), Some(5), Some(patch)) => patch >= 8,
        (Some(3), Some(minor), _) => minor >= 6,
        (Some(major), _, _) => major > 3,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_that_report_progress_in_order() {
        for version in ["3.4.25", "3.5.8", "3.5.21", "3.6.0", "3.7.3-rc.1", "4.0.0"] {
            assert!(in_order(version), "{version}");
        }
        for version in ["3.3.25", "3.4.0", "3.4.23", "3.4.24", "3.5.1", "3.5.7", "", "unknown"] {
            assert!(!in_order(version), "{version}");
        }
    }
}
