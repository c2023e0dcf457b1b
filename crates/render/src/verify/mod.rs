//! What `verify` found, for people: the verdict on the first line, details below.

pub mod metrics;

use std::io;

use super::contract::verify::VerificationVerdict;
use super::duration;
use super::style::{ADDED, FAINT, REMOVED, STRONG, StyledWrite, WARNING, paint};
use super::visible::visible;
use super::words::{bytes, grouped};
use ketcd_cluster::verify::{self as answer, Finding, FindingKind, Verification, Weight};
use ketcd_store::Member;

/// How many findings of a kind are shown, unless all are asked for.
const MAX_FINDINGS_SHOWN: usize = 10;

/// How many members are named.
const MAX_MEMBERS_NAMED: usize = 5;

/// Writes verifications, the best source first; `is_wide` shows every finding.
///
/// # Errors
/// The stream's.
pub fn write_text(all: &[Verification], is_wide: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    for (place, one) in all.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        head(one, out)?;
        if let [best, _, ..] = all {
            rank(best, one, place, all.len(), out)?;
        }
        details(one, is_wide, out)?;
    }
    Ok(())
}

/// The first line: the verdict with what it rests on.
fn head(of: &Verification, out: &mut dyn StyledWrite) -> io::Result<()> {
    let not_checked = if of.not_checked.is_empty() { String::new() } else { format!("; not checked: {}", of.not_checked.join("; ")) };
    let text = format!("{}{not_checked}", facts(of).join(", "));
    let verdict = VerificationVerdict::from(of.verdict());
    let word = match verdict {
        VerificationVerdict::Good if of.not_checked.is_empty() => paint(ADDED, "GOOD").to_string(),
        VerificationVerdict::Good => paint(ADDED, "GOOD as a file").to_string(),
        VerificationVerdict::Findings => paint(WARNING, "FINDINGS").to_string(),
        VerificationVerdict::Bad => paint(REMOVED, "BAD").to_string(),
    };
    writeln!(out, "{word}: {}", visible(&text))
}

/// What the first line says of a source.
fn facts(of: &Verification) -> Vec<String> {
    let mut facts = vec![of.name.clone(), format!("revision {}", of.revision())];
    facts.extend(of.age.map(|age| format!("{} old", duration::age_words(age))));
    facts.push(format!("{} keys", grouped(usize::try_from(of.keys).unwrap_or(usize::MAX))));
    if of.verdict() != answer::Verdict::Good {
        let fatal = of.findings.iter().find(|finding| finding.is_fatal());
        facts.push(fatal.map_or_else(|| counted(&of.findings), |fatal| format!("cannot be restored as it is: {}", fatal.says)));
    } else {
        // What a person asks first; the rest is below.
        let first = |checked: &&String| checked.starts_with("SHA-256") || checked.starts_with("every value");
        facts.extend(of.checked.iter().filter(first).cloned());
    }
    facts
}

/// `3 findings (2 tampering, 1 unreadable)`, without those that leave the verdict good.
fn counted(findings: &[Finding]) -> String {
    let counts: Vec<(FindingKind, usize)> = FindingKind::ALL
        .into_iter()
        .map(|kind| (kind, findings.iter().filter(|finding| finding.kind == kind && !finding.is_remark()).count()))
        .filter(|(_, count)| *count > 0)
        .collect();
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    let each: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
    format!("{all} {} ({})", if all == 1 { "finding" } else { "findings" }, each.join(", "))
}

/// The place of a source among several.
fn rank(best: &Verification, one: &Verification, place: usize, all: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    let lacks = answer::lacks(best, one);
    let text = match (place, one.verdict(), lacks.is_empty()) {
        (0, answer::Verdict::Bad, _) => "none of them can be restored as it is".to_owned(),
        (0, ..) => format!("the best of {all} to restore from"),
        (_, _, true) => "lacks nothing that the first has".to_owned(),
        _ => format!("{lacks} of the first"),
    };
    line(out, "rank", &format!("{} of {all}: {}", place + 1, visible(&text)))
}

