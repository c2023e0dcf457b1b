//! Words for what `triage`'s rules find: what is wrong, what shows it, and what ends it. What a rule puts in `about` is said in its file in
//! `ketcd-cluster` (`triage/rules/`).

use std::fmt::Write as _;

use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::{Trouble, TroubleKind};

/// The parts that a trouble is about; empty ones where there are fewer.
fn parts<const N: usize>(trouble: &Trouble) -> [&str; N] {
    std::array::from_fn(|place| trouble.about.get(place).map_or("", String::as_str))
}

/// What is wrong, in a few words behind an object's name.
pub(super) fn what(trouble: &Trouble) -> String {
    let (first, second) = trouble.numbers.unwrap_or_default();
    match trouble.kind {
        TroubleKind::VolumeHeld => {
            let [volume, node, ..] = parts::<6>(trouble);
            format!("holds volume {volume} on {node}")
        }
        TroubleKind::VolumeTaken => {
            let [volume, state, _] = parts(trouble);
            match state {
                "missing" => format!("no volume: {volume}, which it names, does not exist"),
                "released" => format!("no volume: {volume}, which would suit it, is Released"),
                "unsuited" => format!("no volume: {volume}, which it names, does not suit it"),
                _ => format!("no volume: {volume}, which it names, belongs to another claim"),
            }
        }
        TroubleKind::ClaimUnplaced => "no volume: no scheduler chose a node for it".to_owned(),
        TroubleKind::ClaimInUse => format!("does not end: {} uses it", parts::<1>(trouble)[0]),
        TroubleKind::NodeMissing => format!("on {}, which is not among the nodes", parts::<1>(trouble)[0]),
        TroubleKind::CronJobNotStarted => match parts::<4>(trouble) {
            [.., "latest"] => "not started when it was due, at the latest".to_owned(),
            [.., "unreadable"] => "is not started: its schedule cannot be read".to_owned(),
            _ => "not started when it was due".to_owned(),
        },
        TroubleKind::JobWithoutPods => format!("no pods, {second} wanted"),
        TroubleKind::AutoscalerStuck => format!("does not scale {}", parts::<1>(trouble)[0]),
        TroubleKind::ServiceSelectsNothing => format!("selects no pod ({})", parts::<1>(trouble)[0]),
        TroubleKind::VersionNotServed => {
            let [version, state, _] = parts(trouble);
            let served = if state == "gone" { "is not among its versions" } else { "is not served" };
            format!("may have objects stored as {version}, which {served}")
        }
        TroubleKind::OutdatedPodKept => format!("waits for its old pod {} to be deleted", parts::<1>(trouble)[0]),
        TroubleKind::QuotaMiscounted => {
            let (wrong, right): (Vec<_>, Vec<_>) = trouble.about.chunks_exact(3).partition(|one| !one[2].is_empty());
            let counted: Vec<String> = wrong.iter().map(|one| format!("{} {} counted, {} there", one[0], one[1], one[2])).collect();
            let used: Vec<String> = right.iter().map(|one| format!("{} {}", one[0], one[1])).collect();
            match used.is_empty() {
                true => format!("used up, but its counter is wrong: {}", counted.join("; ")),
                false => format!("used up: {}; another counter is wrong: {}", used.join(", "), counted.join("; ")),
            }
        }
        TroubleKind::OwnerElsewhere => {
            let [owner, namespace] = parts(trouble);
            format!("its owner {owner} is in another namespace ({namespace})")
        }
        TroubleKind::ApiServerGone => format!("has {}, an API server that is gone", parts::<1>(trouble)[0]),
        TroubleKind::CompactionStalled | TroubleKind::CompactionAwaited if first > 0 => format!("not compacted after revision {first}"),
        TroubleKind::CompactionStalled | TroubleKind::CompactionAwaited => "never compacted".to_owned(),
        other => other.to_string(),
    }
}

