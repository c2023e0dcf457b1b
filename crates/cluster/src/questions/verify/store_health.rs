//! The etcd behind the data: its alarms and size, how old the newest write is, whether compaction goes on, and encryption as it is configured.

use std::time::Duration;

use jiff::Timestamp;

use ketcd_kube::encryption::{AuditRow, Promise, Scheme};
use ketcd_store::{MemberHash, RevisionSpan, SourceKind, SourceStatus};

use super::asked::VerifyAsked;
use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;
use crate::cluster::Cluster;
use crate::error::Result;

/// API servers compact to what is five minutes old (k8s.io/apiserver v0.37.1, `pkg/storage/etcd3/compact.go` and `pkg/storage/storagebackend/config.go`,
/// `DefaultCompactInterval`): two intervals are kept at most. A longer history shows that they have stopped, or never do.
const KEPT_AT_MOST: Duration = Duration::from_secs(60 * 60);

/// A database larger than this part of its quota needs a look, in percent.
const FULL_PERCENT: i64 = 80;

/// When the newest revision that can be dated was written, and the oldest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    pub oldest: Option<Timestamp>,
    pub newest: Option<Timestamp>,
}

impl Written {
    /// Dates the ends of the history.
    pub(super) async fn of(cluster: &Cluster, span: RevisionSpan) -> Result<Self> {
        if cluster.source.is_one_moment() {
            return Ok(Self { oldest: None, newest: cluster.newest_time().await? });
        }
        let clock = cluster.clock().await?;
        let oldest = clock.dated_span().and_then(|(first, _)| clock.date(first.max(span.oldest))).map(|dated| dated.time);
        Ok(Self { oldest, newest: clock.newest().map(|dated| dated.time) })
    }

    /// How long before `now` the newest was.
    pub(super) fn age(self, now: Option<Timestamp>) -> Option<Duration> {
        let since = now?.duration_since(self.newest?);
        Some(since.try_into().unwrap_or(Duration::ZERO))
    }
}

/// Returns what is wrong with the etcd.
pub(super) fn check(status: &SourceStatus, span: RevisionSpan, written: Written, asked: &VerifyAsked) -> Part {
    let mut part = Part::default();
    for alarm in &status.alarms {
        part.findings.push(Finding::new(FindingKind::Member, Weight::High, format!("an alarm is raised: {alarm}")));
    }
    for member in &status.members {
        let Some(quota) = member.db_size_quota.filter(|quota| *quota > 0) else { continue };
        let percent = member.db_size.saturating_mul(100) / quota;
        if percent >= FULL_PERCENT {
            let says = format!("the database of {} takes {percent} % of its quota", member.endpoint);
            part.findings.push(Finding::new(FindingKind::Member, Weight::Medium, says));
        }
    }
    age(written, asked, &mut part);
    compaction(status.kind, span, written, &mut part);
    part
}

fn age(written: Written, asked: &VerifyAsked, part: &mut Part) {
    let Some(most) = asked.max_age else { return };
    match written.age(asked.now) {
        None => part.not_checked.push("its age: nothing in the data shows the time".to_owned()),
        Some(age) if age > most => {
            let says = format!("the newest write is {} old, {} are allowed", hours(age), hours(most));
            part.findings.push(Finding::new(FindingKind::Age, Weight::Medium, says));
        }
        Some(_) => part.checked.push(format!("not older than {}", hours(most))),
    }
}

fn compaction(kind: SourceKind, span: RevisionSpan, written: Written, part: &mut Part) {
    let is_etcds = matches!(kind, SourceKind::Live | SourceKind::Db | SourceKind::DataDir);
    let (Some(oldest), Some(newest)) = (written.oldest, written.newest) else { return };
    let kept: Duration = newest.duration_since(oldest).try_into().unwrap_or(Duration::ZERO);
    if !is_etcds || kept <= KEPT_AT_MOST {
        return;
    }
    let since =
        span.compacted.map_or_else(|| "nothing was ever compacted".to_owned(), |compacted| format!("compacted at revision {compacted}"));
    let says = format!("its history is {} long: API servers compact every 5 minutes unless they are told not to", hours(kept));
    part.findings.push(Finding::new(FindingKind::Compaction, Weight::Low, says).because(since));
}

