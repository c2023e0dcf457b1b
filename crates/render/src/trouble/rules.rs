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
                _ => format!("no volume: {volume}, which it names, is of another claim"),
            }
        }
        TroubleKind::ClaimUnplaced => "no volume: no scheduler chose a node for it".to_owned(),
        TroubleKind::ClaimInUse => format!("does not end: {} uses it", parts::<1>(trouble)[0]),
        TroubleKind::NodeMissing => format!("on {}, which is not among the nodes", parts::<1>(trouble)[0]),
        TroubleKind::CronJobNotStarted => "not started when it was due".to_owned(),
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
            let counted = trouble.about.chunks_exact(3).map(|one| format!("{} {} counted, {} there", one[0], one[1], one[2]));
            format!("used up, but its counter is wrong: {}", counted.collect::<Vec<_>>().join("; "))
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
        TroubleKind::VolumeTaken => match parts::<3>(trouble) {
            [_, "missing", _] => String::new(),
            [volume, "earlier", holder] => format!("the claimRef of {volume} has the uid of an earlier claim {holder}"),
            [volume, _, holder] => format!("the claimRef of {volume} names claim {holder}"),
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
        TroubleKind::ServiceSelectsNothing => match parts(trouble) {
            [_, ""] => "no pod and no template of pods in its namespace has these labels".to_owned(),
            [_, near] if first == 1 => format!("1 pod has {near}"),
            [_, near] => format!("{first} pods have {near}"),
        },
        TroubleKind::OutdatedPodKept => {
            let [_, revision, newest] = parts(trouble);
            format!("it is of {revision}, the template of {newest}: a pod that is not ready is not replaced")
        }
        TroubleKind::ApiServerGone => match parts(trouble) {
            [_, "unleased"] => "no API server holds a lease of this address (masterleases)".to_owned(),
            [_, "lease"] => "it stands in masterleases only; its lease was not renewed".to_owned(),
            _ => "its lease (masterleases) was not renewed".to_owned(),
        },
        TroubleKind::CompactionStalled | TroubleKind::CompactionAwaited => format!("{second} revisions since"),
        TroubleKind::OwnerElsewhere => {
            "an owner is looked for in the object's own namespace: the garbage collector deletes the object".to_owned()
        }
        _ => return None,
    })
}

fn held(trouble: &Trouble) -> String {
    let [_, node, state, user, waiting, _] = parts(trouble);
    let waits = if waiting.is_empty() { String::new() } else { format!("; pod {waiting} waits for it on another node") };
    let holds = match state {
        "missing" => format!("{node} is not among the nodes"),
        "used" => format!("pod {user} uses it there"),
        _ => "no pod there uses it".to_owned(),
    };
    format!("{holds}{waits}")
}

/// What ends it.
pub(super) fn remedy(finding: &Finding) -> String {
    let trouble = &finding.trouble;
    match trouble.kind {
        TroubleKind::VolumeHeld => match parts::<6>(trouble) {
            [_, node, "used", user, ..] => {
                format!("end pod {user}; if {node} is down for good, taint it node.kubernetes.io/out-of-service:NoExecute")
            }
            [.., driver] => format!("delete the VolumeAttachment; if it does not end, {driver} has to detach the volume"),
        },
        TroubleKind::VolumeTaken => match parts::<3>(trouble) {
            [volume, "earlier", _] => format!("remove spec.claimRef.uid of pv/{volume}: it is bound to this claim then, with its data"),
            [volume, "released", _] => format!("remove spec.claimRef of pv/{volume}: it is free then, with its data"),
            [_, "missing", _] => "make the volume, or a claim that does not name it".to_owned(),
            _ => "name another volume, or none, in a new claim".to_owned(),
        },
        TroubleKind::ClaimUnplaced => "choose the node by nodeSelector or affinity, not by spec.nodeName".to_owned(),
        TroubleKind::ClaimInUse => "it ends when these are gone".to_owned(),
        TroubleKind::NodeMissing => {
            let them = if finding.subjects.len() == 1 { "it" } else { "them" };
            format!("kube-controller-manager deletes {them}; if it does not, delete {them} with --force")
        }
        TroubleKind::CronJobNotStarted => cron_job(trouble),
        TroubleKind::AutoscalerStuck => autoscaler(trouble),
        TroubleKind::ServiceSelectsNothing => match parts(trouble) {
            [_, ""] => "correct spec.selector, or the labels of the pods".to_owned(),
            [_, near] => format!("select {near}, or correct the labels of the pods"),
        },
        TroubleKind::VersionNotServed => match parts(trouble) {
            [version, "gone", _] => format!("add {version} to spec.versions again, not served: its objects cannot be read without it"),
            [version, _, storage] => {
                format!("write every object again, so that it is stored as {storage}; then take {version} out of status.storedVersions")
            }
        },
        TroubleKind::OutdatedPodKept => format!("delete pod {}", parts::<1>(trouble)[0]),
        TroubleKind::QuotaMiscounted => "kube-controller-manager counts anew every 5 minutes; if it does not, restart it".to_owned(),
        TroubleKind::OwnerElsewhere => "remove the ownerReference, or have an owner in the same namespace or without one".to_owned(),
        TroubleKind::ApiServerGone => {
            "a running API server removes it when the lease ends; delete the key below masterleases if it stays".to_owned()
        }
        TroubleKind::CompactionStalled => {
            "kine, or the API server through it, compacts every 5 minutes all but the newest 1,000 revisions: see kine's log for \"Compact failed\""
                .to_owned()
        }
        TroubleKind::CompactionAwaited => {
            "kine, or the API server through it, compacts every 5 minutes, and keeps the newest 1,000 revisions: so few are not a fault".to_owned()
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
            "set spec.startingDeadlineSeconds, as the Event says; since 1.21 that many stop no run: see the log of kube-controller-manager"
                .to_owned()
        }
        Some("UnknownTimeZone") => "correct spec.timeZone".to_owned(),
        Some("InvalidSchedule" | "UnparseableSchedule" | "UnParseableCronJobSchedule") => "correct spec.schedule".to_owned(),
        Some("MissSchedule") => "raise spec.startingDeadlineSeconds: the controller came too late for this run".to_owned(),
        Some("FailedCreate" | "FailedGet" | "FailedDelete") => String::new(),
        _ => "see whether kube-controller-manager runs".to_owned(),
    }
}

fn autoscaler(trouble: &Trouble) -> String {
    let (reason, message) = (trouble.reason.as_deref().unwrap_or_default(), trouble.message.as_deref().unwrap_or_default());
    if message.contains("missing request for") {
        return "give each container of its pods a request for the resource".to_owned();
    }
    match reason {
        "FailedGetScale" => "see whether its scaleTargetRef is there".to_owned(),
        "FailedGetResourceMetric" | "FailedGetContainerResourceMetric" => {
            "see whether metrics-server answers (v1beta1.metrics.k8s.io)".to_owned()
        }
        "FailedGetExternalMetric" | "FailedGetObjectMetric" | "FailedGetPodsMetric" => {
            "see whether the adapter of its metrics answers".to_owned()
        }
        "AmbiguousSelector" => "let one autoscaler alone select these pods".to_owned(),
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
