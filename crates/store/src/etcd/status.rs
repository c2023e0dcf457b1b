//! What each member says of itself.

use etcd_client::StatusResponse;
use futures_util::future::join_all;

use super::answer;
use super::client::{Cluster, Consistency};
use super::config::EtcdConfig;
use super::errors::{Class, Trouble, first_line};
use super::member::Member;

use crate::{Alarm, RaftStatus, Result, Revision, SourceKind, SourceStatus};

/// So many of a member's own errors are shown; each is an alarm, or that it has no leader.
const MOST_ERRORS: usize = 16;

/// Returns the status of every endpoint; an error only if none answers. Alarms are read from the members' own status, because
/// etcd's Alarm call goes through the raft log even when it only lists.
pub(super) async fn status(cluster: &Cluster) -> Result<SourceStatus> {
    let answers = join_all(cluster.members.iter().map(|member| member.status(&cluster.config))).await;
    if answers.iter().all(Result::is_err) {
        return Err(cluster.error(answers.into_iter().filter_map(Result::err).collect()));
    }
    let mut status = SourceStatus::new(SourceKind::Live, cluster.name());
    for (member, answer) in cluster.members.iter().zip(answers) {
        let endpoint = member.endpoint.to_string();
        match answer {
            Ok(answer) => add(&mut status, endpoint, &answer),
            Err(trouble) => {
                status.problems.push(trouble.problem.clone());
                status.members.push(crate::Member { endpoint, error: Some(trouble.problem), ..crate::Member::default() });
            }
        }
    }
    measure_lag(&mut status.members);
    Ok(status)
}

/// How far each member is behind the leader, where the leader answered.
fn measure_lag(members: &mut [crate::Member]) {
    let leader = members.iter().find(|member| member.is_leader).and_then(|member| member.raft).map(|raft| raft.index);
    for raft in members.iter_mut().filter_map(|member| member.raft.as_mut()) {
        raft.behind_leader = leader.map(|index| index.saturating_sub(raft.applied_index));
    }
}

fn add(status: &mut SourceStatus, endpoint: String, answer: &StatusResponse) {
    let (cluster_id, member_id) = answer.header().map_or((0, 0), |header| (header.cluster_id(), header.member_id()));
    status.newest = status.newest.max(answer.header().map(|header| Revision(header.revision())));
    let cluster_id = format!("{cluster_id:x}");
    match &status.cluster_id {
        None => {
            status.cluster_id = Some(cluster_id.clone());
            status.file_bytes = bytes(answer.db_size());
            status.in_use_bytes = bytes(answer.raft_used_db_size());
            status.free_bytes = status.file_bytes.saturating_sub(status.in_use_bytes);
        }
        Some(first) if *first != cluster_id => {
            status.problems.push(format!("{endpoint} belongs to another cluster ({cluster_id}) than the endpoints before it ({first})"));
        }
        Some(_) => {}
    }
    if answer.leader() == 0 {
        status.problems.push(format!("{endpoint} has no leader: only what it holds itself can be read"));
    }
    if answer.is_learner() {
        status.problems.push(format!("{endpoint} is a learner and may be behind"));
    }
    for error in answer.errors().iter().take(MOST_ERRORS) {
        match Alarm::parse(error) {
            // Every member reports the alarms of all.
            Some(alarm) if status.alarms.contains(&alarm) => {}
            Some(alarm) => status.alarms.push(alarm),
            None if answer.leader() == 0 && error.contains("no leader") => {}
            None => status.problems.push(format!("{endpoint} reports: {}", first_line(error))),
        }
    }
    status.members.push(crate::Member {
        endpoint,
        id: format!("{member_id:x}"),
        cluster_id,
        leader_id: Some(answer.leader()).filter(|leader| *leader != 0).map(|leader| format!("{leader:x}")),
        version: answer.version().to_owned(),
        db_size: answer.db_size(),
        db_size_in_use: answer.raft_used_db_size(),
        db_size_quota: Some(answer.db_size_quota()).filter(|quota| *quota > 0),
        is_leader: answer.leader() != 0 && answer.leader() == member_id,
        is_learner: answer.is_learner(),
        raft: Some(RaftStatus {
            term: answer.raft_term(),
            index: answer.raft_index(),
            applied_index: answer.raft_applied_index(),
            behind_leader: None,
        }),
        error: None,
    });
}

fn bytes(size: i64) -> u64 {
    u64::try_from(size).unwrap_or(0)
}

impl Member {
    /// Asks this member for its status.
    pub(super) async fn status(&self, config: &EtcdConfig) -> Result<StatusResponse, Trouble> {
        let asked = |client: etcd_client::Client| async move {
            let answer = client.maintenance_client().status().await?;
            answer::status(&answer.0)?;
            Ok(answer)
        };
        self.ask(config, Consistency::Serializable, asked).await
    }

    /// Whether this member is a learner, which serves no watches. One that does not tell is taken for none: what it is asked next says why.
    pub(super) async fn is_learner(&self, config: &EtcdConfig) -> bool {
        let asked = self.is_learner.get_or_try_init(|| async { self.status(config).await.map(|status| status.is_learner()) });
        asked.await.copied().unwrap_or(false)
    }

    /// Whether this member answers a progress request only after the events the answer covers (etcd issue 15220: from 3.4.25, 3.5.8
    /// and 3.6 on). A member that does not tell its version is not trusted.
    ///
    /// # Errors
    /// It does not answer at all.
    pub(super) async fn reports_progress_in_order(&self, config: &EtcdConfig) -> Result<bool, Trouble> {
        match self.status(config).await {
            Ok(status) => Ok(in_order(status.version())),
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
