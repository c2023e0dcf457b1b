//! The command line that makes a member's data of the backup.
//!
//! etcd v3.7.3, `etcdutl/etcdutl/snapshot_command.go`: its flags; `etcdutl/snapshot/v3_snapshot.go`: the data dir must not hold a member, a file without
//! its SHA-256 (a copy of a member's `db`) needs `--skip-hash-check`, and all members are given one token and one list of peers.

use ketcd_store::shell::quoted;

use super::bump::BUMP_WITHOUT_NEWER;
use super::facts::WayFacts;
use super::members::{RestoredMember, initial_cluster};
use crate::numbers::grouped;

pub(super) fn restore_command(facts: &WayFacts, member: &RestoredMember) -> String {
    let word = |text: &str| quoted(text.as_bytes());
    let tool = if facts.has_etcdutl() { "etcdutl" } else { "ETCDCTL_API=3 etcdctl" };
    let mut command = format!("{tool} snapshot restore {}", word(&facts.file));
    for (flag, value) in [
        ("--name", &*member.name),
        ("--initial-cluster", &initial_cluster(&facts.members)),
        ("--initial-cluster-token", &facts.token),
        ("--initial-advertise-peer-urls", &member.peer_urls.join(",")),
        ("--data-dir", &member.data_dir),
    ] {
        command.push_str(&format!(" {flag} {}", word(value)));
    }
    if facts.skips_hash {
        command.push_str(" --skip-hash-check");
    }
    if facts.bumps() {
        let by = facts.bump.map_or(BUMP_WITHOUT_NEWER, |bump| bump.by);
        command.push_str(&format!(" --bump-revision {by} --mark-compacted"));
    }
    command
}

/// What is to be said of the revisions of the restored etcd.
pub(super) fn says_of_revisions(facts: &WayFacts) -> String {
    if !facts.bumps() {
        return "this release of etcd cannot raise revisions: they go back, so restart every program that watches, also those on the nodes"
            .to_owned();
    }
    let amount = match facts.bump {
        Some(bump) => bump.says(),
        None => format!("no newer state shows the newest revision: {} is what etcd's guide proposes", grouped(BUMP_WITHOUT_NEWER)),
    };
    match facts.release() {
        Some(release) if !release.bumps() => format!("{amount}; it takes etcdutl 3.5.10 or later, the members' own is too old"),
        None => format!("{amount}; it takes etcdutl 3.5.10 or later"),
        Some(_) => amount,
    }
}

#[cfg(test)]
mod tests {
    use super::super::bump::Bump;
    use super::super::release::EtcdRelease;
    use super::*;

    fn facts(release: &str) -> WayFacts {
        let member = |name: &str| RestoredMember {
            name: name.to_owned(),
            peer_urls: vec![format!("https://{name}:2380")],
            node: String::new(),
            data_dir: "/var/lib/etcd".to_owned(),
            release: EtcdRelease::parse(release),
        };
        let bump = Some(Bump::of(441_846, 512_003, None, None));
        WayFacts {
            file: "my backup.db".to_owned(),
            token: "restored-r441846".to_owned(),
            members: vec![member("a"), member("b")],
            bump,
            ..WayFacts::default()
        }
    }

    #[test]
    fn a_member_is_restored_as_printed() {
        let facts = facts("3.6.4");
        assert_eq!(
            restore_command(&facts, &facts.members[1]),
            "etcdutl snapshot restore 'my backup.db' --name b --initial-cluster a=https://a:2380,b=https://b:2380 \
             --initial-cluster-token restored-r441846 --initial-advertise-peer-urls https://b:2380 --data-dir /var/lib/etcd \
             --bump-revision 1071000 --mark-compacted"
        );
        assert!(says_of_revisions(&facts).starts_with("revisions are raised by 1,071,000: 70,157 that the backup lacks"));
    }

    #[test]
    fn older_releases_are_told_what_to_take_instead() {
        let old = facts("3.5.9");
        assert!(restore_command(&old, &old.members[0]).contains("--bump-revision") && says_of_revisions(&old).ends_with("too old"));
        let older = facts("3.4.20");
        let command = restore_command(&older, &older.members[0]);
        assert!(command.starts_with("ETCDCTL_API=3 etcdctl snapshot restore") && !command.contains("--bump-revision"), "{command}");
        assert!(says_of_revisions(&older).contains("restart every program that watches"));
    }

    #[test]
    fn without_a_newer_state_the_guides_amount_is_taken() {
        let facts = WayFacts { bump: None, skips_hash: true, ..facts("3.6.4") };
        assert!(restore_command(&facts, &facts.members[0]).ends_with("--skip-hash-check --bump-revision 1000000000 --mark-compacted"));
    }
}
