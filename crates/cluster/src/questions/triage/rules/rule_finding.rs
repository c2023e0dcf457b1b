//! What a rule found, and where it stands among the findings.

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::{Trouble, TroubleKind};

/// A kind, a namespace and a name.
pub(in super::super) type Named = (String, String, String);

/// What a rule found.
pub(super) struct RuleFinding {
    /// The objects that have the trouble.
    pub subjects: Vec<Subject>,
    /// What is wrong.
    pub trouble: Trouble,
    /// How many pods it affects.
    pub pods: usize,
    /// The objects whose troubles follow from it.
    pub explains: Vec<Named>,
    /// The troubles of the first object that this one says better.
    pub replaces: &'static [TroubleKind],
    /// Whether it is only a closer word for one of these: where none is reported, it is not either.
    pub only_replaces: bool,
}

impl RuleFinding {
    /// A trouble of one object.
    pub(super) fn new(subject: Subject, trouble: Trouble) -> Self {
        Self { subjects: vec![subject], trouble, pods: 0, explains: Vec::new(), replaces: &[], only_replaces: false }
    }

    /// Names the objects whose troubles follow from it.
    pub(super) fn explaining(self, explains: impl IntoIterator<Item = Named>) -> Self {
        Self { explains: explains.into_iter().collect(), ..self }
    }

    /// Names the troubles of the object that this one says better.
    pub(super) fn instead_of(self, replaces: &'static [TroubleKind]) -> Self {
        Self { replaces, ..self }
    }
}

/// Adds what rules found to the findings: in place of a trouble that it says better, above what follows from it, or below what brought it about.
pub(super) fn placed(mut findings: Vec<Finding>, found: Vec<RuleFinding>) -> Vec<Finding> {
    for one in found {
        place(&mut findings, one);
    }
    findings
}

fn place(findings: &mut Vec<Finding>, found: RuleFinding) {
    let Some(subject) = found.subjects.first().cloned() else { return };
    if found.explains.is_empty() && replace(findings, &subject, &found) {
        return;
    }
    let replaced = take_replaced(findings, &subject, found.replaces);
    if found.only_replaces && replaced.is_none() {
        return;
    }
    let (mut trouble, mut pods, mut effects) = (found.trouble, found.pods, Vec::new());
    let mut workloads = vec![None; found.subjects.len()];
    if let Some(replaced) = replaced {
        // The first object is the one whose trouble is said better.
        workloads[..1].clone_from_slice(&replaced.workloads[..1]);
        pods = pods.max(replaced.pods);
        effects = replaced.effects;
        trouble.since = trouble.since.or(replaced.trouble.since);
    }
    let troubles = vec![trouble.clone(); found.subjects.len()];
    let mut finding = Finding { trouble, subjects: found.subjects, troubles, workloads, owner: None, pods, effects };
    let is_explained = |other: &Finding| {
        !found.explains.is_empty() && other.subjects.iter().all(|subject| found.explains.iter().any(|named| is(subject, named)))
    };
    let (explained, others) = std::mem::take(findings).into_iter().partition(is_explained);
    *findings = others;
    finding.effects.extend::<Vec<Finding>>(explained);
    let below = findings.iter().position(|cause| brings_about(cause, &finding));
    match below {
        Some(cause) => findings[cause].effects.push(finding),
        None => findings.push(finding),
    }
}

fn is(subject: &Subject, (kind, namespace, name): &Named) -> bool {
    subject.kind == *kind && subject.namespace == *namespace && subject.name == *name
}

fn is_same(one: &Subject, other: &Subject) -> bool {
    one.kind == other.kind && one.namespace == other.namespace && one.name == other.name
}

/// Says a trouble better where it stands, among effects too.
fn replace(findings: &mut [Finding], subject: &Subject, found: &RuleFinding) -> bool {
    for finding in findings {
        if found.replaces.contains(&finding.trouble.kind) && matches!(&finding.subjects[..], [only] if is_same(only, subject)) {
            let since = found.trouble.since.or(finding.trouble.since);
            finding.trouble = Trouble { since, ..found.trouble.clone() };
            finding.troubles = vec![finding.trouble.clone()];
            finding.pods = finding.pods.max(found.pods);
            return true;
        }
        if replace(&mut finding.effects, subject, found) {
            return true;
        }
    }
    false
}

/// Takes out the finding that is said better, or the object out of one that several share.
fn take_replaced(findings: &mut Vec<Finding>, subject: &Subject, kinds: &[TroubleKind]) -> Option<Finding> {
    let has = |finding: &Finding| kinds.contains(&finding.trouble.kind) && finding.subjects.iter().any(|other| is_same(other, subject));
    let place = findings.iter().position(has)?;
    if findings[place].subjects.len() == 1 {
        return Some(findings.remove(place));
    }
    let shared = &mut findings[place];
    let taken = shared.subjects.iter().position(|other| is_same(other, subject))?;
    shared.subjects.remove(taken);
    let trouble = shared.troubles.remove(taken);
    let workloads = vec![shared.workloads.remove(taken)];
    if let Some(first) = shared.troubles.first() {
        shared.trouble = first.clone();
    }
    Some(Finding {
        subjects: vec![subject.clone()],
        troubles: vec![trouble.clone()],
        trouble,
        workloads,
        owner: None,
        pods: 0,
        effects: Vec::new(),
    })
}

/// Whether a finding is what brought another one about: a webhook, a quota or an API that its message quotes, or a controller that is gone.
fn brings_about(cause: &Finding, finding: &Finding) -> bool {
    let message = finding.trouble.message.as_deref().unwrap_or_default();
    let Some(subject) = cause.subjects.first() else { return false };
    match cause.trouble.kind {
        TroubleKind::WebhookUnreachable | TroubleKind::WebhookIgnored => {
            cause.trouble.about.first().is_some_and(|hook| message.contains(&format!("webhook \"{hook}\"")))
        }
        TroubleKind::QuotaExhausted | TroubleKind::QuotaMiscounted => {
            let namespace = finding.subjects.first().map(|of| &of.namespace);
            namespace == Some(&subject.namespace) && message.contains(&format!("exceeded quota: {},", subject.name))
        }
        TroubleKind::ApiUnavailable => {
            let group = subject.name.split_once('.').map_or("", |(_, group)| group);
            finding.trouble.kind == TroubleKind::AutoscalerStuck && quotes_group(message, group)
        }
        TroubleKind::ComponentSilent => {
            let is_of_controllers = matches!(finding.trouble.kind, TroubleKind::CronJobNotStarted | TroubleKind::JobWithoutPods);
            is_of_controllers && subject.name == "kube-controller-manager"
        }
        _ => false,
    }
}

/// Whether a message quotes an API group: `custom.metrics.k8s.io` is another one than `metrics.k8s.io`.
fn quotes_group(message: &str, group: &str) -> bool {
    let before = message.find(group).map(|at| &message[..at]);
    !group.is_empty() && before.is_some_and(|before| !before.ends_with("custom.") && !before.ends_with("external."))
}