fn details(of: &Verification, is_wide: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    for kind in FindingKind::ALL {
        let mut of_kind = of.findings.iter().filter(|finding| finding.kind == kind);
        let shown = if is_wide { usize::MAX } else { MAX_FINDINGS_SHOWN };
        for finding in of_kind.by_ref().take(shown) {
            write_finding(finding, out)?;
        }
        let more = of_kind.count();
        if more > 0 {
            line(out, kind.name(), &paint(FAINT, format!("{} more (-o wide shows all)", grouped(more))).to_string())?;
        }
    }
    if let Some(cluster) = cluster(of) {
        line(out, "cluster", &visible(&cluster))?;
    }
    if let Some(hash) = of.hash_kv {
        let compacted = hash.compacted.map_or_else(|| "nothing compacted".to_owned(), |revision| format!("compacted at {revision}"));
        line(out, "HashKV", &format!("{} at revision {}, {compacted}", hash.hash, hash.revision))?;
    }
    for (place, text) in of.checked.iter().enumerate() {
        line(out, if place == 0 { "checked" } else { "" }, &visible(text))?;
    }
    for (place, text) in of.not_checked.iter().enumerate() {
        line(out, if place == 0 { "not checked" } else { "" }, &paint(WARNING, text).to_string())?;
    }
    Ok(())
}

/// What the data are of: the etcd, its members, the API server's release, the readable history and the size; `None` where nothing is known.
fn cluster(of: &Verification) -> Option<String> {
    if of.revision().0 == 0 {
        return None;
    }
    let mut parts: Vec<String> = of.cluster_id.iter().map(|id| format!("id {id}")).collect();
    parts.extend(of.release.map(|release| format!("Kubernetes {release}")));
    let members = of.members.iter().take(MAX_MEMBERS_NAMED).map(member);
    parts.extend(members);
    let more = of.members.len().saturating_sub(MAX_MEMBERS_NAMED);
    parts.extend((more > 0).then(|| format!("{more} more members")));
    let length = of.oldest_written.zip(of.written).map(|(oldest, newest)| newest.duration_since(oldest).as_secs_f64());
    let length = length.map(|seconds| format!(" ({})", duration::length(seconds))).unwrap_or_default();
    parts.push(format!("revisions {} to {}{length}", of.span.oldest, of.span.newest));
    parts.extend((of.bytes > 0).then(|| bytes(of.bytes)));
    Some(parts.join(", "))
}

/// A member with its release and how full it is: `member etcd-1 (3.7.3, 12 % of its quota)`.
fn member(of: &Member) -> String {
    let name = [&of.name, &of.endpoint, &of.id].into_iter().find(|name| !name.is_empty()).map_or("without a name", String::as_str);
    let quota = of.db_size_quota.filter(|quota| *quota > 0);
    let full = quota.map(|quota| format!("{} % of its quota", of.db_size.saturating_mul(100) / quota));
    let known: Vec<String> = Some(&of.version).filter(|version| !version.is_empty()).cloned().into_iter().chain(full).collect();
    let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
    format!("member {name}{known}")
}

fn write_finding(finding: &Finding, out: &mut dyn StyledWrite) -> io::Result<()> {
    let style = match finding.weight {
        Weight::High => REMOVED,
        Weight::Medium => WARNING,
        Weight::Low => FAINT,
    };
    let revision = finding.revision.map_or_else(String::new, |revision| format!("r{revision} "));
    let key = finding.key.as_deref().map_or_else(String::new, |key| format!("{} ", paint(STRONG, key)));
    let weight = paint(style, finding.weight);
    line(out, finding.kind.name(), &format!("{weight}  {revision}{key}{}", visible(&finding.says)))?;
    for fact in &finding.evidence {
        line(out, "", &paint(FAINT, fact).to_string())?;
    }
    Ok(())
}

