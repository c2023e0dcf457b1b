//! Finds the steps of each kind of object, and keeps what must be remembered between the changes of one object.

use serde_json::Value;

use super::{Step, autoscaler, deployment, generic, network, node, pod, rollout, storage, workload};
use crate::change::{Change, ObjectVersion};

/// Finds the steps of one key's changes, one change at a time, oldest first.
#[derive(Default)]
pub struct StepDetector {
    deployment: deployment::Rollouts,
    rolling: rollout::Rolling,
}

impl StepDetector {
    /// Returns the steps that `change` shows; none after a gap, for nothing is known of what it changed.
    pub fn steps(&mut self, change: &Change) -> Vec<Step> {
        let kind = change.object().and_then(|object| object["kind"].as_str()).unwrap_or_default();
        let (before, after) = match (&change.before, &change.after) {
            (_, ObjectVersion::Absent) => return vec![generic::deleted(change.before.object())],
            (ObjectVersion::Absent, ObjectVersion::Object(after)) => (None, after),
            (ObjectVersion::Object(before), ObjectVersion::Object(after)) => (Some(before), after),
            (_, ObjectVersion::Object(after)) => {
                self.rolling = rollout::Rolling::default();
                if kind == "Deployment" {
                    self.deployment.remember(after);
                }
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        if kind == "Secret" {
            // For a Secret, report which fields changed, never their values.
            let before = before.map(|before| before.comparable());
            return generic::steps(before.as_deref(), &after.comparable());
        }
        self.between(kind, before.map(|before| &***before), after)
    }

    pub(super) fn created(&mut self, object: &Value) -> Vec<Step> {
        self.between(object["kind"].as_str().unwrap_or_default(), None, object)
    }

    fn between(&mut self, kind: &str, before: Option<&Value>, after: &Value) -> Vec<Step> {
        match kind {
            "Pod" => pod::steps(before, after),
            "Node" => node::steps(before, after),
            "Deployment" => self.deployment.steps(before, after),
            "StatefulSet" | "DaemonSet" => {
                let mut steps = workload::steps(kind, before, after);
                self.rolling.follow(kind, after, &mut steps);
                steps
            }
            "ReplicaSet" | "ReplicationController" | "Job" | "CronJob" => workload::steps(kind, before, after),
            "HorizontalPodAutoscaler" => autoscaler::steps(before, after),
            "PersistentVolumeClaim" | "PersistentVolume" | "VolumeAttachment" | "ResourceClaim" => storage::steps(kind, before, after),
            "Service" | "Endpoints" | "EndpointSlice" => network::steps(kind, before, after),
            _ => generic::steps(before, after),
        }
    }
}
