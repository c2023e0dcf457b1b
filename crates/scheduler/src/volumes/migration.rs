//! In-tree volumes that CSI drivers took over (CSI migration): which, since when, and their CSI volume handles.
//! Upstream: `k8s.io/csi-translation-lib/plugins`, `plugins/nodevolumelimits/utils.go`, `plugins/volumebinding/binder.go`.

use std::collections::BTreeSet;

use crate::api::core::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume, RBDPersistentVolumeSource};
use crate::api::storage::CSINode;
use crate::cluster::VolumeSource;
use crate::release::VolumeRules;
use crate::{Gates, Release};

use super::claims::annotation;

/// An in-tree volume plugin that a CSI driver replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InTreePlugin {
    /// `kubernetes.io/aws-ebs`.
    pub name: &'static str,
    /// `ebs.csi.aws.com`.
    pub driver: &'static str,
    /// The node label that the driver's topology uses instead of the zone label, where volumes are translated to it.
    topology_key: Option<&'static str>,
}

/// Every pair of `csi-translation-lib`.
const IN_TREE_PLUGINS: [InTreePlugin; 8] = [
    InTreePlugin { name: "kubernetes.io/aws-ebs", driver: "ebs.csi.aws.com", topology_key: Some("topology.ebs.csi.aws.com/zone") },
    InTreePlugin { name: "kubernetes.io/gce-pd", driver: "pd.csi.storage.gke.io", topology_key: Some("topology.gke.io/zone") },
    InTreePlugin { name: "kubernetes.io/azure-disk", driver: "disk.csi.azure.com", topology_key: None },
    InTreePlugin {
        name: "kubernetes.io/cinder",
        driver: "cinder.csi.openstack.org",
        topology_key: Some("topology.cinder.csi.openstack.org/zone"),
    },
    InTreePlugin { name: "kubernetes.io/azure-file", driver: "file.csi.azure.com", topology_key: None },
    InTreePlugin { name: "kubernetes.io/vsphere-volume", driver: "csi.vsphere.vmware.com", topology_key: None },
    InTreePlugin { name: "kubernetes.io/portworx-volume", driver: "pxd.portworx.com", topology_key: None },
    InTreePlugin { name: RBD_PLUGIN, driver: "rbd.csi.ceph.com", topology_key: None },
];

/// The plugin of Ceph's block devices, which not every release translates.
const RBD_PLUGIN: &str = "kubernetes.io/rbd";

impl InTreePlugin {
    /// Finds a plugin by its name (a StorageClass's provisioner) among those a release translates.
    pub(crate) fn find(name: &str, release: Release) -> Option<Self> {
        IN_TREE_PLUGINS.into_iter().find(|plugin| plugin.name == name && VolumeRules::of(release).translates(name))
    }
}

/// `isCSIMigrationOn`: whether volumes of the plugin are counted as its driver's on this node.
pub(crate) fn is_migrated(plugin: InTreePlugin, csi_node: Option<&CSINode>, release: Release, gates: &Gates) -> bool {
    let rules = VolumeRules::of(release);
    csi_node.is_some_and(|csi_node| rules.counts_as_migrated(plugin.name, gates, || is_annotated(plugin, csi_node)))
}

/// The stricter rule of VolumeBinding: the gates and the node's annotation, in every release that knows it.
pub(super) fn is_migrated_by_annotation(plugin: InTreePlugin, csi_node: Option<&CSINode>, release: Release, gates: &Gates) -> bool {
    csi_node.is_some_and(|csi_node| VolumeRules::of(release).binds_as_migrated(plugin.name, gates) && is_annotated(plugin, csi_node))
}

fn is_annotated(plugin: InTreePlugin, csi_node: &CSINode) -> bool {
    let migrated = annotation(&csi_node.metadata, "storage.alpha.kubernetes.io/migrated-plugins").unwrap_or_default();
    migrated.split(',').any(|name| name == plugin.name)
}

/// A volume as its CSI driver knows it.
pub(crate) struct MigratedVolume {
    /// The in-tree plugin.
    pub plugin: InTreePlugin,
    /// The CSI volume handle, or why the volume cannot be translated, in upstream's words.
    pub handle: Result<String, String>,
}

