//! What a scheduler watches: the kinds, the names of objects, and what an object is compiled to.

use std::sync::Arc;

use ketcd_kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use ketcd_kube::api::policy::v1::PodDisruptionBudget;
use ketcd_kube::api::resource::v1::DeviceClass;
use ketcd_kube::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use ketcd_kube::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::driver_devices::{
    ClassNodes, DriverClaim, NamedResourceSlice, PodSchedulingContext, ResourceClaimParameters, ResourceClass, ResourceClassParameters,
};
use super::{
    Claim, DeviceTaintRule, Encoded, ImageState, Interner, Labels, Node, Owner, PodGroup, PodInfo, Read, RequestRules, Selector, Slice,
    Unread, Unreadable, Workload,
};

/// The kinds a scheduler watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the kinds' own names")]
pub enum Watched {
    Pod,
    Node,
    Namespace,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
    VolumeAttachment,
    PodDisruptionBudget,
    ResourceClaim,
    ResourceSlice,
    DeviceClass,
    ResourceClass,
    PodScheduling,
    PodSchedulingContext,
    ResourceClassParameters,
    ResourceClaimParameters,
    DeviceTaintRule,
    PodGroup,
    CompositePodGroup,
    Workload,
}

impl Watched {
    /// Every kind with the path of its keys below the API server's prefix (`staging/src/k8s.io/apiserver` and `pkg/registry`).
    pub const KEYS: [(&'static str, Self); 27] = [
        ("namespaces/", Self::Namespace),
        ("minions/", Self::Node),
        ("services/specs/", Self::Service),
        ("controllers/", Self::ReplicationController),
        ("replicasets/", Self::ReplicaSet),
        ("statefulsets/", Self::StatefulSet),
        ("persistentvolumes/", Self::PersistentVolume),
        ("persistentvolumeclaims/", Self::PersistentVolumeClaim),
        ("storageclasses/", Self::StorageClass),
        ("csinodes/", Self::CsiNode),
        ("csidrivers/", Self::CsiDriver),
        ("csistoragecapacities/", Self::CsiStorageCapacity),
        ("volumeattachments/", Self::VolumeAttachment),
        ("poddisruptionbudgets/", Self::PodDisruptionBudget),
        ("resourceclaims/", Self::ResourceClaim),
        ("resourceslices/", Self::ResourceSlice),
        ("deviceclasses/", Self::DeviceClass),
        ("resourceclasses/", Self::ResourceClass),
        ("podschedulings/", Self::PodScheduling),
        ("podschedulingcontexts/", Self::PodSchedulingContext),
        ("resourceclassparameters/", Self::ResourceClassParameters),
        ("resourceclaimparameters/", Self::ResourceClaimParameters),
        ("devicetaintrules/", Self::DeviceTaintRule),
        ("podgroups/", Self::PodGroup),
        ("compositepodgroups/", Self::CompositePodGroup),
        ("workloads/", Self::Workload),
        ("pods/", Self::Pod),
    ];
}

/// An object's kind, namespace (empty for cluster-wide kinds) and name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// Its kind.
    pub kind: Watched,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Parses what follows the prefix in a key of etcd, for example `pods/shop/web-0`; `None` for kinds no scheduler watches.
    pub fn parse(path: &str) -> Option<Self> {
        let (kind, rest) = Watched::KEYS.iter().find_map(|(prefix, kind)| Some((*kind, path.strip_prefix(prefix)?)))?;
        let (namespace, name) = rest.split_once('/').unwrap_or(("", rest));
        (!name.is_empty() && !name.contains('/')).then(|| Self { kind, namespace: namespace.into(), name: name.into() })
    }

    /// The object as a path of plural, namespace and name: `pods/shop/web-0`.
    pub fn path(&self) -> String {
        let plural = match self.kind {
            Watched::Node => "nodes/",
            Watched::Service => "services/",
            Watched::ReplicationController => "replicationcontrollers/",
            kind => Watched::KEYS.iter().find(|(_, known)| *known == kind).map_or("", |(path, _)| path),
        };
        if self.namespace.is_empty() { format!("{plural}{}", self.name) } else { format!("{plural}{}/{}", self.namespace, self.name) }
    }
}

/// A compiled object.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "one variant per kind, or per group of kinds that are alike")]
pub enum Stored {
    Pod(Arc<PodInfo>),
    /// With the image counts frozen at its write; `None`: to be counted when it is put.
    Node(Arc<Node>, Option<Arc<[ImageState]>>),
    Namespace(Arc<Labels>),
    Owner(Arc<Owner>),
    PersistentVolume(Arc<PersistentVolume>),
    PersistentVolumeClaim(Arc<PersistentVolumeClaim>),
    StorageClass(Arc<StorageClass>),
    CsiNode(Arc<CSINode>),
    CsiDriver(Arc<CSIDriver>),
    CsiStorageCapacity(Arc<CSIStorageCapacity>),
    VolumeAttachment(Arc<VolumeAttachment>),
    PodDisruptionBudget(Arc<PodDisruptionBudget>),
    /// With what it has beside, as 1.26 to 1.31 stored it; so with the next two.
    ResourceClaim(Arc<Claim>, Option<Arc<DriverClaim>>),
    ResourceSlice(Arc<Slice>, Option<Arc<NamedResourceSlice>>),
    DeviceClass(Arc<DeviceClass>, Option<Arc<ClassNodes>>),
    ResourceClass(Arc<ResourceClass>),
    PodSchedulingContext(Arc<PodSchedulingContext>),
    ResourceClassParameters(Arc<ResourceClassParameters>),
    ResourceClaimParameters(Arc<ResourceClaimParameters>),
    DeviceTaintRule(Arc<DeviceTaintRule>),
    PodGroup(Arc<PodGroup>),
    CompositePodGroup(Arc<PodGroup>),
    Workload(Arc<Workload>),
    /// Of any kind: it is there, but cannot be read.
    Unreadable(Arc<Unreadable>),
}

