//! The words of a rehearsed restore: the decision in one line, and what is said of its sources, chapters and way.

use ketcd_cluster::rehearse::{Affected, Chapter, Distribution, Forecast, ForecastKind, Rehearsal, RehearsedSource};
use ketcd_cluster::verify::Verdict;
use ketcd_store::SourceKind;

use super::{address, grouped};
use crate::duration;

/// How many headlines besides those of what is lost are in the decision.
const MAX_HEADLINES: usize = 5;

/// What a restore would do, in one line: what is lost, what runs on, what does not fit, and what is better.
pub(crate) fn decision(of: &Rehearsal) -> String {
    let backup = of.backup().map_or_else(|| "the backup".to_owned(), |backup| named(backup, true));
    let over = of.newest().map(|newest| format!(" over {}", named(newest, false))).unwrap_or_default();
    format!("RESTORE of {backup}{over}: {}", parts(of).join("; "))
}

/// What the decision consists of.
fn parts(of: &Rehearsal) -> Vec<String> {
    if of.is_of_one_cluster == Some(false) {
        return vec!["do not: the backup is of another cluster, its namespace kube-system has another uid".to_owned()];
    }
    let mut parts = Vec::new();
    if let Some(bad) = of.backup().filter(|backup| backup.verdict == Verdict::Bad) {
        let why = if bad.says.is_empty() { String::new() } else { format!(": {}", bad.says) };
        parts.push(format!("it cannot be restored as it is{why}"));
    }
    let headlines =
        |chapter: Chapter| of.chapter(chapter).map(|forecast| forecast.headline.as_str()).filter(|headline| !headline.is_empty());
    let lost: Vec<&str> = headlines(Chapter::Lost).collect();
    let lost_words = |lost: &[&str]| if lost.is_empty() { String::new() } else { format!(": {}", lost.join(", ")) };
    match of.lost_revisions {
        None if lost.is_empty() => parts.push("what is lost is not known without a newer state".to_owned()),
        None => parts.push(lost.join(", ")),
        Some(0) => parts.push("you lose no revision".to_owned()),
        Some(count) => parts.push(format!("you lose {}{}", revisions(count), lost_words(&lost))),
    }
    parts.extend(other_headlines(of));
    parts.extend(of.better().map(|better| format!("better: {}", better_words(better, of.backup()))));
    parts
}

/// What is said of everything but what is lost: the weightiest, in the order of the chapters, and how many more there are.
fn other_headlines(of: &Rehearsal) -> Vec<String> {
    let chapters = [Chapter::Runs, Chapter::Fits, Chapter::Stale];
    let all: Vec<&Forecast> =
        chapters.into_iter().flat_map(|chapter| of.chapter(chapter)).filter(|forecast| !forecast.headline.is_empty()).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(all[*at].weight));
    order.truncate(MAX_HEADLINES);
    order.sort_unstable();
    let mut headlines: Vec<String> = order.iter().map(|at| all[*at].headline.clone()).collect();
    let more = all.len() - order.len();
    headlines.extend((more > 0).then(|| format!("and {} more", grouped(more))));
    headlines
}

/// Why another source is better than the backup: `member etcd-2 is whole and newer`.
fn better_words(better: &RehearsedSource, backup: Option<&RehearsedSource>) -> String {
    let state = match (better.kind, better.verdict) {
        (SourceKind::Live, _) => "runs",
        (_, Verdict::Good) => "is whole",
        (_, Verdict::Findings | Verdict::Bad) => "can be restored",
    };
    let is_newer = backup.is_some_and(|backup| better.revision > backup.revision);
    format!("{} {state}{}", kind_and_name(better), if is_newer { " and newer" } else { "" })
}

/// A source with its revision and, where that is wanted, its age: `member etcd-2 (r512003)`.
fn named(of: &RehearsedSource, with_age: bool) -> String {
    let age = of.age.filter(|_| with_age).map(|age| format!(", {} old", duration::age_words(age))).unwrap_or_default();
    format!("{} (r{}{age})", kind_and_name(of), of.revision)
}

fn kind_and_name(of: &RehearsedSource) -> String {
    match of.kind {
        SourceKind::DataDir => format!("member {}", of.name),
        SourceKind::Live => format!("live {}", of.name),
        _ => of.name.clone(),
    }
}

