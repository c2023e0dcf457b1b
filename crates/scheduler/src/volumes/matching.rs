//! Finding a volume for a claim on a node. Upstream: `component-helpers/storage/volume/pv_helpers.go` (`FindMatchingVolume`), the same rules in every release.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::Value;

use crate::api::core::{NodeAffinity, NodeSelector, PersistentVolume, PersistentVolumeClaim};
use crate::cluster::{Amount, ClusterState, Interner, Labels, Node, NodeTerm, Selector, label_selector};
use crate::release::VolumeRules;
use crate::{Profile, Release};

use super::claims::{annotation, storage_request};

/// Where a volume can be reached.
#[derive(Debug)]
pub(crate) struct VolumeAffinity {
    /// Lists of terms: in each list one term must match. Without a list every node matches.
    required: Vec<Vec<NodeTerm>>,
}

/// The annotation that held a volume's node affinity before `spec.nodeAffinity` (1.10) (`v1helper.GetStorageNodeAffinityFromAnnotation`).
const ALPHA_AFFINITY: &str = "volume.alpha.kubernetes.io/node-affinity";

impl VolumeAffinity {
    /// Compiles `spec.nodeAffinity.required`.
    pub(crate) fn compile(required: Option<&NodeSelector>) -> Self {
        Self { required: required.map(terms).into_iter().collect() }
    }

    /// Compiles a volume's node affinity, from its spec and its alpha annotation. One that cannot be read matches no node.
    pub(crate) fn of(volume: &PersistentVolume, release: Release) -> Self {
        let rules = VolumeRules::of(release);
        let spec = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()).and_then(|affinity| affinity.required.as_ref());
        let mut own = Self::compile(spec.filter(|_| rules.reads_spec_affinity()));
        let annotated = volume.metadata.annotations.as_ref().and_then(|all| all.get(ALPHA_AFFINITY));
        if let Some(text) = annotated.filter(|_| rules.reads_annotated_affinity()) {
            match serde_json::from_str(text).and_then(|affinity: Value| NodeAffinity::deserialize(affinity)) {
                Ok(affinity) => own.required.extend(affinity.required_during_scheduling_ignored_during_execution.as_ref().map(terms)),
                Err(_) => own.required.push(Vec::new()),
            }
        }
        own
    }

    /// `CheckNodeAffinity`: looks at the node's labels only, never at its name.
    pub(crate) fn matches(&self, node: &Node) -> bool {
        self.required.iter().all(|terms| terms.iter().any(|term| term.matches("", &node.labels)))
    }
}

fn terms(selector: &NodeSelector) -> Vec<NodeTerm> {
    let mut interner = Interner::default();
    selector.node_selector_terms.iter().map(|term| NodeTerm::compile(term, &mut interner)).collect()
}

/// The volumes of one class, prepared for matching.
pub(super) struct VolumeList {
    volumes: Vec<ListedVolume>,
}

struct ListedVolume {
    volume: Arc<PersistentVolume>,
    affinity: VolumeAffinity,
    capacity: Amount,
}

impl ListedVolume {
    /// Whether the two volumes match the same claims and nodes, apart from their size.
    fn is_like(&self, other: &Self) -> bool {
        let (own, others) = (self.volume.spec.as_ref(), other.volume.spec.as_ref());
        self.volume.metadata.labels == other.volume.metadata.labels
            && own.map(|spec| &spec.node_affinity) == others.map(|spec| &spec.node_affinity)
            && own.map(|spec| &spec.access_modes) == others.map(|spec| &spec.access_modes)
    }
}

pub(super) struct Matching<'a> {
    claim: &'a PersistentVolumeClaim,
    request: Amount,
    selector: Result<Option<Selector>, String>,
    /// Whether VolumeAttributesClasses are compared; `None` where the release does not know them.
    attributes_class: Option<bool>,
    /// Whether a free volume must be in the phase Available.
    available_only: bool,
    /// Whether volume modes are compared.
    block_volumes: bool,
}

impl VolumeList {
    /// The volumes of a storage class, ascending by name. (Upstream's order is that of a Go map.)
    pub(super) fn of_class(class: &str, state: &ClusterState, release: Release) -> Self {
        let volumes = state.listers().volumes.iter().filter(|volume| volume_class(volume) == class);
        let listed = volumes.map(|volume| ListedVolume {
            volume: volume.clone(),
            affinity: VolumeAffinity::of(volume, release),
            capacity: capacity(volume),
        });
        Self { volumes: listed.collect() }
    }
}

impl<'a> Matching<'a> {
    /// Prepares a claim. The volume mode counts with the gate BlockVolume.
    pub(super) fn new(claim: &'a PersistentVolumeClaim, profile: &Profile) -> Self {
        let selector = claim.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        let selector = match selector.map(|selector| label_selector(selector, &mut Interner::default())) {
            None => Ok(None),
            Some(Some(selector)) => Ok(Some(selector)),
            Some(None) => Err(format!("error creating internal label selector for claim: {}", key(claim))),
        };
        let rules = VolumeRules::of(profile.release);
        let attributes_class = rules.knows_attributes_classes().then(|| profile.gates.on("VolumeAttributesClass"));
        Self {
            claim,
            request: storage_request(claim).unwrap_or_default(),
            selector,
            attributes_class,
            available_only: rules.wants_available_phase(),
            block_volumes: profile.gates.on("BlockVolume"),
        }
    }

