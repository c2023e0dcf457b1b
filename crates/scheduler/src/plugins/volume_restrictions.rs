//! VolumeRestrictions (NoDiskConflict up to 1.17): disks that cannot be shared, and claims that only one pod may use.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo, VolumeSource};
use crate::framework::{Fact, Fix, Need, Obstacle, VolumeCheck, WithoutState};
use crate::release::Rules;
use crate::volumes::{claim_needs, claim_refs};
use crate::{Candidate, Cycle, Filter, Plugin, PreFilter, Refusal, Verdict};

pub(crate) struct VolumeRestrictions;

const DISK_CONFLICT: &str = "node(s) had no available disk";

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &'static str {
        "VolumeRestrictions"
    }

    fn doc(&self) -> &'static str {
        "Disks that cannot be shared, and claims that only one pod may use.

Checks
  Inline volumes of the pod against those of the pods on the node: the same Google disk unless both are read-only, the same
  Amazon disk always, the same iSCSI name or Ceph image unless both are read-only. Claims with access mode ReadWriteOncePod
  that another pod uses, on whatever node it is.
Reads
  spec.volumes of the pod and of the pods on the node; the pod's PersistentVolumeClaims.
History
  1.9–1.17 as predicate NoDiskConflict. ReadWriteOncePod since 1.22 (gate ReadWriteOncePod, on since 1.27): 1.22–1.26 it refused the
  pod before any node was looked at; since 1.27 each node refuses, so that preemption may help. New wording in 1.34.
Differs from upstream
  1.22–1.24 lose count of who uses a claim where preemption was tried for another pod before (the copy does not copy the count); here it is right."
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let (pod, rules) = (cycle.pod, &cycle.profile.rules);
        let once = if cycle.profile.gates.on("ReadWriteOncePod") {
            match once_claims(pod, cycle.state) {
                Ok(claims) => claims,
                Err(refusal) => return PreFilter::Refuse(refusal),
            }
        } else {
            BTreeSet::new()
        };
        let used = once.iter().filter(|claim| is_used(claim, cycle)).count();
        if used > 0 && !rules.read_write_once_pod_by_node() {
            return PreFilter::Refuse(Refusal::unresolvable(rules.read_write_once_pod_conflict()));
        }
        let asks_nodes = used > 0 || (rules.checks_unused_read_write_once_pod() && !once.is_empty());
        if !pod.spec.volumes.iter().any(|volume| is_restricted(&volume.source)) && !asks_nodes {
            return PreFilter::Skip;
        }
        let disks = disks(pod);
        PreFilter::Filter(Box::new(move |node: &Candidate| {
            let conflict = disks(node);
            if conflict != Verdict::Pass {
                return conflict;
            }
            // Upstream counts names, whatever namespace the pod that comes or goes is of.
            let uses = |pods: &[Arc<PodInfo>]| {
                pods.iter().map(|other| claim_refs(other, false).filter(|claim| once.contains(&claim.name)).count()).sum::<usize>()
            };
            if rules.read_write_once_pod_by_node() && used + uses(node.added) > uses(node.removed) {
                Verdict::unschedulable(rules.read_write_once_pod_conflict())
            } else {
                Verdict::Pass
            }
        }))
    }

    /// Since 1.27 it looks for conflicting disks, which needs no state, and then fails, if it continues to claims at all.
    fn without_prefilter(&self, _rules: &Rules) -> WithoutState {
        WithoutState::Computes
    }

    fn filter_without_state<'a>(&self, cycle: &'a Cycle<'a>, _prefilter: PreFilter<'a>) -> PreFilter<'a> {
        let error = self.remove_pod_error(&cycle.profile.rules).filter(|_| cycle.profile.gates.on("ReadWriteOncePod"));
        let disks = disks(cycle.pod);
        PreFilter::Filter(Box::new(move |node| match (disks(node), &error) {
            (Verdict::Pass, Some(error)) => Verdict::Error(error.clone()),
            (verdict, _) => verdict,
        }))
    }

    fn remove_pod_error(&self, rules: &Rules) -> Option<String> {
        rules.read_write_once_pod_by_node().then(|| "cannot read \"PreFilterVolumeRestrictions\" from cycleState".to_owned())
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        restrictions(cycle, node)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        let own: Vec<&VolumeSource> =
            cycle.pod.spec.volumes.iter().map(|volume| &volume.source).filter(|source| is_restricted(source)).collect();
        let holds = |pod: &&Arc<PodInfo>| pod.spec.volumes.iter().any(|other| own.iter().any(|own| conflicts(own, &other.source)));
        let need = |pod: &Arc<PodInfo>| Need::one_of_or(Fix::deletions([pod]), Obstacle::DiskInUse(pod.key()));
        node.pods.iter().filter(holds).map(need).chain(needs_of_users(cycle)).collect()
    }

    fn needs_of_pod(&self, cycle: &Cycle) -> Vec<Need> {
        [claim_needs(cycle), needs_of_users(cycle)].concat()
    }

    fn needs_after_error(&self, cycle: &Cycle) -> Vec<Need> {
        claim_needs(cycle)
    }
}

/// The part that looks for disks which the pod cannot share with those on a node.
pub(crate) fn disks(pod: &PodInfo) -> Filter<'_> {
    let sources = pod.spec.volumes.iter().map(|volume| &volume.source);
    let restricted: Vec<&VolumeSource> = sources.filter(|source| is_restricted(source)).collect();
    Box::new(move |node| {
        let mut taken = node.pods.iter().flat_map(|other| &other.spec.volumes);
        let conflict = taken.any(|other| restricted.iter().any(|volume| conflicts(volume, &other.source)));
        if conflict { Verdict::unschedulable(DISK_CONFLICT) } else { Verdict::Pass }
    })
}

