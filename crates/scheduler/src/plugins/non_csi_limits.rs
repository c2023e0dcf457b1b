//! EBSLimits, GCEPDLimits, AzureDiskLimits, CinderLimits (Max…VolumeCount up to 1.17): how many in-tree disks a node may have attached.

use std::collections::BTreeSet;

use crate::api::core::{PersistentVolume, PersistentVolumeClaim};
use crate::cluster::{Node, PodInfo, VolumeSource};
use crate::framework::{CountedVolume, Fact, Need, VolumeCheck, WithoutState};
use crate::plugins::volume_limits::{self, missing};
use crate::release::Rules;
use crate::volumes::{InTreePlugin, claim_needs, claim_refs, is_migrated, owner_problem, spec_class};
use crate::{Candidate, Cycle, Plugin, PreFilter, Verdict};

/// The rule for one kind of disk.
pub(crate) struct NonCsiLimits {
    name: &'static str,
    doc: &'static str,
    in_tree: &'static str,
    limit_key: &'static str,
    default_limit: i64,
}

macro_rules! doc {
    ($what:literal, $limit:literal, $key:literal) => {
        concat!(
            "How many ", $what, " disks a node may have attached.\n\n",
            "Checks\n  The disks of the pod (inline, or behind its claims) and of the pods on the node, each counted once, against the node's limit.\n",
            "Reads\n  Volumes of the pod and of the pods on the node, PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSINode;\n",
            "  the limit is the node's allocatable ", $key, ", else ", $limit, ".\n",
            "History\n  Up to 1.15 a claim that is missing, unbound or without its volume counts as a disk of every kind, from 1.16 on an unbound one where its\n",
            "  class provisions such disks. A missing claim was passed over 1.16–1.22, an error 1.23–1.29,\n",
            "  a refusal 1.30–1.31. Generic ephemeral volumes since 1.23. Not run for pods without such volumes since 1.28. Where the node's\n",
            "  driver took the disks over, NodeVolumeLimits counts them. Removed from the defaults in 1.31.\n",
            "Differs from upstream\n  The scheduler's environment variable KUBE_MAX_PD_VOLS is not in etcd and taken as unset."
        )
    };
}

/// Amazon's disks.
pub(crate) static EBS_LIMITS: NonCsiLimits = NonCsiLimits {
    name: "EBSLimits",
    doc: doc!("Amazon", "39 (25 where the instance type is of the Nitro system)", "attachable-volumes-aws-ebs"),
    in_tree: "kubernetes.io/aws-ebs",
    limit_key: "attachable-volumes-aws-ebs",
    default_limit: 39,
};

/// Google's disks.
pub(crate) static GCE_PD_LIMITS: NonCsiLimits = NonCsiLimits {
    name: "GCEPDLimits",
    doc: doc!("Google", "16", "attachable-volumes-gce-pd"),
    in_tree: "kubernetes.io/gce-pd",
    limit_key: "attachable-volumes-gce-pd",
    default_limit: 16,
};

pub(crate) static AZURE_DISK_LIMITS: NonCsiLimits = NonCsiLimits {
    name: "AzureDiskLimits",
    doc: doc!("Azure", "16", "attachable-volumes-azure-disk"),
    in_tree: "kubernetes.io/azure-disk",
    limit_key: "attachable-volumes-azure-disk",
    default_limit: 16,
};

/// OpenStack's disks; never a default.
pub(crate) static CINDER_LIMITS: NonCsiLimits = NonCsiLimits {
    name: "CinderLimits",
    doc: doc!("OpenStack", "256", "attachable-volumes-cinder"),
    in_tree: "kubernetes.io/cinder",
    limit_key: "attachable-volumes-cinder",
    default_limit: 256,
};

const EXCEEDED_REASON: &str = "node(s) exceed max volume count";

