//! The kinds a scheduler watches: a table with one row a kind. A row makes the kind, the parsing and caching of its objects, and their lister.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::core::{Namespace, PersistentVolume, PersistentVolumeClaim};
use crate::api::meta::LabelSelector;
use crate::api::policy::PodDisruptionBudget;
use crate::api::storage::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use ketcd_kube::proto::kinds::KindRow;

use super::cached_object::{Compiler, namespace_labels, with_resource_version};
use super::device::classic::{PodSchedulingContext, ResourceClass};
use super::device::named_resources::{ResourceClaimParameters, ResourceClassParameters};
use super::owner::OwnerFields;
use super::pod::template::ParsedPod;
use super::raw_object::{FromRaw, ParseError, parse_node};
use super::{
    Claim, Class, DeviceTaintRule, ImageState, Labels, Lister, Node, NodeFields, ObjectKey, Owner, PodGroup, PodInfo, RawObject, Slice,
    Unreadable, Workload,
};

/// Makes the kinds of a table whose rows are `Kind = "name in the API": type it is parsed as => lister: type it is cached as`, followed, if that
/// differs, by `= function` that compiles it. Pods and nodes, which have no lister, have no row.
macro_rules! watched_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal: $parsed:ty => $lister:ident: $cached:ty $(= $compile:path)?;)*) => {
        /// The kinds a scheduler watches.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the kinds' own names")]
        pub enum WatchedKind {
            Pod,
            Node,
            $($kind,)*
        }

        impl WatchedKind {
            /// Every kind, pods last.
            pub const ALL: &[Self] = &[Self::Node, $(Self::$kind,)* Self::Pod];

            /// The kind among those that ketcd-kube knows.
            fn row(self) -> &'static KindRow {
                match self {
                    Self::Pod => const { KindRow::of("Pod") },
                    Self::Node => const { KindRow::of("Node") },
                    $(Self::$kind => const { KindRow::of($name) },)*
                }
            }
        }

        /// An object parsed into the type of its kind.
        pub(crate) enum ParsedObject<'a> {
            Pod(Box<ParsedPod<'a>>),
            Node(Box<NodeFields<'a>>),
            $($kind(Box<$parsed>),)*
        }

        impl<'a> ParsedObject<'a> {
            /// Parses an object.
            ///
            /// # Errors
            /// Why it cannot be read.
            pub(super) fn parse(raw: RawObject<'a>, kind: WatchedKind) -> Result<Self, ParseError> {
                Ok(match kind {
                    WatchedKind::Pod => Self::Pod(Box::new(ParsedPod::parse(raw)?)),
                    WatchedKind::Node => Self::Node(Box::new(parse_node(raw)?)),
                    $(WatchedKind::$kind => Self::$kind(Box::new(<$parsed>::from_raw(raw)?)),)*
                })
            }

            /// Compiles the object; parts that cannot be read are added to the compiler's problems.
            ///
            /// # Errors
            /// Why none of it can be read.
            pub(super) fn compile(self, compiler: &mut Compiler<'_>) -> Result<CachedObject, ParseError> {
                Ok(match self {
                    Self::Pod(pod) => CachedObject::Pod(compiler.pod(*pod)?),
                    Self::Node(node) => CachedObject::Node(Arc::new(compiler.node(&node)), None),
                    $(Self::$kind(object) => CachedObject::$kind(watched_kinds!(@compile object, compiler $(, $compile)?)),)*
                })
            }
        }

        /// A compiled object.
        #[derive(Clone, Debug)]
        pub(crate) enum CachedObject {
            Pod(Arc<PodInfo>),
            /// With the image counts as of its write; `None`: counted when it is set.
            Node(Arc<Node>, Option<Arc<[ImageState]>>),
            $($kind(Arc<$cached>),)*
            /// An object of any kind that exists but cannot be read.
            Unreadable(Arc<Unreadable>),
        }

        /// One lister per kind but pods and nodes.
        #[derive(Debug, Default)]
        pub(crate) struct Listers {
            $($(#[$doc])* pub(crate) $lister: Lister<$cached>,)*
        }

        impl Listers {
            /// Looks up an object and lists all, in every lister and every way.
            #[cfg(test)]
            fn look_up_everywhere(&self, namespace: &str, name: &str) -> usize {
                let mut found = 0;
                $(found += self.$lister.get(namespace, name).iter().count()
                    + self.$lister.in_namespace(namespace).count()
                    + self.$lister.iter().count();)*
                found
            }

            /// Sets an object, or marks it as unreadable, or deletes both; returns what was there before.
            pub(super) fn set(
                &mut self,
                key: &ObjectKey,
                object: Option<CachedObject>,
                mark: Option<Arc<Unreadable>>,
            ) -> (Option<CachedObject>, Option<Arc<Unreadable>>) {
                match key.kind {
                    // The state itself holds these.
                    WatchedKind::Pod | WatchedKind::Node => (None, None),
                    $(WatchedKind::$kind => {
                        let object = if let Some(CachedObject::$kind(object)) = object { Some(object) } else { None };
                        let (before, marked) = self.$lister.set(key.namespaced_name(), object, mark);
                        (before.map(CachedObject::$kind), marked)
                    })*
                }
            }
        }
    };
    (@compile $object:ident, $compiler:ident) => { Arc::from($object) };
    (@compile $object:ident, $compiler:ident, $compile:path) => { Arc::new($compile(*$object, $compiler)) };
}

impl WatchedKind {
    /// Returns the kind as the API names it: `CSINode`.
    pub fn name(self) -> &'static str {
        self.row().kind
    }

    /// Returns the name of the resource: `nodes`.
    pub(crate) fn resource(self) -> &'static str {
        self.row().plural
    }

    /// Returns where objects of the kind lie below the API server's prefix: `minions`.
    pub fn storage_path(self) -> &'static str {
        self.row().path
    }
}

