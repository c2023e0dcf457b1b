//! What the steps of a restore depend on: the file, the members, the release, and how far revisions are raised.

use ketcd_store::shell::quoted;
use ketcd_store::{At, Checksum, SourceKind, SourceStatus};

use super::super::extraction::{self, ExtractCommands};
use super::super::states::{RehearsedState, States};
use super::bump::Bump;
use super::distribution::{Distribution, distribution};
use super::members::{DEFAULT_DATA_DIR, RestoredMember};
use super::release::EtcdRelease;
use super::step::Step;
use crate::error::Result;

/// Endings of compressed files, and the command that unpacks each next to it.
const COMPRESSED_ENDINGS: [(&str, &str); 3] = [(".zst", "zstd -dk"), (".gz", "gunzip -k"), (".xz", "xz -dk")];

/// Endings of archives, and the command that takes an entry out of each.
const ARCHIVES: [(&str, &str); 6] = [
    (".tar", "tar -xf"),
    (".tar.gz", "tar -xf"),
    (".tgz", "tar -xf"),
    (".tar.xz", "tar -xf"),
    (".tar.zst", "tar --zstd -xf"),
    (".zip", "unzip"),
];

/// Where a member's data dir has its database.
const MEMBERS_DATABASE: &str = "member/snap/db";

