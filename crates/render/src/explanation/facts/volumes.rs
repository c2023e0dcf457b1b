//! Checks on volumes and their claims, in words.

use ketcd_scheduler::cluster::VolumeSource;
use ketcd_scheduler::{CountedVolume, VolumeCheck, WantedLabel};

use super::{first, labels, pod};

/// What was checked; `holds`: whether it lets the pod pass.
pub(super) fn text(check: &VolumeCheck, holds: bool) -> String {
    match check {
        VolumeCheck::Disk { disk: source, user: None } => format!("no pod here uses {}", disk(source)),
        VolumeCheck::Disk { disk: source, user: Some(user) } => format!("{} is {}'s", disk(source), pod(user)),
        VolumeCheck::ReadWriteOncePod { claim, user: None } => format!("claim {claim} (ReadWriteOncePod) is used by no other pod"),
        VolumeCheck::ReadWriteOncePod { claim, user: Some((user, node)) } => {
            format!("claim {claim} (ReadWriteOncePod) is used by {} on {node}", pod(user))
        }
        VolumeCheck::NothingExclusive => "the pod has no disk that cannot be shared".to_owned(),
        VolumeCheck::NoClaims => "the pod has no claims".to_owned(),
        VolumeCheck::ClaimMissing { claim } => format!("claim {claim} does not exist"),
        VolumeCheck::UnboundImmediate { claim } => format!("claim {claim} is not bound, and its class does not wait for a node"),
        VolumeCheck::VolumeMissing { claim, volume } => format!("claim {claim}: its volume {volume} does not exist"),
        VolumeCheck::Bound { claim, volume, affinity } => format!("claim {claim}: its volume {volume} is {}", reach(affinity, holds)),
        VolumeCheck::WouldBind { claim, volume } => format!("claim {claim} would get volume {volume}"),
        VolumeCheck::WouldProvision { claim, class } => format!("claim {claim} would be provisioned by class {class}"),
        VolumeCheck::ProvisionedElsewhere { claim, node } => format!("claim {claim} is being provisioned on {node}"),
        VolumeCheck::NoVolume { claim, size, class, volumes, free, reached, provisioner } => {
            let size = size.as_deref().unwrap_or("any size");
            let there = format!("{free} of its {volumes} volumes are free, {reached} of them reachable from here");
            let provisioner = provisioner.as_ref().map(|provisioner| format!("; {provisioner} can make none here")).unwrap_or_default();
            format!("claim {claim} wants {size} of class {class:?}: {there}{provisioner}")
        }
        VolumeCheck::Zone { volume, key, wanted, value } => {
            let is = value.as_ref().map_or_else(|| "has no such label".to_owned(), |value| format!("is in {value}"));
            format!("volume {volume} is in {key}={}, the node {is}", wanted.join(" or "))
        }
        VolumeCheck::NodeWithoutZone => "it has no zone or region label, so every volume does".to_owned(),
        VolumeCheck::VolumesWithoutZone => "none of the pod's volumes has a zone or region label".to_owned(),
        VolumeCheck::InTreeLimit { attached, added, limit } => {
            let (there, more) = (attached.len(), added.len());
            format!("{there} attached{}, {more} more asked{}, limit {limit}", names(attached), names(added))
        }
        VolumeCheck::InTreeMigrated => "the node's CSI driver took these disks over: NodeVolumeLimits counts them".to_owned(),
        VolumeCheck::NoneOfKind => "the pod has no disk of this kind".to_owned(),
        VolumeCheck::CsiLimit { driver, attached, added, limit } => {
            format!("{driver}: {attached} attached, {} more asked{}, limit {limit}", added.len(), names(added))
        }
        VolumeCheck::NoneLimited => "the pod adds no volume of a driver with a limit here".to_owned(),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

fn disk(source: &VolumeSource) -> String {
    match source {
        VolumeSource::GcePersistentDisk { name, .. } => format!("Google disk {name}"),
        VolumeSource::AwsElasticBlockStore { id, .. } => format!("Amazon disk {id}"),
        VolumeSource::Iscsi { iqn, .. } => format!("iSCSI target {iqn}"),
        VolumeSource::Rbd { pool, image, .. } => format!("Ceph image {pool}/{image}"),
        _ => "disk".to_owned(),
    }
}

/// Whether a volume is reached, and the labels that decide it.
fn reach(affinity: &[WantedLabel], reached: bool) -> String {
    let labels = affinity.iter().map(labels::wanted).collect::<Vec<_>>().join(", ");
    match (reached, affinity) {
        (true, []) => "reached from everywhere".to_owned(),
        (true, _) => format!("reached from here: {labels}"),
        (false, []) => "not reached from here".to_owned(),
        (false, _) => format!("not reached from here: {labels}"),
    }
}

fn names(volumes: &[CountedVolume]) -> String {
    const MAX_VOLUMES_NAMED: usize = 4;
    let name = |volume: &CountedVolume| match volume {
        CountedVolume::Handle(handle) => handle.clone(),
        CountedVolume::Claim(claim) => format!("claim {claim}"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    let names: Vec<String> = volumes.iter().map(name).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", first(&names, MAX_VOLUMES_NAMED)) }
}