/// The pod's claims that only one pod may use; a claim that is missing refuses the pod.
pub(crate) fn once_claims(pod: &PodInfo, state: &ClusterState) -> Result<BTreeSet<Arc<str>>, Refusal> {
    let mut once = BTreeSet::new();
    for claim in claim_refs(pod, false) {
        let Some(found) = state.listers().claims.get(&pod.namespace, &claim.name) else {
            return Err(Refusal::unresolvable(format!("persistentvolumeclaim \"{}\" not found", claim.name)));
        };
        let modes = found.spec.as_ref().and_then(|spec| spec.access_modes.as_ref());
        if modes.is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteOncePod")) {
            once.insert(claim.name);
        }
    }
    Ok(once)
}

/// Whether a pod on some node uses the pod's claim.
fn is_used(claim: &Arc<str>, cycle: &Cycle) -> bool {
    let namespace = &cycle.pod.namespace;
    match cycle.scope.and_then(|scope| scope.listed.as_ref()) {
        Some(listed) => listed.claims.contains(&(namespace.clone(), claim.clone())),
        None => users(namespace, claim, cycle.state).next().is_some(),
    }
}

/// The pods on nodes that use a claim.
pub(crate) fn users<'a>(namespace: &'a str, claim: &'a str, state: &'a ClusterState) -> impl Iterator<Item = &'a Arc<PodInfo>> {
    let pods = state.nodes().flat_map(|node| &node.pods).filter(move |pod| &*pod.namespace == namespace);
    pods.filter(move |pod| claim_refs(pod, false).any(|used| &*used.name == claim))
}

/// Whether the disk may be one that pods cannot share.
pub(crate) fn is_restricted(source: &VolumeSource) -> bool {
    use VolumeSource::{AwsElasticBlockStore, GcePersistentDisk, Iscsi, Rbd};
    matches!(source, GcePersistentDisk { .. } | AwsElasticBlockStore { .. } | Iscsi { .. } | Rbd { .. })
}

/// `isVolumeConflict`.
pub(crate) fn conflicts(volume: &VolumeSource, other: &VolumeSource) -> bool {
    use VolumeSource::{AwsElasticBlockStore, GcePersistentDisk, Iscsi, Rbd};
    match (volume, other) {
        (GcePersistentDisk { name, read_only }, GcePersistentDisk { name: other, read_only: shared }) => {
            name == other && !(*read_only && *shared)
        }
        (AwsElasticBlockStore { id, .. }, AwsElasticBlockStore { id: other, .. }) => id == other,
        (Iscsi { iqn, read_only }, Iscsi { iqn: other, read_only: shared }) => iqn == other && !(*read_only && *shared),
        (Rbd { monitors, pool, image, read_only }, Rbd { monitors: theirs, pool: other_pool, image: other_image, read_only: shared }) => {
            monitors.iter().any(|monitor| theirs.contains(monitor))
                && pool == other_pool
                && image == other_image
                && !(*read_only && *shared)
        }
        _ => false,
    }
}

/// Each disk of the pod that cannot be shared, each claim for one pod alone, and who uses it.
fn restrictions(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let mut facts = Vec::new();
    for volume in cycle.pod.spec.volumes.iter().filter(|volume| is_restricted(&volume.source)) {
        let mut users = node.pods.iter().filter(|pod| pod.spec.volumes.iter().any(|other| conflicts(&volume.source, &other.source)));
        let user = users.next().map(|user| user.key());
        facts.push(Fact::new(user.is_none(), VolumeCheck::Disk { disk: volume.source.clone(), user }));
    }
    let once = if cycle.profile.gates.on("ReadWriteOncePod") {
        once_claims(cycle.pod, cycle.state).unwrap_or_default()
    } else {
        Default::default()
    };
    for claim in once {
        let gone = |pod: &&Arc<PodInfo>| !node.removed.iter().any(|removed| removed.key() == pod.key());
        let coming = node.added.iter().find(|pod| claim_refs(pod, false).any(|used| used.name == claim));
        let user = users(&cycle.pod.namespace, &claim, cycle.state).find(gone).or(coming);
        let user = user.map(|user| (user.key(), user.node_name.as_ref().unwrap_or(&node.name).clone()));
        facts.push(Fact::new(user.is_none(), VolumeCheck::ReadWriteOncePod { claim, user }));
    }
    if facts.is_empty() { vec![Fact::holding(VolumeCheck::NothingExclusive)] } else { facts }
}

/// The users of claims that only one pod may use, each gone.
fn needs_of_users(cycle: &Cycle<'_>) -> Vec<Need> {
    let once = if cycle.profile.gates.on("ReadWriteOncePod") {
        once_claims(cycle.pod, cycle.state).unwrap_or_default()
    } else {
        Default::default()
    };
    let of_claim = |claim: &Arc<str>| {
        let users = users(&cycle.pod.namespace, claim, cycle.state);
        users
            .map(|pod| Need::one_of_or(Fix::deletions([pod]), Obstacle::ClaimInUse { claim: claim.clone(), pod: pod.key() }))
            .collect::<Vec<_>>()
    };
    once.iter().flat_map(of_claim).collect()
}