    /// Returns the volume that upstream would choose on this node, without those in `taken`, and whether a different one would match as well; `None`:
    /// no volume matches.
    pub(super) fn find<'v>(
        &self,
        list: &'v VolumeList,
        node: &Node,
        taken: &[&str],
    ) -> Result<Option<(&'v Arc<PersistentVolume>, bool)>, String> {
        let spec = self.claim.spec.clone().unwrap_or_default();
        let wanted_class = spec.volume_attributes_class_name.as_deref().unwrap_or_default();
        if self.attributes_class == Some(false) && !wanted_class.is_empty() {
            return Err(format!(
                "unsupported volumeAttributesClassName is set on claim {} when the feature-gate VolumeAttributesClass is disabled",
                key(self.claim)
            ));
        }
        let selector = self.selector.as_ref().map_err(Clone::clone)?;
        let mut smallest: Option<(&ListedVolume, bool)> = None;
        for listed in &list.volumes {
            let volume = listed.volume.spec.as_ref();
            let field = |value: Option<&'v String>| value.map(String::as_str);
            let bound_to_other = volume.is_some_and(|volume| volume.claim_ref.is_some()) && !self.is_for_claim(&listed.volume);
            let mode = field(volume.and_then(|volume| volume.volume_mode.as_ref())).unwrap_or("Filesystem");
            let class = field(volume.and_then(|volume| volume.volume_attributes_class_name.as_ref())).unwrap_or_default();
            if taken.contains(&name(&listed.volume))
                || bound_to_other
                || listed.capacity < self.request
                || self.block_volumes && mode != spec.volume_mode.as_deref().unwrap_or("Filesystem")
                || self.attributes_class.is_some() && class != wanted_class
                || listed.volume.metadata.deletion_timestamp.is_some()
            {
                continue;
            }
            let reachable = listed.affinity.matches(node);
            if self.is_for_claim(&listed.volume) {
                return Ok(reachable.then_some((&listed.volume, false)));
            }
            let phase = field(listed.volume.status.as_ref().and_then(|status| status.phase.as_ref()));
            let free = phase == Some("Available") || !self.available_only;
            if !free || selector.as_ref().is_some_and(|selector| !self.selects(selector, &listed.volume)) || !reachable {
                continue;
            }
            let modes = volume.and_then(|volume| volume.access_modes.as_deref()).unwrap_or_default();
            if !spec.access_modes.iter().flatten().all(|mode| modes.contains(mode)) {
                continue;
            }
            match smallest.as_mut().map(|(smallest, drawn)| (smallest.capacity.cmp(&listed.capacity), smallest.is_like(listed), drawn)) {
                None | Some((Ordering::Greater, ..)) => smallest = Some((listed, false)),
                Some((Ordering::Equal, false, drawn)) => *drawn = true,
                Some(_) => {}
            }
        }
        Ok(smallest.map(|(listed, drawn)| (&listed.volume, drawn)))
    }

    /// `IsVolumeBoundToClaim`.
    fn is_for_claim(&self, volume: &PersistentVolume) -> bool {
        let Some(reference) = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref()) else { return false };
        let same =
            |a: Option<&String>, b: Option<&String>| a.map(String::as_str).unwrap_or_default() == b.map(String::as_str).unwrap_or_default();
        let metadata = &self.claim.metadata;
        same(reference.name.as_ref(), metadata.name.as_ref())
            && same(reference.namespace.as_ref(), metadata.namespace.as_ref())
            && (reference.uid.as_ref().is_none_or(String::is_empty) || same(reference.uid.as_ref(), metadata.uid.as_ref()))
    }

    fn selects(&self, selector: &Selector, volume: &PersistentVolume) -> bool {
        let labels = volume.metadata.labels.iter().flatten();
        selector.matches(&labels.collect::<Labels>())
    }
}

/// `GetPersistentVolumeClass`.
pub(crate) fn volume_class(volume: &PersistentVolume) -> &str {
    let annotation = annotation(&volume.metadata, "volume.beta.kubernetes.io/storage-class");
    annotation.or_else(|| volume.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref())).unwrap_or_default()
}

/// A volume's capacity; zero where it has none.
pub(super) fn capacity(volume: &PersistentVolume) -> Amount {
    let capacity = volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref()).and_then(|capacity| capacity.get("storage"));
    capacity.and_then(|quantity| Amount::parse(&quantity.0)).unwrap_or_default()
}

fn name(volume: &PersistentVolume) -> &str {
    volume.metadata.name.as_deref().unwrap_or_default()
}

fn key(claim: &PersistentVolumeClaim) -> String {
    format!("{}/{}", claim.metadata.namespace.as_deref().unwrap_or_default(), claim.metadata.name.as_deref().unwrap_or_default())
}

/// Sorts claims by the size they request, smallest first (`byPVCSize`).
pub(super) fn by_size(claims: &mut [Arc<PersistentVolumeClaim>]) {
    claims.sort_by_key(|claim| storage_request(claim).unwrap_or_default());
}
