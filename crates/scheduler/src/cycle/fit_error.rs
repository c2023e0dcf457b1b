//! The message that kube-scheduler writes for a pod that fits no node, worded as each release words it.
//! Sources: `core/generic_scheduler.go` FitError (1.9–1.18), `framework/types.go` FitError (1.19–1.37).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::prepared::Prepared;
use crate::framework::{Cycle, FilterMode, Judgement, NodeJudgement, Verdict, WholePod};
use crate::release::FitErrorFormat;

/// Returns the message of an attempt that found no node; `None` for a pod that was never tried.
pub(crate) fn message(cycle: &Cycle, prepared: &Prepared, judgement: &Judgement, post: &str) -> Option<String> {
    let total = cycle.nodes().count();
    match &judgement.whole_pod {
        Some(WholePod::Gated { .. }) => return None,
        Some(WholePod::Error(error)) => return Some(error.clone()),
        _ if total == 0 => return Some("no nodes available to schedule pods".to_owned()),
        _ => {}
    }
    let rules = &cycle.profile.rules;
    let whole = match &judgement.whole_pod {
        Some(WholePod::Refused { refusal, .. }) => refusal.reasons.join(", "),
        _ => String::new(),
    };
    let reasons = histogram(reasons(cycle, prepared, judgement));
    let start = format!("0/{total} nodes are available:");
    Some(match rules.fit_error {
        FitErrorFormat::Reasons => format!("{start} {reasons}."),
        FitErrorFormat::ReasonsAndPreemption if post.is_empty() => format!("{start} {reasons}."),
        FitErrorFormat::ReasonsAndPreemption => format!("{start} {reasons}. {post}"),
        FitErrorFormat::Dotted => {
            let parts = [whole.as_str(), reasons.as_str(), post];
            parts.iter().filter(|part| !part.is_empty()).fold(start, |text, part| format!("{text} {part}."))
        }
        FitErrorFormat::PreFilterOrReasons => {
            let first = if whole.is_empty() { reasons } else { whole };
            let mut text = start;
            for part in [if first.is_empty() { first } else { format!("{first}.") }, post.to_owned()].iter().filter(|part| !part.is_empty())
            {
                text.push(' ');
                text.push_str(part);
            }
            text
        }
    })
}

/// Beyond this many errors only one order is listed.
const MOST_ORDERED: usize = 4;

