//! What makes a trouble the same one at two moments: the rule, its cause and the object; neither times nor counts, nor with which others it is reported.

use crate::timeline::Subject;
use crate::trouble::triage::Finding;
use crate::trouble::{Trouble, TroubleKind};

/// What makes a trouble the same one at two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TroubleKey {
    /// The rule that found it. A container that ends is one trouble, whether it waits for its next start or was killed for its memory.
    pub rule: &'static str,
    /// What the rule found, as far as that is not what a reader would call the same trouble in another state: a container, a webhook, a condition.
    pub cause: Vec<String>,
    /// The object; of pods that are made anew under other names what they are pods of. It has no uid.
    pub object: Subject,
}

impl Finding {
    /// Returns the key of each object's trouble, in their order: several pods of one workload have one.
    pub fn keys(&self) -> Vec<TroubleKey> {
        let workloads = self.workloads.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let of_each = self.subjects.iter().zip(&self.troubles).zip(workloads);
        of_each.map(|((subject, trouble), workload)| TroubleKey::new(subject, workload, trouble)).collect()
    }
}

impl TroubleKey {
    fn new(subject: &Subject, workload: Option<&Subject>, trouble: &Trouble) -> Self {
        // A StatefulSet makes its pods anew under their old names.
        let object = workload.filter(|workload| workload.kind != "StatefulSet").unwrap_or(subject);
        Self { rule: rule(trouble.kind), cause: cause(trouble), object: Subject { uid: String::new(), ..object.clone() } }
    }
}

fn rule(kind: TroubleKind) -> &'static str {
    match kind {
        TroubleKind::CrashLooping | TroubleKind::OutOfMemory => "ContainerEnds",
        other => other.as_str(),
    }
}

/// What tells two troubles of one rule and object apart.
fn cause(trouble: &Trouble) -> Vec<String> {
    match trouble.kind {
        TroubleKind::CrashLooping
        | TroubleKind::OutOfMemory
        | TroubleKind::ImageNotPulled
        | TroubleKind::ContainerNotStarted
        | TroubleKind::NodePressure
        | TroubleKind::MembersDisagree => trouble.about.clone(),
        // The rest says how it stands, or how many there are.
        TroubleKind::WebhookUnreachable
        | TroubleKind::WebhookIgnored
        | TroubleKind::ApiServerGone
        | TroubleKind::VersionNotServed
        | TroubleKind::RolloutUnfinished => trouble.about.first().cloned().into_iter().collect(),
        TroubleKind::EtcdAlarm => trouble.message.clone().into_iter().collect(),
        TroubleKind::ChangeUnexplained => trouble.numbers.map(|(revision, _)| revision.to_string()).into_iter().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: TroubleKind, change: impl FnOnce(&mut Trouble)) -> Finding {
        let mut trouble = Trouble::new(kind);
        change(&mut trouble);
        let subject = Subject { kind: "Pod".into(), namespace: "shop".into(), name: "web-1-abcde".into(), uid: "u".into() };
        Finding::new(subject, trouble, 1)
    }

    #[test]
    fn times_counts_messages_and_uids_make_no_other_trouble() {
        let looping = finding(TroubleKind::CrashLooping, |trouble| trouble.about = vec!["main".into()]);
        let later = finding(TroubleKind::OutOfMemory, |trouble| {
            trouble.about = vec!["main".into()];
            trouble.numbers = Some((12, 137));
            trouble.since = "2026-11-20T22:22:55Z".parse().ok();
            trouble.message = Some("killed".into());
        });
        assert_eq!(looping.keys(), later.keys());
        let other = finding(TroubleKind::CrashLooping, |trouble| trouble.about = vec!["sidecar".into()]);
        assert_ne!(looping.keys(), other.keys());
    }

    #[test]
    fn pods_that_are_made_anew_have_the_trouble_of_their_workload() {
        let workload = |kind: &str| Some(Subject { kind: kind.into(), namespace: "shop".into(), name: "web".into(), uid: String::new() });
        let of = |name: &str, kind: &str| {
            let subject = Subject { kind: "Pod".into(), namespace: "shop".into(), name: name.into(), uid: name.into() };
            Finding::of_pod(subject, workload(kind), Trouble::new(TroubleKind::Unschedulable)).keys()
        };
        assert_eq!(of("web-1-abcde", "Deployment"), of("web-1-fghij", "Deployment"));
        assert_ne!(of("web-0", "StatefulSet"), of("web-1", "StatefulSet"));
    }
}
