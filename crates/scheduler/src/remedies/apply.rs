//! Applies a change to the pod, to a node or to objects of the cluster, and estimates its cost to people.

use std::sync::Arc;

use crate::api::core::PersistentVolumeClaim;
use crate::api::meta::ObjectMeta;
use crate::cluster::{
    Amount, CachedObject, Claim, ClusterState, ContainerRequests, Labels, Node, ObjectKey, PodInfo, PodKey, PodSpec, Resources, Toleration,
    WatchedKind, WhenUnsatisfiable,
};
use crate::framework::Fix;

use super::volume::{bound, freed, stored, volume_for};

const UNSCHEDULABLE_TAINT: &str = "node.kubernetes.io/unschedulable";

impl Fix {
    /// The cost of the change to people: the lower the better. Lowering a request a little costs less than lowering it a lot.
    pub(super) fn cost(&self, request: &Resources) -> i64 {
        match self {
            Self::Uncordon => 1000,
            Self::LowerRequest { resource, by } => 2000 + by.saturating_mul(1000) / request.get(resource).max(1),
            Self::Tolerate(_) => 2000,
            Self::RemoveTaint(_) => 2500,
            Self::AddLabel { .. } | Self::RemoveLabel { .. } | Self::ChangeHostPort { .. } | Self::CreateClaim { .. } => 3000,
            Self::HonorTaints { .. } => 2900,
            Self::RaiseMaxSkew { max_skew, .. } => 3000 + i64::from(*max_skew),
            Self::DropNodeSelector { .. } | Self::SoftenSpread { .. } | Self::SoftenAffinity | Self::SoftenAntiAffinity => 4000,
            Self::FreeVolume { .. } => 4000,
            Self::DropNodeAffinity | Self::ProvideVolume(_) | Self::BindClaim(_) | Self::RestoreVolume { .. } => 5000,
            Self::DeletePod(_) | Self::ReleaseDevices { .. } => 6000,
        }
    }

    /// Applies the change if it changes the pod.
    pub(super) fn change_pod(&self, pod: &mut PodInfo) {
        let mut spec: PodSpec = (*pod.spec).clone();
        match self {
            Self::Tolerate(taint) => spec.tolerations.push(Toleration {
                key: taint.key.clone(),
                operator: "Equal".into(),
                value: taint.value.clone(),
                effect: taint.effect.clone(),
            }),
            Self::LowerRequest { resource, by } => lower(&mut spec, resource, *by),
            Self::DropNodeSelector { key } => spec.node_selector.requirements.retain(|wanted| wanted.key != *key),
            Self::DropNodeAffinity => spec.node_affinity.required = None,
            Self::ChangeHostPort { protocol, port } => {
                spec.host_ports.retain(|wanted| (&wanted.protocol, wanted.port) != (protocol, *port));
                spec.sidecar_host_ports.retain(|wanted| (&wanted.protocol, wanted.port) != (protocol, *port));
            }
            Self::RaiseMaxSkew { constraint, max_skew, .. } => spec.spread[*constraint].max_skew = *max_skew,
            Self::HonorTaints { constraint, .. } => spec.spread[*constraint].honors_taints = true,
            Self::SoftenSpread { constraint, .. } => spec.spread[*constraint].when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway,
            Self::SoftenAffinity => spec.pod_affinity.required.clear(),
            Self::SoftenAntiAffinity => spec.pod_anti_affinity.required.clear(),
            _ => return,
        }
        pod.spec = Arc::new(spec);
    }

