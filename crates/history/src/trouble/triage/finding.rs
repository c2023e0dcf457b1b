//! A trouble that some objects have in common, with what followed from it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::timeline::Subject;
use crate::trouble::{Likeness, Trouble, TroubleKind};

/// A trouble that some objects have in common, with what followed from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What is wrong; where several objects have it, as the first of them has.
    pub trouble: Trouble,
    /// The objects that have it, those that had it first before the others.
    pub subjects: Vec<Subject>,
    /// What each of them says, in the same order: alike by [`Trouble::likeness`], with messages, counts and beginnings of its own.
    pub troubles: Vec<Trouble>,
    /// The workload of each of them, in the same order: of pods that have one, and are not told from others of it when they are made anew.
    pub workloads: Vec<Option<Subject>>,
    /// The controller of all of them, where they are pods of one.
    pub owner: Option<Subject>,
    /// How many pods it affects: those that have it, run on the node, or are missing.
    pub pods: usize,
    /// What followed from it, if the data show that.
    pub effects: Vec<Finding>,
}

impl Finding {
    /// A finding about one object that affects this number of pods.
    pub(super) fn new(subject: Subject, trouble: Trouble, pods: usize) -> Self {
        Self {
            troubles: vec![trouble.clone()],
            trouble,
            subjects: vec![subject],
            workloads: vec![None],
            owner: None,
            pods,
            effects: Vec::new(),
        }
    }

    pub(super) fn of_pod(subject: Subject, workload: Option<Subject>, trouble: Trouble) -> Self {
        Self { workloads: vec![workload], ..Self::new(subject, trouble, 1) }
    }

    /// Returns how much it weighs, with all that followed from it.
    pub fn weight(&self) -> u64 {
        let own = self.trouble.kind.weight().saturating_mul(self.pods.max(1) as u64);
        self.effects.iter().fold(own, |sum, effect| sum.saturating_add(effect.weight()))
    }

    /// Adds an effect, merged with an equal one if there is any.
    fn add_effect(&mut self, effect: Finding) {
        let likeness = effect.trouble.likeness();
        let is_alike = |other: &&mut Finding| other.owner == effect.owner && other.trouble.likeness() == likeness;
        match self.effects.iter_mut().find(is_alike).filter(|_| effect.trouble.kind.is_of_pods()) {
            Some(alike) => {
                alike.subjects.extend(effect.subjects);
                alike.troubles.extend(effect.troubles);
                alike.workloads.extend(effect.workloads);
                alike.pods += effect.pods;
                alike.effects.extend(effect.effects);
            }
            None => self.effects.push(effect),
        }
    }

    /// Returns a part of it, without effects: the objects at the places that `takes` accepts. Pods are shared out evenly, as far as they are known only in
    /// sum.
    pub(super) fn part(&self, takes: impl Fn(usize) -> bool) -> Self {
        fn taken<T: Clone>(all: &[T], takes: impl Fn(usize) -> bool) -> Vec<T> {
            all.iter().enumerate().filter(|(place, _)| takes(*place)).map(|(_, one)| one.clone()).collect()
        }
        let subjects = taken(&self.subjects, &takes);
        let troubles = taken(&self.troubles, &takes);
        Self {
            trouble: troubles.first().unwrap_or(&self.trouble).clone(),
            pods: self.pods * subjects.len() / self.subjects.len().max(1),
            workloads: taken(&self.workloads, &takes),
            owner: self.owner.clone(),
            effects: Vec::new(),
            subjects,
            troubles,
        }
    }

    /// Since when it lasts, by the object that has it longest.
    pub fn since(&self) -> Option<Timestamp> {
        self.trouble.since
    }

    /// Whether the object that has it longest may have it for longer than that.
    pub fn may_begin_earlier(&self) -> bool {
        self.trouble.may_begin_earlier
    }

    /// Sets since when the first object has it, and whether that is only as far back as can be read.
    pub fn date(&mut self, since: Option<Timestamp>, may_begin_earlier: bool) {
        let first = self.troubles.iter_mut().take(1);
        for trouble in first.chain([&mut self.trouble]) {
            (trouble.since, trouble.may_begin_earlier) = (since, may_begin_earlier);
        }
    }

    /// Where it stands among those of one kind: what does not say since when is last.
    fn place(&self) -> (TroubleKind, bool, Option<Timestamp>, &str, &str) {
        let first = self.subjects.first().map_or(("", ""), |subject| (subject.namespace.as_str(), subject.name.as_str()));
        (self.trouble.kind, self.trouble.since.is_none(), self.trouble.since, first.0, first.1)
    }
}

/// Puts findings in order, the weightiest first; of equals that which began last.
pub fn by_weight(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let began = b.trouble.since.cmp(&a.trouble.since);
        b.weight().cmp(&a.weight()).then(began).then_with(|| a.place().cmp(&b.place()))
    });
}

/// The most findings alike that are listed one by one; more become one finding.
const MAX_ALIKE_FINDINGS: usize = 3;

/// Makes one finding of many alike in one namespace that have no effects and no owner, then of many alike that are left in several.
pub(super) fn merge_alike(findings: Vec<Finding>) -> Vec<Finding> {
    let of_one_namespace = merge_by(findings, |finding| finding.subjects[0].namespace.clone());
    merge_by(of_one_namespace, |_| String::new())
}

fn merge_by(findings: Vec<Finding>, place: impl Fn(&Finding) -> String) -> Vec<Finding> {
    let mut merged = Vec::new();
    let mut alike: BTreeMap<(Likeness, String, String), Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        match &finding.subjects[..] {
            [only] if finding.effects.is_empty() && finding.owner.is_none() => {
                alike.entry((finding.trouble.likeness(), only.kind.clone(), place(&finding))).or_default().push(finding);
            }
            _ => merged.push(finding),
        }
    }
    for group in alike.into_values() {
        if group.len() <= MAX_ALIKE_FINDINGS { merged.extend(group) } else { merged.extend(joined(group)) }
    }
    merged
}

/// Makes one finding of several alike.
pub(super) fn joined(mut findings: Vec<Finding>) -> Option<Finding> {
    findings.sort_by(|a, b| a.place().cmp(&b.place()));
    let mut findings = findings.into_iter();
    let first = findings.next()?;
    Some(findings.fold(first, |mut sum, next| {
        sum.subjects.extend(next.subjects);
        sum.troubles.extend(next.troubles);
        sum.workloads.extend(next.workloads);
        sum.pods += next.pods;
        next.effects.into_iter().for_each(|effect| sum.add_effect(effect));
        sum
    }))
}
