//! NodeVolumeLimits (MaxCSIVolumeCountPred up to 1.17): how many volumes each CSI driver may have attached to a node.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::api::core::PersistentVolumeClaim;
use crate::api::storage::CSINode;
use crate::cluster::{PodInfo, VolumeSource};
use crate::framework::{CountedVolume, Fact, FilterCheck, Need, VolumeCheck, WithoutState};
use crate::plugins::volume_limits::{self, missing};
use crate::release::Rules;
use crate::volumes::{
    InTreePlugin, claim_class, claim_needs, claim_refs, inline_csi_volume, is_migrated, owner_problem, spec_class, volume_plugin,
};
use crate::{Candidate, Cycle, Plugin, PreFilter, Verdict};

pub(crate) struct NodeVolumeLimits;

const EXCEEDED_REASON: &str = "node(s) exceed max volume count";

/// Volumes by driver and handle, each with its driver.
type Volumes = BTreeMap<(String, String), String>;

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        "NodeVolumeLimits"
    }

    fn doc(&self) -> &'static str {
        "How many volumes each CSI driver may have attached to a node.

Checks
  For each driver: the volumes of the pods on the node, those attached though no pod there uses them (since 1.32), and the pod's own that
  are not among them, against the driver's limit. A driver without a published limit has none.
Reads
  Claims of the pod and of the pods on the node, PersistentVolumes, StorageClasses, CSINode spec.drivers[].allocatable.count (up to 1.31
  also the node's allocatable attachable-volumes-csi-…), VolumeAttachments.
History
  1.12–1.17 as predicate MaxCSIVolumeCountPred. A missing claim was passed over up to 1.22, an error 1.23–1.29, a refusal since 1.30.
  Generic ephemeral volumes since 1.23, inline in-tree disks taken over by drivers since 1.25. Skipped for pods without such volumes
  since 1.28.
  The gate VolumeLimitScaling (1.35, on since 1.37) refuses nodes without a driver the pod needs, if it has a CSIDriver; since 1.36 only
  where that says preventPodSchedulingIfMissing.
  1.23–1.30 RBD volumes too, with the gate CSIMigrationRBD (off)
Differs from upstream
  1.23–1.25 with that gate panic at an RBD volume whose image is not called kubernetes-dynamic-pvc-…; here it is counted.
  If several drivers are not installed, the first by name is reported; upstream's order varies"
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let rules = &cycle.profile.rules;
        let movable = |source: &VolumeSource| inline_csi_volume(source, cycle.profile.release).is_some();
        let inline = rules.migrated_inline_disks_count() && cycle.pod.spec.volumes.iter().any(|volume| movable(&volume.source));
        if !inline && claim_refs(cycle.pod, rules.limits_count_ephemeral_volumes()).next().is_none() {
            return PreFilter::Skip;
        }
        let attachments = attachments(cycle);
        PreFilter::Filter(Box::new(move |node: &Candidate| {
            if !cycle.profile.gates.on("AttachVolumeLimit") {
                return Verdict::Pass;
            }
            let csi_node = cycle.state.listers().csi_nodes.get("", &node.name).map(|csi_node| &**csi_node);
            let mut wanted = Volumes::new();
            if let Err(problem) = collect(cycle.pod, true, csi_node, cycle, &mut wanted) {
                return problem;
            }
            if cycle.profile.gates.on("VolumeLimitScaling") {
                let absent = wanted.values().filter(|driver| !is_installed(driver, csi_node) && must_be_installed(driver, cycle)).min();
                if let Some(driver) = absent {
                    return Verdict::unschedulable(format!("{driver} CSI driver is not installed on the node"));
                }
            }
            match counts(node, csi_node, wanted, cycle, &attachments) {
                Err(problem) => problem,
                Ok(counts) if counts.iter().any(|count| count.attached + count.wanted > count.limit) => {
                    Verdict::unschedulable(EXCEEDED_REASON)
                }
                Ok(_) => Verdict::Pass,
            }
        }))
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Computes
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, verdict: &Verdict) -> Vec<Fact> {
        csi_limits(cycle, node, verdict)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        volume_limits::needs(cycle, node)
    }

    fn needs_after_error(&self, cycle: &Cycle) -> Vec<Need> {
        claim_needs(cycle)
    }

    fn needs_of_pod(&self, cycle: &Cycle) -> Vec<Need> {
        claim_needs(cycle)
    }
}

/// What is compared for a driver on a node.
pub(crate) struct Count {
    /// The driver.
    pub driver: String,
    /// The volumes on the node.
    pub attached: i64,
    /// Volumes the pod would add.
    pub wanted: i64,
    /// How many there may be.
    pub limit: i64,
    /// Which they are, those the pod would add.
    pub volumes: Vec<CountedVolume>,
}

