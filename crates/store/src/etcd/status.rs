//! The status that each member reports.

use futures_util::future::join_all;

use super::client::Cluster;
use super::errors::first_line;
use crate::proto::etcdserverpb::StatusResponse;
use crate::{Alarm, RaftStatus, Result, Revision, SourceKind, SourceStatus};

/// How many of a member's own errors are shown; each is an alarm, or says that it has no leader.
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
    let (cluster_id, member_id) = answer.header.map_or((0, 0), |header| (header.cluster_id, header.member_id));
    status.newest = status.newest.max(answer.header.map(|header| Revision(header.revision)));
    let cluster_id = format!("{cluster_id:x}");
    match &status.cluster_id {
        None => {
            status.cluster_id = Some(cluster_id.clone());
            status.file_bytes = bytes(answer.db_size);
            status.in_use_bytes = bytes(answer.db_size_in_use);
            status.free_bytes = status.file_bytes.saturating_sub(status.in_use_bytes);
        }
        Some(first) if *first != cluster_id => {
            status.problems.push(format!("{endpoint} belongs to another cluster ({cluster_id}) than the endpoints before it ({first})"));
        }
        Some(_) => {}
    }
    if answer.leader == 0 {
        status.problems.push(format!("{endpoint} has no leader: only what it holds itself can be read"));
    }
    if answer.is_learner {
        status.problems.push(format!("{endpoint} is a learner and may be behind"));
    }
    for error in answer.errors.iter().take(MOST_ERRORS) {
        match Alarm::parse(error) {
            // Every member reports the alarms of all.
            Some(alarm) if status.alarms.contains(&alarm) => {}
            Some(alarm) => status.alarms.push(alarm),
            None if answer.leader == 0 && error.contains("no leader") => {}
            None => status.problems.push(format!("{endpoint} reports: {}", first_line(error))),
        }
    }
    status.members.push(crate::Member {
        endpoint,
        id: format!("{member_id:x}"),
        name: String::new(),
        peer_urls: Vec::new(),
        cluster_id,
        leader_id: Some(answer.leader).filter(|leader| *leader != 0).map(|leader| format!("{leader:x}")),
        version: answer.version.clone(),
        db_size: answer.db_size,
        db_size_in_use: answer.db_size_in_use,
        db_size_quota: Some(answer.db_size_quota).filter(|quota| *quota > 0),
        is_leader: answer.leader != 0 && answer.leader == member_id,
        is_learner: answer.is_learner,
        raft: Some(RaftStatus {
            term: answer.raft_term,
            index: answer.raft_index,
            applied_index: answer.raft_applied_index,
            behind_leader: None,
        }),
        error: None,
    });
}

fn bytes(size: i64) -> u64 {
    u64::try_from(size).unwrap_or(0)
}
