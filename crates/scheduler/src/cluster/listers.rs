//! The small kinds a scheduler looks up by name: claims, volumes, classes, budgets, owners.

use std::collections::BTreeMap;
use std::sync::Arc;

use ketcd_kube::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use ketcd_kube::api::policy::v1::PodDisruptionBudget;
use ketcd_kube::api::resource::v1::DeviceClass;
use ketcd_kube::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};

use super::device::classic::{
    ClassNodes, DriverClaim, NamedResourceSlice, PodSchedulingContext, ResourceClaimParameters, ResourceClass, ResourceClassParameters,
};
use super::unreadable::Unreadables;
use super::{Claim, DeviceTaintRule, Labels, PodGroup, Selector, Slice, Unreadable, Workload};

/// Objects of one kind by namespace (empty for cluster-wide kinds) and name. A lookup that comes upon one that cannot be read reports it to
/// [`super::unreadable::collect`].
#[derive(Debug)]
pub struct Lister<T> {
    objects: BTreeMap<(Arc<str>, Arc<str>), Arc<T>>,
    unreadable: Unreadables,
}

impl<T> Default for Lister<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), unreadable: Unreadables::default() }
    }
}

impl<T> Lister<T> {
    /// Returns one object.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        let found = self.objects.get(&(namespace.into(), name.into()));
        if found.is_none() {
            self.unreadable.report(namespace, name);
        }
        found
    }

    /// All objects, ascending by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.unreadable.report_all();
        self.objects.values()
    }

    /// The objects of one namespace, ascending by name, each with its name.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = (&Arc<str>, &Arc<T>)> {
        self.unreadable.report_in(namespace);
        let start: (Arc<str>, Arc<str>) = (namespace.into(), Arc::default());
        let namespace = start.0.clone();
        self.objects.range(start..).take_while(move |((of, _), _)| *of == namespace).map(|((_, name), object)| (name, object))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.unreadable.report_all();
        self.objects.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.unreadable.report_all();
        self.objects.is_empty()
    }

    /// Marks an object as one that cannot be read, or takes the mark off; returns the mark that was there.
    pub(super) fn mark(&mut self, key: (Arc<str>, Arc<str>), unreadable: Option<Arc<Unreadable>>) -> Option<Arc<Unreadable>> {
        self.unreadable.set(key, unreadable)
    }

    pub(super) fn set(&mut self, key: (Arc<str>, Arc<str>), object: Option<Arc<T>>) {
        match object {
            Some(object) => self.objects.insert(key, object),
            None => self.objects.remove(&key),
        };
    }
}

/// What a Service, ReplicationController, ReplicaSet or StatefulSet says about its pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its uid.
    pub uid: Arc<str>,
    /// The pods it selects; `None` matches nothing.
    pub selector: Option<Selector>,
}

/// One lister per kind.
#[derive(Debug, Default)]
pub struct Listers {
    /// Labels of namespaces.
    pub namespaces: Lister<Labels>,
    /// Services.
    pub services: Lister<Owner>,
    /// Replication controllers.
    pub replication_controllers: Lister<Owner>,
    /// Replica sets.
    pub replica_sets: Lister<Owner>,
    /// Stateful sets.
    pub stateful_sets: Lister<Owner>,
    /// Persistent volumes.
    pub volumes: Lister<PersistentVolume>,
    /// Claims of persistent volumes.
    pub claims: Lister<PersistentVolumeClaim>,
    /// Storage classes.
    pub storage_classes: Lister<StorageClass>,
    /// What CSI drivers say of their nodes.
    pub csi_nodes: Lister<CSINode>,
    /// CSI drivers.
    pub csi_drivers: Lister<CSIDriver>,
    /// Free storage by topology.
    pub csi_capacities: Lister<CSIStorageCapacity>,
    /// Attached volumes.
    pub volume_attachments: Lister<VolumeAttachment>,
    /// Disruption budgets.
    pub budgets: Lister<PodDisruptionBudget>,
    /// Claims of devices.
    pub resource_claims: Lister<Claim>,
    /// Devices offered by nodes.
    pub resource_slices: Lister<Slice>,
    /// Classes of devices.
    pub device_classes: Lister<DeviceClass>,
    /// What claims have beside, as 1.26 to 1.31 stored them.
    pub driver_claims: Lister<DriverClaim>,
    /// The named resources of slices (1.30).
    pub named_slices: Lister<NamedResourceSlice>,
    /// The nodes device classes are for (1.31).
    pub class_nodes: Lister<ClassNodes>,
    /// Classes of claims, up to 1.30.
    pub resource_classes: Lister<ResourceClass>,
    /// What scheduler and drivers tell each other, up to 1.31.
    pub scheduling_contexts: Lister<PodSchedulingContext>,
    /// Parameters of classes (1.30).
    pub class_parameters: Lister<ResourceClassParameters>,
    /// Parameters of claims (1.30).
    pub claim_parameters: Lister<ResourceClaimParameters>,
    /// Taints of devices.
    pub device_taint_rules: Lister<DeviceTaintRule>,
    /// Groups of pods.
    pub pod_groups: Lister<PodGroup>,
    /// Groups of such groups.
    pub composite_pod_groups: Lister<PodGroup>,
    /// Workloads and the groups in them.
    pub workloads: Lister<Workload>,
}
