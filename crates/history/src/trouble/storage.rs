//! What is wrong with etcd itself, as its members say.

use ketcd_store::{Member, SourceStatus};

use super::{Trouble, TroubleKind};
use crate::timeline::Subject;

/// A database above this part of its quota is near to it, in percent.
const NEAR: i64 = 80;
/// A member that has more entries to apply than this is behind.
const BEHIND: u64 = 1_000;

/// Returns what is wrong with a source's etcd: alarms, members that do not answer or are behind, a database near its quota.
pub fn storage_troubles(source: &SourceStatus) -> Vec<(Subject, Trouble)> {
    let mut found: Vec<(Subject, Trouble)> = Vec::new();
    let alarms = source.alarms.iter().map(|alarm| Trouble { message: Some(alarm.to_string()), ..Trouble::new(TroubleKind::EtcdAlarm) });
    found.extend(alarms.map(|trouble| (Subject { kind: "Etcd".to_owned(), ..Subject::default() }, trouble)));
    for member in &source.members {
        found.extend(of_member(member).into_iter().map(|trouble| (subject(member), trouble)));
    }
    found
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
    let behind = member.raft.and_then(|raft| raft.behind_leader).filter(|behind| *behind > BEHIND);
    if let Some(behind) = behind {
        let numbers = Some((i64::try_from(behind).unwrap_or(i64::MAX), 0));
        troubles.push(Trouble { numbers, ..Trouble::new(TroubleKind::MemberBehind) });
    }
    let quota = member.db_size_quota.filter(|quota| *quota > 0 && member.db_size / NEAR >= quota / 100);
    if let Some(quota) = quota {
        troubles.push(Trouble { numbers: Some((member.db_size, quota)), ..Trouble::new(TroubleKind::DatabaseNearQuota) });
    }
    troubles
}