/// What shows it; `None` where that is the trouble's own message.
pub(super) fn detail(trouble: &Trouble) -> Option<String> {
    let message = trouble.message.as_deref().unwrap_or_default().trim();
    let (first, second) = trouble.numbers.unwrap_or_default();
    Some(match trouble.kind {
        TroubleKind::VolumeHeld => held(trouble),
        TroubleKind::VolumeTaken => match parts::<5>(trouble) {
            [_, "missing", ..] => String::new(),
            [volume, "unsuited", what, wants, has] => format!("{what} of the claim: {}, of {volume}: {}", or_none(wants), or_none(has)),
            [volume, "earlier", holder, ..] => format!("the claimRef of {volume} has the uid of an earlier claim {holder}"),
            [volume, _, holder, ..] => format!("the claimRef of {volume} names claim {holder}"),
        },
        TroubleKind::ClaimUnplaced => {
            let [class, pod, node] = parts(trouble);
            format!("class {class} waits for a scheduler to choose; pod {pod} was put on {node} without one")
        }
        TroubleKind::ClaimInUse if trouble.about.len() > 1 => format!("used by {}", trouble.about.join(", ")),
        TroubleKind::CronJobNotStarted => {
            let [schedule, active, never] = parts(trouble);
            let mut detail = format!("schedule {schedule}{}", if never.is_empty() { "" } else { ", never started" });
            if !active.is_empty() {
                let _ = write!(detail, "; job {active} still runs, and concurrencyPolicy is Forbid");
            }
            let reason = trouble.reason.as_deref().unwrap_or_default();
            if !reason.is_empty() {
                let _ = write!(detail, "; {reason}: {message}");
            }
            detail
        }
        TroubleKind::AutoscalerStuck => super::joined(trouble.reason.as_deref().unwrap_or_default(), message),
        TroubleKind::ServiceSelectsNothing => match parts::<4>(trouble) {
            [_, "", "", _] => "no pod and no template of pods in its namespace has these labels".to_owned(),
            [_, "", lacking, "1"] => format!("1 pod has all of them but {lacking}"),
            [_, "", lacking, pods] => format!("{pods} pods have all of them but {lacking}"),
            [_, near, ..] if first == 1 => format!("1 pod has {near}"),
            [_, near, ..] => format!("{first} pods have {near}"),
        },
        TroubleKind::OutdatedPodKept => {
            let [_, revision, newest] = parts(trouble);
            format!("it is of {revision}, the template of {newest}: a pod that is not ready is not replaced")
        }
        TroubleKind::ApiServerGone => match parts(trouble) {
            [_, "unleased"] => "no API server holds a lease of this address (masterleases)".to_owned(),
            [_, "lease"] => "it is only in masterleases; its lease was not renewed".to_owned(),
            _ => "its lease (masterleases) was not renewed".to_owned(),
        },
        TroubleKind::CompactionStalled | TroubleKind::CompactionAwaited => format!("{second} revisions since"),
        TroubleKind::OwnerElsewhere => {
            "the garbage collector looks for an owner in the object's own namespace only, and deletes the object".to_owned()
        }
        _ => return None,
    })
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn held(trouble: &Trouble) -> String {
    let [_, node, state, user, waiting, driver, ending] = parts(trouble);
    let waits = if waiting.is_empty() { String::new() } else { format!("; pod {waiting} waits for it on another node") };
    let holds = match state {
        "missing" => format!("{node} is not among the nodes"),
        "used" => format!("pod {user} uses it there"),
        _ => "no pod there uses it".to_owned(),
    };
    let says = trouble.message.as_deref().map_or(String::new(), |message| format!("; {driver} says: {}", message.trim()));
    let ends = if ending.is_empty() { "" } else { "; it is being deleted" };
    format!("{holds}{waits}{ends}{says}")
}

pub(super) fn remedy(finding: &Finding) -> String {
    let trouble = &finding.trouble;
    match trouble.kind {
        TroubleKind::VolumeHeld => match parts::<7>(trouble) {
            [_, node, "used", user, ..] => {
                format!("delete pod {user}; if {node} is down for good, taint it node.kubernetes.io/out-of-service:NoExecute")
            }
            [.., driver, ""] => format!("delete the VolumeAttachment; if it does not end, {driver} has to detach the volume"),
            [.., driver, _] => format!("it ends when {driver} has detached the volume"),
        },
        TroubleKind::VolumeTaken => match parts::<3>(trouble) {
            [volume, "earlier", _] => format!("remove spec.claimRef.uid of pv/{volume}: it is then bound to this claim, with its data"),
            [volume, "released", _] => format!("remove spec.claimRef of pv/{volume}: it is then free, with its data"),
            [_, "missing", _] => "create the volume, or a claim that does not name it".to_owned(),
            [_, "unsuited", _] => "name a volume that suits it, or none, in a new claim".to_owned(),
            _ => "name another volume, or none, in a new claim".to_owned(),
        },
        TroubleKind::ClaimUnplaced => "choose the node with nodeSelector or affinity, not with spec.nodeName".to_owned(),
        TroubleKind::ClaimInUse => "it ends when these are gone".to_owned(),
        TroubleKind::NodeMissing => {
            let them = if finding.subjects.len() == 1 { "it" } else { "them" };
            format!("kube-controller-manager deletes {them}; if it does not, delete {them} with --force")
        }
        TroubleKind::CronJobNotStarted => cron_job(trouble),
        TroubleKind::AutoscalerStuck => autoscaler(trouble),
        TroubleKind::ServiceSelectsNothing => match parts(trouble) {
            [_, "", ""] => "correct spec.selector, or the labels of the pods".to_owned(),
            [_, "", lacking] => format!("take {lacking} out of spec.selector, or give it to the pods"),
            [_, near, _] => format!("select {near}, or correct the labels of the pods"),
        },
        TroubleKind::VersionNotServed => match parts(trouble) {
            [version, "gone", _] => format!("add {version} to spec.versions again, not served: its objects cannot be read without it"),
            [version, _, storage] if version == storage => {
                format!("serve {version}, or make a version that is served the storage version, then write every object again")
            }
            [version, _, storage] => {
                format!("write every object again, so that it is stored as {storage}; then take {version} out of status.storedVersions")
            }
        },
        TroubleKind::OutdatedPodKept => format!("delete pod {}", parts::<1>(trouble)[0]),
        TroubleKind::QuotaMiscounted => "kube-controller-manager recounts every 5 minutes; if it does not, restart it".to_owned(),
        TroubleKind::OwnerElsewhere => "remove the ownerReference, or name an owner in the same namespace, or a cluster-scoped one".to_owned(),
        TroubleKind::ApiServerGone => {
            "a running API server removes it when the lease ends; delete the key below masterleases if it stays".to_owned()
        }
        TroubleKind::CompactionStalled => {
            "kine, or the API server through it, compacts every 5 minutes all but the newest 1,000 revisions: see kine's log for \"Compact failed\""
                .to_owned()
        }
        TroubleKind::CompactionAwaited => {
            "kine, or the API server through it, compacts every 5 minutes, and keeps the newest 1,000 revisions: so few are normal".to_owned()
        }
        TroubleKind::RolloutUnfinished | TroubleKind::RolloutStuck if !fence(trouble).is_empty() => {
            "set maxUnavailable to 1, if an old pod may end before a new one is ready".to_owned()
        }
        _ => String::new(),
    }
}

fn cron_job(trouble: &Trouble) -> String {
    let [_, active, _] = parts(trouble);
    match trouble.reason.as_deref() {
        _ if !active.is_empty() => format!("job {active} has to end, or be deleted"),
        Some("FailedNeedsStart") => "set spec.startingDeadlineSeconds: only runs missed within it count".to_owned(),
        // Since 1.21 (pkg/controller/cronjob/utils.go, `nextScheduleTime`) too many missed times are said and stop nothing.
        Some("TooManyMissedTimes") => {
            "set spec.startingDeadlineSeconds, as the Event says; since 1.21 so many missed runs do not stop the next one: see the log of kube-controller-manager"
                .to_owned()
        }
        Some("UnknownTimeZone") => "correct spec.timeZone".to_owned(),
        Some("InvalidSchedule" | "UnparseableSchedule" | "UnParseableCronJobSchedule") => "correct spec.schedule".to_owned(),
        Some("MissSchedule") => "raise spec.startingDeadlineSeconds: the controller came too late for this run".to_owned(),
        Some("FailedCreate" | "FailedGet" | "FailedDelete") => String::new(),
        _ => "check that kube-controller-manager is running".to_owned(),
    }
}

fn autoscaler(trouble: &Trouble) -> String {
    let (reason, message) = (trouble.reason.as_deref().unwrap_or_default(), trouble.message.as_deref().unwrap_or_default());
    if message.contains("missing request for") {
        return "give each container of its pods a request for the resource".to_owned();
    }
    match reason {
        "FailedGetScale" => "check that its scaleTargetRef exists".to_owned(),
        "FailedGetResourceMetric" | "FailedGetContainerResourceMetric" => {
            "check that metrics-server answers (v1beta1.metrics.k8s.io)".to_owned()
        }
        "FailedGetExternalMetric" | "FailedGetObjectMetric" | "FailedGetPodsMetric" => {
            "check that the adapter of its metrics answers".to_owned()
        }
        "AmbiguousSelector" => "let only one autoscaler select these pods".to_owned(),
        _ => String::new(),
    }
}

/// That a rollout may not take a pod away before there is another one; empty where it may.
pub(super) fn fence(trouble: &Trouble) -> String {
    match parts(trouble) {
        [_, _, "", _] => String::new(),
        [_, _, zero @ ("0" | "0%"), _] => format!("; maxUnavailable is {zero}"),
        [_, _, unavailable, replicas] => format!("; maxUnavailable {unavailable} of {replicas} rounds down to 0"),
    }
}

#[cfg(test)]
mod tests {
    use ketcd_history::timeline::Subject;

    use super::*;

    fn trouble(kind: TroubleKind, about: &[&str]) -> Trouble {
        Trouble { about: about.iter().map(|part| (*part).to_owned()).collect(), ..Trouble::new(kind) }
    }

    /// As a condition or an Event says it.
    fn said(trouble: Trouble, reason: &str, message: &str) -> Trouble {
        Trouble { reason: Some(reason.to_owned()), message: Some(message.to_owned()), ..trouble }
    }

    fn counted(trouble: Trouble, numbers: (i64, i64)) -> Trouble {
        Trouble { numbers: Some(numbers), ..trouble }
    }

    fn finding(trouble: Trouble, objects: usize) -> Finding {
        let (subjects, troubles) = (vec![Subject::default(); objects], vec![trouble.clone(); objects]);
        Finding { trouble, workloads: vec![None; subjects.len()], subjects, troubles, owner: None, pods: 0, effects: Vec::new() }
    }

    /// What is wrong, what shows it, and what ends it.
    #[track_caller]
    fn check(trouble: Trouble, what: &str, detail: &str, remedy: &str) {
        let (said, shown) = (crate::words::trouble::what(&trouble), crate::words::trouble::detail(&trouble));
        let ends = crate::words::trouble::remedy(&finding(trouble, 1));
        assert_eq!([said, shown, ends].each_ref().map(String::as_str), [what, detail, remedy]);
    }

    #[test]
    fn a_volume_that_is_held_says_by_what_and_what_frees_it() {
        let held = |about: &[&str]| trouble(TroubleKind::VolumeHeld, about);
        let delete = "delete the VolumeAttachment; if it does not end, disk.csi has to detach the volume";
        check(
            held(&["pv-1", "node1", "unused", "", "shop/pg-0", "disk.csi"]),
            "holds volume pv-1 on node1",
            "no pod there uses it; pod shop/pg-0 waits for it on another node",
            delete,
        );
        check(
            held(&["pv-1", "node9", "missing", "", "shop/pg-0", "disk.csi"]),
            "holds volume pv-1 on node9",
            "node9 is not among the nodes; pod shop/pg-0 waits for it on another node",
            delete,
        );
        check(held(&["pv-1", "node1", "unused", "", "", "disk.csi"]), "holds volume pv-1 on node1", "no pod there uses it", delete);
        check(
            held(&["pv-1", "node1", "used", "shop/pg-old", "shop/pg-0", "disk.csi"]),
            "holds volume pv-1 on node1",
            "pod shop/pg-old uses it there; pod shop/pg-0 waits for it on another node",
            "delete pod shop/pg-old; if node1 is down for good, taint it node.kubernetes.io/out-of-service:NoExecute",
        );
        check(
            held(&["pv-1", "node1", "unused", "", "shop/pg-0", "disk.csi", "deleting"]),
            "holds volume pv-1 on node1",
            "no pod there uses it; pod shop/pg-0 waits for it on another node; it is being deleted",
            "it ends when disk.csi has detached the volume",
        );
    }

    #[test]
    fn a_volume_of_another_claim_says_which_field_to_remove() {
        let taken = |about: &[&str]| trouble(TroubleKind::VolumeTaken, about);
        check(
            taken(&["pv-1", "earlier", "shop/media"]),
            "no volume: pv-1, which it names, belongs to another claim",
            "the claimRef of pv-1 has the uid of an earlier claim shop/media",
            "remove spec.claimRef.uid of pv/pv-1: it is then bound to this claim, with its data",
        );
        check(
            taken(&["pv-1", "other", "shop/other"]),
            "no volume: pv-1, which it names, belongs to another claim",
            "the claimRef of pv-1 names claim shop/other",
            "name another volume, or none, in a new claim",
        );
        check(
            taken(&["pv-1", "released", "shop/gone"]),
            "no volume: pv-1, which would suit it, is Released",
            "the claimRef of pv-1 names claim shop/gone",
            "remove spec.claimRef of pv/pv-1: it is then free, with its data",
        );
        check(
            taken(&["pv-1", "missing", ""]),
            "no volume: pv-1, which it names, does not exist",
            "",
            "create the volume, or a claim that does not name it",
        );
        let unsuited = "name a volume that suits it, or none, in a new claim";
        check(
            taken(&["pv-1", "unsuited", "storage", "10Gi", "1Gi"]),
            "no volume: pv-1, which it names, does not suit it",
            "storage of the claim: 10Gi, of pv-1: 1Gi",
            unsuited,
        );
        check(
            taken(&["pv-1", "unsuited", "storageClassName", "disk", ""]),
            "no volume: pv-1, which it names, does not suit it",
            "storageClassName of the claim: disk, of pv-1: none",
            unsuited,
        );
    }

    #[test]
    fn a_claim_that_waits_says_for_what() {
        check(
            trouble(TroubleKind::ClaimUnplaced, &["disk", "shop/pinned", "node1"]),
            "no volume: no scheduler chose a node for it",
            "class disk waits for a scheduler to choose; pod shop/pinned was put on node1 without one",
            "choose the node with nodeSelector or affinity, not with spec.nodeName",
        );
        let used = |about: &[&str]| trouble(TroubleKind::ClaimInUse, about);
        check(used(&["pod/shop/a"]), "does not end: pod/shop/a uses it", "", "it ends when these are gone");
        check(
            used(&["pod/shop/a", "pod/shop/b"]),
            "does not end: pod/shop/a uses it",
            "used by pod/shop/a, pod/shop/b",
            "it ends when these are gone",
        );
    }

    #[test]
    fn pods_on_a_missing_node_are_deleted_with_force_if_nobody_else_does_it() {
        let missing = || trouble(TroubleKind::NodeMissing, &["node9"]);
        check(
            missing(),
            "on node9, which is not among the nodes",
            "",
            "kube-controller-manager deletes it; if it does not, delete it with --force",
        );
        let several = crate::words::trouble::remedy(&finding(missing(), 2));
        assert_eq!(several, "kube-controller-manager deletes them; if it does not, delete them with --force");
    }

    #[test]
    fn a_cron_job_says_what_its_event_calls_for() {
        const LATE_SENTENCE: &str = "not started when it was due";
        let cron = |active: &str, never: &str| trouble(TroubleKind::CronJobNotStarted, &["*/5 * * * *", active, never]);
        check(cron("", ""), LATE_SENTENCE, "schedule */5 * * * *", "check that kube-controller-manager is running");
        check(cron("", "never"), LATE_SENTENCE, "schedule */5 * * * *, never started", "check that kube-controller-manager is running");
        check(
            cron("poll-1", ""),
            LATE_SENTENCE,
            "schedule */5 * * * *; job poll-1 still runs, and concurrencyPolicy is Forbid",
            "job poll-1 has to end, or be deleted",
        );
        for (reason, remedy) in [
            ("FailedNeedsStart", "set spec.startingDeadlineSeconds: only runs missed within it count"),
            (
                "TooManyMissedTimes",
                "set spec.startingDeadlineSeconds, as the Event says; since 1.21 so many missed runs do not stop the next one: see the log of kube-controller-manager",
            ),
            ("UnknownTimeZone", "correct spec.timeZone"),
            ("InvalidSchedule", "correct spec.schedule"),
            ("UnparseableSchedule", "correct spec.schedule"),
            ("UnParseableCronJobSchedule", "correct spec.schedule"),
            ("MissSchedule", "raise spec.startingDeadlineSeconds: the controller came too late for this run"),
            ("FailedCreate", ""),
            ("FailedGet", ""),
            ("FailedDelete", ""),
        ] {
            check(said(cron("", ""), reason, "so it is"), LATE_SENTENCE, &format!("schedule */5 * * * *; {reason}: so it is"), remedy);
        }
        let unreadable = trouble(TroubleKind::CronJobNotStarted, &["61 * * * *", "", "", "unreadable"]);
        check(
            said(unreadable, "UnparseableSchedule", "end of range (61) above maximum (59): 61"),
            "is not started: its schedule cannot be read",
            "schedule 61 * * * *; UnparseableSchedule: end of range (61) above maximum (59): 61",
            "correct spec.schedule",
        );
    }

    #[test]
    fn an_autoscaler_says_who_owes_the_metric() {
        let stuck = |reason: &str, message: &str| said(trouble(TroubleKind::AutoscalerStuck, &["deployment/api"]), reason, message);
        let metrics = "check that metrics-server answers (v1beta1.metrics.k8s.io)";
        let adapter = "check that the adapter of its metrics answers";
        for (reason, message, remedy) in [
            ("FailedGetScale", "not found", "check that its scaleTargetRef exists"),
            ("FailedGetResourceMetric", "no metrics returned", metrics),
            ("FailedGetContainerResourceMetric", "no metrics returned", metrics),
            (
                "FailedGetResourceMetric",
                "missing request for cpu in container main",
                "give each container of its pods a request for the resource",
            ),
            ("FailedGetExternalMetric", "no metrics returned", adapter),
            ("FailedGetObjectMetric", "no metrics returned", adapter),
            ("FailedGetPodsMetric", "no metrics returned", adapter),
            ("AmbiguousSelector", "pods by multiple HPAs", "let only one autoscaler select these pods"),
            ("FailedUpdateScale", "conflict", ""),
        ] {
            check(stuck(reason, message), "does not scale deployment/api", &format!("{reason}: {message}"), remedy);
        }
    }

    #[test]
    fn a_service_that_selects_nothing_names_the_label_that_is_near() {
        let service = |near: &str, pods| counted(trouble(TroubleKind::ServiceSelectsNothing, &["app=frnt", near]), (pods, 0));
        let near = "select app=front, or correct the labels of the pods";
        check(service("app=front", 1), "selects no pod (app=frnt)", "1 pod has app=front", near);
        check(service("app=front", 2), "selects no pod (app=frnt)", "2 pods have app=front", near);
        check(
            service("", 0),
            "selects no pod (app=frnt)",
            "no pod and no template of pods in its namespace has these labels",
            "correct spec.selector, or the labels of the pods",
        );
        let lacking = |pods: &str| trouble(TroubleKind::ServiceSelectsNothing, &["app=web,tier=front", "", "tier=front", pods]);
        let lacks = "take tier=front out of spec.selector, or give it to the pods";
        check(lacking("1"), "selects no pod (app=web,tier=front)", "1 pod has all of them but tier=front", lacks);
        check(lacking("2"), "selects no pod (app=web,tier=front)", "2 pods have all of them but tier=front", lacks);
    }

    #[test]
    fn controllers_that_wait_say_for_what() {
        let job = counted(trouble(TroubleKind::JobWithoutPods, &[]), (0, 3));
        check(job, "no pods, 3 wanted", "", "");
        check(
            trouble(TroubleKind::OutdatedPodKept, &["db-0", "db-b", "db-c"]),
            "waits for its old pod db-0 to be deleted",
            "it is of db-b, the template of db-c: a pod that is not ready is not replaced",
            "delete pod db-0",
        );
        let rollout = |unavailable: &str| counted(trouble(TroubleKind::RolloutUnfinished, &["4", "1", unavailable, "2"]), (1, 2));
        let raise = "set maxUnavailable to 1, if an old pod may end before a new one is ready";
        let unfinished = "rollout 4 not finished";
        check(rollout("25%"), unfinished, "1 of 2 pods updated, 1 old pod is left; maxUnavailable 25% of 2 rounds down to 0", raise);
        check(rollout("0"), unfinished, "1 of 2 pods updated, 1 old pod is left; maxUnavailable is 0", raise);
        check(rollout(""), unfinished, "1 of 2 pods updated, 1 old pod is left", "");
        let stuck = said(trouble(TroubleKind::RolloutStuck, &["4", "1", "0%", "2"]), "ProgressDeadlineExceeded", "timed out.");
        check(
            counted(stuck, (1, 2)),
            "rollout without progress, 1/2 ready",
            "ProgressDeadlineExceeded: timed out; maxUnavailable is 0%",
            raise,
        );
    }

    #[test]
    fn what_the_control_plane_keeps_wrongly_says_who_mends_it() {
        let recount = "kube-controller-manager recounts every 5 minutes; if it does not, restart it";
        let quota = |about: &[&str]| trouble(TroubleKind::QuotaMiscounted, about);
        check(quota(&["pods", "3", "1"]), "used up, but its counter is wrong: pods 3 counted, 1 there", "", recount);
        check(
            quota(&["pods", "3", "1", "secrets", "2", "0"]),
            "used up, but its counter is wrong: pods 3 counted, 1 there; secrets 2 counted, 0 there",
            "",
            recount,
        );
        let version = |about: &[&str]| trouble(TroubleKind::VersionNotServed, about);
        check(
            version(&["v1alpha1", "unserved", "v1"]),
            "may have objects stored as v1alpha1, which is not served",
            "",
            "write every object again, so that it is stored as v1; then take v1alpha1 out of status.storedVersions",
        );
        check(
            version(&["v1", "unserved", "v1"]),
            "may have objects stored as v1, which is not served",
            "",
            "serve v1, or make a version that is served the storage version, then write every object again",
        );
        check(
            version(&["v1beta1", "gone", "v1"]),
            "may have objects stored as v1beta1, which is not among its versions",
            "",
            "add v1beta1 to spec.versions again, not served: its objects cannot be read without it",
        );
        check(
            trouble(TroubleKind::OwnerElsewhere, &["deployment/parent", "infra"]),
            "its owner deployment/parent is in another namespace (infra)",
            "the garbage collector looks for an owner in the object's own namespace only, and deletes the object",
            "remove the ownerReference, or name an owner in the same namespace, or a cluster-scoped one",
        );
        let gone = "a running API server removes it when the lease ends; delete the key below masterleases if it stays";
        for (state, detail) in [
            ("unleased", "no API server holds a lease of this address (masterleases)"),
            ("lease", "it is only in masterleases; its lease was not renewed"),
            ("expired", "its lease (masterleases) was not renewed"),
        ] {
            check(trouble(TroubleKind::ApiServerGone, &["10.0.0.1", state]), "has 10.0.0.1, an API server that is gone", detail, gone);
        }
    }

    #[test]
    fn a_compaction_that_is_late_is_a_fault_only_where_more_was_written_than_is_kept() {
        let late = |kind, compacted| counted(trouble(kind, &[]), (compacted, 5_000));
        let failed = "kine, or the API server through it, compacts every 5 minutes all but the newest 1,000 revisions: see kine's log for \"Compact failed\"";
        let few = "kine, or the API server through it, compacts every 5 minutes, and keeps the newest 1,000 revisions: so few are normal";
        let stalled = TroubleKind::CompactionStalled;
        check(late(stalled, 20), "not compacted after revision 20", "5000 revisions since", failed);
        check(late(stalled, 0), "never compacted", "5000 revisions since", failed);
        check(late(TroubleKind::CompactionAwaited, 20), "not compacted after revision 20", "5000 revisions since", few);
        check(late(TroubleKind::CompactionAwaited, 0), "never compacted", "5000 revisions since", few);
    }
}
