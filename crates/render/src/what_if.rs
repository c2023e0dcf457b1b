//! `what-if`: what becomes of the pods, then what would happen, in order, and what the nodes carry.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use ketcd_what_if::{DecisionVerdict, Future, Happening, JudgedDecision, NodeLoad, SimulatedEvent, SimulatedPod, Unmodelled, WhatIf};

use super::style::{FAINT, PLAIN, STRONG, StyledWrite, WARNING, paint};
use super::table::write_aligned;
use super::visible::visible;
use super::words::{bytes, caveat, some};

/// The most events shown, unless all are asked for.
const MAX_EVENTS_SHOWN: usize = 60;
/// The most nodes shown whose load changes, unless all are asked for.
const MAX_NODES_SHOWN: usize = 15;

/// Writes the answer as text, what becomes of the pods first; `is_wide`: all of it.
///
/// # Errors
/// The stream's.
pub fn write_text(answer: &WhatIf, is_wide: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    for (node, why) in answer.spare.iter().flat_map(|spare| &spare.others) {
        write_node(node, Some(why), out)?;
    }
    write_after_nodes(answer, is_wide, out)
}

/// Writes the answer as text where another order of drains than the one that was written node by node is better.
///
/// # Errors
/// The stream's.
pub fn write_other_order(answer: &WhatIf, is_wide: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    writeln!(out, "\nin another order more could be drained:")?;
    write_text(answer, is_wide, out)
}

/// Writes whether a node could be drained; `obstacle`: what would prevent it.
///
/// # Errors
/// The stream's.
pub fn write_node(node: &str, obstacle: Option<&str>, out: &mut dyn StyledWrite) -> io::Result<()> {
    match obstacle {
        None => writeln!(out, "{}  could be drained", paint(STRONG, visible(node))),
        Some(why) => writeln!(out, "{}  stays: {}", visible(node), visible(why)),
    }
}

/// Writes the answer as text without the nodes that could not be drained: they were written one by one as they were decided.
///
/// # Errors
/// The stream's.
pub fn write_after_nodes(answer: &WhatIf, is_wide: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    spare(answer, out)?;
    verdict(answer, out)?;
    questions(answer, out)?;
    waiting(answer, is_wide, out)?;
    events(answer, is_wide, out)?;
    nodes(answer, is_wide, out)?;
    for sentence in bare(&answer.caveats).into_iter().chain(answer.caveats.iter().filter(|one| bare_pod(one).is_none()).map(caveat)) {
        writeln!(out, "{}", paint(FAINT, format!("· {}", visible(&sentence))))?;
    }
    Ok(())
}

/// Writes what happens, in order.
fn events(answer: &WhatIf, is_wide: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    let shown = if is_wide { answer.events.len() } else { answer.events.len().min(MAX_EVENTS_SHOWN) };
    if shown == 0 {
        return Ok(());
    }
    writeln!(out)?;
    let rows: Vec<Vec<String>> = answer.events[..shown].iter().map(row).collect();
    write_aligned(&rows, out)?;
    if shown < answer.events.len() {
        let left = answer.events.len() - shown;
        writeln!(out, "{}", paint(FAINT, format!("{left} more events (-o wide shows them)")))?;
    }
    Ok(())
}

/// The pod that a caveat says has no controller.
fn bare_pod(caveat: &Unmodelled) -> Option<&str> {
    if let Unmodelled::Bare { pod } = caveat { Some(pod) } else { None }
}

/// One sentence about all pods without a controller, if there are any.
fn bare(caveats: &[Unmodelled]) -> Option<String> {
    let pods: Vec<&str> = caveats.iter().filter_map(bare_pod).collect();
    match pods[..] {
        [] => None,
        [_] => caveats.iter().find(|one| bare_pod(one).is_some()).map(caveat),
        _ => Some(format!("pods {} have no controller: nothing recreates them, and kubectl drain needs --force", some(pods))),
    }
}