watched_kinds! {
    /// Labels of namespaces.
    Namespace = "Namespace": Namespace => namespaces: Labels = namespace_labels;
    /// Services.
    Service = "Service": OwnerFields<BTreeMap<String, String>> => services: Owner = Owner::by_labels;
    /// Replication controllers.
    ReplicationController = "ReplicationController": OwnerFields<BTreeMap<String, String>> => replication_controllers: Owner = Owner::by_labels;
    /// Replica sets.
    ReplicaSet = "ReplicaSet": OwnerFields<LabelSelector> => replica_sets: Owner = Owner::by_selector;
    /// Stateful sets.
    StatefulSet = "StatefulSet": OwnerFields<LabelSelector> => stateful_sets: Owner = Owner::by_selector;
    /// Persistent volumes.
    PersistentVolume = "PersistentVolume": PersistentVolume => volumes: PersistentVolume;
    /// Claims of persistent volumes.
    PersistentVolumeClaim = "PersistentVolumeClaim": PersistentVolumeClaim => claims: PersistentVolumeClaim = with_resource_version;
    /// Storage classes.
    StorageClass = "StorageClass": StorageClass => storage_classes: StorageClass;
    /// CSI drivers by node.
    CsiNode = "CSINode": CSINode => csi_nodes: CSINode;
    /// CSI drivers.
    CsiDriver = "CSIDriver": CSIDriver => csi_drivers: CSIDriver;
    /// Storage capacity by topology.
    CsiStorageCapacity = "CSIStorageCapacity": CSIStorageCapacity => csi_capacities: CSIStorageCapacity;
    /// Attached volumes.
    VolumeAttachment = "VolumeAttachment": VolumeAttachment => volume_attachments: VolumeAttachment;
    /// Disruption budgets.
    PodDisruptionBudget = "PodDisruptionBudget": PodDisruptionBudget => budgets: PodDisruptionBudget;
    /// Claims of devices.
    ResourceClaim = "ResourceClaim": Claim => resource_claims: Claim;
    /// Devices offered by nodes.
    ResourceSlice = "ResourceSlice": Slice => resource_slices: Slice;
    /// Classes of devices.
    DeviceClass = "DeviceClass": Class => device_classes: Class;
    /// Classes of claims, up to 1.30.
    ResourceClass = "ResourceClass": ResourceClass => resource_classes: ResourceClass;
    /// The negotiation of scheduler and drivers about a pod, in 1.26.
    PodScheduling = "PodScheduling": PodSchedulingContext => pod_schedulings: PodSchedulingContext;
    /// The same from 1.27 to 1.31.
    PodSchedulingContext = "PodSchedulingContext": PodSchedulingContext => pod_scheduling_contexts: PodSchedulingContext;
    /// Parameters of classes (1.30).
    ResourceClassParameters = "ResourceClassParameters": ResourceClassParameters => class_parameters: ResourceClassParameters;
    /// Parameters of claims (1.30).
    ResourceClaimParameters = "ResourceClaimParameters": ResourceClaimParameters => claim_parameters: ResourceClaimParameters;
    /// Taints of devices.
    DeviceTaintRule = "DeviceTaintRule": DeviceTaintRule => device_taint_rules: DeviceTaintRule;
    /// Groups of pods.
    PodGroup = "PodGroup": PodGroup => pod_groups: PodGroup;
    /// Groups of pod groups.
    CompositePodGroup = "CompositePodGroup": PodGroup => composite_pod_groups: PodGroup;
    /// Workloads with the pod groups in them (1.35).
    Workload = "Workload": Workload => workloads: Workload;
}