fn line(out: &mut dyn StyledWrite, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{label:<14}{text}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ketcd_store::{Revision, RevisionSpan, SourceKind};

    use super::*;
    use crate::style::plain;

    fn verification() -> Verification {
        Verification {
            name: "snapshot.db".to_owned(),
            kind: SourceKind::Db,
            span: RevisionSpan { oldest: Revision(1), newest: Revision(441_846), compacted: None },
            written: None,
            oldest_written: None,
            age: Some(Duration::from_secs(26 * 60 + 5)),
            keys: 253_323,
            bytes: 1,
            cluster_id: None,
            members: Vec::new(),
            release: None,
            hash_kv: None,
            log: None,
            findings: Vec::new(),
            checked: ["SHA-256 holds", "pages, tree and freelist are whole", "every value decodes"].map(str::to_owned).to_vec(),
            not_checked: Vec::new(),
        }
    }

    fn first_line(of: &[Verification]) -> String {
        plain(|out| write_text(of, false, out)).lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_first_line_is_the_verdict() {
        let good = verification();
        assert_eq!(
            first_line(std::slice::from_ref(&good)),
            "GOOD: snapshot.db, revision 441846, 26 min old, 253,323 keys, SHA-256 holds, every value decodes"
        );
        let bare = Verification {
            checked: vec!["every value decodes".to_owned()],
            not_checked: vec!["no SHA-256 in it, a changed value cannot be noticed".to_owned()],
            ..good.clone()
        };
        assert_eq!(
            first_line(&[bare]),
            "GOOD as a file: snapshot.db, revision 441846, 26 min old, 253,323 keys, every value decodes; not checked: no SHA-256 in it, a changed \
             value cannot be noticed"
        );
        let damaged =
            Verification { findings: vec![Finding::new(FindingKind::Checksum, Weight::High, "the SHA-256 does not hold")], ..good.clone() };
        let damaged_line = first_line(&[damaged]);
        assert!(
            damaged_line.starts_with("BAD: snapshot.db") && damaged_line.ends_with("restored as it is: the SHA-256 does not hold"),
            "{damaged_line}"
        );
    }

    #[test]
    fn findings_are_counted_and_then_shown() {
        let tampering =
            Finding::new(FindingKind::Tampering, Weight::High, "it is indented").of_key(b"/registry/configmaps/a/b\x1b").at(Revision(7));
        let remark = Finding::new(FindingKind::Reference, Weight::Low, "secret/a/b does not exist");
        let of = Verification { findings: vec![tampering.because("no server writes so"), remark], ..verification() };
        let text = plain(|out| write_text(std::slice::from_ref(&of), false, out));
        assert!(text.starts_with("FINDINGS: snapshot.db, revision 441846, 26 min old, 253,323 keys, 1 finding (1 tampering)"), "{text}");
        assert!(text.contains("tampering     high  r7 /registry/configmaps/a/b"), "{text}");
        assert!(!text.contains('\x1b') && text.contains("              no server writes so"), "{text}");
        let many = Verification { findings: vec![Finding::new(FindingKind::Reference, Weight::Low, "gone"); 30], ..of };
        assert!(plain(|out| write_text(std::slice::from_ref(&many), false, out)).contains("reference     20 more (-o wide shows all)"));
        assert!(!plain(|out| write_text(&[many], true, out)).contains("more (-o wide"));
    }

    #[test]
    fn the_cluster_is_told_in_one_line() {
        let at = |text: &str| Some(text.parse().unwrap());
        let of = Verification {
            cluster_id: Some("790f2b6e7db11d19".to_owned()),
            release: Some(ketcd_kube::Release(36)),
            oldest_written: at("2026-11-20T22:00:00Z"),
            written: at("2026-11-20T22:12:01Z"),
            bytes: 16 << 20,
            ..verification()
        };
        assert_eq!(cluster(&of).as_deref(), Some("id 790f2b6e7db11d19, Kubernetes 1.36, revisions 1 to 441846 (12m01s), 16.0 MiB"));
        let nothing = RevisionSpan { oldest: Revision(0), newest: Revision(0), compacted: None };
        assert_eq!(cluster(&Verification { span: nothing, ..of }), None);
    }

    #[test]
    fn several_are_ranked() {
        let (newest, older) = (verification(), verification());
        let older = Verification { name: "older.db".to_owned(), span: RevisionSpan { newest: Revision(441_840), ..older.span }, ..older };
        let text = plain(|out| write_text(&[newest, older], false, out));
        assert!(text.contains("rank          1 of 2: the best of 2 to restore from"), "{text}");
        assert!(text.contains("rank          2 of 2: lacks the last 6 revisions of the first"), "{text}");
    }
}
