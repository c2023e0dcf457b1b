//! One change to the pod, a node or the cluster: how it is made and how it is said.

use std::sync::Arc;

use crate::cluster::device::classic::DriverClaim;
use crate::cluster::{
    Amount, CachedObject, Claim, ClusterState, ContainerRequests, Labels, Node, ObjectKey, PodInfo, PodSpec, Resources, Taint, Toleration,
    WatchedKind, WhenUnsatisfiable,
};
use crate::plugins::evidence::resources::{amount, is_in_bytes};
use ketcd_kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use ketcd_kube::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::volume::{bound, volume_for, wanted};

/// The taint of a cordoned node.
pub(super) const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// A change.
#[derive(Clone, Debug)]
pub(super) enum Fix {
    /// Make the node schedulable again, its taint included.
    Uncordon,
    /// Tolerate a taint.
    Tolerate(Taint),
    /// Take a taint off the node.
    RemoveTaint(Taint),
    /// Ask for less of a resource, in the scheduler's unit: as much as the other changes leave to be done.
    Lower(Arc<str>, i64),
    /// Set a label of the node, or remove it.
    Label(Arc<str>, Option<Arc<str>>),
    /// Drop an entry of the node selector.
    DropNodeSelector(Arc<str>),
    /// Drop what node affinity requires.
    DropNodeAffinity,
    /// Take another host port.
    ChangePort(Arc<str>, i32),
    /// Delete a pod that is in the way.
    Delete(Arc<PodInfo>),
    /// Let a spread constraint be less even: as far as the other changes leave it to be done.
    MaxSkew(usize, Arc<str>, i32),
    /// Let a spread constraint score instead of filter.
    SoftenSpread(usize, Arc<str>),
    /// Make required affinity preferred.
    SoftenAffinity,
    /// Make required anti-affinity preferred.
    SoftenAntiAffinity,
    /// Make a released volume available.
    FreeVolume(Arc<PersistentVolume>),
    /// Provide a volume for a claim, reachable from the node.
    Provide(Arc<PersistentVolumeClaim>),
    /// Provide a volume for a claim that does not wait for its pod, so that it is bound.
    Bind(Arc<PersistentVolumeClaim>),
    /// Create a claim that is missing, in the pod's namespace, and its volume.
    CreateClaim(Arc<str>, Arc<str>),
    /// Restore a volume that a claim is bound to.
    RestoreVolume(Arc<PersistentVolumeClaim>),
    /// Delete the pod that holds a claim for devices, so that these are free.
    Release(Arc<Claim>, Arc<PodInfo>),
}

impl PartialEq for Fix {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Fix {
    /// What tells it from other changes: its words, but for the amount that depends on these.
    pub(super) fn id(&self) -> String {
        match self {
            Self::Lower(resource, _) => format!("lower {resource}"),
            Self::MaxSkew(at, ..) => format!("skew {at}"),
            Self::SoftenSpread(at, _) => format!("soften {at}"),
            Self::Label(key, value) => format!("label {key}={value:?}"),
            other => other.text("the node"),
        }
    }

