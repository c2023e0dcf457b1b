//! Troubles in words: what is wrong, with which object, and the command that shows more. `triage` and the report use the same.

mod rules;

use jiff::Timestamp;

use super::{bytes, name};
use crate::command_line::{CommandLine, Invocation};
use crate::duration;
use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::{Trouble, TroubleKind};

const MAX_OBJECTS_NAMED: usize = 3;
/// What stands before the time of several objects, where it is that of one of them.
const OF_FIRST: &str = "the first ";
/// What stands behind a time before which nothing can be read.
pub(crate) const OR_EARLIER: &str = " or earlier";

/// What is wrong, in a few words that can follow an object's name.
pub fn what(trouble: &Trouble) -> String {
    let reason = trouble.reason.as_deref();
    let about = trouble.about.join(", ");
    let numbers = trouble.numbers.unwrap_or_default();
    match trouble.kind {
        TroubleKind::EtcdAlarm => "alarm".to_owned(),
        TroubleKind::MemberLeaderless => "without a leader: no writes".to_owned(),
        TroubleKind::DataDiffers if !about.is_empty() => format!("the data of {about} differ at revision {}", numbers.0),
        TroubleKind::DataDiffers => format!("data differ from the other members' at revision {}", numbers.0),
        TroubleKind::MembersDisagree => format!("its members disagree about {about}"),
        TroubleKind::MemberSilent => "does not answer".to_owned(),
        TroubleKind::MemberBehind => format!("{} entries behind the leader", numbers.0),
        TroubleKind::DatabaseNearQuota => {
            let size = |count: i64| bytes(u64::try_from(count).unwrap_or(0));
            format!("database at {:.0} % of its quota ({} of {})", percent(numbers), size(numbers.0), size(numbers.1))
        }
        TroubleKind::ChangeUnexplained => format!("changed at revision {} without a request in the audit log", numbers.0),
        TroubleKind::ComponentSilent => "does not renew its lease".to_owned(),
        TroubleKind::LeaseReleased => "nobody leads: its lease was released".to_owned(),
        TroubleKind::NodeSilent => "silent".to_owned(),
        TroubleKind::NodeNotReady | TroubleKind::NotReady => "not ready".to_owned(),
        TroubleKind::NodePressure => about,
        TroubleKind::CrashLooping => "CrashLoopBackOff".to_owned(),
        TroubleKind::OutOfMemory => "killed for its memory (OOMKilled)".to_owned(),
        TroubleKind::ImageNotPulled => reason.unwrap_or("image not pulled").to_owned(),
        TroubleKind::ContainerNotStarted => reason.unwrap_or("container not started").to_owned(),
        TroubleKind::Unschedulable if about.is_empty() => "unschedulable".to_owned(),
        TroubleKind::Unschedulable => format!("unschedulable, nominated to {about}"),
        TroubleKind::VolumeAwaited | TroubleKind::DeviceAwaited => match &trouble.about[..] {
            [node, ..] if !node.is_empty() => format!("not bound yet, meant for {node}"),
            _ => "not bound yet".to_owned(),
        },
        TroubleKind::NotScheduled => "no scheduler has looked at it".to_owned(),
        TroubleKind::NotStarting => format!("on its node and not started{}", within(reason.unwrap_or_default())),
        TroubleKind::Gated => format!("held back by gates{}", within(&about)),
        TroubleKind::Terminating => "being deleted".to_owned(),
        TroubleKind::Evicted => "evicted".to_owned(),
        TroubleKind::PodFailed | TroubleKind::JobFailed | TroubleKind::VolumeFailed => "failed".to_owned(),
        TroubleKind::Short => format!("{}/{} ready", numbers.0, numbers.1),
        TroubleKind::RolloutStuck => format!("rollout without progress, {}/{} ready", numbers.0, numbers.1),
        TroubleKind::RolloutUnfinished => match trouble.about.first().filter(|number| !number.is_empty()) {
            Some(number) => format!("rollout {number} not finished"),
            None => "rollout not finished".to_owned(),
        },
        TroubleKind::PodsRefused => format!("its pods are refused, {}/{} ready", numbers.0, numbers.1),
        TroubleKind::ClaimPending => match trouble.about.first().filter(|class| !class.is_empty()) {
            Some(class) => format!("no volume (class {class})"),
            None => "no volume".to_owned(),
        },
        TroubleKind::ClaimLost => "its volume is lost".to_owned(),
        TroubleKind::NamespaceStuck | TroubleKind::FinalizersStuck => "does not end".to_owned(),
        TroubleKind::WebhookUnreachable => "no endpoint answers; requests that match it are refused".to_owned(),
        TroubleKind::WebhookIgnored => "no endpoint answers; the webhook is ignored".to_owned(),
        TroubleKind::ApiUnavailable => "unavailable".to_owned(),
        TroubleKind::RequestRefused => format!("not signed: {}", reason.unwrap_or("denied")),
        TroubleKind::RequestPending => "nobody has approved it".to_owned(),
        TroubleKind::CertificateExpired => "its certificate has expired".to_owned(),
        TroubleKind::QuotaExhausted => format!("used up: {about}"),
        _ => rules::what(trouble),
    }
}