/// What is compared on a node, for each driver that the pod needs and that has a limit there; none where a volume cannot be looked up.
pub(crate) fn compared(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Count> {
    let csi_node = cycle.state.listers().csi_nodes.get("", &node.name).map(|csi_node| &**csi_node);
    let mut wanted = Volumes::new();
    match collect(cycle.pod, true, csi_node, cycle, &mut wanted) {
        Ok(()) => counts(node, csi_node, wanted, cycle, &attachments(cycle)).unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

fn counts(
    node: &Candidate,
    csi_node: Option<&CSINode>,
    mut wanted: Volumes,
    cycle: &Cycle<'_>,
    attachments: &HashMap<&str, Volumes>,
) -> Result<Vec<Count>, Verdict> {
    let rules = &cycle.profile.rules;
    let limits = limits(node, csi_node, rules);
    if wanted.is_empty() || limits.is_empty() && !has_other_limits(node, rules) {
        return Ok(Vec::new());
    }
    let mut attached = Volumes::new();
    for other in &node.pods {
        collect(other, false, csi_node, cycle, &mut attached)?;
    }
    wanted.retain(|volume, _| !attached.contains_key(volume));
    // A volume still attached that the pod asks for again counts twice, as upstream counts it.
    attached.extend(attachments.get(&*node.name).into_iter().flatten().map(|(volume, driver)| (volume.clone(), driver.clone())));
    let count = |volumes: &Volumes, driver: &str| i64::try_from(volumes.values().filter(|of| *of == driver).count()).unwrap_or(i64::MAX);
    let drivers: BTreeSet<&String> = wanted.values().collect();
    let limited = drivers.into_iter().filter_map(|driver| Some((driver, *limits.get(driver)?)));
    let counted = limited.map(|(driver, limit)| Count {
        driver: driver.clone(),
        attached: count(&attached, driver),
        wanted: count(&wanted, driver),
        limit,
        volumes: wanted.iter().filter(|(_, of)| *of == driver).map(|((_, handle), _)| CountedVolume::of(handle, "\0")).collect(),
    });
    Ok(counted.collect())
}

fn is_installed(driver: &str, csi_node: Option<&CSINode>) -> bool {
    csi_node.is_some_and(|csi_node| csi_node.spec.drivers.iter().any(|known| known.name == driver))
}

/// Whether a node without the driver takes no pods that need it: it has a CSIDriver, and that requires it where the release reads so.
fn must_be_installed(driver: &str, cycle: &Cycle<'_>) -> bool {
    let known = cycle.state.listers().csi_drivers.get("", driver);
    known.is_some_and(|known| {
        cycle.profile.rules.every_csi_driver_must_be_on_node() || known.spec.prevent_pod_scheduling_if_missing == Some(true)
    })
}

/// `getVolumeLimits`: CSINode wins over what the node itself says.
fn limits(node: &Candidate, csi_node: Option<&CSINode>, rules: &Rules) -> BTreeMap<String, i64> {
    let own = node.allocatable.scalars.iter().filter(|_| rules.node_publishes_volume_limits());
    let own = own.filter_map(|(name, limit)| Some((name.strip_prefix("attachable-volumes-csi-")?.to_owned(), *limit)));
    let mut limits: BTreeMap<String, i64> = own.collect();
    for driver in csi_node.iter().filter(|_| rules.csi_node_publishes_volume_limits()).flat_map(|csi_node| &csi_node.spec.drivers) {
        if let Some(count) = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count) {
            limits.insert(driver.name.clone(), i64::from(count));
        }
    }
    limits
}

/// Whether the node limits volumes of another kind: then upstream looks at the volumes of its pods all the same, and may find one it cannot read.
fn has_other_limits(node: &Candidate, rules: &Rules) -> bool {
    rules.node_publishes_volume_limits() && node.allocatable.scalars.iter().any(|(name, _)| name.starts_with("attachable-volumes-"))
}

/// `filterAttachableVolumes`: adds the CSI volumes of a pod.
fn collect(pod: &PodInfo, incoming: bool, csi_node: Option<&CSINode>, cycle: &Cycle<'_>, volumes: &mut Volumes) -> Result<(), Verdict> {
    let (rules, release, gates) = (&cycle.profile.rules, cycle.profile.release, &cycle.profile.gates);
    for volume in pod.spec.volumes.iter().filter(|_| rules.migrated_inline_disks_count()) {
        let migrated = inline_csi_volume(&volume.source, release).filter(|migrated| is_migrated(migrated.plugin, csi_node, release, gates));
        let Some(migrated) = migrated else { continue };
        let unreadable = |error: String| Verdict::Error(format!("converting volume({}) from inline to csi: {error}", volume.name));
        let driver = migrated.plugin.driver.to_owned();
        volumes.insert((driver.clone(), migrated.handle.map_err(unreadable)?), driver);
    }
    for reference in claim_refs(pod, rules.limits_count_ephemeral_volumes()) {
        let Some(claim) = cycle.state.listers().claims.get(&pod.namespace, &reference.name) else {
            if let Some(verdict) = incoming.then(|| volume_limits::not_found(pod, &reference.name, cycle)).flatten() {
                return Err(verdict);
            }
            continue;
        };
        if let Some(problem) = reference.ephemeral.then(|| owner_problem(claim, pod, release)).flatten() {
            return Err(Verdict::Error(problem));
        }
        if let Some((driver, handle)) =
            driver_and_handle(claim, &pod.namespace, csi_node, cycle).filter(|(driver, handle)| !driver.is_empty() && !handle.is_empty())
        {
            let unique = if rules.drivers_share_volume_handles() { String::new() } else { driver.clone() };
            volumes.insert((unique, handle), driver);
        }
    }
    Ok(())
}

/// `getCSIDriverInfo`: of the bound volume, else of the class that would provision it.
fn driver_and_handle(
    claim: &PersistentVolumeClaim,
    namespace: &str,
    csi_node: Option<&CSINode>,
    cycle: &Cycle<'_>,
) -> Option<(String, String)> {
    let (rules, release, gates) = (&cycle.profile.rules, cycle.profile.release, &cycle.profile.gates);
    let listers = cycle.state.listers();
    let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).filter(|name| !name.is_empty());
    if let Some(volume) = volume.and_then(|name| listers.volumes.get("", name)) {
        if let Some(csi) = volume.spec.as_ref().and_then(|spec| spec.csi.as_ref()) {
            return Some((csi.driver.clone(), csi.volume_handle.clone()));
        }
        let migrated = volume_plugin(volume, release).filter(|migrated| is_migrated(migrated.plugin, csi_node, release, gates))?;
        return Some((migrated.plugin.driver.to_owned(), migrated.handle.ok()?));
    }
    if !rules.unbound_claims_count_for_driver() {
        return None;
    }
    let class = if rules.limits_ignore_class_annotation() { spec_class(claim) } else { claim_class(claim) };
    let class = listers.storage_classes.get("", class)?;
    // No driver's handle can look like this one: it stands for a volume that has none yet.
    let handle = format!("\0{namespace}/{}", claim.metadata.name.as_deref().unwrap_or_default());
    match InTreePlugin::find(&class.provisioner, cycle.profile.release) {
        Some(plugin) => is_migrated(plugin, csi_node, release, gates).then(|| (plugin.driver.to_owned(), handle)),
        None => Some((class.provisioner.clone(), handle)),
    }
}

/// `getNodeVolumeAttachmentInfo`: volumes attached to each node, in use or not.
fn attachments<'a>(cycle: &Cycle<'a>) -> HashMap<&'a str, Volumes> {
    let listers = cycle.state.listers();
    if !cycle.profile.rules.volume_attachments_count() {
        return HashMap::new();
    }
    let mut by_node: HashMap<&str, Volumes> = HashMap::new();
    for attachment in listers.volume_attachments.iter().filter(|attachment| !attachment.spec.attacher.is_empty()) {
        let volume = attachment.spec.source.persistent_volume_name.as_deref().and_then(|name| listers.volumes.get("", name));
        if let Some(csi) = volume.and_then(|volume| volume.spec.as_ref()?.csi.as_ref()) {
            let attacher = attachment.spec.attacher.clone();
            by_node.entry(&attachment.spec.node_name).or_default().insert((attacher.clone(), csi.volume_handle.clone()), attacher);
        }
    }
    by_node
}

/// For each CSI driver with a limit: volumes attached, those the pod adds, the limit. A driver that is not there is named by the refusal.
fn csi_limits(cycle: &Cycle, node: &Candidate, verdict: &Verdict) -> Vec<Fact> {
    if !verdict.passes() && !missing(cycle).is_empty() {
        return missing(cycle);
    }
    let of_driver = |of: Count| {
        let holds = of.attached + of.wanted <= of.limit;
        Fact::new(holds, VolumeCheck::CsiLimit { driver: of.driver.into(), attached: of.attached, added: of.volumes, limit: of.limit })
    };
    let facts: Vec<Fact> = compared(cycle, node).into_iter().map(of_driver).collect();
    match verdict {
        Verdict::Reject(refusal) if facts.iter().all(|fact| fact.holds) => {
            vec![Fact::refusing(FilterCheck::Upstream(refusal.reasons.clone()))]
        }
        _ if facts.is_empty() => vec![Fact::holding(VolumeCheck::NoneLimited)],
        _ => facts,
    }
}