impl MigratedVolume {
    fn of(plugin: &str, handle: Result<String, String>, release: Release) -> Option<Self> {
        InTreePlugin::find(plugin, release).map(|plugin| Self { plugin, handle })
    }
}

/// The plugin of a persistent volume and its handle as a CSI volume; `None` where the volume is not migratable.
pub(crate) fn volume_plugin(volume: &PersistentVolume, release: Release) -> Option<MigratedVolume> {
    let spec = volume.spec.as_ref()?;
    let rules = VolumeRules::of(release);
    let found = |plugin: &str, handle: Result<String, String>| MigratedVolume::of(plugin, handle, release);
    if let Some(disk) = &spec.aws_elastic_block_store {
        found("kubernetes.io/aws-ebs", ebs_handle(&disk.volume_id))
    } else if let Some(disk) = &spec.gce_persistent_disk {
        let label = |key: &str| {
            volume.metadata.labels.as_ref().and_then(|labels| labels.get(key)).map(String::as_str).filter(|zone| !zone.is_empty())
        };
        let zones = label(BETA_ZONE).or_else(|| label(ZONE_LABEL).filter(|_| rules.translates_zone_labels())).unwrap_or_default();
        found("kubernetes.io/gce-pd", gce_handle(zones, &disk.pd_name))
    } else if let Some(disk) = &spec.azure_disk {
        found("kubernetes.io/azure-disk", azure_handle(disk.kind.as_deref().filter(|_| rules.checks_azure_kind()), &disk.disk_uri))
    } else if let Some(disk) = &spec.cinder {
        found("kubernetes.io/cinder", Ok(disk.volume_id.clone()))
    } else if spec.azure_file.is_some() {
        found("kubernetes.io/azure-file", Ok(String::new()))
    } else if let Some(disk) = &spec.vsphere_volume {
        found("kubernetes.io/vsphere-volume", Ok(disk.volume_path.clone()))
    } else if let Some(image) = &spec.rbd {
        found(RBD_PLUGIN, Ok(rbd_handle(volume, image)))
    } else {
        spec.portworx_volume.as_ref().and_then(|disk| found("kubernetes.io/portworx-volume", Ok(disk.volume_id.clone())))
    }
}

/// The plugin of an inline volume and its handle as a CSI volume.
pub(crate) fn inline_csi_volume(source: &VolumeSource, release: Release) -> Option<MigratedVolume> {
    let (name, handle) = match source {
        VolumeSource::AwsElasticBlockStore { id, .. } => ("kubernetes.io/aws-ebs", ebs_handle(id)),
        VolumeSource::GcePersistentDisk { name, .. } => ("kubernetes.io/gce-pd", gce_handle("", name)),
        VolumeSource::AzureDisk { uri, kind, .. } => ("kubernetes.io/azure-disk", azure_handle(kind.as_deref(), uri)),
        VolumeSource::Cinder(id) => ("kubernetes.io/cinder", Ok(id.to_string())),
        VolumeSource::Rbd { image, .. } => (RBD_PLUGIN, Ok(image.to_string())),
        VolumeSource::Migrated { plugin, id } => (*plugin, Ok(id.to_string())),
        _ => return None,
    };
    MigratedVolume::of(name, handle, release)
}

/// `rbd.go` composeMigVolID, unless an annotation has the handle. Upstream has digests of monitors and pool; handles are only compared with each
/// other.
fn rbd_handle(volume: &PersistentVolume, image: &RBDPersistentVolumeSource) -> String {
    let known = annotation(&volume.metadata, "rbd.csi.ceph.com/volume-handle").filter(|handle| !handle.is_empty());
    let name = image.image.strip_prefix("kubernetes-dynamic-pvc-").unwrap_or(&image.image);
    // The API server defaults the pool.
    let pool = image.pool.as_deref().unwrap_or_default();
    known.map_or_else(|| format!("mig_mons-{}_image-{name}_{pool}", image.monitors.join(",")), str::to_owned)
}