/// Returns the errors the attempt may end with when filters fail. Since 1.17: the error of whichever node fails first. Up to 1.16: the errors of all
/// nodes, counted, in the order of a Go map.
pub(crate) fn filter_errors(cycle: &Cycle, nodes: &[NodeJudgement]) -> Vec<String> {
    let tried = nodes.iter().filter(|node| !node.absent);
    let errors = tried.filter_map(|node| reached_error(node, cycle.profile.filter_mode));
    if cycle.profile.rules.equal_errors_are_one() {
        let mut distinct: Vec<String> = Vec::new();
        for error in errors.map(|(at, error)| filter_error(cycle, cycle.profile.filters[at].name, error)) {
            if !distinct.contains(&error) {
                distinct.push(error);
            }
        }
        return distinct;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    errors.for_each(|(_, error)| *counts.entry(error).or_default() += 1);
    let repeated =
        |(error, count): (&&str, &usize)| if *count > 1 { format!("{error} (repeated {count} times)") } else { (*error).to_owned() };
    let texts: Vec<String> = counts.iter().map(repeated).collect();
    match texts.as_slice() {
        [] | [_] => texts,
        many if many.len() > MOST_ORDERED => vec![format!("[{}]", many.join(", "))],
        _ => orders(&texts).iter().map(|texts| format!("[{}]", texts.join(", "))).collect(),
    }
}

fn orders(texts: &[String]) -> Vec<Vec<String>> {
    if texts.is_empty() {
        return vec![Vec::new()];
    }
    let beginning_with = |first: usize| {
        let mut rest = texts.to_vec();
        let head = rest.remove(first);
        orders(&rest).into_iter().map(move |tail| [vec![head.clone()], tail].concat())
    };
    (0..texts.len()).flat_map(beginning_with).collect()
}

/// Returns the error of the filter that fails on a node. A filter after a rejection does not run, unless all filters run.
fn reached_error(node: &NodeJudgement, mode: FilterMode) -> Option<(usize, &str)> {
    let verdicts = node.verdicts.iter().enumerate();
    let mut decisive = verdicts.filter(|(_, verdict)| match verdict {
        Verdict::Error(_) => true,
        Verdict::Reject(_) => mode != FilterMode::All,
        _ => false,
    });
    match decisive.next() {
        Some((at, Verdict::Error(error))) => Some((at, error)),
        _ => None,
    }
}

/// Words the error of a filter as each release does (`framework/v1alpha1/framework.go`, `framework/runtime/framework.go`).
pub(crate) fn filter_error(cycle: &Cycle, plugin: &str, error: &str) -> String {
    cycle.profile.rules.filter_error(plugin, &cycle.pod.name, error)
}

/// Words the error of a plugin's PreFilter as each release does (the same files).
pub(crate) fn prefilter_error(cycle: &Cycle, plugin: &str, error: &str) -> String {
    cycle.profile.rules.prefilter_error(plugin, &cycle.pod.name, error)
}

/// Returns the reasons that count, of every node.
fn reasons<'j>(cycle: &Cycle, prepared: &Prepared, judgement: &'j Judgement) -> Vec<Cow<'j, str>> {
    let rules = &cycle.profile.rules;
    if let Some(WholePod::Refused { refusal, .. }) = &judgement.whole_pod {
        if !rules.prefilter_counts_nodes {
            return Vec::new();
        }
        let each = || refusal.reasons.iter().map(|reason| Cow::Borrowed(reason.as_ref()));
        return judgement.nodes.iter().flat_map(|_| each()).collect();
    }
    let narrowed = prepared.subset.as_ref().filter(|_| rules.absent_nodes_reported);
    let absent = narrowed.map(|(_, plugins)| {
        // The plugin that rejected the nominated node, which is evaluated first, is added to the same set (`UnschedulablePlugins`).
        let own = cycle.pod.nominated_node_name.as_ref().filter(|_| rules.nominated_first);
        let nominated = own.and_then(|name| judgement.nodes.iter().find(|node| node.name == *name)).and_then(NodeJudgement::first_refusal);
        let names: BTreeSet<&str> =
            plugins.iter().copied().chain(nominated.and_then(|(at, _)| cycle.profile.filters.get(at)).map(|entry| entry.name)).collect();
        format!("node(s) didn't satisfy plugin(s) [{}]", names.into_iter().collect::<Vec<_>>().join(" "))
    });
    let mut found = Vec::new();
    for node in &judgement.nodes {
        if node.absent && rules.filtered_out_reported {
            found.push(Cow::Borrowed("node is filtered out by the prefilter result"));
        } else if node.absent {
            found.extend(absent.clone().map(Cow::Owned));
        } else {
            found.extend(counted(node, cycle.profile.filter_mode).map(Cow::Borrowed));
        }
    }
    found
}

/// Returns the reasons of one node that count: those of the first filter that rejects it, or of all filters.
fn counted(node: &NodeJudgement, mode: FilterMode) -> impl Iterator<Item = &str> {
    let limit = if mode == FilterMode::All { usize::MAX } else { 1 };
    let refusals = node.verdicts.iter().filter_map(|verdict| match verdict {
        Verdict::Reject(refusal) => Some(refusal),
        _ => None,
    });
    refusals.take(limit).flat_map(|refusal| refusal.reasons.iter().map(AsRef::as_ref))
}

/// Formats reasons as upstream's histogram does, counted and then sorted as strings: `2 Insufficient cpu, 3 Too many pods`.
pub(crate) fn histogram<S: AsRef<str>>(reasons: impl IntoIterator<Item = S>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason.as_ref().to_owned()).or_default() += 1;
    }
    let mut texts: Vec<String> = counts.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    texts.sort();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::orders;

    #[test]
    fn errors_of_nodes_are_listed_in_every_order() {
        let texts = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let distinct: Vec<String> = orders(&texts).iter().map(|order| order.concat()).collect();
        assert_eq!(distinct, ["abc", "acb", "bac", "bca", "cab", "cba"]);
    }
}
