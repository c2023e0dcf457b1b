//! The comparison of a cluster's members, as text and as JSON.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::contract::diff::{ComparedMember, HeldVersion, MemberDifference, Members};
use super::style::{FAINT, REMOVED, STRONG, paint};
use super::visible::visible;
use ketcd_store::{Revision, RevisionSpan};

/// The members compared, and where they differ.
pub struct Comparison {
    /// The revision at which they were compared.
    pub revision: Revision,
    /// The members.
    pub members: Vec<MemberSpan>,
    /// How many keys at least one of them has.
    pub keys: usize,
    /// The keys that differ, ascending.
    pub differences: Vec<DifferingKey>,
}

/// A member, and the revisions that it can be read at.
pub struct MemberSpan {
    /// Its endpoint, or its file.
    pub name: String,
    /// Its revisions.
    pub span: RevisionSpan,
}

/// A key that is not the same in all members.
pub struct DifferingKey {
    /// The key.
    pub key: String,
    /// The versions that members hold, the one that most of them hold first.
    pub holders: Vec<Holders>,
}

/// Members that hold the same version of a key.
pub struct Holders {
    /// The version; `None` if they do not have the key.
    pub version: Option<KeyVersion>,
    /// The members, by their places.
    pub members: Vec<usize>,
}

/// The version of a key that a member holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyVersion {
    /// The revision that wrote it.
    pub mod_revision: Revision,
    /// The revision that created the key.
    pub create_revision: Revision,
    /// etcd's number of the version.
    pub version: i64,
    /// The SHA-256 of its value.
    pub sha256: [u8; 32],
}

impl Comparison {
    /// The member that differs from all others where these agree, in every key that differs.
    pub fn alone(&self) -> Option<&str> {
        let alone = |key: &DifferingKey| match &key.holders[..] {
            [others, Holders { members, .. }] if others.members.len() > 1 && members.len() == 1 => members.first().copied(),
            _ => None,
        };
        let first = alone(self.differences.first()?)?;
        self.differences.iter().all(|key| alone(key) == Some(first)).then(|| &*self.members[first].name)
    }

    /// The comparison as JSON.
    pub fn contract(&self) -> Members<'_> {
        let names = |members: &[usize]| members.iter().map(|&member| &*self.members[member].name).collect();
        let versions = |key: &DifferingKey| {
            let held = |holders: &Holders| HeldVersion {
                members: names(&holders.members),
                mod_revision: holders.version.map(|version| version.mod_revision.0),
                sha256: holders.version.map(|version| hex(&version.sha256)),
                version: holders.version.map(|version| version.version),
            };
            key.holders.iter().map(held).collect()
        };
        Members {
            kind: "Members",
            agree: self.differences.is_empty(),
            alone: self.alone(),
            differences: self.differences.iter().map(|key| MemberDifference { key: &key.key, versions: versions(key) }).collect(),
            keys: self.keys as u64,
            members: self
                .members
                .iter()
                .map(|member| ComparedMember { name: &member.name, newest: member.span.newest.0, oldest_readable: member.span.oldest.0 })
                .collect(),
            revision: self.revision.0,
        }
    }
}

/// Writes the comparison for people: the answer first.
///
/// # Errors
/// The stream's.
pub fn write_text(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let Comparison { revision, members, keys, differences } = comparison;
    let at = format!("{} members at r{revision}", members.len());
    if differences.is_empty() {
        return writeln!(out, "{}  they agree: {keys} keys", paint(STRONG, at));
    }
    let which = match (comparison.alone(), members.len()) {
        (Some(name), _) => format!("{} stands alone", visible(name)),
        (None, 2) => "nothing shows which of the two is right".to_owned(),
        (None, _) => "no single member stands alone".to_owned(),
    };
    writeln!(out, "{}  {} of {keys} keys differ; {which}", paint(STRONG, at), paint(REMOVED, differences.len().to_string()))?;
    for difference in differences {
        writeln!(out, "{}", visible(&difference.key))?;
        for Holders { version, members: holders } in &difference.holders {
            let names: Vec<&str> = holders.iter().map(|&member| &*members[member].name).collect();
            let held = match version {
                None => "not there".to_owned(),
                Some(version) => {
                    let digest = paint(FAINT, format!("SHA-256 {}…", &hex(&version.sha256)[..16]));
                    format!("r{}  version {}  {digest}", version.mod_revision, version.version)
                }
            };
            writeln!(out, "  {held}  in {}", visible(&names.join(", ")))?;
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