/// `azure_disk.go`: the driver supports only managed disks.
fn azure_handle(kind: Option<&str>, uri: &str) -> Result<String, String> {
    match kind.filter(|kind| !kind.eq_ignore_ascii_case("managed")) {
        Some(kind) => Err(format!("kind({kind}) is not supported in csi migration")),
        None => Ok(uri.to_owned()),
    }
}

/// `KubernetesVolumeIDToEBSVolumeID` (`aws_ebs.go`): `aws://zone/vol-1` is `vol-1`.
fn ebs_handle(id: &str) -> Result<String, String> {
    let Some(url) = id.strip_prefix("aws://") else { return Ok(id.to_owned()) };
    let path = url.find('/').map_or("", |at| &url[at..]).trim_matches('/');
    match path.strip_prefix("vol-").filter(|number| !number.contains('/')) {
        Some(_) => Ok(path.to_owned()),
        None => Err(format!("failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({id})")),
    }
}

/// A Google disk's handle (`gce_pd.go`): zonal, regional (from the region its zones share) or unspecified.
fn gce_handle(zones: &str, disk: &str) -> Result<String, String> {
    let zones: Vec<&str> = zones.split("__").collect();
    Ok(match zones.as_slice() {
        [""] => format!("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{disk}"),
        [zone] => format!("projects/UNSPECIFIED/zones/{zone}/disks/{disk}"),
        several => {
            let region = region(several).map_err(|error| format!("failed to get region from zones: {error}"))?;
            format!("projects/UNSPECIFIED/regions/{region}/disks/{disk}")
        }
    })
}

/// `gceGetRegionFromZones`: the one region of all zones.
fn region<'z>(zones: &[&'z str]) -> Result<&'z str, String> {
    let mut regions = BTreeSet::new();
    for zone in zones {
        let region = zone.rsplit_once('-').filter(|(region, _)| region.split('-').count() == 2);
        let unexpected = || format!("zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}");
        regions.insert(region.ok_or_else(unexpected)?.0);
    }
    match (regions.first(), regions.len()) {
        (Some(region), 1) => Ok(region),
        _ => {
            let got: Vec<String> = regions.iter().map(|region| format!("{region}:{{}}")).collect();
            Err(format!("multiple or no regions gotten from zones, got: map[{}]", got.join(" ")))
        }
    }
}

const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
const REGION_LABEL: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// `translateTopologyFromInTreeToCSI` (before, `translateTopology`): where a volume can be reached once its driver took it over.
/// `None`: from everywhere.
///
/// # Errors
/// Why it cannot be translated, in upstream's words.
pub(super) fn migrated_affinity(volume: &PersistentVolume, plugin: InTreePlugin, release: Release) -> Result<Option<NodeSelector>, String> {
    let own = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()).and_then(|affinity| affinity.required.clone());
    match plugin.topology_key {
        Some(key) if VolumeRules::of(release).translates_zone_labels() => Ok(affinity_by_labels(volume, own, key)),
        Some(key) => affinity_by_beta_labels(volume, own, key),
        None => Ok(own),
    }
}

/// In releases that know only the beta labels, the volume's own label replaces all its node affinity.
fn affinity_by_beta_labels(volume: &PersistentVolume, own: Option<NodeSelector>, key: &str) -> Result<Option<NodeSelector>, String> {
    let names = |wanted: &str| {
        let terms = own.iter().flat_map(|own| &own.node_selector_terms).flat_map(|term| term.match_expressions.iter().flatten());
        terms.filter(|found| found.key == wanted).any(|found| found.values.as_ref().is_some_and(|values| !values.is_empty()))
    };
    let label = volume.metadata.labels.as_ref().and_then(|labels| labels.get(BETA_ZONE));
    if names(BETA_ZONE) && !names(key) {
        let mut required = own.unwrap_or_default();
        replace_key(&mut required, BETA_ZONE, key);
        return Ok(Some(required));
    }
    let Some(label) = label.filter(|_| !names(key)) else { return Ok(own) };
    let zones = zones_of(label);
    if zones.is_empty() {
        return Err("failed to translate topology: there are no valid zones to add to pv".to_owned());
    }
    let topology = NodeSelectorRequirement { key: key.to_owned(), operator: "In".to_owned(), values: Some(zones) };
    let term = NodeSelectorTerm { match_expressions: Some(vec![topology]), match_fields: None };
    Ok(Some(NodeSelector { node_selector_terms: vec![term] }))
}

