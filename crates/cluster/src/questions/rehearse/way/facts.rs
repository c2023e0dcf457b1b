//! What the steps of a restore depend on: the file, the members, the release, and how far revisions are raised.

use ketcd_store::shell::quoted;
use ketcd_store::{At, Checksum, SourceKind, SourceStatus};

use super::super::extraction::{self, ExtractCommands};
use super::super::states::{State, States};
use super::bump::Bump;
use super::distribution::{Distribution, distribution};
use super::members::{DEFAULT_DATA_DIR, RestoredMember};
use super::release::EtcdRelease;
use super::step::Step;
use crate::error::Result;

/// Endings of compressed files, and the command that unpacks each next to it.
const COMPRESSED: [(&str, &str); 3] = [(".zst", "zstd -dk"), (".gz", "gunzip -k"), (".xz", "xz -dk")];

/// What the steps depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct WayFacts {
    /// Whose etcd it is.
    pub distribution: Distribution,
    /// What shows that.
    pub evidence: String,
    /// The backup as it was given.
    pub backup: String,
    /// The file that etcd's tool is given, unpacked.
    pub file: String,
    /// The command that unpacks it, where that is needed.
    pub unpack: Option<String>,
    /// Whether the file has no SHA-256 at its end.
    pub skips_hash: bool,
    /// A token that the old cluster did not have.
    pub token: String,
    /// The members, by name.
    pub members: Vec<RestoredMember>,
    /// By how much revisions are raised; `None` where no newer state of the cluster is left.
    pub bump: Option<Bump>,
    /// The namespace of a shoot's control plane in its seed.
    pub shoot: Option<String>,
    /// The last step: what the newest state has and the backup lacks.
    pub bring_back: Option<Step>,
    /// What could not be found out.
    pub notes: Vec<String>,
}

impl WayFacts {
    /// Reads what the steps depend on.
    ///
    /// # Errors
    /// A source cannot be read.
    pub(super) async fn of(states: &States<'_>) -> Result<Self> {
        let (status, newest_status) = (&states.backup_status, states.newest_status.as_ref());
        let mut facts = Self { token: format!("restored-r{}", states.backup.revision), ..Self::of_file(status) };
        let newest = states.newest.as_ref().filter(|_| states.is_of_one_cluster != Some(false));
        for state in newest.into_iter().chain([&states.backup]) {
            if let Some((distribution, evidence)) = distribution(state, status.kind, &status.name).await? {
                (facts.distribution, facts.evidence) = (distribution, evidence);
                break;
            }
        }
        facts.members = members(states, newest, newest_status, status).await?;
        facts.shoot = shoot(&states.backup).await?;
        if let Some(newest) = newest {
            facts.bump = Some(bump(states, newest).await?);
            facts.bring_back = Some(bring_back(extraction::commands(states, newest).await?));
        }
        if states.backup.cluster.source.span().await?.newest > states.backup.revision {
            facts.notes.push("a restore brings back the newest state of the file, not the older revision that was asked for".to_owned());
        }
        if facts.members.is_empty() && matches!(facts.distribution, Distribution::Kubeadm | Distribution::Unknown) {
            facts.notes.push("names and peer URLs of the members: no static pod and no file names them".to_owned());
        }
        Ok(facts)
    }

    /// What a backup's file needs.
    fn of_file(status: &SourceStatus) -> Self {
        let mut facts = Self { backup: status.name.clone(), file: status.name.clone(), ..Self::default() };
        if status.kind == SourceKind::DataDir {
            facts.file = format!("{}/member/snap/db", status.name.trim_end_matches('/'));
            facts
                .notes
                .push("a restore of a member's database leaves out what only its log has; the member itself starts with both".to_owned());
        }
        for (ending, command) in COMPRESSED {
            if let Some(plain) = status.name.strip_suffix(ending) {
                facts.unpack = Some(format!("{command} {}", quoted(status.name.as_bytes())));
                facts.file = plain.to_owned();
            }
        }
        facts.skips_hash = status.kind == SourceKind::DataDir || status.checksums.contains(&Checksum::Absent);
        facts
    }