    /// Returns the objects of the cluster as the change makes them, if it is one of the cluster. `pod`: the pod that is to fit `node`.
    pub(super) fn change_state(&self, state: &ClusterState, pod: &PodInfo, node: &Arc<str>) -> Vec<(ObjectKey, Option<CachedObject>)> {
        let listers = state.listers();
        let claim = |name: &str| listers.claims.get(&pod.namespace, name);
        match self {
            Self::Uncordon | Self::AddLabel { .. } | Self::RemoveLabel { .. } | Self::RemoveTaint(_) => {
                let Some(info) = state.node(node) else { return Vec::new() };
                let changed = CachedObject::Node(Arc::new(self.changed_node(&info.node)), Some(info.image_states.clone()));
                vec![(cluster_key(WatchedKind::Node, node), Some(changed))]
            }
            Self::DeletePod(gone) => vec![(pod_key(gone), None)],
            Self::FreeVolume { volume } => listers.volumes.get("", volume).map(|released| stored(freed(released))).into_iter().collect(),
            Self::ProvideVolume(request) => {
                claim(&request.claim).and_then(|claim| volume_for(claim, node, state)).map(stored).into_iter().collect()
            }
            Self::BindClaim(request) => {
                claim(&request.claim).map(|claim| bound(claim, &format!("for-{}", request.claim))).unwrap_or_default()
            }
            Self::RestoreVolume { claim: name, volume } => claim(name).map(|claim| bound(claim, volume)).unwrap_or_default(),
            Self::CreateClaim { claim } => {
                let metadata =
                    ObjectMeta { name: Some(claim.to_string()), namespace: Some(pod.namespace.to_string()), ..ObjectMeta::default() };
                bound(&PersistentVolumeClaim { metadata, ..PersistentVolumeClaim::default() }, &format!("for-{claim}"))
            }
            Self::ReleaseDevices { claim, pod: holder } => {
                let key = ObjectKey { kind: WatchedKind::ResourceClaim, namespace: holder.0.clone(), name: claim.clone() };
                let released = listers.resource_claims.get(&holder.0, claim).map(|claim| (key, Some(released(claim))));
                [(pod_key(holder), None)].into_iter().chain(released).collect()
            }
            _ => Vec::new(),
        }
    }

    fn changed_node(&self, node: &Node) -> Node {
        let mut changed = node.clone();
        match self {
            Self::Uncordon => {
                changed.unschedulable = false;
                changed.taints.retain(|taint| &*taint.key != UNSCHEDULABLE_TAINT);
            }
            Self::RemoveTaint(gone) => changed.taints.retain(|taint| taint != gone),
            Self::AddLabel { key, value } => changed.labels = without(&node.labels, key).chain([(key.clone(), value.clone())]).collect(),
            Self::RemoveLabel { key } => changed.labels = without(&node.labels, key).collect(),
            _ => {}
        }
        changed
    }
}

fn cluster_key(kind: WatchedKind, name: &Arc<str>) -> ObjectKey {
    ObjectKey { kind, namespace: Arc::default(), name: name.clone() }
}

fn pod_key(pod: &PodKey) -> ObjectKey {
    ObjectKey { kind: WatchedKind::Pod, namespace: pod.0.clone(), name: pod.1.clone() }
}

/// A claim without its devices.
fn released(claim: &Claim) -> CachedObject {
    let mut free = claim.clone();
    free.status = None;
    CachedObject::ResourceClaim(Arc::new(free))
}

fn without<'a>(labels: &'a Labels, key: &'a Arc<str>) -> impl Iterator<Item = (Arc<str>, Arc<str>)> + 'a {
    labels.iter().filter(move |(known, _)| *known != key).map(|(key, value)| (key.clone(), value.clone()))
}

/// Subtracts `by` from the containers' requests, the largest first, and from everything else that could keep the pod's request up.
fn lower(spec: &mut PodSpec, resource: &Arc<str>, by: i64) {
    let unit = |value: i64| if &**resource == "cpu" { Amount::from_millis(value) } else { Amount::from_units(value) };
    let off = unit(by);
    let of = |container: &ContainerRequests| {
        container.requests.iter().find(|(name, _)| name == resource).map_or(Amount::default(), |(_, amount)| *amount)
    };
    let set = |container: &mut ContainerRequests, value: Amount| {
        if let Some((_, amount)) = container.requests.iter_mut().find(|(name, _)| name == resource) {
            *amount = value;
        }
    };
    let less = |value: Amount, off: Amount| if value > off { value - off } else { Amount::default() };
    let requests = &mut spec.requests;
    let mut left = off;
    let mut order: Vec<usize> = (0..requests.containers.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(of(&requests.containers[*at])));
    for at in order {
        let has = of(&requests.containers[at]);
        set(&mut requests.containers[at], less(has, left));
        left = less(left, has);
    }
    for container in &mut requests.init_containers {
        let has = of(container);
        set(container, less(has, off));
    }
    if let Some((_, amount)) = requests.pod_level.iter_mut().find(|(name, _)| name == resource) {
        *amount = less(*amount, off);
    }
}