/// Writes what another scheduler makes of decisions as text: how many of each verdict, and those that would be different; `is_wide`: all of them.
///
/// # Errors
/// The stream's.
pub fn write_decisions(judged: &[JudgedDecision], is_wide: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    let is_shown = |decision: &&JudgedDecision| is_wide || is_change(&decision.verdict);
    let rows: Vec<Vec<String>> = judged.iter().filter(is_shown).map(decision_row).collect();
    write_aligned(&rows, out)?;
    if !rows.is_empty() {
        writeln!(out)?;
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for decision in judged {
        let word = verdict_word(&decision.verdict);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let parts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let parts = if parts.is_empty() { "there is none in the readable history".to_owned() } else { parts.join(", ") };
    writeln!(out, "{}", paint(STRONG, format!("{} decisions: {parts}", judged.len())))
}

/// Whether a decision would be another one.
pub fn is_change(verdict: &DecisionVerdict) -> bool {
    matches!(verdict, DecisionVerdict::Other { .. } | DecisionVerdict::Fits { .. } | DecisionVerdict::FitsNowhere { .. })
}

fn verdict_word(verdict: &DecisionVerdict) -> &'static str {
    match verdict {
        DecisionVerdict::Same => "same node",
        DecisionVerdict::Tied => "same node among equals",
        DecisionVerdict::Other { .. } => "other node",
        DecisionVerdict::Fits { .. } => "would fit",
        DecisionVerdict::FitsNowhere { .. } => "would not fit",
        DecisionVerdict::StillRefused => "still refused",
        DecisionVerdict::Unknown => "unknown",
    }
}

fn decision_row(decision: &JudgedDecision) -> Vec<String> {
    let was = decision.node.as_deref().unwrap_or("nowhere");
    let becomes = match &decision.verdict {
        DecisionVerdict::Other { nodes, plugin } => {
            let by = plugin.map_or_else(String::new, |plugin| format!("  {plugin}"));
            format!("{was} → {}{by}", nodes.join(" or "))
        }
        DecisionVerdict::Fits { nodes } => format!("{was} → {}", nodes.join(" or ")),
        DecisionVerdict::FitsNowhere { message } => format!("{was} → nowhere  {}", message.as_deref().unwrap_or_default()),
        DecisionVerdict::Same | DecisionVerdict::Tied | DecisionVerdict::StillRefused | DecisionVerdict::Unknown => was.to_owned(),
    };
    vec![
        format!("r{}", decision.revision),
        verdict_word(&decision.verdict).to_owned(),
        visible(&format!("pod/{}", decision.pod)).into_owned(),
        visible(&becomes).into_owned(),
    ]
}

/// A line of the sequence.
fn row(event: &SimulatedEvent) -> Vec<String> {
    let word = word(event.what);
    let mut detail = Vec::new();
    match (event.what, &event.node) {
        (Happening::Scheduled, Some(node)) => detail.push(format!("to {node}")),
        (_, Some(node)) => detail.push(format!("on {node}")),
        (_, None) => {}
    }
    if !event.tied_with.is_empty() {
        detail.push(format!("as good: {}", event.tied_with.join(", ")));
    }
    detail.extend(event.sampled.map(|(found, fitting)| format!("best of the first {found} found of {fitting} that fit")));
    detail.extend(event.preempted_by.iter().map(|by| format!("for {by}")));
    detail.extend(event.message.clone());
    detail.extend(event.budget.iter().map(|budget| format!("budget {budget}")));
    let detail = visible(&detail.join("  ")).into_owned();
    vec![seconds(event.after), word.to_owned(), visible(&name(&event.pod)).into_owned(), detail]
}

fn seconds(milliseconds: i64) -> String {
    let (whole, tenths) = (milliseconds / 1_000, milliseconds % 1_000 / 100);
    if tenths == 0 { format!("+{whole}s") } else { format!("+{whole}.{tenths}s") }
}

fn name(pod: &SimulatedPod) -> String {
    format!("pod/{}/{}", pod.namespace, pod.name)
}

fn word(what: Happening) -> &'static str {
    match what {
        Happening::Evicted => "evicted",
        Happening::Blocked => "blocked",
        Happening::Deleted => "deleted",
        Happening::Created => "created",
        Happening::Refused => "refused",
        Happening::Scheduled => "scheduled",
        Happening::Preempted => "preempted",
        Happening::Unschedulable => "unschedulable",
    }
}

