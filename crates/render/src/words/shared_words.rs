//! What several objects of one finding say: what is equal once, what differs with how many say it.

use std::collections::BTreeMap;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::{Refusals, Trouble, TroubleKind};

use super::trouble::{detail, unexplained, what};

const MAX_SENTENCES_SHOWN: usize = 3;

/// What is wrong with all objects of a finding, in a few words that may stand behind their names.
pub(crate) fn all_what(finding: &Finding) -> String {
    match finding.trouble.kind {
        TroubleKind::ChangeUnexplained if finding.troubles.len() > 1 => "changed without a request in the audit log".to_owned(),
        _ => what(&finding.trouble),
    }
}

/// What else is known of all objects of a finding. Where they differ it says how many of them it is of. May be empty.
pub(crate) fn all_detail(finding: &Finding) -> String {
    let [first, .., _] = &finding.troubles[..] else { return detail(&finding.trouble) };
    let about = || first.about.last().map_or("", String::as_str);
    match first.kind {
        TroubleKind::CrashLooping | TroubleKind::OutOfMemory => restarted(first, &finding.troubles),
        TroubleKind::Unschedulable => refused(first, finding),
        TroubleKind::DeviceAwaited if first.about.len() == 3 => format!("wait for {} to make the devices of their claims ready", about()),
        TroubleKind::ChangeUnexplained => {
            let revisions: Vec<String> = finding.troubles.iter().filter_map(|trouble| Some(trouble.numbers?.0.to_string())).collect();
            format!("revisions {}: {}", revisions.join(", "), unexplained(first.reason.as_deref().unwrap_or_default()))
        }
        // When each was noticed differs by moments.
        TroubleKind::NodeSilent => said(finding, |trouble| detail(&Trouble { since: None, ..trouble.clone() })),
        _ => said(finding, detail),
    }
}

/// Returns each message of the objects once, with how many say it and the first that does: the commonest first.
pub(crate) fn messages(finding: &Finding) -> Vec<(usize, &str, &Subject)> {
    let of = finding.troubles.iter().map(|trouble| trouble.message.as_deref().unwrap_or_default());
    counted(of.zip(&finding.subjects)).into_iter().filter(|(_, message, _)| !message.is_empty()).collect()
}

/// Each text once, with how many say it and the first that does: the commonest first, of equals the one that is said first.
fn counted<'f, T: Ord + Clone>(texts: impl Iterator<Item = (T, &'f Subject)>) -> Vec<(usize, T, &'f Subject)> {
    let mut places: BTreeMap<T, usize> = BTreeMap::new();
    let mut found: Vec<(usize, T, &Subject)> = Vec::new();
    for (text, subject) in texts {
        match places.get(&text) {
            Some(&place) => found[place].0 += 1,
            None => {
                places.insert(text.clone(), found.len());
                found.push((1, text, subject));
            }
        }
    }
    found.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    found
}

/// The sentences of a finding's objects: one that all say as it is, else each with how many say it, or who says it.
fn said(finding: &Finding, sentence: impl Fn(&Trouble) -> String) -> String {
    let found = counted(finding.troubles.iter().map(sentence).zip(&finding.subjects));
    if let [(_, only, _)] = &found[..] {
        return only.clone();
    }
    let found: Vec<_> = found.into_iter().filter(|(_, sentence, _)| !sentence.is_empty()).collect();
    let left: usize = found.iter().skip(MAX_SENTENCES_SHOWN).map(|(count, ..)| count).sum();
    let shown = found.iter().take(MAX_SENTENCES_SHOWN).map(|(count, sentence, first)| match count {
        1 => format!("{}: {sentence}", first.name),
        count => format!("{count} of them: {sentence}"),
    });
    let others = (left > 0).then(|| format!("{left} others differ"));
    shown.chain(others).collect::<Vec<_>>().join("; ")
}

/// `container app, 3 to 12 restarts, last: Error, exit 1`: all but the restarts is equal.
fn restarted(first: &Trouble, troubles: &[Trouble]) -> String {
    let restarts = troubles.iter().filter_map(|trouble| Some(trouble.numbers?.0));
    match (restarts.clone().min(), restarts.max()) {
        (Some(least), Some(most)) if least < most => {
            let of_most = Trouble { numbers: first.numbers.map(|(_, code)| (most, code)), ..first.clone() };
            detail(&of_most).replacen(&format!("{most} restarts"), &format!("{least} to {most} restarts"), 1)
        }
        _ => detail(first),
    }
}