    /// What a person would say.
    pub(super) fn text(&self, node: &str) -> String {
        match self {
            Self::Uncordon => format!("uncordon {node}"),
            Self::Tolerate(taint) => format!("tolerate taint {}", written(taint)),
            Self::RemoveTaint(taint) => format!("remove taint {} from {node}", written(taint)),
            Self::Lower(resource, by) => format!("lower requests.{resource} by {}", exact(resource, *by)),
            Self::Label(key, Some(value)) => format!("add label {key}={value} to {node}"),
            Self::Label(key, None) => format!("remove label {key} from {node}"),
            Self::DropNodeSelector(key) => format!("drop {key} from nodeSelector"),
            Self::DropNodeAffinity => "drop the required node affinity".to_owned(),
            Self::ChangePort(protocol, port) => format!("use another host port than {port}/{protocol}"),
            Self::Delete(pod) => format!("delete pod {}", pod.full_name()),
            Self::MaxSkew(_, key, skew) => format!("raise maxSkew of the spread over {key} to {skew}"),
            Self::SoftenSpread(_, key) => format!("make the spread over {key} ScheduleAnyway"),
            Self::SoftenAffinity => "make podAffinity preferred instead of required".to_owned(),
            Self::SoftenAntiAffinity => "make podAntiAffinity preferred instead of required".to_owned(),
            Self::FreeVolume(volume) => format!("make the released PersistentVolume {} available", name(&volume.metadata)),
            Self::Provide(claim) => format!("provide a PersistentVolume{} on {node} for claim {}", wanted(claim), name(&claim.metadata)),
            Self::Bind(claim) => format!("provide a PersistentVolume{} for claim {}", wanted(claim), name(&claim.metadata)),
            Self::CreateClaim(_, name) => format!("create PersistentVolumeClaim {name} and a volume for it"),
            Self::RestoreVolume(claim) => {
                format!("restore PersistentVolume {}, to which claim {} is bound", volume_of(claim), name(&claim.metadata))
            }
            Self::Release(claim, pod) => format!("delete pod {}, which holds ResourceClaim {}", pod.full_name(), name(&claim.metadata)),
        }
    }

    /// How much is asked of people: the lower the better. A request lowered a little asks less than one lowered a lot.
    pub(super) fn cost(&self, request: &Resources) -> i64 {
        match self {
            Self::Uncordon => 1000,
            Self::Lower(resource, by) => 2000 + by.saturating_mul(1000) / request.get(resource).max(1),
            Self::Tolerate(_) => 2000,
            Self::RemoveTaint(_) => 2500,
            Self::Label(..) | Self::ChangePort(..) | Self::CreateClaim(..) => 3000,
            Self::MaxSkew(_, _, skew) => 3000 + i64::from(*skew),
            Self::DropNodeSelector(_) | Self::SoftenSpread(..) | Self::SoftenAffinity | Self::SoftenAntiAffinity | Self::FreeVolume(_) => {
                4000
            }
            Self::DropNodeAffinity | Self::Provide(_) | Self::Bind(_) | Self::RestoreVolume(_) => 5000,
            Self::Delete(_) | Self::Release(..) => 6000,
        }
    }

    /// Makes the change, as far as it is one of the pod.
    pub(super) fn change_pod(&self, pod: &mut PodInfo) {
        let mut spec: PodSpec = (*pod.spec).clone();
        match self {
            Self::Tolerate(taint) => spec.tolerations.push(Toleration {
                key: taint.key.clone(),
                operator: "Equal".into(),
                value: taint.value.clone(),
                effect: taint.effect.clone(),
            }),
            Self::Lower(resource, by) => lower(&mut spec, resource, *by),
            Self::DropNodeSelector(key) => spec.node_selector.requirements.retain(|wanted| wanted.key != *key),
            Self::DropNodeAffinity => spec.node_affinity.required = None,
            Self::ChangePort(protocol, port) => {
                spec.host_ports.retain(|wanted| (&wanted.protocol, wanted.port) != (protocol, *port));
                spec.sidecar_host_ports.retain(|wanted| (&wanted.protocol, wanted.port) != (protocol, *port));
            }
            Self::MaxSkew(at, _, skew) => spec.spread[*at].max_skew = *skew,
            Self::SoftenSpread(at, _) => spec.spread[*at].when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway,
            Self::SoftenAffinity => spec.pod_affinity.required.clear(),
            Self::SoftenAntiAffinity => spec.pod_anti_affinity.required.clear(),
            _ => return,
        }
        pod.spec = Arc::new(spec);
    }

