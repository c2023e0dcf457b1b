//! What state an object is in, as one word and a tone: what a bar on a time axis shows.

use std::borrow::Cow;

use ketcd_kube::condition;
use serde_json::Value;

/// How a state should strike the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be: running and ready, bound, available.
    Good,
    /// On its way, nobody's fault: being created, rolled out, pulled.
    Working,
    /// Held up: unschedulable, gated, unbound, cordoned.
    Waiting,
    /// Broken: crash loop, node lost, failed.
    Bad,
    /// Over, successfully.
    Done,
    /// Being deleted.
    Ending,
    /// It exists; its kind has no other state.
    Neutral,
}

impl Tone {
    /// The word for style sheets.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Bad => "bad",
            Self::Done => "done",
            Self::Ending => "ending",
            Self::Neutral => "neutral",
        }
    }

    /// How grave it is: 0 of what needs nobody.
    pub fn severity(self) -> u8 {
        match self {
            Self::Bad => 3,
            Self::Waiting => 2,
            Self::Ending => 1,
            Self::Good | Self::Working | Self::Done | Self::Neutral => 0,
        }
    }
}

/// An object's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// How it should strike the reader.
    pub tone: Tone,
    /// In Kubernetes' own words where it has some: `Running`, `CrashLoopBackOff`, `2/3 available`.
    pub label: Cow<'static, str>,
}

fn state(tone: Tone, label: impl Into<Cow<'static, str>>) -> State {
    State { tone, label: label.into() }
}

/// Returns the state that `object` is in.
pub fn state_of(object: &Value) -> State {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return state(Tone::Ending, "Terminating");
    }
    let status = &object["status"];
    match object["kind"].as_str().unwrap_or_default() {
        "Pod" => pod(object),
        "Node" => node(object),
        "Deployment" | "ReplicaSet" | "StatefulSet" | "ReplicationController" => replicas(object),
        "DaemonSet" => counted(status["numberReady"].as_i64(), status["desiredNumberScheduled"].as_i64(), "ready"),
        "Job" => job(object),
        "CronJob" if object["spec"]["suspend"] == true => state(Tone::Waiting, "Suspended"),
        "PersistentVolumeClaim" | "PersistentVolume" | "Namespace" => phase(status),
        "CertificateSigningRequest" => match condition(object, "Approved").or(condition(object, "Denied")) {
            Some(found) if found["type"] == "Approved" => state(Tone::Good, "Approved"),
            Some(_) => state(Tone::Bad, "Denied"),
            None => state(Tone::Waiting, "Pending"),
        },
        "ResourceClaim" => match (&status["allocation"], status["reservedFor"].as_array()) {
            (Value::Null, _) => state(Tone::Waiting, "Pending"),
            (_, Some(users)) if !users.is_empty() => state(Tone::Good, "Reserved"),
            _ => state(Tone::Working, "Allocated"),
        },
        _ => from_conditions(object),
    }
}

fn pod(pod: &Value) -> State {
    let status = &pod["status"];
    match status["phase"].as_str().unwrap_or("Pending") {
        "Succeeded" => state(Tone::Done, "Succeeded"),
        "Failed" => state(Tone::Bad, reason(status).unwrap_or_else(|| "Failed".into())),
        "Unknown" => state(Tone::Bad, "Unknown"),
        phase => {
            if let Some(waiting) = trouble(status) {
                return state(Tone::Bad, waiting);
            }
            if phase == "Running" {
                let ready = condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True");
                return if ready { state(Tone::Good, "Running") } else { state(Tone::Working, "Running, not ready") };
            }
            if pod["spec"]["nodeName"].is_string() {
                return state(Tone::Working, "Starting");
            }
            match condition(pod, "PodScheduled").and_then(|scheduled| scheduled["reason"].as_str()) {
                Some(reason) => state(Tone::Waiting, reason.to_owned()),
                None => state(Tone::Working, "Pending"),
            }
        }
    }
}

/// The first container that waits for something which does not come by itself.
fn trouble(status: &Value) -> Option<String> {
    let statuses = ["initContainerStatuses", "containerStatuses"].into_iter().filter_map(|list| status[list].as_array()).flatten();
    let waiting = statuses.filter_map(|one| one["state"]["waiting"]["reason"].as_str());
    let harmless = ["ContainerCreating", "PodInitializing"];
    waiting.filter(|reason| !harmless.contains(reason)).map(str::to_owned).next()
}

fn node(node: &Value) -> State {
    let ready = condition(node, "Ready").and_then(|ready| ready["status"].as_str());
    match ready {
        Some("True") if node["spec"]["unschedulable"] == true => state(Tone::Waiting, "Ready, SchedulingDisabled"),
        Some("True") => state(Tone::Good, "Ready"),
        Some("False") => state(Tone::Bad, "NotReady"),
        _ => state(Tone::Bad, "NotReady (unknown)"),
    }
}