/// `0/24 nodes are available: 10 to 13 Insufficient cpu, 14 to 19 Insufficient example.com/gpu`: the reasons are the same.
fn refused(first: &Trouble, finding: &Finding) -> String {
    let mut messages = finding.troubles.iter().map(|trouble| trouble.message.as_deref().unwrap_or_default());
    let is_equal = messages.clone().all(|message| Some(message) == first.message.as_deref());
    let refusals: Option<Vec<Refusals<'_>>> = messages.by_ref().map(Refusals::of).collect();
    let Some(refusals) = refusals.filter(|_| !is_equal) else { return said(finding, detail) };
    let mut counts: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    refusals.iter().flat_map(|refusals| &refusals.reasons).for_each(|(count, reason)| counts.entry(*reason).or_default().extend(*count));
    let reasons: Vec<String> = counts.iter().map(|(reason, counts)| format!("{}{reason}", range(counts))).collect();
    let nodes: Vec<u64> = refusals.iter().map(|refusals| refusals.nodes).collect();
    let merged = format!("0/{}nodes are available: {}", range(&nodes), reasons.join(", "));
    detail(&Trouble { message: Some(merged), ..first.clone() })
}

/// `14 to 19 `, `3 ` where all are equal; empty of none.
fn range(counts: &[u64]) -> String {
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) if least == most => format!("{most} "),
        (Some(least), Some(most)) => format!("{least} to {most} "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ketcd_history::trouble::triage::Triage;
    use serde_json::{Value, json};

    fn findings(objects: &[Value]) -> Vec<Finding> {
        let mut triage = Triage::new(None);
        objects.iter().for_each(|object| triage.observe(object));
        triage.findings()
    }

    fn waiting(name: &str, message: &str) -> Value {
        json!({"kind": "Pod", "metadata": {"name": name, "namespace": "data"}, "status": {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}})
    }

    #[test]
    fn counts_of_refusals_are_ranges() {
        let pods = [("a", 10, 14), ("b", 13, 19), ("c", 10, 15), ("d", 11, 19)].map(|(name, cpu, gpu)| {
            waiting(name, &format!("0/24 nodes are available: {cpu} Insufficient cpu, {gpu} Insufficient example.com/gpu. x"))
        });
        let found = findings(&pods);
        assert_eq!(all_detail(&found[0]), "0/24 nodes are available: 10 to 13 Insufficient cpu, 14 to 19 Insufficient example.com/gpu");
        assert_eq!((found.len(), messages(&found[0]).len()), (1, 4));
    }

    #[test]
    fn what_differs_is_counted() {
        let node = |name: &str, message: &str| {
            json!({"kind": "Node", "metadata": {"name": name}, "status": {"conditions": [
                {"type": "DiskPressure", "status": "True", "reason": "KubeletHasDiskPressure", "message": message}]}})
        };
        let found = findings(&["a", "b", "c", "d"].map(|name| node(name, if name == "c" { "other" } else { "kubelet has disk pressure" })));
        assert_eq!(all_detail(&found[0]), "3 of them: kubelet has disk pressure; c: other");
        let found = findings(&["a", "b", "c", "d"].map(|name| node(name, "kubelet has disk pressure")));
        assert_eq!(all_detail(&found[0]), "kubelet has disk pressure");
    }

    #[test]
    fn restarts_are_a_range() {
        let crash = |name: &str, restarts: i64| {
            json!({"kind": "Pod", "metadata": {"name": name, "namespace": name}, "spec": {"nodeName": "n"}, "status": {"phase": "Running",
                "containerStatuses": [{"name": "app", "restartCount": restarts, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                    "lastState": {"terminated": {"reason": "Error", "exitCode": 1}}}]}})
        };
        let found = findings(&[crash("a", 3), crash("b", 12), crash("c", 5), crash("d", 5)]);
        assert_eq!((found.len(), all_detail(&found[0]).as_str()), (1, "container app, 3 to 12 restarts, last: Error, exit 1"));
    }
}