/// Between an archive and the name of an entry in it.
const ENTRY_SEPARATOR: &str = "::";

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
    pub(super) async fn of(states: &States<'_>) -> Result<Self> {
        let (status, newest_status) = (&states.backup_status, states.newest_status.as_ref());
        let mut facts = Self { token: format!("restored-r{}", states.backup.revision), ..Self::of_file(status) };
        let newest = states.newest.as_ref().filter(|_| states.is_of_one_cluster != Some(false));
        for state in newest.into_iter().chain([&states.backup]) {
            if let Some((distribution, evidence)) =
                distribution(state, status.kind, status.database.as_ref().unwrap_or(&status.name)).await?
            {
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
        let mut facts = Self { backup: status.name.clone(), ..Self::default() };
        if status.kind == SourceKind::DataDir {
            facts
                .notes
                .push("a restore of a member's database leaves out what only its log has; the member itself starts with both".to_owned());
        }
        facts.unpacked(status);
        facts.skips_hash = status.kind == SourceKind::DataDir || status.checksums.contains(&Checksum::Absent);
        facts
    }

    /// Names the file, and notes how it is taken out of an archive and unpacked.
    fn unpacked(&mut self, status: &SourceStatus) {
        let of_member = if status.kind == SourceKind::DataDir { MEMBERS_DATABASE } else { "" };
        let (path, below) = match &status.database {
            Some(database) => (database, ""),
            None => (&status.name, of_member),
        };
        let (archive, entry) = path.split_once(ENTRY_SEPARATOR).unwrap_or((path, ""));
        let joined = |folder: &str| if below.is_empty() { folder.to_owned() } else { format!("{}/{below}", folder.trim_end_matches('/')) };
        let command = ARCHIVES.iter().find(|(ending, _)| archive.ends_with(ending)).map(|(_, command)| *command);
        let mut commands = Vec::new();
        self.file = match command {
            None => joined(path),
            Some(command) if is_plain(entry) => {
                commands.push(format!("{command} {} {}", quoted(archive.as_bytes()), quoted(entry.as_bytes())));
                // tar and unzip take the slash away that a name begins with.
                joined(entry.trim_start_matches('/'))
            }
            Some(command) => {
                commands.push(format!("{command} {}", quoted(archive.as_bytes())));
                let file = if below.is_empty() { "snapshot.db" } else { below };
                self.notes.push(format!("where the backup lies in {path}: the commands call it {file}"));
                file.to_owned()
            }
        };
        let compressed = COMPRESSED_ENDINGS.iter().find_map(|(ending, command)| Some((self.file.strip_suffix(ending)?, command)));
        if let Some((plain, command)) = compressed {
            commands.push(format!("{command} {}", quoted(self.file.as_bytes())));
            self.file = plain.to_owned();
        }
        self.unpack = (!commands.is_empty()).then(|| commands.join(" && "));
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
    newest: Option<&RehearsedState<'_>>,
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
async fn bump(states: &States<'_>, newest: &RehearsedState<'_>) -> Result<Bump> {
    let first = states.backup.cluster.moment_of(At::Revision(states.backup.revision)).await?;
    let last = newest.cluster.moment_of(At::Revision(newest.revision)).await?;
    Ok(Bump::of(states.backup.revision.0, newest.revision.0, first.zip(last), states.asked.now))
}

/// The namespace that holds a shoot's control plane: `shoot--PROJECT--NAME` (gardener v1.1xx, `docs/usage/shoot/shoot_info_configmap.md`).
async fn shoot(state: &RehearsedState<'_>) -> Result<Option<String>> {
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

/// Whether a name in an archive can be given to the program that unpacks it: it lies in no further archive, and is not taken for a flag.
fn is_plain(entry: &str) -> bool {
    !entry.is_empty() && !entry.contains(ENTRY_SEPARATOR) && !entry.trim_start_matches('/').starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_unpacked_and_a_members_database_has_no_hash() {
        let packed = WayFacts::of_file(&SourceStatus::new(SourceKind::Db, "/b/my snap.db.zst".to_owned()));
        assert_eq!((packed.unpack.as_deref(), &*packed.file), (Some("zstd -dk '/b/my snap.db.zst'"), "/b/my snap.db"));
        assert!(!packed.skips_hash);
        let unpacked = |kind, name: &str| {
            let facts = WayFacts::of_file(&SourceStatus::new(kind, name.to_owned()));
            (facts.unpack.unwrap_or_default(), facts.file)
        };
        let told = |unpack: &str, file: &str| (unpack.to_owned(), file.to_owned());
        let lying = |kind, name: &str, database: &str| {
            let facts =
                WayFacts::of_file(&SourceStatus { database: Some(database.to_owned()), ..SourceStatus::new(kind, name.to_owned()) });
            assert!(!facts.notes.iter().any(|note| note.starts_with("where the backup lies")), "{:?}", facts.notes);
            (facts.unpack.unwrap_or_default(), facts.file)
        };
        assert_eq!(lying(SourceKind::Db, "k.zip", "k.zip::etcd/night 1.db"), told("unzip k.zip 'etcd/night 1.db'", "etcd/night 1.db"));
        assert_eq!(lying(SourceKind::Db, "r.zip", "r.zip::/backup/night"), told("unzip r.zip /backup/night", "backup/night"));
        let packed = told("tar -xf k.tar day/etcd.backup.gz && gunzip -k day/etcd.backup.gz", "day/etcd.backup");
        assert_eq!(lying(SourceKind::Db, "k.tar", "k.tar::day/etcd.backup.gz"), packed);
        assert_eq!(unpacked(SourceKind::Db, "k.tar::day/etcd.backup.gz"), packed);
        assert_eq!(
            lying(SourceKind::DataDir, "m.tgz", "m.tgz::m1/member/snap/db"),
            told("tar -xf m.tgz m1/member/snap/db", "m1/member/snap/db")
        );
        assert_eq!(unpacked(SourceKind::Db, "k.tar::--to-command=sh"), told("tar -xf k.tar", "snapshot.db"));
        assert_eq!(lying(SourceKind::Db, "/nightly", "/nightly/last.db.zst"), told("zstd -dk /nightly/last.db.zst", "/nightly/last.db"));
        assert_eq!(lying(SourceKind::DataDir, "/copies", "/copies/m1/member/snap/db"), told("", "/copies/m1/member/snap/db"));
        assert_eq!(
            unpacked(SourceKind::Db, "/b/all.tar.zst::day/my snap.db"),
            told("tar --zstd -xf /b/all.tar.zst 'day/my snap.db'", "day/my snap.db")
        );
        assert_eq!(unpacked(SourceKind::DataDir, "all.tgz::etcd"), told("tar -xf all.tgz etcd", "etcd/member/snap/db"));
        assert_eq!(unpacked(SourceKind::Db, "all.zip::snap.db"), told("unzip all.zip snap.db", "snap.db"));
        assert_eq!(unpacked(SourceKind::DataDir, "member.tar.zst"), told("tar --zstd -xf member.tar.zst", "member/snap/db"));
        assert_eq!(unpacked(SourceKind::Db, "snap.db"), told("", "snap.db"));
        let member = WayFacts::of_file(&SourceStatus::new(SourceKind::DataDir, "/var/lib/etcd/".to_owned()));
        assert_eq!((&*member.file, member.skips_hash), ("/var/lib/etcd/member/snap/db", true));
    }
}