/// What became of the pods: how many fit and how many do not, by reason, then how much happened.
fn verdict(answer: &WhatIf, out: &mut dyn StyledWrite) -> io::Result<()> {
    if let Some(fit) = &answer.fit {
        writeln!(out, "{} {}", paint(STRONG, fit.count), if fit.count == 1 { "more fits" } else { "more fit" })?;
        if let Some(message) = &fit.message {
            writeln!(out, "  the next one does not: {}", visible(message))?;
        }
    }
    let tally = FitTally::of(answer);
    let is_asked = answer.fit.is_none() || !answer.actions.is_empty();
    if is_asked && !tally.is_empty() {
        tally.write(out)?;
    }
    let counted = counts(answer);
    if !counted.is_empty() {
        writeln!(out, "{counted}")
    } else if tally.is_empty() && !answer.actions.is_empty() {
        writeln!(out, "{}", paint(STRONG, "nothing happens"))
    } else {
        Ok(())
    }
}

fn counts(answer: &WhatIf) -> String {
    let all = [
        Happening::Evicted,
        Happening::Deleted,
        Happening::Blocked,
        Happening::Preempted,
        Happening::Created,
        Happening::Refused,
        Happening::Scheduled,
    ];
    let counted = all.iter().filter(|what| answer.count(**what) > 0);
    counted.map(|what| format!("{} {}", answer.count(*what), word(*what))).collect::<Vec<_>>().join(", ")
}

/// How many pods fit, and how many do not for which reason.
struct FitTally {
    fit: usize,
    /// Reasons with the number of pods, for each thing that pods cannot.
    cannot: [(&'static str, &'static str, BTreeMap<String, usize>); 3],
}

impl FitTally {
    fn of(answer: &WhatIf) -> Self {
        let mut placed: BTreeSet<(&str, &str)> = BTreeSet::new();
        let (mut waiting, mut blocked, mut refused) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for event in &answer.events {
            let pod = (&*event.pod.namespace, &*event.pod.name);
            let message = event.message.as_deref().unwrap_or_default();
            match event.what {
                Happening::Scheduled => drop(placed.insert(pod)),
                Happening::Evicted | Happening::Deleted | Happening::Preempted => drop(placed.remove(&pod)),
                Happening::Blocked => {
                    let budget = event.budget.as_ref().map_or_else(String::new, |budget| format!(" (budget {budget})"));
                    *blocked.entry(format!("{}{budget}", message.trim_end_matches('.'))).or_default() += 1;
                }
                Happening::Refused => {
                    let why = message.split_once(" is forbidden: ").map_or(message, |(_, why)| why);
                    *refused.entry(why.to_owned()).or_default() += 1;
                }
                Happening::Created | Happening::Unschedulable => {}
            }
        }
        for (_, message) in answer.waiting.iter().filter(|(pod, _)| pod.is_new) {
            *waiting.entry(message.as_deref().map_or_else(|| "not tried yet".to_owned(), reason)).or_default() += 1;
        }
        let cannot = [
            ("waits", "wait", waiting),
            ("cannot be evicted", "cannot be evicted", blocked),
            ("workload gets fewer pods", "workloads get fewer pods", refused),
        ];
        Self { fit: placed.len(), cannot }
    }

    fn is_empty(&self) -> bool {
        self.fit == 0 && self.cannot.iter().all(|(.., reasons)| reasons.is_empty())
    }

