//! The volumes a pod's claims would get on a node: existing ones, ones to be provisioned, or the reasons why not.
//! Upstream: `plugins/volumebinding/binder.go` (up to 1.22 `pkg/controller/volume/scheduling/scheduler_binder.go`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Cycle;
use crate::api::core::{ObjectReference, PersistentVolume, PersistentVolumeClaim, TopologySelectorTerm};
use crate::api::meta::ObjectMeta;
use crate::api::storage::{CSINode, CSIStorageCapacity, StorageClass};
use crate::cluster::{Amount, Interner, Node, label_selector};
use crate::framework::{on_shape, part};
use crate::release::VolumeRules;

use super::claims::{PodClaims, claim_class, spec_class, storage_request};
use super::matching::{Matching, VolumeAffinity, VolumeList, by_size, capacity};
use super::migration::{InTreePlugin, MigratedVolume, is_migrated_by_annotation, migrated_affinity, volume_plugin};

/// The annotation that names the node a claim is to be provisioned for.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BIND_CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";
const NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";

/// A pod's claims, prepared for evaluation node by node.
pub(crate) struct Binder<'a> {
    cycle: &'a Cycle<'a>,
    rules: VolumeRules,
    bound: Vec<BoundVolume>,
    delayed: Vec<Arc<PersistentVolumeClaim>>,
    lists: BTreeMap<String, VolumeList>,
}

struct BoundVolume {
    name: String,
    /// `None`: the volume is missing.
    affinity: Option<VolumeAffinity>,
    /// Where it can be reached once a CSI driver took it over (migration), or why it cannot be taken over.
    migrated: Option<(InTreePlugin, Result<VolumeAffinity, String>)>,
}

/// The volumes a node offers for a pod's claims.
#[derive(Default)]
pub(crate) struct PodVolumes {
    /// Why the node does not fit, in upstream's order; empty where it does.
    pub reasons: Vec<Cow<'static, str>>,
    /// Claims and the free volumes they would be bound to.
    pub bindings: Vec<(Arc<PersistentVolumeClaim>, Arc<PersistentVolume>)>,
    /// Claims to be provisioned, each with the storage capacities that have room for it, where they are checked.
    pub provisions: Vec<(Arc<PersistentVolumeClaim>, Vec<Arc<CSIStorageCapacity>>)>,
    /// Whether a claim could get a different volume instead: upstream's choice is random.
    pub drawn_volume: bool,
}

/// The result of checking provisioning: whether the topology fits, whether there is room.
struct Provisioning {
    possible: bool,
    room: bool,
}