fn replicas(object: &Value) -> State {
    let status = &object["status"];
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let stuck = condition(object, "Progressing").is_some_and(|progress| progress["reason"] == "ProgressDeadlineExceeded");
    if stuck {
        return state(Tone::Bad, "ProgressDeadlineExceeded");
    }
    let ready = status["readyReplicas"].as_i64().unwrap_or(0);
    if object["kind"] == "Deployment" && ready >= wanted && status["updatedReplicas"].as_i64().unwrap_or(0) < wanted {
        return state(Tone::Working, format!("{ready}/{wanted} ready, rolling out"));
    }
    counted(Some(ready), Some(wanted), "ready")
}

fn counted(have: Option<i64>, want: Option<i64>, word: &str) -> State {
    let (have, want) = (have.unwrap_or(0), want.unwrap_or(0));
    let tone = match have {
        _ if want == 0 && have == 0 => Tone::Done,
        have if have >= want => Tone::Good,
        _ => Tone::Working,
    };
    state(tone, if want == 0 && have == 0 { Cow::from("scaled to 0") } else { format!("{have}/{want} {word}").into() })
}

fn job(job: &Value) -> State {
    let holds = |kind: &str| condition(job, kind).is_some_and(|condition| condition["status"] == "True");
    if holds("Complete") {
        state(Tone::Done, "Complete")
    } else if holds("Failed") {
        state(Tone::Bad, "Failed")
    } else if job["spec"]["suspend"] == true {
        state(Tone::Waiting, "Suspended")
    } else {
        state(Tone::Working, format!("{} active", job["status"]["active"].as_i64().unwrap_or(0)))
    }
}

fn phase(status: &Value) -> State {
    match status["phase"].as_str() {
        Some(phase @ ("Bound" | "Active" | "Available")) => state(Tone::Good, phase.to_owned()),
        Some(phase @ ("Lost" | "Failed")) => state(Tone::Bad, phase.to_owned()),
        Some(phase) => state(Tone::Waiting, phase.to_owned()),
        None => state(Tone::Waiting, "Pending"),
    }
}

/// Many kinds, custom ones too, say how they are by a condition Ready or Available.
fn from_conditions(object: &Value) -> State {
    match condition(object, "Ready").or_else(|| condition(object, "Available")) {
        Some(found) if found["status"] == "True" => state(Tone::Good, found["type"].as_str().unwrap_or("Ready").to_owned()),
        Some(found) if found["status"] == "False" => {
            state(Tone::Bad, reason(found).unwrap_or_else(|| format!("not {}", found["type"].as_str().unwrap_or("Ready"))))
        }
        _ => state(Tone::Neutral, ""),
    }
}

fn reason(of: &Value) -> Option<String> {
    of["reason"].as_str().filter(|reason| !reason.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(object: &Value, tone: Tone, label: &str) {
        assert_eq!(state_of(object), state(tone, label.to_owned()), "{object}");
    }

    #[test]
    fn a_pod_through_its_life() {
        let pod = |spec: Value, status: Value| json!({"kind": "Pod", "metadata": {}, "spec": spec, "status": status});
        check(&pod(json!({}), json!({"phase": "Pending"})), Tone::Working, "Pending");
        let refused = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]);
        check(&pod(json!({}), json!({"phase": "Pending", "conditions": refused})), Tone::Waiting, "Unschedulable");
        check(&pod(json!({"nodeName": "n1"}), json!({"phase": "Pending"})), Tone::Working, "Starting");
        let crash = json!([{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
        check(&pod(json!({"nodeName": "n1"}), json!({"phase": "Running", "containerStatuses": crash})), Tone::Bad, "CrashLoopBackOff");
        let ready = json!([{"type": "Ready", "status": "True"}]);
        check(&pod(json!({"nodeName": "n1"}), json!({"phase": "Running", "conditions": ready})), Tone::Good, "Running");
        check(&pod(json!({}), json!({"phase": "Succeeded"})), Tone::Done, "Succeeded");
    }

    #[test]
    fn controllers_count_their_pods() {
        let deployment = |ready: i64, updated: i64| json!({"kind": "Deployment", "spec": {"replicas": 3}, "status": {"readyReplicas": ready, "updatedReplicas": updated}});
        check(&deployment(1, 3), Tone::Working, "1/3 ready");
        check(&deployment(3, 1), Tone::Working, "3/3 ready, rolling out");
        check(&deployment(3, 3), Tone::Good, "3/3 ready");
        check(&json!({"kind": "ReplicaSet", "spec": {"replicas": 0}, "status": {"replicas": 0}}), Tone::Done, "scaled to 0");
    }

    #[test]
    fn a_node_lost_or_cordoned() {
        let node = |ready: &str, cordoned: bool| json!({"kind": "Node", "spec": {"unschedulable": cordoned}, "status": {"conditions": [{"type": "Ready", "status": ready}]}});
        check(&node("True", false), Tone::Good, "Ready");
        check(&node("True", true), Tone::Waiting, "Ready, SchedulingDisabled");
        check(&node("Unknown", false), Tone::Bad, "NotReady (unknown)");
    }
}
