//! What an object is compiled to when it enters the state.

use std::sync::Arc;

use ketcd_kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use ketcd_kube::api::policy::v1::PodDisruptionBudget;
use ketcd_kube::api::resource::v1::DeviceClass;
use ketcd_kube::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use ketcd_kube::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::device::classic::{
    ClassNodes, DriverClaim, NamedResourceSlice, PodSchedulingContext, ResourceClaimParameters, ResourceClass, ResourceClassParameters,
};
use super::{
    Claim, DeviceTaintRule, ImageState, Interner, Labels, Node, Owner, ParseError, ParsedObject, PodGroup, PodInfo, RawObject,
    RequestRules, Selector, Slice, Unreadable, WatchedKind, Workload,
};

/// A compiled object.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "one variant per kind, or per group of kinds that are alike")]
pub enum CachedObject {
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

impl CachedObject {
    /// Why it cannot be read, if it cannot.
    pub fn unreadable(&self) -> Option<&Arc<Unreadable>> {
        if let Self::Unreadable(unreadable) = self { Some(unreadable) } else { None }
    }

    /// Compiles an object. Parts of it that cannot be read are named in `problems`; the error says why none of it can.
    pub(super) fn compile(
        kind: WatchedKind,
        object: RawObject,
        (mod_revision, rules): (i64, &RequestRules),
        interner: &mut Interner,
        problems: &mut Vec<String>,
    ) -> Result<Self, ParseError> {
        Ok(match object.parse(kind)? {
            ParsedObject::Pod(pod) => CachedObject::Pod(Arc::new(PodInfo::compile(&pod, mod_revision, interner, problems))),
            ParsedObject::Node(node) => {
                let node = Node::compile(&node, mod_revision, rules, interner, problems);
                CachedObject::Node(Arc::new(node), None)
            }
            ParsedObject::Namespace(namespace) => CachedObject::Namespace(Arc::new(interner.labels(namespace.metadata.labels.as_ref()))),
            ParsedObject::Service(service) => {
                let selector = service.spec.unwrap_or_default().selector.filter(|selector| !selector.is_empty());
                owner(service.metadata.uid, selector.map(|selector| Selector::equalities(&selector, interner)))
            }
            ParsedObject::ReplicationController(controller) => {
                let selector = controller.spec.unwrap_or_default().selector.filter(|selector| !selector.is_empty());
                owner(controller.metadata.uid, selector.map(|selector| Selector::equalities(&selector, interner)))
            }
            ParsedObject::ReplicaSet(set) => {
                let selector = set.spec.unwrap_or_default().selector;
                owner(set.metadata.uid, label_selector(&selector, interner))
            }
            ParsedObject::StatefulSet(set) => {
                let selector = set.spec.unwrap_or_default().selector;
                owner(set.metadata.uid, label_selector(&selector, interner))
            }
            ParsedObject::PersistentVolumeClaim(mut claim) => {
                claim.metadata.resource_version = Some(mod_revision.to_string());
                CachedObject::PersistentVolumeClaim(claim.into())
            }
            ParsedObject::PersistentVolume(volume) => CachedObject::PersistentVolume(volume.into()),
            ParsedObject::StorageClass(class) => CachedObject::StorageClass(class.into()),
            ParsedObject::CsiNode(node) => CachedObject::CsiNode(node.into()),
            ParsedObject::CsiDriver(driver) => CachedObject::CsiDriver(driver.into()),
            ParsedObject::CsiStorageCapacity(capacity) => CachedObject::CsiStorageCapacity(capacity.into()),
            ParsedObject::VolumeAttachment(attachment) => CachedObject::VolumeAttachment(attachment.into()),
            ParsedObject::PodDisruptionBudget(budget) => CachedObject::PodDisruptionBudget(budget.into()),
            ParsedObject::ResourceClaim(claim, driver) => CachedObject::ResourceClaim(claim.into(), driver.map(Arc::from)),
            ParsedObject::ResourceSlice(slice, named) => CachedObject::ResourceSlice(slice.into(), named.map(Arc::from)),
            ParsedObject::DeviceClass(class, nodes) => CachedObject::DeviceClass(class.into(), nodes.map(Arc::from)),
            ParsedObject::ResourceClass(class) => CachedObject::ResourceClass(class.into()),
            ParsedObject::PodSchedulingContext(context) => CachedObject::PodSchedulingContext(context.into()),
            ParsedObject::ResourceClassParameters(parameters) => CachedObject::ResourceClassParameters(parameters.into()),
            ParsedObject::ResourceClaimParameters(parameters) => CachedObject::ResourceClaimParameters(parameters.into()),
            ParsedObject::DeviceTaintRule(rule) => CachedObject::DeviceTaintRule(rule.into()),
            ParsedObject::PodGroup(group) => CachedObject::PodGroup(group.into()),
            ParsedObject::CompositePodGroup(group) => CachedObject::CompositePodGroup(group.into()),
            ParsedObject::Workload(workload) => CachedObject::Workload(workload.into()),
        })
    }
}

fn owner(uid: Option<String>, selector: Option<Selector>) -> CachedObject {
    CachedObject::Owner(Arc::new(Owner { uid: uid.unwrap_or_default().into(), selector }))
}

/// An empty selector of a set matches nothing here, as upstream's listers have it.
fn label_selector(selector: &LabelSelector, interner: &mut Interner) -> Option<Selector> {
    Selector::compile(selector, interner).filter(|selector| !selector.is_empty())
}
