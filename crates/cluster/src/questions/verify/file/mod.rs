//! The file itself: its checksum, its pages, and what could not be read of it.

pub(super) mod log;

use ketcd_store::{Checksum, LateDamage, Source, SourceKind, SourceStatus};

use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;

/// What is said of a file without a checksum.
const NO_CHECKSUM: &str = "no SHA-256 in it, a changed value cannot be noticed";

/// The same of kine's databases, which never have one.
const NO_CHECKSUM_OF_KINE: &str = "kine keeps no checksum, a changed value cannot be noticed";

/// Returns what reading the source's bytes brought up. It waits for checksums.
pub(super) fn check(source: &dyn Source, status: &SourceStatus) -> Part {
    let mut part = Part::default();
    source.facts().late_damage.into_iter().for_each(LateDamage::read_all);
    let (damage, late) = (source.damage(), source.late_damage());
    let fails = status.checksums.contains(&Checksum::Fails);
    // The status names the same with or without the path of the file before it.
    let is_of = |known: &[String], problem: &str| known.iter().any(|known| known.ends_with(problem));
    for problem in &status.problems {
        if source.is_shared() {
            part.findings.push(Finding::new(FindingKind::Member, Weight::Medium, problem));
        } else if !is_of(damage, problem) && !is_of(&late, problem) && !status.unfinished.contains(problem) {
            part.not_checked.push(problem.clone());
        }
    }
    let contradictions = source.facts().log.map_or(&[][..], |log| log.contradictions());
    part.findings.extend(damage.iter().map(|problem| {
        let is_of_log = contradictions.iter().any(|contradiction| problem.ends_with(contradiction));
        Finding::new(if is_of_log { FindingKind::Log } else { FindingKind::Damage }, Weight::High, problem)
    }));
    for problem in late {
        let kind = if fails && problem.contains("SHA-256") { FindingKind::Checksum } else { FindingKind::Damage };
        part.findings.push(Finding::new(kind, Weight::High, problem));
    }
    part.findings.extend(status.gaps.iter().map(|gap| {
        let says = format!("revisions {} to {} are missing between {} and {}", gap.from, gap.to, gap.after, gap.before);
        Finding::new(FindingKind::Damage, Weight::Medium, says)
    }));
    let is_whole = part.findings.is_empty();
    unfinished(status, &mut part);
    if status.kind == SourceKind::Kine {
        part.not_checked.push(NO_CHECKSUM_OF_KINE.to_owned());
    }
    checksums(&status.checksums, &mut part);
    if is_whole {
        part.checked.extend(pages(status.kind).map(str::to_owned));
    }
    part.not_checked.extend(status.not_recorded.iter().map(|phrase| format!("not recorded: {phrase}")));
    part
}

/// Says of files that were not written to their end which the newest whole one is: the backup that was meant may be one of them.
fn unfinished(status: &SourceStatus, part: &mut Part) {
    let is_damaged = |name: &str| part.findings.iter().any(|finding| finding.says.starts_with(name));
    let newest = status.parts.iter().filter(|of| !is_damaged(&of.name)).max_by_key(|of| of.span.newest);
    let whole = match (newest, &status.database) {
        (Some(newest), _) => format!("; the newest whole file is {}, up to revision {}", newest.name, newest.span.newest),
        (None, Some(database)) => format!("; the file that is read is {database}"),
        (None, None) => String::new(),
    };
    let finding = |problem: &String| Finding::new(FindingKind::Damage, Weight::Medium, format!("{problem}{whole}"));
    let findings: Vec<Finding> = status.unfinished.iter().map(finding).collect();
    part.findings.extend(findings);
}

fn checksums(checksums: &[Checksum], part: &mut Part) {
    let count = |wanted| checksums.iter().filter(|checksum| **checksum == wanted).count();
    match (count(Checksum::Holds), checksums.len()) {
        (_, 0) => {}
        (1, 1) => part.checked.push("SHA-256 holds".to_owned()),
        (0, _) => {}
        (holds, all) => part.checked.push(format!("SHA-256 holds in {holds} of {all} files")),
    }
    match (count(Checksum::Absent), checksums.len()) {
        (0, _) => {}
        (1, 1) => part.not_checked.push(NO_CHECKSUM.to_owned()),
        (absent, all) => part.not_checked.push(format!("no SHA-256 in {absent} of {all} files, a changed value cannot be noticed there")),
    }
    if count(Checksum::Kept) > 0 {
        part.not_checked.push("the file was not read again: it is as it was when its index was made".to_owned());
    }
}

/// What was read whole.
fn pages(kind: SourceKind) -> Option<&'static str> {
    match kind {
        SourceKind::Db => Some("pages, tree and freelist are whole"),
        SourceKind::DataDir => Some("pages, tree and log are whole"),
        SourceKind::Kine => Some("pages and rows are whole"),
        SourceKind::Recording | SourceKind::Bundle => Some("its files are as its manifest says"),
        SourceKind::Live | SourceKind::Objects | SourceKind::AuditLog => None,
        #[cfg(not(ketcd_exhaustive))]
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use futures_util::FutureExt;

    use super::*;

    /// A member whose database is whole, with a log that repeats committed entries behind damage, one with another value.
    #[test]
    fn a_log_that_contradicts_itself_is_a_finding_of_the_log() {
        const DATABASE: &[u8] = ketcd_testing::seeds::BOLT_WHOLE;
        const LOG: &[u8] = ketcd_testing::seeds::WAL_WITH_ENTRIES_TWICE;
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in [("snap/db", DATABASE), ("wal/0000000000000000-0000000000000000.wal", LOG)] {
            let path = directory.path().join("member").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let source = ketcd_store::load::open(&[directory.path().to_str().unwrap().to_owned()], &|_| None).unwrap();
        let status = source.status().now_or_never().unwrap().unwrap();
        let part = check(&*source, &status);
        let of_log: Vec<&Finding> = part.findings.iter().filter(|finding| finding.kind == FindingKind::Log).collect();
        assert!(of_log.len() == 1 && of_log[0].is_fatal() && of_log[0].says.contains("on twice"), "{:?}", part.findings);
        assert!(part.findings.iter().any(|finding| finding.kind == FindingKind::Damage), "{:?}", part.findings);
    }

    #[test]
    fn one_checksum_and_many_are_said_apart() {
        let said = |of: &[Checksum]| {
            let mut part = Part::default();
            checksums(of, &mut part);
            (part.checked.join("; "), part.not_checked.join("; "))
        };
        assert_eq!(said(&[]), (String::new(), String::new()));
        assert_eq!(said(&[Checksum::Holds]), ("SHA-256 holds".to_owned(), String::new()));
        assert_eq!(said(&[Checksum::Absent]), (String::new(), NO_CHECKSUM.to_owned()));
        assert_eq!(said(&[Checksum::Holds, Checksum::Fails]), ("SHA-256 holds in 1 of 2 files".to_owned(), String::new()));
        assert!(said(&[Checksum::Holds, Checksum::Absent]).1.starts_with("no SHA-256 in 1 of 2 files"));
    }
}