impl Plugin for NonCsiLimits {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let pod = cycle.pod;
        let own = pod.spec.volumes.iter().any(|volume| self.inline(&volume.source).is_some());
        if !own && claim_refs(pod, cycle.profile.rules.limits_count_ephemeral_volumes()).next().is_none() {
            return PreFilter::Skip;
        }
        let wanted = self.disks(pod, true, cycle);
        let (in_tree, limit_key, default_limit) = (self.in_tree, self.limit_key, self.default_limit);
        let rule = Self { name: self.name, doc: self.doc, in_tree, limit_key, default_limit };
        PreFilter::Filter(Box::new(move |node: &Candidate| {
            let wanted = match &wanted {
                Ok(wanted) if wanted.is_empty() => return Verdict::Pass,
                Ok(wanted) => wanted,
                Err(problem) => return problem.clone(),
            };
            let (release, gates) = (cycle.profile.release, &cycle.profile.gates);
            let csi_node = cycle.state.listers().csi_nodes.get("", &node.name).map(|csi_node| &**csi_node);
            if InTreePlugin::find(in_tree, release).is_some_and(|plugin| is_migrated(plugin, csi_node, release, gates)) {
                return Verdict::Pass;
            }
            let mut disks = wanted.clone();
            for other in &node.pods {
                match rule.disks(other, false, cycle) {
                    Ok(attached) => disks.extend(attached),
                    Err(problem) => return problem,
                }
            }
            if i64::try_from(disks.len()).unwrap_or(i64::MAX) > rule.limit(node, cycle) {
                Verdict::unschedulable(EXCEEDED_REASON)
            } else {
                Verdict::Pass
            }
        }))
    }

    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Computes
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        disk_limits(self.name, cycle, node)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        volume_limits::needs(cycle, node)
    }

    fn needs_after_error(&self, cycle: &Cycle) -> Vec<Need> {
        claim_needs(cycle)
    }
}

/// What one of these rules, under its newer or its older name, compares on a node.
pub(crate) struct Disks {
    /// The pod's.
    pub wanted: BTreeSet<String>,
    /// Those of the pods on the node.
    pub attached: BTreeSet<String>,
    /// How many there may be.
    pub limit: i64,
    /// Whether the node's driver took these disks over, so that they are not counted.
    pub migrated: bool,
}

/// What a rule compares on a node; `None` where a volume cannot be looked up.
pub(crate) fn compared(rule: &str, cycle: &Cycle<'_>, node: &Candidate) -> Option<Disks> {
    let rule = match rule {
        "EBSLimits" | "MaxEBSVolumeCount" => &EBS_LIMITS,
        "GCEPDLimits" | "MaxGCEPDVolumeCount" => &GCE_PD_LIMITS,
        "AzureDiskLimits" | "MaxAzureDiskVolumeCount" => &AZURE_DISK_LIMITS,
        _ => &CINDER_LIMITS,
    };
    let mut attached = BTreeSet::new();
    for other in &node.pods {
        attached.extend(rule.disks(other, false, cycle).ok()?);
    }
    let csi_node = cycle.state.listers().csi_nodes.get("", &node.name).map(|csi_node| &**csi_node);
    let migrated = InTreePlugin::find(rule.in_tree, cycle.profile.release)
        .is_some_and(|plugin| is_migrated(plugin, csi_node, cycle.profile.release, &cycle.profile.gates));
    Some(Disks { wanted: rule.disks(cycle.pod, true, cycle).ok()?, attached, limit: rule.limit(node, cycle), migrated })
}

impl NonCsiLimits {
    fn inline(&self, source: &VolumeSource) -> Option<String> {
        match (self.in_tree, source) {
            ("kubernetes.io/aws-ebs", VolumeSource::AwsElasticBlockStore { id, .. })
            | ("kubernetes.io/cinder", VolumeSource::Cinder(id)) => Some(id.to_string()),
            ("kubernetes.io/gce-pd", VolumeSource::GcePersistentDisk { name, .. })
            | ("kubernetes.io/azure-disk", VolumeSource::AzureDisk { name, .. }) => Some(name.to_string()),
            _ => None,
        }
    }

    fn persistent(&self, volume: &PersistentVolume) -> Option<String> {
        let spec = volume.spec.as_ref()?;
        match self.in_tree {
            "kubernetes.io/aws-ebs" => spec.aws_elastic_block_store.as_ref().map(|disk| disk.volume_id.clone()),
            "kubernetes.io/gce-pd" => spec.gce_persistent_disk.as_ref().map(|disk| disk.pd_name.clone()),
            "kubernetes.io/azure-disk" => spec.azure_disk.as_ref().map(|disk| disk.disk_name.clone()),
            _ => spec.cinder.as_ref().map(|disk| disk.volume_id.clone()),
        }
    }

