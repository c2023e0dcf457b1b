//! The kinds a scheduler watches: a table with one row a kind. `cached_object` makes of the same rows how objects are parsed and cached, and
//! their listers.

use ketcd_kube::proto::kinds::KindRow;

/// Passes the table to the macro `$make`. A row is `Kind = "name in the API": type it is parsed as => lister: type it is cached as`, followed, if
/// that differs, by `= function` that compiles it. Pods and nodes, which have no lister, have no row.
macro_rules! watched_kinds {
    ($make:ident) => {
        $make! {
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
            /// Taints of devices.
            DeviceTaintRule = "DeviceTaintRule": DeviceTaintRule => device_taint_rules: DeviceTaintRule;
            /// Groups of pods.
            PodGroup = "PodGroup": PodGroup => pod_groups: PodGroup;
            /// Groups of pod groups.
            CompositePodGroup = "CompositePodGroup": PodGroup => composite_pod_groups: PodGroup;
            /// Workloads with the pod groups in them (1.35).
            Workload = "Workload": Workload => workloads: Workload;
        }
    };
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal: $parsed:ty => $lister:ident: $cached:ty $(= $compile:path)?;)*) => {
        /// The kinds a scheduler watches.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
        pub enum WatchedKind {
            /// Pods.
            Pod,
            /// Nodes.
            Node,
            $($(#[$doc])* $kind,)*
        }

        impl WatchedKind {
            /// Every kind, pods last.
            pub const ALL: &[Self] = &[Self::Node, $(Self::$kind,)* Self::Pod];

            /// The kind among those that ketcd-kube knows.
            pub(super) fn row(self) -> &'static KindRow {
                match self {
                    Self::Pod => const { KindRow::of("Pod") },
                    Self::Node => const { KindRow::of("Node") },
                    $(Self::$kind => const { KindRow::of($name) },)*
                }
            }
        }
    };
}

watched_kinds!(kinds);
pub(super) use watched_kinds;

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