    /// The oldest release of the members; `None` where nothing says.
    pub(super) fn release(&self) -> Option<EtcdRelease> {
        self.members.iter().filter_map(|member| member.release).min()
    }

    /// Whether etcd's tool for files is etcdutl.
    pub(super) fn has_etcdutl(&self) -> bool {
        self.release().is_none_or(EtcdRelease::has_etcdutl)
    }

    /// The directories of the members' data.
    pub(super) fn data_dirs(&self) -> Vec<&str> {
        let mut found: Vec<&str> = self.members.iter().map(|member| &*member.data_dir).collect();
        found.sort_unstable();
        found.dedup();
        if found.is_empty() { vec![DEFAULT_DATA_DIR] } else { found }
    }

    /// Whether revisions can be raised, if need be by a newer etcdutl of the same minor release.
    pub(super) fn bumps(&self) -> bool {
        self.has_etcdutl()
    }
}

/// The members, from the command lines of static pods, else as files record them: of the newest state first.
async fn members(
    states: &States<'_>,
    newest: Option<&State<'_>>,
    newest_status: Option<&SourceStatus>,
    status: &SourceStatus,
) -> Result<Vec<RestoredMember>> {
    let mut found: Vec<RestoredMember> = Vec::new();
    for state in newest.into_iter().chain([&states.backup]) {
        if found.is_empty() {
            found = state.objects("/pods/kube-system/etcd-").await?.iter().filter_map(RestoredMember::of_pod).collect();
        }
    }
    for status in newest_status.filter(|_| newest.is_some()).into_iter().chain([status]) {
        if found.is_empty() {
            found = status.members.iter().filter_map(RestoredMember::recorded).collect();
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found.dedup_by(|one, other| one.name == other.name);
    Ok(found)
}

/// By how much revisions are raised.
async fn bump(states: &States<'_>, newest: &State<'_>) -> Result<Bump> {
    let first = states.backup.cluster.moment_of(At::Revision(states.backup.revision)).await?;
    let last = newest.cluster.moment_of(At::Revision(newest.revision)).await?;
    Ok(Bump::of(states.backup.revision.0, newest.revision.0, first.zip(last), states.asked.now))
}

/// The namespace that holds a shoot's control plane: `shoot--PROJECT--NAME` (gardener v1.1xx, `docs/usage/shoot/shoot_info_configmap.md`).
async fn shoot(state: &State<'_>) -> Result<Option<String>> {
    let info = state.objects("/configmaps/kube-system/shoot-info").await?;
    let text = |field: &str| info.first().and_then(|info| info["data"][field].as_str());
    Ok(text("projectName").zip(text("shootName")).map(|(project, name)| format!("shoot--{project}--{name}")))
}

/// What to bring back once the restored cluster runs.
fn bring_back(of: ExtractCommands) -> Step {
    let says = match &of.plan {
        Some(_) => "Bring back what people and GitOps wrote since the backup; the first command names what would conflict",
        None => "Bring back what people and GitOps wrote since the backup",
    };
    Step::new("", says, of.plan.into_iter().chain([format!("{} --show-secrets | kubectl apply -f -", of.extract)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_unpacked_and_a_members_database_has_no_hash() {
        let packed = WayFacts::of_file(&SourceStatus::new(SourceKind::Db, "/b/my snap.db.zst".to_owned()));
        assert_eq!((packed.unpack.as_deref(), &*packed.file), (Some("zstd -dk '/b/my snap.db.zst'"), "/b/my snap.db"));
        assert!(!packed.skips_hash);
        let member = WayFacts::of_file(&SourceStatus::new(SourceKind::DataDir, "/var/lib/etcd/".to_owned()));
        assert_eq!((&*member.file, member.skips_hash), ("/var/lib/etcd/member/snap/db", true));
    }
}