/// The zones of a label, each once.
fn zones_of(label: &str) -> Vec<String> {
    let zones: BTreeSet<&str> = label.split("__").map(str::trim).filter(|zone| !zone.is_empty()).collect();
    zones.into_iter().map(str::to_owned).collect()
}

fn affinity_by_labels(volume: &PersistentVolume, own: Option<NodeSelector>, key: &str) -> Option<NodeSelector> {
    let mut required = own.unwrap_or_default();
    let labels = volume.metadata.labels.as_ref();
    let label = |key: &str| labels.and_then(|labels| labels.get(key));
    let beta = if has_key(&required, ZONE_LABEL) {
        false
    } else {
        has_key(&required, BETA_ZONE) || (label(ZONE_LABEL).is_none() && label(BETA_ZONE).is_some())
    };
    let (zone, region) = if beta { (BETA_ZONE, BETA_REGION) } else { (ZONE_LABEL, REGION_LABEL) };
    if has_key(&required, zone) {
        replace_key(&mut required, zone, key);
    } else if let Some(zones) = label(zone) {
        let zones = zones_of(zones);
        if !zones.is_empty() {
            if required.node_selector_terms.is_empty() {
                required.node_selector_terms.push(NodeSelectorTerm::default());
            }
            for term in &mut required.node_selector_terms {
                let topology = NodeSelectorRequirement { key: key.to_owned(), operator: "In".to_owned(), values: Some(zones.clone()) };
                term.match_expressions.get_or_insert_default().push(topology);
            }
        }
    }
    if region == BETA_REGION {
        replace_key(&mut required, BETA_REGION, REGION_LABEL);
    }
    let unrestricted = required.node_selector_terms.is_empty() && volume.spec.as_ref().is_none_or(|spec| spec.node_affinity.is_none());
    (!unrestricted).then_some(required)
}

fn has_key(selector: &NodeSelector, key: &str) -> bool {
    selector.node_selector_terms.iter().flat_map(|term| term.match_expressions.iter().flatten()).any(|requirement| requirement.key == key)
}

fn replace_key(selector: &mut NodeSelector, old: &str, new: &str) {
    for requirement in selector.node_selector_terms.iter_mut().flat_map(|term| term.match_expressions.iter_mut().flatten()) {
        if requirement.key == old {
            new.clone_into(&mut requirement.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{azure_handle, ebs_handle, gce_handle};

    #[test]
    fn handles_are_those_of_the_translation_library() {
        assert_eq!(ebs_handle("aws://us-east-1a/vol-02399794d890f9375").unwrap(), "vol-02399794d890f9375");
        assert_eq!(ebs_handle("vol-1").unwrap(), "vol-1");
        assert_eq!(
            ebs_handle("aws://us-east-1a/disk").unwrap_err(),
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/disk)"
        );
        assert_eq!(gce_handle("", "d").unwrap(), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
        assert_eq!(gce_handle("us-central1-a", "d").unwrap(), "projects/UNSPECIFIED/zones/us-central1-a/disks/d");
        assert_eq!(gce_handle("us-central1-a__us-central1-c", "d").unwrap(), "projects/UNSPECIFIED/regions/us-central1/disks/d");
        assert_eq!(
            gce_handle("us-central1-a__europe-west1-c", "d").unwrap_err(),
            "failed to get region from zones: multiple or no regions gotten from zones, got: map[europe-west1:{} us-central1:{}]"
        );
        assert_eq!(
            gce_handle("z1__z2", "d").unwrap_err(),
            "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: z1"
        );
        assert_eq!(azure_handle(Some("Shared"), "d").unwrap_err(), "kind(Shared) is not supported in csi migration");
    }
}