/// A source among several: its name, its revision and age, whether it is whole, and what it lacks.
pub(crate) fn source(of: &RehearsedSource) -> String {
    let mut says = vec![match of.verdict {
        Verdict::Good => "whole".to_owned(),
        Verdict::Findings => "can be restored".to_owned(),
        Verdict::Bad => "cannot be restored".to_owned(),
    }];
    match of.lacks {
        None => {}
        Some(0) => says.push("lacks nothing".to_owned()),
        Some(count) => says.push(format!("lacks {}", revisions(count))),
    }
    let says = if of.says.is_empty() { says.join(", ") } else { format!("{}; {}", says.join(", "), of.says) };
    let mark = if of.is_backup { ", the backup" } else { "" };
    format!("{}{mark}: {says}", named(of, true))
}

/// `1 revision`, `70,157 revisions`.
pub(crate) fn revisions(count: i64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "revision" } else { "revisions" })
}

pub(crate) fn chapter_title(chapter: Chapter) -> &'static str {
    match chapter {
        Chapter::Lost => "What is lost",
        Chapter::Runs => "What runs and will not be known",
        Chapter::Fits => "What will not fit",
        Chapter::Stale => "What is stale",
    }
}

/// The name of a kind of forecasts in words: `lost objects`.
pub(crate) fn kind_words(kind: ForecastKind) -> String {
    let mut words = String::new();
    for c in kind.name().chars() {
        if c.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

/// Whose way of restoring it is.
pub(crate) fn distribution_words(distribution: Distribution) -> &'static str {
    match distribution {
        Distribution::Kubeadm => "kubeadm",
        Distribution::K3s => "k3s",
        Distribution::Rke2 => "RKE2",
        Distribution::OpenShift => "OpenShift",
        Distribution::Gardener => "Gardener",
        Distribution::Kine => "kine",
        _ => "any etcd",
    }
}

/// The address of an object that a forecast is about; empty where it is about none.
pub(crate) fn affected_name(of: &Affected) -> String {
    let subject = &of.subject;
    match (subject.kind.is_empty(), subject.name.is_empty()) {
        (true, _) => subject.name.clone(),
        (false, true) => subject.kind.clone(),
        (false, false) => address(&subject.kind, &subject.namespace, &subject.name),
    }
}

/// What is said of an object besides its name, one phrase per item.
pub(crate) fn affected_says(of: &Affected) -> Vec<String> {
    let mut says: Vec<String> = Vec::new();
    says.extend((!of.says.is_empty()).then(|| of.says.clone()));
    says.extend((!of.node.is_empty() && of.subject.kind != "Node").then(|| format!("node {}", of.node)));
    says.extend((!of.by.is_empty()).then(|| format!("by {}", of.by)));
    says.extend(of.revision.map(|revision| format!("r{revision}")));
    says
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::rehearse::made_up::{rehearsal, source as made_up_source};

    #[test]
    fn the_decision_is_one_line() {
        assert_eq!(
            decision(&rehearsal()),
            "RESTORE of snapshot.db (r441846, 26 h old) over member etcd-2 (r512003): you lose 70,157 revisions: 3 namespaces, 41 Deployments (12 \
             changed by people); 118 pods would run on 14 nodes unknown to the API; 6 volumes are gone; better: member etcd-2 is whole and newer"
        );
    }

    #[test]
    fn the_decision_says_what_is_not_known() {
        let alone = Rehearsal { lost_revisions: None, forecasts: Vec::new(), ..rehearsal() };
        let alone = Rehearsal { sources: alone.sources.iter().filter(|source| source.is_backup).cloned().collect(), ..alone };
        assert_eq!(decision(&alone), "RESTORE of snapshot.db (r441846, 26 h old): what is lost is not known without a newer state");
        let other = Rehearsal { is_of_one_cluster: Some(false), ..rehearsal() };
        assert!(
            decision(&other).ends_with("(r512003): do not: the backup is of another cluster, its namespace kube-system has another uid")
        );
        let same = Rehearsal { lost_revisions: Some(0), forecasts: Vec::new(), sources: Vec::new(), ..rehearsal() };
        assert_eq!(decision(&same), "RESTORE of the backup: you lose no revision");
    }

    #[test]
    fn sources_and_ages_read_well() {
        let broken = RehearsedSource { verdict: Verdict::Bad, says: "2 pages are missing".to_owned(), ..made_up_source("a.db", 7) };
        assert_eq!(source(&broken), "a.db (r7): cannot be restored; 2 pages are missing");
        let behind = RehearsedSource { lacks: Some(1), is_backup: true, ..made_up_source("a.db", 7) };
        assert_eq!(source(&behind), "a.db (r7), the backup: whole, lacks 1 revision");
        let ages = [5, 65, 7_200, 26 * 3_600, 80 * 3_600].map(|seconds| duration::age_words(Duration::from_secs(seconds)));
        assert_eq!(ages, ["5 s", "1 min", "2 h", "26 h", "3 days"]);
        assert_eq!(kind_words(ForecastKind::LostObjects), "lost objects");
    }
}
