//! The backup and the states that it is held against: what each is, whether it is whole, and which loses the least.

use std::cmp::Reverse;
use std::time::Duration;

use jiff::Timestamp;

use ketcd_store::{Revision, SourceKind, SourceStatus};

use super::rehearse_options::RehearseAsked;
use super::sources::flags_of;
use super::states::{RehearsedState, uid_of_cluster};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::verify::{Finding, Verdict, Verification};

/// One of the sources of a rehearsal.
#[derive(Clone, Debug, PartialEq)]
pub struct RehearsedSource {
    /// The path or the endpoints, as the user gave them.
    pub name: String,
    /// What it is.
    pub kind: SourceKind,
    /// Its newest revision.
    pub revision: Revision,
    /// When that was written; `None` where nothing dates it.
    pub written: Option<Timestamp>,
    /// How long before the question that was; `None` where either is not known.
    pub age: Option<Duration>,
    /// Keys that are alive.
    pub keys: u64,
    /// Whether it can be restored.
    pub verdict: Verdict,
    /// Why not, or what is to be said of it; empty where nothing is.
    pub says: String,
    /// Whether it is the backup that was asked about.
    pub is_backup: bool,
    /// Whether it is the newest state.
    pub is_newest: bool,
    /// How many revisions of the newest of all it lacks; `None` where that cannot be said.
    pub lacks: Option<i64>,
}

/// A source on its way to its place.
struct Candidate {
    source: RehearsedSource,
    /// Whether it is of the backup's cluster; `None` where nothing says.
    is_of_backups_cluster: Option<bool>,
}

/// Whether etcd, or kine, can be started on a source of this kind.
pub fn is_restorable(kind: SourceKind) -> bool {
    matches!(kind, SourceKind::Db | SourceKind::DataDir | SourceKind::Kine)
}

/// Refuses what no etcd and no kine can be started on.
///
/// # Errors
/// It is not a backup of an etcd, by its kind: what it is instead, and what is needed.
pub(super) fn check_backup(status: &SourceStatus) -> Result<()> {
    /// What is needed.
    const NEEDED: &str = "rehearse needs what etcd is restored from: a snapshot, a member's data dir, or a database of kine";
    let what = match status.kind {
        kind if is_restorable(kind) => return Ok(()),
        SourceKind::Live => "is a running etcd",
        SourceKind::Recording => "is a recording",
        SourceKind::Bundle => "is a bundle",
        SourceKind::AuditLog => "is an audit log of API servers",
        _ if status.parts.len() > 1 => "hold API objects",
        _ => "holds API objects",
    };
    let instead = match status.kind {
        SourceKind::Live => "; name it as the newest state, with --over".to_owned(),
        _ => format!("; what is in it comes back as manifests: ketcd{} extract -A --all", flags_of(status)),
    };
    Err(Error::Invalid { problem: format!("{} {what}, not a backup of an etcd", status.name), hint: Some(format!("{NEEDED}{instead}")) })
}

/// Returns all sources, those that can be restored first, in that the one that loses the least.
pub(super) async fn ranked(backup: &Cluster, over: &[&Cluster], asked: &RehearseAsked) -> Result<Vec<RehearsedSource>> {
    let newest = newest(over).await?;
    let uid = uid_of_cluster(&RehearsedState::of(backup).await?).await?;
    let all: Vec<&Cluster> = [backup].into_iter().chain(over.iter().copied()).collect();
    // The backup may be newer than all that is left.
    let newest_revision = match self::newest(&all).await? {
        Some(newest) if !over.is_empty() => Some((newest.revision().await?, uid_of_cluster(&RehearsedState::of(newest).await?).await?)),
        _ => None,
    };
    let mut candidates = Vec::new();
    for (place, cluster) in all.into_iter().enumerate() {
        let found = cluster.verify_file(asked.now).await?;
        let own = uid_of_cluster(&RehearsedState::of(cluster).await?).await?;
        let lacks = newest_revision.as_ref().filter(|(_, of)| is_same(of.as_deref(), own.as_deref()) != Some(false));
        let source = RehearsedSource {
            is_backup: place == 0,
            is_newest: place > 0 && newest.is_some_and(|newest| std::ptr::eq(newest, cluster)),
            lacks: lacks.map(|(newest, _)| (newest.0 - found.revision().0).max(0)),
            ..rehearsed(&found)
        };
        candidates.push(Candidate { source, is_of_backups_cluster: is_same(uid.as_deref(), own.as_deref()) });
    }
    Ok(sorted(candidates))
}

/// Returns the state with the newest revision.
pub(super) async fn newest<'c>(over: &[&'c Cluster]) -> Result<Option<&'c Cluster>> {
    let mut newest: Option<(Revision, &Cluster)> = None;
    for cluster in over {
        let revision = cluster.revision().await?;
        if newest.is_none_or(|(known, _)| revision > known) {
            newest = Some((revision, cluster));
        }
    }
    Ok(newest.map(|(_, cluster)| cluster))
}

fn is_same(one: Option<&str>, other: Option<&str>) -> Option<bool> {
    Some(one? == other?)
}