/// A duration in its largest units.
fn hours(duration: Duration) -> String {
    let minutes = duration.as_secs() / 60;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// Returns whether the members of a running etcd hold the same data, by their own hashes.
pub(super) async fn members(cluster: &Cluster, status: &SourceStatus) -> Part {
    let mut part = Part::default();
    let Some(hashes) = cluster.source.hashes(status).await else { return part };
    part.not_checked.extend(hashes.left_out.iter().map(|why| format!("whether all members hold the same: {why}")));
    let compacted = hashes.members.iter().map(|member| member.compacted).max();
    let comparable: Vec<&MemberHash> = hashes.members.iter().filter(|member| Some(member.compacted) == compacted).collect();
    let [first, others @ ..] = &comparable[..] else { return part };
    if others.iter().all(|other| other.hash == first.hash) {
        part.checked
            .extend((!others.is_empty()).then(|| format!("{} members hold the same at revision {}", comparable.len(), hashes.revision)));
    } else {
        let says = format!("the members hold different data at revision {}: ketcd diff --members names the keys", hashes.revision);
        let finding = Finding::new(FindingKind::Member, Weight::High, says);
        part.findings
            .push(comparable.iter().fold(finding, |finding, member| finding.because(format!("{} has {}", member.endpoint, member.hash))));
    }
    part
}

/// Returns where values are not sealed as the configuration says.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn encryption(cluster: &Cluster, asked: &VerifyAsked) -> Result<Part> {
    let mut part = Part::default();
    let Some(configuration) = &asked.encryption else { return Ok(part) };
    let rows = cluster.seals(Some(configuration)).await?;
    part.findings.extend(rows.iter().filter(|row| row.promise.is_broken()).map(broken));
    if part.findings.is_empty() {
        part.checked.push("encryption is as configured".to_owned());
    }
    Ok(part)
}

fn broken(row: &AuditRow) -> Finding {
    let AuditRow { resource, scheme, name, values, promise, reason, .. } = row;
    let by = if *scheme == Scheme::Identity { "in plain text".to_owned() } else { format!("sealed by {scheme} under {name}") };
    let (weight, why) = match promise {
        Promise::DoesNotOpen => (Weight::Medium, "no key at hand opens them"),
        Promise::StillSealed => (Weight::Medium, "the configuration writes plain text: without the key they are lost"),
        Promise::PlainText => (Weight::Low, "the configuration seals them with the next write"),
        _ => (Weight::Low, "the configuration names another key first"),
    };
    let finding = Finding::new(FindingKind::Encryption, weight, format!("{values} values of {resource} are {by}: {why}"));
    reason.iter().fold(finding, |finding, reason| finding.because(reason))
}

#[cfg(test)]
mod tests {
    use ketcd_store::Revision;

    use super::*;

    fn written(hours: i64) -> Written {
        let newest: Timestamp = "2026-11-29T12:00:00Z".parse().unwrap();
        Written { oldest: Some(newest - jiff::SignedDuration::from_hours(hours)), newest: Some(newest) }
    }

    fn said(asked: &VerifyAsked, written: Written) -> Part {
        let span = RevisionSpan { oldest: Revision(1), newest: Revision(9), compacted: None };
        check(&SourceStatus::new(SourceKind::Db, "a.db".to_owned()), span, written, asked)
    }

    #[test]
    fn an_old_backup_is_a_finding_where_an_age_is_asked_for() {
        let now = Some("2026-11-30T15:30:00Z".parse().unwrap());
        let of = |hours: u64| VerifyAsked { max_age: Some(Duration::from_secs(hours * 3600)), now, ..VerifyAsked::default() };
        let old = said(&of(26), written(0));
        assert_eq!(old.findings[0].says, "the newest write is 27 h 30 min old, 26 h are allowed");
        assert!(said(&of(28), written(0)).findings.is_empty());
        assert!(said(&VerifyAsked { now, ..VerifyAsked::default() }, written(0)).findings.is_empty());
        assert_eq!(said(&of(26), Written::default()).not_checked.len(), 1);
    }

    #[test]
    fn a_history_that_is_not_compacted_is_a_remark() {
        assert!(said(&VerifyAsked::default(), written(1)).findings.is_empty());
        let long = said(&VerifyAsked::default(), written(3));
        assert!(long.findings[0].is_remark() && long.findings[0].says.starts_with("its history is 3 h long"), "{long:?}");
    }
}