#[cfg(test)]
mod tests {
    use ketcd_kube::proto::kinds::KINDS;

    use super::*;
    use crate::cluster::{ClusterState, RequestRules, unreadable};

    #[test]
    fn every_kind_is_added_found_and_deleted() {
        for &kind in WatchedKind::ALL {
            let rows = KINDS.iter().filter(|row| row.kind == kind.name());
            assert_eq!(rows.count(), 1, "{kind:?} is not the only kind of its name");
            let path = format!("{}/{}", kind.storage_path(), if kind.row().namespaced { "ns/a" } else { "a" });
            let key = ObjectKey::parse(&path).unwrap_or_else(|| panic!("{path} is not parsed"));
            assert_eq!(key.kind, kind);
            let mut state = ClusterState::new(RequestRules::FOR_TESTS);
            let object = format!(r#"{{"kind": "{}", "metadata": {{"namespace": "{}", "name": "a"}}}}"#, kind.name(), key.namespace);
            for (object, readable) in [(object.as_bytes(), true), (b"7", false)] {
                let added = state.apply(&key, Some(object), 1);
                assert_eq!(added.after.as_ref().is_some_and(|after| after.unreadable().is_none()), readable, "{kind:?}");
                assert_eq!((added.before.is_none(), state.has_unreadable()), (true, !readable), "{kind:?}");
                let (found, met) = unreadable::collect(|| {
                    let own = state.node("a").iter().count() + state.nodes().count();
                    let pods = state.pod(&key.namespace, "a").iter().count() + state.pods().count();
                    own + pods + state.listers().look_up_everywhere(&key.namespace, "a")
                });
                let ways = if matches!(kind, WatchedKind::Pod | WatchedKind::Node) { 2 } else { 3 };
                assert_eq!((found, met.len()), if readable { (ways, 0) } else { (0, 1) }, "{kind:?}");
                let wanted = format!("{} \"{}a\" cannot be read: ", kind.name(), if kind.row().namespaced { "ns/" } else { "" });
                assert!(met.iter().all(|met| met.to_string().starts_with(&wanted)), "{met:?}");
                let removed = state.apply(&key, None::<&[u8]>, 2);
                assert_eq!(removed.before.is_some_and(|before| before.unreadable().is_none()), readable, "{kind:?}");
                assert!(!state.has_unreadable(), "{kind:?}");
            }
        }
    }
}
