//! The comparison of a cluster's members, as text and as JSON.

use std::fmt::Write as _;
use std::io;

use super::contract::diff::{ComparedMember, HeldVersion, MemberDifference, Members};
use super::style::{FAINT, REMOVED, STRONG, StyledWrite, paint};
use super::visible::visible;
use ketcd_cluster::diff::{Comparison, DifferingKey, Holders};
use ketcd_cluster::kinds::KeySubject;

/// Returns the comparison as JSON.
pub fn document(comparison: &Comparison) -> Members<'_> {
    let names = |members: &[usize]| members.iter().map(|&member| &*comparison.members[member].name).collect();
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
        agree: comparison.differences.is_empty(),
        alone: comparison.alone(),
        differences: comparison.differences.iter().map(|key| difference(key, versions(key))).collect(),
        keys: comparison.keys as u64,
        members: comparison
            .members
            .iter()
            .map(|member| ComparedMember { name: &member.name, newest: member.span.newest.0, oldest_readable: member.span.oldest.0 })
            .collect(),
        revision: comparison.revision.0,
    }
}

fn difference<'a>(key: &'a DifferingKey, versions: Vec<HeldVersion<'a>>) -> MemberDifference<'a> {
    let KeySubject { kind, namespace, name } = &key.subject;
    MemberDifference { key: &key.key, kind, namespace, name, versions }
}

/// Writes the comparison for people: the answer first.
///
/// # Errors
/// The stream's.
pub fn write_text(comparison: &Comparison, out: &mut dyn StyledWrite) -> io::Result<()> {
    let Comparison { revision, members, keys, differences } = comparison;
    let at = format!("{} members at r{revision}", members.len());
    if differences.is_empty() {
        return writeln!(out, "{}  they agree: {keys} keys", paint(STRONG, at));
    }
    let which = match (comparison.alone(), members.len()) {
        (Some(name), _) => format!("{} stands alone", visible(name)),
        (None, 2) => "cannot tell which of the two is right".to_owned(),
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
