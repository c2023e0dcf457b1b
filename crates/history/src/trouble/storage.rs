//! What is wrong with etcd itself, as its members say.

use std::collections::BTreeMap;

use ketcd_store::{Member, MemberHash, MemberHashes, Revision, SourceStatus};

use super::{Trouble, TroubleKind};
use crate::timeline::Subject;

/// A database above this part of its quota is near to it, in percent.
const NEAR_QUOTA_PERCENT: i64 = 80;
/// A member that has more entries to apply than this is behind.
const MAX_APPLY_BACKLOG: u64 = 1_000;

/// Returns what is wrong with a source's etcd: alarms, members that disagree, have no leader, do not answer or are behind, a database near its quota.
pub fn storage_troubles(source: &SourceStatus) -> Vec<(Subject, Trouble)> {
    let mut found: Vec<(Subject, Trouble)> = Vec::new();
    let etcd = || Subject { kind: "Etcd".to_owned(), ..Subject::default() };
    let alarms = source.alarms.iter().map(|alarm| Trouble { message: Some(alarm.to_string()), ..Trouble::new(TroubleKind::EtcdAlarm) });
    found.extend(alarms.map(|trouble| (etcd(), trouble)));
    found.extend(disagreements(&source.members).into_iter().map(|trouble| (etcd(), trouble)));
    for member in &source.members {
        found.extend(of_member(member).into_iter().map(|trouble| (subject(member), trouble)));
    }
    found
}

/// Returns the members whose data differ at one revision: those that the majority contradicts, or all of them if no hash has a majority.
/// Members are compared with those that have compacted to the same revision.
pub fn data_troubles(hashes: &MemberHashes) -> Vec<(Subject, Trouble)> {
    let mut by_compaction: BTreeMap<Revision, Vec<&MemberHash>> = BTreeMap::new();
    hashes.members.iter().for_each(|member| by_compaction.entry(member.compacted).or_default().push(member));
    by_compaction.values().flat_map(|members| differing(hashes.revision, members)).collect()
}

fn differing(revision: Revision, members: &[&MemberHash]) -> Vec<(Subject, Trouble)> {
    let mut by_hash: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    members.iter().for_each(|member| by_hash.entry(member.hash).or_default().push(&member.endpoint));
    if by_hash.len() < 2 {
        return Vec::new();
    }
    let most = by_hash.iter().find(|(_, of)| of.len() * 2 > members.len()).map(|(hash, _)| *hash);
    let said = by_hash.iter().map(|(hash, of)| format!("hash {hash} of {}", of.join(", "))).collect::<Vec<_>>().join("; ");
    let trouble = Trouble { message: Some(said), numbers: Some((revision.0, 0)), ..Trouble::new(TroubleKind::DataDiffers) };
    match most {
        Some(most) => {
            let others = members.iter().filter(|member| member.hash != most);
            let subject = |member: &&MemberHash| Subject { kind: "Member".to_owned(), name: member.endpoint.clone(), ..Subject::default() };
            others.map(|member| (subject(member), trouble.clone())).collect()
        }
        None => vec![(Subject { kind: "Etcd".to_owned(), ..Subject::default() }, trouble.about(["its members"]))],
    }
}

/// What members say differently: which cluster they are of, and who leads it.
fn disagreements(members: &[Member]) -> Vec<Trouble> {
    let clusters: Said<'_> = said(members.iter().map(|member| (member, Some(&*member.cluster_id).filter(|id| !id.is_empty()))));
    let leaders: Said<'_> = said(members.iter().map(|member| (member, member.leader_id.as_deref())));
    let disagree = |(about, said): (&str, Said<'_>)| {
        let message = said.iter().map(|(id, members)| format!("{id} according to {}", members.join(", "))).collect::<Vec<_>>().join("; ");
        let trouble = Trouble { message: Some(message), ..Trouble::new(TroubleKind::MembersDisagree).about([about]) };
        (said.len() > 1).then_some(trouble)
    };
    [("the cluster", clusters), ("the leader", leaders)].into_iter().filter_map(disagree).collect()
}

/// Ids, with the members that name them.
type Said<'m> = BTreeMap<&'m str, Vec<&'m str>>;

fn said<'m>(of: impl Iterator<Item = (&'m Member, Option<&'m str>)>) -> Said<'m> {
    let mut said = Said::new();
    of.filter_map(|(member, id)| Some((id?, &*member.endpoint))).for_each(|(id, member)| said.entry(id).or_default().push(member));
    said
}

fn subject(member: &Member) -> Subject {
    let name = if member.endpoint.is_empty() { &member.id } else { &member.endpoint };
    Subject { kind: "Member".to_owned(), name: name.clone(), ..Subject::default() }
}

fn of_member(member: &Member) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    if let Some(error) = &member.error {
        troubles.push(Trouble { message: Some(error.clone()), ..Trouble::new(TroubleKind::MemberSilent) });
    }
    if member.raft.is_some() && member.leader_id.is_none() {
        troubles.push(Trouble::new(TroubleKind::MemberLeaderless));
    }
    let behind = member.raft.and_then(|raft| raft.behind_leader).filter(|behind| *behind > MAX_APPLY_BACKLOG);
    if let Some(behind) = behind {
        let numbers = Some((i64::try_from(behind).unwrap_or(i64::MAX), 0));
        troubles.push(Trouble { numbers, ..Trouble::new(TroubleKind::MemberBehind) });
    }
    let quota = member.db_size_quota.filter(|quota| *quota > 0 && member.db_size / NEAR_QUOTA_PERCENT >= quota / 100);
    if let Some(quota) = quota {
        troubles.push(Trouble { numbers: Some((member.db_size, quota)), ..Trouble::new(TroubleKind::DatabaseNearQuota) });
    }
    troubles
}
