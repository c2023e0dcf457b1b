//! What became of one forecast about one object. What the running cluster does not show is said with the reason, never counted as right.

use ketcd_store::Revision;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::outcome::Outcome;
use super::running::{Present, Running};
use crate::verify::Weight;

type Score = (Outcome, String);

/// Says what became of a forecast about an object.
pub(super) fn of(forecast: &Forecast, affected: &Affected, running: &Running) -> Score {
    let present = running.present(affected);
    match forecast.kind {
        ForecastKind::LostObjects => lost(affected, present),
        // Where it weighs little, controllers decide on what comes back.
        ForecastKind::Returns if forecast.weight == Weight::Low && present.is_none() => {
            (Outcome::NotObservable, "it is not there: its controller may have deleted it since".to_owned())
        }
        ForecastKind::Returns => there(present),
        ForecastKind::ApiServers => api_server(affected, present, running),
        ForecastKind::PodsReturn | ForecastKind::PodsOrphaned => returned_pod(affected, present),
        ForecastKind::UnknownPods => unknown_pod(affected, present),
        ForecastKind::OtherPods => other_pod(affected, present),
        ForecastKind::NodesGone => node_gone(present),
        ForecastKind::NodesUnknown | ForecastKind::VolumesUnknown => lost(affected, present),
        ForecastKind::JobsAgain => job(affected, present, running),
        other => (Outcome::NotObservable, why_not(other).to_owned()),
    }
}

/// Whether watchers see revisions go back: the revision of the running cluster against the newest that was seen before.
pub(super) fn watchers(now: Revision, newest_seen: Revision) -> Score {
    if now > newest_seen {
        (
            Outcome::Right,
            format!("revision {now} is above {newest_seen}, the newest that was seen before: no watcher sees revisions go back"),
        )
    } else {
        let says =
            format!("revision {now} is not above {newest_seen}, the newest that was seen before: watchers that still run miss changes");
        (Outcome::Wrong, says)
    }
}

fn lost(affected: &Affected, present: Option<&Present>) -> Score {
    match present {
        None => (Outcome::Right, "it is not there".to_owned()),
        Some(present) if affected.uid.is_empty() || present.uid.is_empty() => {
            (Outcome::NotObservable, "one of that name is there, and no uid shows whether it is the same".to_owned())
        }
        Some(present) if present.uid == affected.uid => (Outcome::Wrong, "it is there, with the same uid".to_owned()),
        Some(_) => (Outcome::Right, "one of that name is there under another uid: it was made again".to_owned()),
    }
}

fn there(present: Option<&Present>) -> Score {
    match present {
        Some(_) => (Outcome::Right, "it is there".to_owned()),
        None => (Outcome::Wrong, "it is not there: it did not come back, or was deleted again".to_owned()),
    }
}

fn unknown_pod(affected: &Affected, present: Option<&Present>) -> Score {
    match lost(affected, present) {
        (Outcome::Right, _) if present.is_none() => {
            let says = "the API has no such pod; whether its containers still run shows only its node".to_owned();
            (Outcome::Right, says)
        }
        (Outcome::Right, _) => (Outcome::Right, "the API has a pod of that name under another uid".to_owned()),
        other => other,
    }
}

fn other_pod(affected: &Affected, present: Option<&Present>) -> Score {
    match present {
        None => (Outcome::NotObservable, "it is not there any more".to_owned()),
        Some(present) if present.uid != affected.uid => (Outcome::Right, "the API has it under another uid".to_owned()),
        Some(present) if present.node != affected.node => {
            let node = if present.node.is_empty() { "no node".to_owned() } else { format!("node {}", present.node) };
            (Outcome::Right, format!("the API has it on {node}"))
        }
        Some(_) => (Outcome::Wrong, "the API has it with the same uid, on the same node".to_owned()),
    }
}

fn returned_pod(affected: &Affected, present: Option<&Present>) -> Score {
    match present {
        Some(present) if present.uid == affected.uid => (Outcome::Right, "it is there, with the uid of the backup".to_owned()),
        Some(_) => (
            Outcome::NotObservable,
            "the API has a pod of that name under another uid: it was replaced, before the restore or since".to_owned(),
        ),
        None => (Outcome::NotObservable, "it is not there: its controller may have replaced it since".to_owned()),
    }
}

/// An API server that is gone: its lease, or its address in the `kubernetes` Service.
fn api_server(affected: &Affected, present: Option<&Present>, running: &Running) -> Score {
    let is_served = running.api_servers.contains(&affected.subject.name);
    match (present, is_served) {
        (_, true) => (Outcome::Right, "the kubernetes Service still has its address".to_owned()),
        (Some(_), false) => (Outcome::Right, "it is there".to_owned()),
        (None, false) => (Outcome::NotObservable, "it is gone: its lease ran out, or its key was deleted".to_owned()),
    }
}

fn node_gone(present: Option<&Present>) -> Score {
    match present {
        Some(Present { ready, .. }) if !ready.is_empty() => (Outcome::Right, format!("it is there, and its condition Ready is {ready}")),
        other => there(other),
    }
}

fn job(affected: &Affected, present: Option<&Present>, running: &Running) -> Score {
    if let Some(pod) = running.new_pod(affected) {
        return (Outcome::Right, format!("pod/{}/{} was created or started at {}", affected.subject.namespace, pod.name, pod.since));
    }
    let Some(forecast) = running.forecast_time else {
        return (Outcome::NotObservable, "nothing dates the newest state, so that no pod can be called newer".to_owned());
    };
    match present {
        None => there(None),
        Some(Present { started: Some(started), .. }) if *started > forecast => {
            (Outcome::Right, format!("it started at {started}, and its pods are gone"))
        }
        Some(_) => (Outcome::Wrong, "it has no pod that was created or started since".to_owned()),
    }
}

/// Why a running cluster does not show what became of a forecast.
fn why_not(kind: ForecastKind) -> &'static str {
    match kind {
        ForecastKind::LostChanges => "a change that was made again looks like one that was never lost: compare the fields with ketcd diff",
        ForecastKind::CronJobs => "a run that catches up looks like one that was due",
        ForecastKind::StatefulVolumes => "what is on a volume is not in etcd",
        ForecastKind::VolumesGone | ForecastKind::VolumesElsewhere => {
            "whether a volume exists, and where it is attached, only the storage knows"
        }
        ForecastKind::ClaimsHang => "whether the volume of a bound claim exists only the storage knows",
        ForecastKind::NodesDiffer => "kubelets and controllers write these fields again",
        ForecastKind::GivenTwice => "an API server repairs addresses and ports that were given twice",
        ForecastKind::Callbacks => "whether a server answers only a call shows",
        ForecastKind::StoredVersions => "what an API server serves is not in etcd",
        ForecastKind::EncryptionKeys => "which keys an API server has is not in etcd",
        ForecastKind::LeaderLocks => "a lock is taken anew as soon as it has expired",
        ForecastKind::Tokens => "whether a token is accepted only a request shows",
        ForecastKind::Certificates => "whether a certificate is accepted only a request shows",
        ForecastKind::Events => "Events expire after an hour",
        _ => "the running cluster does not show it",
    }
}
