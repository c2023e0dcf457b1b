//! The parts of a pod's volumes that the scheduler of any release reads.

use std::sync::Arc;

use crate::cluster::Interner;
use crate::cluster::pod::fields::VolumeFields;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PodVolume {
    pub(crate) name: Arc<str>,
    pub(crate) source: VolumeSource,
}

/// Sources that some plugin reads; others are omitted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum VolumeSource {
    /// A claim of the pod's namespace.
    Claim(Arc<str>),
    /// A generic ephemeral volume: its claim is named `<pod>-<volume>` and owned by the pod.
    Ephemeral,
    /// A GCE persistent disk.
    GcePersistentDisk {
        /// `pdName`.
        name: Arc<str>,
        /// `readOnly`.
        read_only: bool,
    },
    /// An AWS EBS volume.
    AwsElasticBlockStore {
        /// `volumeID`.
        id: Arc<str>,
        /// `readOnly`.
        read_only: bool,
    },
    /// An Azure disk.
    AzureDisk {
        /// `diskName`.
        name: Arc<str>,
        /// `diskURI`.
        uri: Arc<str>,
        /// `kind`.
        kind: Option<Arc<str>>,
    },
    /// An OpenStack disk, by `volumeID`.
    Cinder(Arc<str>),
    /// An iSCSI target.
    Iscsi {
        /// `iqn`.
        iqn: Arc<str>,
        /// `readOnly`.
        read_only: bool,
    },
    /// A Ceph block device.
    Rbd {
        /// `monitors`.
        monitors: Vec<Arc<str>>,
        /// `pool`, `rbd` by default.
        pool: Arc<str>,
        /// `image`.
        image: Arc<str>,
        /// `readOnly`.
        read_only: bool,
    },
    /// An Azure file share, a vSphere disk or a Portworx volume: in-tree kinds that CSI drivers took over.
    Migrated {
        /// The in-tree plugin: `kubernetes.io/azure-file`.
        plugin: &'static str,
        /// `shareName`, `volumePath` or `volumeID`.
        id: Arc<str>,
    },
    /// An OCI image mounted as a volume, by `reference`.
    Image(Arc<str>),
}

impl PodVolume {
    /// Compiles a volume; `None` where no plugin reads its source.
    pub(crate) fn compile(volume: &VolumeFields, interner: &mut Interner) -> Option<Self> {
        let mut text = |text: &str| interner.string(text);
        let source = if let Some(claim) = &volume.persistent_volume_claim {
            VolumeSource::Claim(text(&claim.claim_name))
        } else if volume.ephemeral.is_some() {
            VolumeSource::Ephemeral
        } else if let Some(disk) = &volume.gce_persistent_disk {
            VolumeSource::GcePersistentDisk { name: text(&disk.pd_name), read_only: disk.read_only.unwrap_or(false) }
        } else if let Some(disk) = &volume.aws_elastic_block_store {
            VolumeSource::AwsElasticBlockStore { id: text(&disk.volume_id), read_only: disk.read_only.unwrap_or(false) }
        } else if let Some(disk) = &volume.azure_disk {
            let kind = disk.kind.as_ref().map(|kind| text(kind));
            VolumeSource::AzureDisk { name: text(&disk.disk_name), uri: text(&disk.disk_uri), kind }
        } else if let Some(disk) = &volume.cinder {
            VolumeSource::Cinder(text(&disk.volume_id))
        } else if let Some(disk) = &volume.iscsi {
            VolumeSource::Iscsi { iqn: text(&disk.iqn), read_only: disk.read_only.unwrap_or(false) }
        } else if let Some(disk) = &volume.rbd {
            VolumeSource::Rbd {
                monitors: disk.monitors.iter().map(|monitor| text(monitor)).collect(),
                pool: text(disk.pool.as_deref().unwrap_or("rbd")),
                image: text(&disk.image),
                read_only: disk.read_only.unwrap_or(false),
            }
        } else if let Some(share) = &volume.azure_file {
            VolumeSource::Migrated { plugin: "kubernetes.io/azure-file", id: text(&share.share_name) }
        } else if let Some(disk) = &volume.vsphere_volume {
            VolumeSource::Migrated { plugin: "kubernetes.io/vsphere-volume", id: text(&disk.volume_path) }
        } else if let Some(disk) = &volume.portworx_volume {
            VolumeSource::Migrated { plugin: "kubernetes.io/portworx-volume", id: text(&disk.volume_id) }
        } else if let Some(image) = &volume.image {
            VolumeSource::Image(text(image.reference.as_deref().unwrap_or_default()))
        } else {
            return None;
        };
        Some(Self { name: interner.string(volume.name.as_deref().unwrap_or_default()), source })
    }
}