    /// One reason is in the same line, several are a line each.
    fn write(&self, out: &mut dyn StyledWrite) -> io::Result<()> {
        let words = |(one, several, _): &(&'static str, &'static str, _), count: usize| {
            format!("{count} {}", if count == 1 { one } else { several })
        };
        let cannot: Vec<_> = self.cannot.iter().filter(|(.., reasons)| !reasons.is_empty()).collect();
        let mut parts = Vec::new();
        if self.fit > 0 || cannot.iter().any(|(one, ..)| *one == "waits") {
            parts.push(format!("{} {}", self.fit, if self.fit == 1 { "fits" } else { "fit" }));
        }
        parts.extend(cannot.iter().map(|all| words(all, all.2.values().sum())));
        let style = if cannot.is_empty() { STRONG } else { WARNING };
        let mut reasons =
            cannot.iter().flat_map(|all| all.2.iter().map(|(why, count)| (words(all, *count), why, *count))).collect::<Vec<_>>();
        if let [(_, why, _)] = &reasons[..] {
            return writeln!(out, "{}: {}", paint(style, parts.join(", ")), visible(why));
        }
        writeln!(out, "{}", paint(style, parts.join(", ")))?;
        reasons.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
        reasons.iter().try_for_each(|(words, why, _)| writeln!(out, "  {words}: {}", visible(why)))
    }
}

/// Why nodes refuse a pod, of the scheduler's message: without their number, and without what preemption makes of it.
fn reason(message: &str) -> String {
    let refused = message.split_once(" nodes are available: ").map_or(message, |(_, refused)| refused);
    let refused = refused.split_once(" preemption: ").map_or(refused, |(refused, _)| refused);
    refused.trim_end_matches('.').to_owned()
}

/// Writes the pods that wait at the end: those with the same message in one line, unless all is asked for.
fn waiting(answer: &WhatIf, is_wide: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    let shown = answer.waiting.iter().filter(|(pod, _)| pod.is_new || !answer.actions.is_empty());
    let mut folded: Vec<(bool, Option<&str>, Vec<&SimulatedPod>)> = Vec::new();
    for (pod, message) in shown {
        let message = message.as_deref();
        match folded.iter_mut().find(|(is_new, known, _)| !is_wide && (*is_new, *known) == (pod.is_new, message)) {
            Some((.., pods)) => pods.push(pod),
            None => folded.push((pod.is_new, message, vec![pod])),
        }
    }
    for (is_new, message, pods) in folded {
        let message = message.map_or_else(String::new, |message| format!("  {}", visible(message)));
        let still = if is_new { "" } else { "still " };
        match pods[..] {
            [pod] => writeln!(out, "{} {}{message}", paint(WARNING, format!("{still}waits")), visible(&name(pod)))?,
            _ => {
                let words = paint(WARNING, format!("{} {still}wait", pods.len()));
                writeln!(out, "{words}: {}{message}", visible(&by_owner(&pods)))?;
            }
        }
    }
    Ok(())
}

/// How many pods each owner has.
fn by_owner(pods: &[&SimulatedPod]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    pods.iter().for_each(|pod| *counts.entry(owner(pod)).or_default() += 1);
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let words: Vec<String> = counts.into_iter().map(|(owner, count)| format!("{count} of {owner}")).collect();
    some(words.iter().map(String::as_str))
}

/// Which nodes could be drained.
fn spare(answer: &WhatIf, out: &mut dyn StyledWrite) -> io::Result<()> {
    let Some(spare) = &answer.spare else { return Ok(()) };
    let names = if spare.nodes.is_empty() { "none".to_owned() } else { spare.nodes.join(", ") };
    writeln!(out, "{} {}", paint(STRONG, "could be drained, one after the other:"), visible(&names))?;
    let proof = match (spare.is_largest, spare.nodes.len()) {
        (true, _) => "no larger set exists".to_owned(),
        (false, found) => {
            format!("at least {found}: larger sets were looked for, but not in every order; there is room for at most {}", spare.most)
        }
    };
    writeln!(out, "  {}", paint(FAINT, proof))
}