impl<'a> Binder<'a> {
    /// Prepares the claims (those that the scheduler handles).
    pub(crate) fn new(claims: PodClaims, cycle: &'a Cycle<'a>) -> Self {
        let volumes = &cycle.state.listers().volumes;
        let bound = claims.bound.iter().map(|claim| {
            let name = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone()).unwrap_or_default();
            let volume = volumes.get("", &name);
            let migrated = volume.and_then(|volume| {
                let MigratedVolume { plugin, handle } = volume_plugin(volume, cycle.profile.release)?;
                let affinity = handle.and_then(|_| migrated_affinity(volume, plugin, cycle.profile.release));
                Some((plugin, affinity.map(|affinity| VolumeAffinity::compile(affinity.as_ref()))))
            });
            BoundVolume { affinity: volume.map(|volume| VolumeAffinity::of(volume, cycle.profile.release)), migrated, name }
        });
        let mut delayed = claims.delayed;
        let classes: Vec<String> = delayed.iter().map(|claim| claim_class(claim).to_owned()).collect();
        by_size(&mut delayed);
        let lists =
            classes.into_iter().map(|class| (class.clone(), VolumeList::of_class(&class, cycle.state, cycle.profile.release))).collect();
        let rules = VolumeRules::of(cycle.profile.release);
        Self { cycle, rules, bound: bound.collect(), delayed, lists }
    }

    /// `FindPodVolumes`.
    pub(crate) fn find(&self, node: &Node) -> Result<PodVolumes, String> {
        let mut found = PodVolumes::default();
        let (reachable, existing) = self.check_bound(node)?;
        let mut satisfied = true;
        let mut room = true;
        let selected = |claim: &PersistentVolumeClaim| {
            let annotations = claim.metadata.annotations.as_ref().filter(|_| self.rules.reads_selected_node());
            annotations.and_then(|all| all.get(SELECTED_NODE)).cloned()
        };
        if self.delayed.iter().any(|claim| selected(claim).is_some_and(|selected| selected != *node.name)) {
            satisfied = false;
        } else {
            let (mut provision, matched): (Vec<_>, Vec<_>) = self.delayed.iter().partition(|claim| selected(claim).is_some());
            for claim in matched {
                let taken: Vec<&str> = found.bindings.iter().filter_map(|(_, volume)| volume.metadata.name.as_deref()).collect();
                let matching = Matching::new(claim, self.cycle.profile);
                match self.volumes_for(claim).map_or(Ok(None), |list| matching.find(list, node, &taken))? {
                    Some((volume, drawn)) => {
                        found.drawn_volume |= drawn;
                        found.bindings.push((claim.clone(), volume.clone()));
                    }
                    None => provision.push(claim),
                }
            }
            if !provision.is_empty() && !self.cycle.profile.gates.on("DynamicProvisioningScheduling") {
                satisfied = false;
            } else if !provision.is_empty() {
                let provisioning = self.provision(&provision, node, &mut found)?;
                (satisfied, room) = (provisioning.possible, provisioning.room);
            }
        }
        let reasons = [
            (!reachable, self.rules.node_conflict()),
            (!satisfied, BIND_CONFLICT),
            (!room, NOT_ENOUGH_SPACE),
            (!existing, self.rules.missing_volume()),
        ];
        found.reasons = reasons.into_iter().filter(|(applies, _)| *applies).map(|(_, reason)| Cow::Borrowed(reason)).collect();
        Ok(found)
    }

    /// The volumes of bound claims, each with whether the node reaches it; `None` where the volume is missing.
    pub(crate) fn reach<'b>(&'b self, node: &'b Node) -> impl Iterator<Item = (&'b str, Option<bool>)> {
        let csi_node = self.cycle.state.listers().csi_nodes.get("", &node.name).map(|csi_node| &**csi_node);
        self.bound.iter().map(move |volume| {
            (volume.name.as_str(), self.affinity(volume, csi_node).map(|affinity| affinity.is_ok_and(|affinity| affinity.matches(node))))
        })
    }

    /// Returns which nodes reach a bound volume, according to its CSI driver if that took it over.
    ///
    /// # Errors
    /// The driver cannot take the volume over.
    fn affinity<'b>(&self, volume: &'b BoundVolume, csi_node: Option<&CSINode>) -> Option<Result<&'b VolumeAffinity, &'b String>> {
        let own = volume.affinity.as_ref()?;
        let (release, gates) = (self.cycle.profile.release, &self.cycle.profile.gates);
        let migrated = volume.migrated.as_ref().filter(|(plugin, _)| is_migrated_by_annotation(*plugin, csi_node, release, gates));
        Some(migrated.map_or(Ok(own), |(_, affinity)| affinity.as_ref()))
    }

    fn volumes_for(&self, claim: &PersistentVolumeClaim) -> Option<&VolumeList> {
        let class = claim_class(claim);
        let by_spec = self.rules.lists_volumes_by_class_of_spec();
        self.lists.get(class).filter(|_| !by_spec || spec_class(claim) == class)
    }

    /// `checkBoundClaims`: whether every bound volume can be reached, and exists; stops at the first that fails.
    fn check_bound(&self, node: &Node) -> Result<(bool, bool), String> {
        let csi_node = self.cycle.state.listers().csi_nodes.get("", &node.name).map(|csi_node| &**csi_node);
        for volume in &self.bound {
            let Some(affinity) = self.affinity(volume, csi_node) else {
                return if self.cycle.profile.rules.missing_volumes_fail {
                    Err(format!("could not find v1.PersistentVolume \"{}\"", volume.name))
                } else {
                    Ok((true, false))
                };
            };
            let affinity = affinity.map_err(|error| format!("could not translate pv: {error}"))?;
            if !affinity.matches(node) {
                return Ok((false, true));
            }
        }
        Ok((true, true))
    }

    /// `checkVolumeProvisions`: stops at the first claim that cannot be provisioned.
    fn provision(&self, claims: &[&Arc<PersistentVolumeClaim>], node: &Node, found: &mut PodVolumes) -> Result<Provisioning, String> {
        for claim in claims {
            let name = claim_class(claim);
            if name.is_empty() {
                let metadata = &claim.metadata;
                let (namespace, name) = (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default());
                return Err(format!("no class for claim \"{namespace}/{name}\""));
            }
            let class = self.cycle.state.listers().storage_classes.get("", name);
            let class = class.ok_or_else(|| format!("failed to find storage class \"{name}\""))?;
            let static_only = matches!(class.provisioner.as_str(), "" | "kubernetes.io/no-provisioner");
            if static_only || !allows(class.allowed_topologies.as_deref().unwrap_or_default(), node) {
                return Ok(Provisioning { possible: false, room: true });
            }
            let capacities = match self.room(claim, class, node) {
                Room::NotAsked => Vec::new(),
                Room::In(capacities) => capacities,
                Room::None => return Ok(Provisioning { possible: true, room: false }),
            };
            found.provisions.push(((*claim).clone(), capacities));
        }
        Ok(Provisioning { possible: true, room: true })
    }

    /// `hasEnoughCapacity`: checked only for drivers that publish their capacity.
    fn room(&self, claim: &PersistentVolumeClaim, class: &StorageClass, node: &Node) -> Room {
        let listers = self.cycle.state.listers();
        let asked = self.cycle.profile.gates.on("CSIStorageCapacity");
        let driver = listers.csi_drivers.get("", &class.provisioner);
        let publishes = driver.is_some_and(|driver| driver.spec.storage_capacity == Some(true));
        let Some(size) = storage_request(claim).filter(|_| asked && publishes) else { return Room::NotAsked };
        let maximum = self.rules.reads_maximum_volume_size();
        let enough = |capacity: &CSIStorageCapacity| {
            let limit = capacity.maximum_volume_size.as_ref().filter(|_| maximum).or(capacity.capacity.as_ref());
            limit.and_then(|limit| Amount::parse(&limit.0)).is_some_and(|limit| limit.value() >= size.value())
        };
        let reaches = |capacity: &CSIStorageCapacity| {
            let selector = capacity.node_topology.as_ref().and_then(|topology| label_selector(topology, &mut Interner::default()));
            selector.is_some_and(|selector| selector.matches(&node.labels))
        };
        let name = class.metadata.name.as_deref().unwrap_or_default();
        let capacities = listers.csi_capacities.iter().filter(|capacity| capacity.storage_class_name == name);
        let found: Vec<_> = capacities.filter(|capacity| enough(capacity) && reaches(capacity)).cloned().collect();
        if found.is_empty() { Room::None } else { Room::In(found) }
    }
}