/// Which of the two is likelier, and why: it was written directly to etcd, or the log is incomplete.
pub(super) fn unexplained(why: &str) -> &'static str {
    match why {
        "SameBytes" => "written directly to etcd: the same bytes again, which an API server does not write",
        "Misplaced" => "written directly to etcd: the value belongs to another object than the key",
        "NoRequests" => "more likely the log is incomplete: several changes in a row have no request",
        _ => "more likely written directly to etcd: the log holds the requests before and after it, and those of similar changes",
    }
}

fn within(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

fn percent((part, whole): (i64, i64)) -> f64 {
    100.0 * part as f64 / (whole as f64).max(1.0)
}

/// What else is known: who says what, restarts, finalizers. May be empty.
pub fn detail(trouble: &Trouble) -> String {
    let message = trouble.message.as_deref().unwrap_or_default().trim();
    let reason = trouble.reason.as_deref().unwrap_or_default();
    let about = trouble.about.join(", ");
    match trouble.kind {
        TroubleKind::CrashLooping | TroubleKind::OutOfMemory => {
            let (restarts, code) = trouble.numbers.unwrap_or_default();
            let restarts = if restarts == 1 { "1 restart".to_owned() } else { format!("{restarts} restarts") };
            let ended = if reason.is_empty() { String::new() } else { format!(", last: {reason}, exit {code}") };
            format!("container {about}, {restarts}{ended}")
        }
        TroubleKind::Unschedulable => match trouble.numbers {
            Some((port, _)) => format!("host port {port}: {message}"),
            None => message.to_owned(),
        },
        TroubleKind::Terminating | TroubleKind::FinalizersStuck if about.is_empty() => String::new(),
        TroubleKind::Terminating | TroubleKind::FinalizersStuck => format!("held by {about}"),
        TroubleKind::NamespaceStuck if !about.is_empty() => {
            let says = if message.is_empty() { String::new() } else { format!("{message}; ") };
            format!("{says}held by {about}")
        }
        TroubleKind::NodeNotReady | TroubleKind::NotReady | TroubleKind::JobFailed | TroubleKind::PodFailed => joined(reason, message),
        TroubleKind::WebhookUnreachable | TroubleKind::WebhookIgnored => {
            let service = trouble.about.get(1).map_or("", String::as_str);
            format!("webhook {} calls service {service}, which has no ready endpoint", trouble.about.first().map_or("", String::as_str))
        }
        TroubleKind::ChangeUnexplained => unexplained(reason).to_owned(),
        TroubleKind::ComponentSilent => format!("held by {about}, valid for {} s", trouble.numbers.unwrap_or_default().0),
        TroubleKind::NodeSilent => noticed(trouble),
        TroubleKind::ClaimPending => match &trouble.about[..] {
            [_, node, provisioner] if !provisioner.is_empty() && message.is_empty() => {
                format!("waits for {provisioner} to make it on {node}")
            }
            _ => message.to_owned(),
        },
        TroubleKind::VolumeAwaited => match &trouble.about[..] {
            [_, provisioner] if !provisioner.is_empty() => format!("waits for {provisioner} to make its volume"),
            _ => "waits for its volume to be made".to_owned(),
        },
        TroubleKind::DeviceAwaited => match &trouble.about[..] {
            [_, claim, driver] => format!("waits for {driver} to make the devices of claim {claim} ready"),
            _ => "waits for its devices to be made ready".to_owned(),
        },
        TroubleKind::RolloutUnfinished => {
            let (updated, wanted) = trouble.numbers.unwrap_or_default();
            let old = match trouble.about.get(1).map_or("", String::as_str) {
                "" | "0" => String::new(),
                "1" => ", 1 old pod is left".to_owned(),
                count => format!(", {count} old pods are left"),
            };
            format!("{updated} of {wanted} pods updated{old}{}", rules::fence(trouble))
        }
        TroubleKind::RolloutStuck => match rules::fence(trouble) {
            fence if fence.is_empty() => joined(reason, message),
            fence => format!("{}{fence}", joined(reason, message).trim_end_matches('.')),
        },
        TroubleKind::ApiUnavailable => joined(reason, message),
        _ => rules::detail(trouble).unwrap_or_else(|| message.to_owned()),
    }
}

/// What ends it, in words; empty where nothing is known.
pub fn remedy(finding: &Finding) -> String {
    rules::remedy(finding)
}

/// When the control plane noticed that a node is silent, and what it says.
fn noticed(trouble: &Trouble) -> String {
    let message = trouble.message.as_deref().unwrap_or_default().trim();
    let Some((died, noticed)) = trouble.since.zip(trouble.counts_from).filter(|(died, noticed)| noticed > died) else {
        return if message.is_empty() { "its lease has run out; its conditions do not say so".to_owned() } else { message.to_owned() };
    };
    let later = duration::length(noticed.duration_since(died).as_secs_f64().round());
    if message.is_empty() { format!("noticed {later} later") } else { format!("noticed {later} later: {message}") }
}

fn joined(reason: &str, message: &str) -> String {
    match (reason.is_empty(), message.is_empty()) {
        (false, false) => format!("{reason}: {message}"),
        _ => format!("{reason}{message}"),
    }
}

/// Which objects a finding is about: `pod/web/crasher`, `3 pods of deploy/web/tomcat`, `412 nodes`.
pub fn who(finding: &Finding) -> String {
    let Some(first) = finding.subjects.first() else { return String::new() };
    let mut like = first.clone();
    if finding.subjects.iter().any(|other| other.namespace != first.namespace) {
        like.namespace.clear();
    }
    several(finding.subjects.len(), &like, finding.owner.as_ref())
}

/// Names `count` objects like this one; if there are several, they share its namespace.
pub fn several(count: usize, like: &Subject, owner: Option<&Subject>) -> String {
    match owner {
        _ if count == 1 => address(like),
        Some(owner) => format!("{count} {} of {}", plural(&like.kind), address(owner)),
        None if like.namespace.is_empty() => format!("{count} {}", plural(&like.kind)),
        None => format!("{count} {} in {}", plural(&like.kind), like.namespace),
    }
}

/// An object's address; etcd's members are named.
fn address(subject: &Subject) -> String {
    match subject.kind.as_str() {
        "Etcd" => "etcd".to_owned(),
        "Member" => format!("member {}", subject.name),
        "Lease" => subject.name.clone(),
        _ => name(subject),
    }
}

pub(crate) fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match kind.strip_suffix('y').filter(|rest| !rest.ends_with(['a', 'e', 'o'])) {
        Some(rest) => format!("{rest}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    }
}

/// The first names of several objects; empty where there is one.
pub fn names(finding: &Finding) -> String {
    let many = finding.subjects.len() > 1;
    let shown = finding.subjects.iter().take(if many { MAX_OBJECTS_NAMED } else { 0 });
    let place = |subject: &Subject| {
        let named = finding.owner.is_some() || subject.namespace.is_empty();
        if named { subject.name.clone() } else { format!("{}/{}", subject.namespace, subject.name) }
    };
    let mut names = shown.map(place).collect::<Vec<_>>().join(", ");
    if finding.subjects.len() > MAX_OBJECTS_NAMED {
        names.push_str(", …");
    }
    names
}

/// Since when, and how long that is: `since 22:17:03 (43 s)`, for a released lease `20 s ago`; empty if it is not known. Where the versions before cannot be
/// read, `since 22:17:03 or earlier (at least 43 s)`. The date is added if it is another day. Where several objects have it since different times, it says that it is of the first.
pub fn since(finding: &Finding, now: Option<Timestamp>) -> String {
    let Some(since) = finding.since() else { return String::new() };
    if let Some(now) = now.filter(|_| finding.trouble.kind == TroubleKind::LeaseReleased) {
        return format!("{} ago", duration::length(now.duration_since(since).as_secs_f64().max(0.0).round()));
    }
    let is_same_day = now.is_some_and(|now| now.strftime("%F").to_string() == since.strftime("%F").to_string());
    let time = since.strftime(if is_same_day { "%H:%M:%S" } else { "%F %H:%M:%S" });
    let lasted = now.map(|now| now.duration_since(since).as_secs_f64().max(0.0));
    let (or_earlier, at_least) = if finding.may_begin_earlier() { (OR_EARLIER, "at least ") } else { ("", "") };
    let lasted = lasted.map_or(String::new(), |lasted| format!(" ({at_least}{})", duration::length(lasted.round())));
    let is_of_all = finding.troubles.iter().all(|trouble| trouble.since == Some(since));
    let of_first = if is_of_all { "" } else { OF_FIRST };
    format!("{of_first}since {time}{or_earlier}{lasted}")
}

/// The same behind what is wrong: ` since 22:17:03 (43 s)`, `, the first since 22:10:00 (8m)`.
pub(crate) fn since_behind(finding: &Finding, now: Option<Timestamp>) -> String {
    match since(finding, now) {
        since if since.is_empty() => since,
        since if since.starts_with(OF_FIRST) => format!(", {since}"),
        since => format!(" {since}"),
    }
}

/// The command that shows more about a finding's first object; `None` if the finding is not about an object.
pub fn command(finding: &Finding, invocation: &Invocation) -> Option<CommandLine> {
    let address = name(finding.subjects.first()?);
    let about = |command: &'static str| invocation.ketcd(command).word(&address);
    Some(match finding.trouble.kind {
        TroubleKind::EtcdAlarm
        | TroubleKind::MemberLeaderless
        | TroubleKind::MembersDisagree
        | TroubleKind::MemberSilent
        | TroubleKind::MemberBehind
        | TroubleKind::CompactionStalled
        | TroubleKind::CompactionAwaited => invocation.ketcd("status"),
        TroubleKind::DataDiffers => {
            CommandLine::of("etcdctl endpoint hashkv --cluster --rev").word(&finding.trouble.numbers.unwrap_or_default().0.to_string())
        }
        TroubleKind::DatabaseNearQuota => invocation.ketcd("usage"),
        TroubleKind::OwnerElsewhere => about("tree"),
        TroubleKind::Unschedulable | TroubleKind::VolumeAwaited | TroubleKind::DeviceAwaited | TroubleKind::NotScheduled => {
            about("explain")
        }
        TroubleKind::NodeSilent
        | TroubleKind::NodeNotReady
        | TroubleKind::NodePressure
        | TroubleKind::Short
        | TroubleKind::RolloutStuck
        | TroubleKind::RolloutUnfinished
        | TroubleKind::PodsRefused
        | TroubleKind::JobFailed
        | TroubleKind::Terminating
        | TroubleKind::NamespaceStuck
        | TroubleKind::FinalizersStuck => about("timeline"),
        TroubleKind::ComponentSilent | TroubleKind::LeaseReleased | TroubleKind::ChangeUnexplained => about("history"),
        _ => about("describe"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_in_the_plural() {
        assert_eq!(
            ["Pod", "Node", "APIService", "Ingress", "NetworkPolicy"].map(plural).join(" "),
            "pods nodes apiservices ingresses networkpolicies"
        );
    }

    #[test]
    fn a_wrong_counter_is_told_beside_what_is_really_used_up() {
        let quota = |about: &[&str]| {
            let about = about.iter().map(|part| (*part).to_owned()).collect();
            what(&Trouble { about, ..Trouble::new(TroubleKind::QuotaMiscounted) })
        };
        assert_eq!(quota(&["pods", "3", "1"]), "used up, but its counter is wrong: pods 3 counted, 1 there");
        assert_eq!(quota(&["pods", "3", "1", "secrets", "2", ""]), "used up: secrets 2; another counter is wrong: pods 3 counted, 1 there");
    }

    #[test]
    fn an_attachment_says_why_it_does_not_end() {
        let about = ["pv-1", "node1", "unused", "", "shop/pg-0", "disk.csi"].map(str::to_owned).to_vec();
        let held = Trouble { about, message: Some("disk is busy".to_owned()), ..Trouble::new(TroubleKind::VolumeHeld) };
        assert_eq!(detail(&held), "no pod there uses it; pod shop/pg-0 waits for it on another node; disk.csi says: disk is busy");
    }

    #[test]
    fn a_namespace_says_which_finalizers_hold_it() {
        let stuck = |message: Option<&str>, about: &[&str]| {
            let about = about.iter().map(|part| (*part).to_owned()).collect();
            detail(&Trouble { about, message: message.map(str::to_owned), ..Trouble::new(TroubleKind::NamespaceStuck) })
        };
        assert_eq!(stuck(None, &["example.com/hold"]), "held by example.com/hold");
        assert_eq!(stuck(Some("Some resources are remaining"), &[]), "Some resources are remaining");
        assert_eq!(stuck(Some("1 remaining"), &["a/b", "c/d"]), "1 remaining; held by a/b, c/d");
    }

    #[test]
    fn a_run_was_due_at_the_latest_where_the_zone_is_not_known() {
        let due = |about: &[&str]| {
            let about = about.iter().map(|part| (*part).to_owned()).collect();
            what(&Trouble { about, ..Trouble::new(TroubleKind::CronJobNotStarted) })
        };
        assert_eq!(due(&["0 8 * * *", "", "", "latest"]), "not started when it was due, at the latest");
        assert_eq!(due(&["*/5 * * * *", "", "never"]), "not started when it was due");
    }

    #[test]
    fn what_may_have_begun_earlier_says_so() {
        let moment = |text: &str| text.parse::<Timestamp>().unwrap();
        let trouble = Trouble { since: Some(moment("2026-11-20T22:17:40Z")), ..Trouble::new(TroubleKind::CrashLooping) };
        let mut finding = Finding {
            troubles: vec![trouble.clone()],
            trouble,
            subjects: vec![Subject::default()],
            workloads: vec![None],
            owner: None,
            pods: 1,
            effects: Vec::new(),
        };
        let now = Some(moment("2026-11-20T22:24:35Z"));
        assert_eq!(since_behind(&finding, now), " since 22:17:40 (6m55s)");
        finding.date(finding.since(), true);
        assert_eq!(since_behind(&finding, now), " since 22:17:40 or earlier (at least 6m55s)");
        assert_eq!(since_behind(&finding, None), " since 2026-11-20 22:17:40 or earlier");
    }

    #[test]
    fn every_kind_has_words() {
        for kind in TroubleKind::ALL {
            let trouble = Trouble { numbers: Some((1, 2)), about: vec!["x".to_owned()], ..Trouble::new(*kind) };
            assert!(!what(&trouble).is_empty() && what(&trouble) != kind.as_str(), "{kind}");
        }
    }
}