/// The answers to what was asked beyond the actions: several futures, losses.
fn questions(answer: &WhatIf, out: &mut dyn StyledWrite) -> io::Result<()> {
    if let Some(futures) = &answer.futures {
        for future in &futures.workloads {
            writeln!(out, "  {}", visible(&outcome(future, futures.count)))?;
        }
    }
    for loss in answer.losses.iter().flatten() {
        let mut parts = vec![if loss.evicted == 1 { "1 pod leaves".to_owned() } else { format!("{} pods leave", loss.evicted) }];
        if !loss.waiting.is_empty() {
            let mut owners: Vec<String> = loss.waiting.iter().map(|(pod, _)| owner(pod)).collect();
            owners.dedup();
            let find = if loss.waiting.len() == 1 { "finds" } else { "find" };
            parts.push(format!("{} {find} no place: {}", loss.waiting.len(), owners.join(", ")));
        }
        if !loss.budgets.is_empty() {
            parts.push(format!("budgets broken: {}", loss.budgets.join(", ")));
        }
        let style = if loss.waiting.is_empty() { PLAIN } else { WARNING };
        writeln!(out, "{}  {}", paint(style, visible(&loss.name)), visible(&parts.join("; ")))?;
    }
    Ok(())
}

fn owner(pod: &SimulatedPod) -> String {
    format!("{}/{}", pod.namespace, pod.owner.as_deref().unwrap_or(&pod.name))
}

/// What becomes of a workload's pods in several futures, in a line.
fn outcome(future: &Future, count: usize) -> String {
    let pending = future.waiting.iter().filter(|waiting| **waiting > 0).count();
    let of = format!("{}/{}", future.namespace, future.owner);
    let nodes = match future.nodes.values().all(|futures| *futures == count) {
        true => format!("on {}", future.nodes.keys().cloned().collect::<Vec<_>>().join(", ")),
        false => "node differs".to_owned(),
    };
    match (pending, future.nodes.is_empty()) {
        (0, _) => format!("placed in {count} of {count}: {of}; {nodes}"),
        (_, true) => format!("pending in {pending} of {count}: {of}"),
        (_, false) => format!("pending in {pending} of {count}: {of}; {nodes}"),
    }
}

/// The nodes whose load changes, those with the largest change first.
fn nodes(answer: &WhatIf, is_wide: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    let of = |loads: &ketcd_what_if::Loads, name: &String| loads.get(name).copied();
    let mut names: Vec<&String> =
        answer.before.keys().chain(answer.after.keys().filter(|name| !answer.before.contains_key(*name))).collect();
    names.retain(|name| of(&answer.before, name) != of(&answer.after, name));
    if names.is_empty() {
        return Ok(());
    }
    let cpu = |load: Option<NodeLoad>| load.map_or(0, |load| load.cpu);
    names.sort_by_key(|name| (std::cmp::Reverse((cpu(of(&answer.after, name)) - cpu(of(&answer.before, name))).abs()), (*name).clone()));
    let shown = if is_wide { names.len() } else { names.len().min(MAX_NODES_SHOWN) };
    let mut rows = vec![["NODE", "CPU", "MEMORY", "PODS"].map(str::to_owned).to_vec()];
    for name in &names[..shown] {
        let (before, after) = (of(&answer.before, name), of(&answer.after, name));
        let change = |show: &dyn Fn(NodeLoad) -> String| {
            let one = |load: Option<NodeLoad>| load.map_or_else(|| "-".to_owned(), show);
            format!("{} → {}", one(before), one(after))
        };
        rows.push(vec![
            visible(name).into_owned(),
            change(&|load| share(load.cpu, load.cpu_of)),
            change(&|load| bytes(u64::try_from(load.memory).unwrap_or(0))),
            change(&|load| format!("{}/{}", load.pods, load.pods_of)),
        ]);
    }
    writeln!(out)?;
    write_aligned(&rows, out)?;
    if shown < names.len() {
        writeln!(out, "{}", paint(FAINT, format!("{} more nodes (-o wide shows them)", names.len() - shown)))?;
    }
    Ok(())
}

/// A part of a whole in per cent.
fn share(part: i64, whole: i64) -> String {
    if whole <= 0 { "-".to_owned() } else { format!("{}%", part.saturating_mul(100) / whole) }
}