enum Room {
    /// No capacity is published for this claim.
    NotAsked,
    /// There is no room.
    None,
    In(Vec<Arc<CSIStorageCapacity>>),
}

/// The size a capacity offers.
fn offered(capacity: &CSIStorageCapacity) -> i64 {
    capacity.capacity.as_ref().and_then(|capacity| Amount::parse(&capacity.0)).unwrap_or_default().value()
}

/// `MatchTopologySelectorTerms`: no term allows every node; an empty term matches nothing.
fn allows(terms: &[TopologySelectorTerm], node: &Node) -> bool {
    terms.is_empty()
        || terms.iter().any(|term| {
            let expressions = term.match_label_expressions.as_deref().unwrap_or_default();
            !expressions.is_empty()
                && expressions
                    .iter()
                    .all(|wanted| node.labels.get(&wanted.key).is_some_and(|have| wanted.values.iter().any(|value| value == have)))
        })
}

impl PodVolumes {
    /// Whether the score is random: upstream takes the first capacity with room from a list in random order, and these differ.
    pub(crate) fn drawn(&self) -> bool {
        let differ = |room: &[Arc<CSIStorageCapacity>]| room.iter().any(|capacity| offered(capacity) != offered(&room[0]));
        self.bindings.is_empty() && self.provisions.iter().any(|(_, room)| differ(room))
    }

    /// Returns the volumes and claims as AssumePodVolumes leaves them: volumes bound to their claims, claims annotated with the node.
    pub(crate) fn assumed(self, node: &str) -> (Vec<PersistentVolume>, Vec<PersistentVolumeClaim>) {
        let bound = self.bindings.into_iter().map(|(claim, volume)| {
            let mut volume = Arc::unwrap_or_clone(volume);
            let ObjectMeta { namespace, name, uid, .. } = claim.metadata.clone();
            let claim_ref = ObjectReference { namespace, name, uid, ..ObjectReference::default() };
            volume.spec.get_or_insert_default().claim_ref = Some(claim_ref);
            volume
        });
        let provisioned = self.provisions.into_iter().map(|(claim, _)| {
            let mut claim = Arc::unwrap_or_clone(claim);
            claim.metadata.annotations.get_or_insert_default().insert(SELECTED_NODE.to_owned(), node.to_owned());
            claim
        });
        (bound.collect(), provisioned.collect())
    }

    /// The node's score: how well the volumes of each class are used, through `shape`, the mean over the classes.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    pub(crate) fn score(&self, shape: &[(i64, i64)], by_capacity: bool) -> i64 {
        let mut classes: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        if self.bindings.is_empty() && by_capacity {
            for (claim, room) in &self.provisions {
                let Some(room) = room.first() else { continue };
                let class = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.clone()).unwrap_or_default();
                let entry = classes.entry(class).or_default();
                entry.0 = entry.0.wrapping_add(storage_request(claim).unwrap_or_default().value());
                entry.1 = offered(room);
            }
        }
        for (claim, volume) in &self.bindings {
            let class = volume.spec.as_ref().and_then(|spec| spec.storage_class_name.clone()).unwrap_or_default();
            let entry = classes.entry(class).or_default();
            entry.0 = entry.0.wrapping_add(storage_request(claim).unwrap_or_default().value());
            entry.1 = entry.1.wrapping_add(capacity(volume).value());
        }
        if classes.is_empty() {
            return 0;
        }
        let score = |(requested, capacity): (i64, i64)| {
            let use_percent = if capacity == 0 || requested > capacity { 100 } else { part(requested, 100, capacity) };
            on_shape(shape, use_percent, 10)
        };
        let sum: i64 = classes.values().copied().map(score).sum();
        (sum as f64 / classes.len() as f64).round() as i64
    }
}