/// What a look at the file says of a source.
fn rehearsed(found: &Verification) -> RehearsedSource {
    let fatal = found.findings.iter().find(|finding| Finding::is_fatal(finding));
    let first = fatal.or_else(|| found.findings.iter().find(|finding| !finding.is_remark()));
    let of_kind = match found.kind {
        SourceKind::Live => "it runs: nothing needs to be restored to have this state",
        SourceKind::Recording => "etcd does not start on a recording: its objects can be extracted",
        SourceKind::Bundle => "etcd does not start on a bundle: its objects can be extracted",
        SourceKind::Objects => "etcd does not start on printed objects: they can be extracted",
        SourceKind::AuditLog => "etcd does not start on an audit log: its objects can be extracted",
        _ => "",
    };
    RehearsedSource {
        name: found.name.clone(),
        kind: found.kind,
        revision: found.revision(),
        written: found.written,
        age: found.age,
        keys: found.keys,
        verdict: found.verdict(),
        says: first.map_or_else(|| of_kind.to_owned(), |finding| finding.says.clone()),
        is_backup: false,
        is_newest: false,
        lacks: None,
    }
}

/// The files that can be restored first, then those of the backup's cluster, then the newest.
fn sorted(mut candidates: Vec<Candidate>) -> Vec<RehearsedSource> {
    candidates.sort_by_key(|Candidate { source, is_of_backups_cluster }| {
        (!can_be_restored(source), *is_of_backups_cluster == Some(false), Reverse(source.revision), source.verdict, !source.is_backup)
    });
    candidates.into_iter().map(named).collect()
}

fn named(Candidate { mut source, is_of_backups_cluster }: Candidate) -> RehearsedSource {
    if is_of_backups_cluster == Some(false) {
        const OTHER_CLUSTER: &str = "it is of another cluster than the backup";
        source.says = if source.says.is_empty() { OTHER_CLUSTER.to_owned() } else { format!("{OTHER_CLUSTER}; {}", source.says) };
    }
    source
}

/// Whether etcd, or kine, can be started on what is there.
fn can_be_restored(source: &RehearsedSource) -> bool {
    is_restorable(source.kind) && source.verdict != Verdict::Bad
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{FindingKind, Weight};

    fn candidate(name: &str, kind: SourceKind, revision: i64, verdict: Verdict, is_of_backups_cluster: Option<bool>) -> Candidate {
        let mut source = rehearsed(&Verification { kind, ..Verification::unreadable(name, "") });
        (source.revision, source.verdict, source.says) = (Revision(revision), verdict, String::new());
        Candidate { source, is_of_backups_cluster }
    }

    fn names(candidates: Vec<Candidate>) -> Vec<String> {
        sorted(candidates).into_iter().map(|source| source.name).collect()
    }

    #[test]
    fn whole_files_of_the_cluster_come_first_and_of_these_the_newest() {
        let all = vec![
            candidate("backup", SourceKind::Db, 10, Verdict::Good, Some(true)),
            candidate("live", SourceKind::Live, 99, Verdict::Good, Some(true)),
            candidate("other", SourceKind::Db, 90, Verdict::Good, Some(false)),
            candidate("broken", SourceKind::DataDir, 80, Verdict::Bad, Some(true)),
            candidate("member", SourceKind::DataDir, 70, Verdict::Findings, Some(true)),
            candidate("young", SourceKind::Db, 60, Verdict::Good, None),
        ];
        assert_eq!(names(all), ["member", "young", "backup", "other", "live", "broken"]);
    }

    #[test]
    fn the_backup_is_before_a_copy_of_it() {
        let mut backup = candidate("backup", SourceKind::Db, 10, Verdict::Good, Some(true));
        backup.source.is_backup = true;
        assert_eq!(names(vec![candidate("copy", SourceKind::Db, 10, Verdict::Good, Some(true)), backup]), ["backup", "copy"]);
    }

    #[test]
    fn only_what_etcd_starts_on_is_a_backup() {
        let refused = |kind| match check_backup(&SourceStatus::new(kind, "a b.tar".to_owned())) {
            Err(Error::Invalid { problem, hint }) => format!("{problem}; {}", hint.unwrap()),
            other => panic!("{other:?}"),
        };
        for (kind, what) in [
            (SourceKind::Objects, "a b.tar holds API objects, not a backup of an etcd; "),
            (SourceKind::AuditLog, "a b.tar is an audit log of API servers, not"),
            (SourceKind::Recording, "a b.tar is a recording, not"),
            (SourceKind::Bundle, "a b.tar is a bundle, not"),
        ] {
            let said = refused(kind);
            assert!(said.starts_with(what) && said.ends_with("comes back as manifests: ketcd -f 'a b.tar' extract -A --all"), "{said}");
        }
        assert!(refused(SourceKind::Live).ends_with("--over"));
        for kind in [SourceKind::Db, SourceKind::DataDir, SourceKind::Kine] {
            assert!(check_backup(&SourceStatus::new(kind, "a".to_owned())).is_ok());
        }
    }

    #[test]
    fn what_is_said_is_the_worst_that_was_found() {
        let found = |kind, findings| rehearsed(&Verification { kind, findings, ..Verification::unreadable("a", "") });
        let finding = |kind, weight, says: &str| Finding::new(kind, weight, says);
        assert_eq!(found(SourceKind::Db, vec![]).says, "");
        assert!(found(SourceKind::Live, vec![]).says.starts_with("it runs"));
        let torn = [finding(FindingKind::Log, Weight::Medium, "one"), finding(FindingKind::Damage, Weight::High, "two")];
        assert_eq!(found(SourceKind::Db, torn.to_vec()).says, "two");
        assert_eq!(named(candidate("b", SourceKind::Db, 1, Verdict::Good, Some(false))).says, "it is of another cluster than the backup");
    }
}