    /// `filterVolumes`: the disks of a pod, by their ids; those without one yet by their claim.
    fn disks(&self, pod: &PodInfo, incoming: bool, cycle: &Cycle<'_>) -> Result<BTreeSet<String>, Verdict> {
        let rules = &cycle.profile.rules;
        let listers = cycle.state.listers();
        let mut disks: BTreeSet<String> = pod.spec.volumes.iter().filter_map(|volume| self.inline(&volume.source)).collect();
        for reference in claim_refs(pod, rules.limits_count_ephemeral_volumes()) {
            let Some(claim) = listers.claims.get(&pod.namespace, &reference.name) else {
                if let Some(verdict) = incoming.then(|| volume_limits::not_found(pod, &reference.name, cycle)).flatten() {
                    return Err(verdict);
                }
                if rules.unknown_disks_count_for_all() {
                    disks.insert(format!("//{}/{}", pod.namespace, reference.name));
                }
                continue;
            };
            if let Some(problem) = reference.ephemeral.then(|| owner_problem(claim, pod, rules.release)).flatten() {
                return Err(Verdict::Error(problem));
            }
            let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).filter(|name| !name.is_empty());
            match volume.and_then(|name| listers.volumes.get("", name)) {
                Some(volume) => disks.extend(self.persistent(volume)),
                // No disk id can look like this: ids have no two slashes in front.
                None if rules.unknown_disks_count_for_all() || self.provisions(claim, cycle) => {
                    disks.insert(format!("//{}/{}", pod.namespace, reference.name));
                }
                None => {}
            }
        }
        Ok(disks)
    }

    /// `matchProvisioner`: reads only the field, not the beta annotation.
    fn provisions(&self, claim: &PersistentVolumeClaim, cycle: &Cycle<'_>) -> bool {
        let class = cycle.state.listers().storage_classes.get("", spec_class(claim));
        class.is_some_and(|class| class.provisioner == self.in_tree)
    }

    fn limit(&self, node: &Node, cycle: &Cycle<'_>) -> i64 {
        let published = cycle.profile.gates.on("AttachVolumeLimit");
        let own = node.allocatable.scalars.iter().find(|(name, _)| published && &**name == self.limit_key);
        let nitro = self.name == "EBSLimits" && is_nitro(node, &cycle.profile.rules);
        own.map_or_else(|| if nitro { 25 } else { self.default_limit }, |(_, limit)| *limit)
    }
}

/// `^[cm]5.*` or, where the newer types are known, `^[cmr]5.*|t3|z1d`, whose anchor holds for the first alternative only.
fn is_nitro(node: &Node, rules: &Rules) -> bool {
    let kind = rules.instance_type_labels().iter().find_map(|key| node.labels.get(key)).unwrap_or_default();
    let is_newer = || kind.starts_with("r5") || kind.contains("t3") || kind.contains("z1d");
    kind.starts_with("c5") || kind.starts_with("m5") || rules.knows_newer_nitro_types() && is_newer()
}

/// The disks of one in-tree kind: those of the node's pods, those the pod adds, the limit.
fn disk_limits(rule: &str, cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let Some(of) = compared(rule, cycle, node) else { return missing(cycle) };
    if of.migrated {
        return vec![Fact::holding(VolumeCheck::InTreeMigrated)];
    }
    if of.wanted.is_empty() {
        return vec![Fact::holding(VolumeCheck::NoneOfKind)];
    }
    let attached: Vec<CountedVolume> = of.attached.iter().map(|disk| CountedVolume::of(disk, "//")).collect();
    let added: Vec<CountedVolume> = of.wanted.difference(&of.attached).map(|disk| CountedVolume::of(disk, "//")).collect();
    let holds = i64::try_from(attached.len() + added.len()).is_ok_and(|total| total <= of.limit);
    vec![Fact::new(holds, VolumeCheck::InTreeLimit { attached, added, limit: of.limit })]
}