    /// What the change makes of objects of the cluster, if it is one of the cluster.
    pub(super) fn change_state(&self, state: &ClusterState, node: &Arc<str>) -> Vec<(ObjectKey, Option<CachedObject>)> {
        let key = |kind: WatchedKind, name: &str| ObjectKey { kind, namespace: Arc::default(), name: name.into() };
        let volume = |volume: PersistentVolume| {
            (key(WatchedKind::PersistentVolume, name(&volume.metadata)), Some(CachedObject::PersistentVolume(Arc::new(volume))))
        };
        let pod = |pod: &PodInfo| (ObjectKey { kind: WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() }, None);
        match self {
            Self::Uncordon | Self::Label(..) | Self::RemoveTaint(_) => {
                let Some(info) = state.node(node) else { return Vec::new() };
                let changed = self.changed_node(&info.node);
                vec![(key(WatchedKind::Node, node), Some(CachedObject::Node(Arc::new(changed), Some(info.image_states.clone()))))]
            }
            Self::Delete(gone) => vec![pod(gone)],
            Self::FreeVolume(released) => {
                let mut freed = (**released).clone();
                freed.spec.get_or_insert_default().claim_ref = None;
                freed.status.get_or_insert_default().phase = Some("Available".to_owned());
                vec![volume(freed)]
            }
            Self::Provide(claim) => volume_for(claim, node, state).map(volume).into_iter().collect(),
            Self::Bind(claim) => bound(claim, &format!("for-{}", name(&claim.metadata))),
            Self::RestoreVolume(claim) => bound(claim, volume_of(claim)),
            Self::CreateClaim(namespace, name) => {
                let metadata = ObjectMeta { name: Some(name.to_string()), namespace: Some(namespace.to_string()), ..ObjectMeta::default() };
                bound(&PersistentVolumeClaim { metadata, ..PersistentVolumeClaim::default() }, &format!("for-{name}"))
            }
            Self::Release(claim, holder) => {
                let mut free = (**claim).clone();
                free.known.status = None;
                free.older = claim.older.as_ref().map(|older| Arc::new(DriverClaim { spec: older.spec.clone(), ..DriverClaim::default() }));
                let namespace: Arc<str> = claim.metadata.namespace.as_deref().unwrap_or_default().into();
                let key = ObjectKey { kind: WatchedKind::ResourceClaim, namespace, name: name(&claim.metadata).into() };
                vec![pod(holder), (key, Some(CachedObject::ResourceClaim(Arc::new(free))))]
            }
            _ => Vec::new(),
        }
    }

    fn changed_node(&self, node: &Node) -> Node {
        let mut changed = node.clone();
        match self {
            Self::Uncordon => {
                changed.unschedulable = false;
                changed.taints.retain(|taint| &*taint.key != UNSCHEDULABLE);
            }
            Self::RemoveTaint(gone) => changed.taints.retain(|taint| taint != gone),
            Self::Label(key, value) => {
                let kept = node.labels.iter().filter(|(known, _)| *known != key).map(|(key, value)| (key.clone(), value.clone()));
                changed.labels = kept.chain(value.clone().map(|value| (key.clone(), value))).collect::<Labels>();
            }
            _ => {}
        }
        changed
    }
}

/// An amount to the last digit, so that the change is enough.
fn exact(resource: &str, value: i64) -> String {
    const UNITS: [(&str, i64); 3] = [("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    match resource {
        "cpu" if value % 1000 == 0 => (value / 1000).to_string(),
        "cpu" => format!("{value}m"),
        _ if is_in_bytes(resource) => UNITS
            .iter()
            .find(|(_, unit)| value % unit == 0)
            .map_or_else(|| value.to_string(), |(suffix, unit)| format!("{}{suffix}", value / unit)),
        _ => amount(resource, value),
    }
}

fn written(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect)
}

/// The volume a claim says it is bound to.
fn volume_of(claim: &PersistentVolumeClaim) -> &str {
    claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).unwrap_or_default()
}

/// An object's name.
pub(super) fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

/// Takes `by` off what the containers ask for, the largest first, and off everything else that could hold the pod's request up.
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
