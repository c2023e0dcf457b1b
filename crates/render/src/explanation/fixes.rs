//! Changes that would help, and what stands in the way, in words.

use std::sync::Arc;

use ketcd_scheduler::{Fix, MOST_CHANGES, Obstacle, VolumeRequest};

use super::amounts::exact;
use super::facts::key_value_effect;

/// The kubelet sets it where a cloud provider is external; the cloud node controller takes it off (k8s.io/cloud-provider 1.36, api/well_known_taints.go,
/// controllers/node/node_controller.go).
const UNINITIALIZED_TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// The cloud node lifecycle controller sets it (the same file).
const SHUTDOWN_TAINT: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// A change in words; `node` is the node's name.
pub(super) fn fix(fix: &Fix, node: &str) -> String {
    match fix {
        Fix::Uncordon => format!("uncordon {node}"),
        Fix::Tolerate(taint) => format!("tolerate taint {}", key_value_effect(taint)),
        Fix::RemoveTaint(taint) => format!("remove taint {} from {node}", key_value_effect(taint)),
        Fix::LowerRequest { resource, by } => format!("lower requests.{resource} by {}", exact(resource, *by)),
        Fix::AddLabel { key, value } => format!("add label {key}={value} to {node}"),
        Fix::RemoveLabel { key } => format!("remove label {key} from {node}"),
        Fix::DropNodeSelector { key } => format!("drop {key} from nodeSelector"),
        Fix::DropNodeAffinity => "drop the required node affinity".to_owned(),
        Fix::ChangeHostPort { protocol, port } => format!("use another host port than {port}/{protocol}"),
        Fix::DeletePod((namespace, name)) => format!("delete pod {namespace}/{name}"),
        Fix::RaiseMaxSkew { topology_key, max_skew, .. } => format!("raise maxSkew of the spread over {topology_key} to {max_skew}"),
        Fix::HonorTaints { topology_key, .. } => format!("set nodeTaintsPolicy: Honor on the spread over {topology_key}"),
        Fix::SoftenSpread { topology_key, .. } => format!("make the spread over {topology_key} ScheduleAnyway"),
        Fix::SoftenAffinity => "make podAffinity preferred instead of required".to_owned(),
        Fix::SoftenAntiAffinity => "make podAntiAffinity preferred instead of required".to_owned(),
        Fix::FreeVolume { volume } => format!("make the released PersistentVolume {volume} available"),
        Fix::ProvideVolume(request) => format!("provide {} on {node} for claim {}", volume(request), request.claim),
        Fix::BindClaim(request) => format!("provide {} for claim {}", volume(request), request.claim),
        Fix::CreateClaim { claim } => format!("create PersistentVolumeClaim {claim} and a volume for it"),
        Fix::RestoreVolume { claim, volume } => format!("restore PersistentVolume {volume}, to which claim {claim} is bound"),
        Fix::ReleaseDevices { claim, pod: (namespace, name) } => {
            format!("delete pod {namespace}/{name}, which holds ResourceClaim {claim}")
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// Why nothing helps.
pub(super) fn obstacles(obstacles: &[Obstacle]) -> String {
    obstacles.iter().map(obstacle).collect::<Vec<_>>().join(", ")
}

fn obstacle(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Refused(reasons) => reasons.join(", "),
        Obstacle::Unknown { missing } => format!("unknown: {missing}"),
        Obstacle::Error(error) => error.clone(),
        Obstacle::TooManyChanges => format!("more than {MOST_CHANGES} changes would be needed"),
        Obstacle::OtherDaemonSetNode => "the pod is its DaemonSet's pod for another node".to_owned(),
        Obstacle::OtherNodeNamed => "the pod names another node".to_owned(),
        Obstacle::FeatureNotDeclared => "its kubelet does not declare a feature the pod needs".to_owned(),
        Obstacle::Condition { kind, status } => format!("its condition {kind} is {status}"),
        Obstacle::UnhealthyTaint { key, effect } if &**key == UNINITIALIZED_TAINT => {
            format!("its taint {key}:{effect} stays until the cloud controller manager has initialised it")
        }
        Obstacle::UnhealthyTaint { key, effect } if &**key == SHUTDOWN_TAINT => {
            format!("its taint {key}:{effect} says that its machine is shut down")
        }
        Obstacle::UnhealthyTaint { key, effect } => format!("its taint {key}:{effect} marks it as unhealthy"),
        Obstacle::PolicyLabel { key, value: Some(value), wanted: Some(wanted) } => {
            format!("its label {key} is {value}, the scheduler's Policy requires {wanted}")
        }
        Obstacle::PolicyLabel { key, value: Some(_), wanted: None } => format!("the scheduler's Policy forbids label {key}"),
        Obstacle::PolicyLabel { key, value: None, .. } => format!("the scheduler's Policy requires label {key}"),
        Obstacle::AddedAffinity => "the scheduler's configuration (addedAffinity) keeps pods away from it".to_owned(),
        Obstacle::TooManyPods => "it has its maximum number of pods, none of which may be deleted".to_owned(),
        Obstacle::NoRoom => "its resources do not suffice".to_owned(),
        Obstacle::DefaultConstraints => "the default spread constraints of the scheduler's configuration do not allow it".to_owned(),
        Obstacle::ManyAntiAffinePods => "too many pods have anti-affinity against this one".to_owned(),
        Obstacle::AntiAffinePod((namespace, name)) => format!("{namespace}/{name} has anti-affinity against the pod"),
        Obstacle::VolumesElsewhere => "its volumes are on other nodes".to_owned(),
        Obstacle::EphemeralClaimMissing { claim } => format!("claim {claim} must be created by the ephemeral volume controller"),
        Obstacle::ClaimDeleted { claim } => format!("claim {claim} is being deleted"),
        Obstacle::ProvisionedElsewhere { claim, node } => format!("claim {claim} is being provisioned on {node}"),
        Obstacle::VolumeOutOfReach { volume } => format!("volume {volume} is not reachable from it"),
        Obstacle::VolumeInZone { volume, key, values } => format!("volume {volume} is in {key}={}", values.join(" or ")),
        Obstacle::DiskInUse((namespace, name)) => format!("{namespace}/{name} uses the same disk"),
        Obstacle::ClaimInUse { claim, pod: (namespace, name) } => format!("{namespace}/{name} uses claim {claim}"),
        Obstacle::NoVolumesToDetach => "no pod there that may be deleted has volumes".to_owned(),
        Obstacle::NoFreeDevice => "it has no free device for a claim of the pod, and none held by a single pod".to_owned(),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// A volume of the size and class that a claim asks for.
fn volume(request: &VolumeRequest) -> String {
    let of = |word: &str, value: &Option<Arc<str>>| value.as_ref().map(|value| format!(" of {word}{value}")).unwrap_or_default();
    format!("a PersistentVolume{}{}", of("", &request.size), of("class ", &request.class))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cloud controller manager, not the node's health, decides how long these two stay.
    #[test]
    fn a_taint_says_what_it_waits_for() {
        let taint = |key: &str| obstacle(&Obstacle::UnhealthyTaint { key: key.into(), effect: "NoSchedule".into() });
        assert_eq!(
            taint("node.cloudprovider.kubernetes.io/uninitialized"),
            "its taint node.cloudprovider.kubernetes.io/uninitialized:NoSchedule stays until the cloud controller manager has initialised it"
        );
        assert_eq!(
            taint("node.cloudprovider.kubernetes.io/shutdown"),
            "its taint node.cloudprovider.kubernetes.io/shutdown:NoSchedule says that its machine is shut down"
        );
        assert_eq!(taint("node.kubernetes.io/not-ready"), "its taint node.kubernetes.io/not-ready:NoSchedule marks it as unhealthy");
    }

    #[test]
    fn what_helps_a_spread_and_a_claim_is_named() {
        let honor = Fix::HonorTaints { constraint: 0, topology_key: "kubernetes.io/hostname".into() };
        assert_eq!(fix(&honor, "n1"), "set nodeTaintsPolicy: Honor on the spread over kubernetes.io/hostname");
        assert_eq!(fix(&Fix::FreeVolume { volume: "pv-1".into() }, "n1"), "make the released PersistentVolume pv-1 available");
    }
}