impl Stored {
    /// Why it cannot be read, if it cannot.
    pub fn unreadable(&self) -> Option<&Arc<Unreadable>> {
        if let Self::Unreadable(unreadable) = self { Some(unreadable) } else { None }
    }

    /// Compiles an object. Parts of it that cannot be read are named in `problems`; the error says why none of it can.
    pub(super) fn compile(
        kind: Watched,
        object: Encoded,
        (mod_revision, rules): (i64, &RequestRules),
        interner: &mut Interner,
        problems: &mut Vec<String>,
    ) -> Result<Self, Unread> {
        Ok(match object.read(kind)? {
            Read::Pod(pod) => Stored::Pod(Arc::new(PodInfo::compile(&pod, mod_revision, interner, problems))),
            Read::Node(node) => {
                let node = Node::compile(&node, mod_revision, rules, interner, problems);
                Stored::Node(Arc::new(node), None)
            }
            Read::Namespace(namespace) => Stored::Namespace(Arc::new(interner.labels(namespace.metadata.labels.as_ref()))),
            Read::Service(service) => {
                let selector = service.spec.unwrap_or_default().selector.filter(|selector| !selector.is_empty());
                owner(service.metadata.uid, selector.map(|selector| Selector::equalities(&selector, interner)))
            }
            Read::ReplicationController(controller) => {
                let selector = controller.spec.unwrap_or_default().selector.filter(|selector| !selector.is_empty());
                owner(controller.metadata.uid, selector.map(|selector| Selector::equalities(&selector, interner)))
            }
            Read::ReplicaSet(set) => {
                let selector = set.spec.unwrap_or_default().selector;
                owner(set.metadata.uid, label_selector(&selector, interner))
            }
            Read::StatefulSet(set) => {
                let selector = set.spec.unwrap_or_default().selector;
                owner(set.metadata.uid, label_selector(&selector, interner))
            }
            Read::PersistentVolumeClaim(mut claim) => {
                claim.metadata.resource_version = Some(mod_revision.to_string());
                Stored::PersistentVolumeClaim(claim.into())
            }
            Read::PersistentVolume(volume) => Stored::PersistentVolume(volume.into()),
            Read::StorageClass(class) => Stored::StorageClass(class.into()),
            Read::CsiNode(node) => Stored::CsiNode(node.into()),
            Read::CsiDriver(driver) => Stored::CsiDriver(driver.into()),
            Read::CsiStorageCapacity(capacity) => Stored::CsiStorageCapacity(capacity.into()),
            Read::VolumeAttachment(attachment) => Stored::VolumeAttachment(attachment.into()),
            Read::PodDisruptionBudget(budget) => Stored::PodDisruptionBudget(budget.into()),
            Read::ResourceClaim(claim, driver) => Stored::ResourceClaim(claim.into(), driver.map(Arc::from)),
            Read::ResourceSlice(slice, named) => Stored::ResourceSlice(slice.into(), named.map(Arc::from)),
            Read::DeviceClass(class, nodes) => Stored::DeviceClass(class.into(), nodes.map(Arc::from)),
            Read::ResourceClass(class) => Stored::ResourceClass(class.into()),
            Read::PodSchedulingContext(context) => Stored::PodSchedulingContext(context.into()),
            Read::ResourceClassParameters(parameters) => Stored::ResourceClassParameters(parameters.into()),
            Read::ResourceClaimParameters(parameters) => Stored::ResourceClaimParameters(parameters.into()),
            Read::DeviceTaintRule(rule) => Stored::DeviceTaintRule(rule.into()),
            Read::PodGroup(group) => Stored::PodGroup(group.into()),
            Read::CompositePodGroup(group) => Stored::CompositePodGroup(group.into()),
            Read::Workload(workload) => Stored::Workload(workload.into()),
        })
    }
}

fn owner(uid: Option<String>, selector: Option<Selector>) -> Stored {
    Stored::Owner(Arc::new(Owner { uid: uid.unwrap_or_default().into(), selector }))
}

/// An empty selector of a set matches nothing here, as upstream's listers have it.
fn label_selector(selector: &LabelSelector, interner: &mut Interner) -> Option<Selector> {
    Selector::compile(selector, interner).filter(|selector| !selector.is_empty())
}
