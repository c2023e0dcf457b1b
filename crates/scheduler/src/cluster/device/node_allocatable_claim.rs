//! What the devices of a pod's claims consume of the node's own resources (DRANodeAllocatableResources, since 1.36).
//! Sources: `NodeAllocatableResourceClaimStatus` of `api/core/v1/types.go` (1.36, 1.37), `component-helpers/resource/helpers.go`.

use std::sync::Arc;

use serde::Deserialize;

use crate::cluster::resource::list::{ResourceList, add_all, compiled, resource_list};
use crate::cluster::{Interner, Pairs, Text};

/// What the devices of one claim consume for one pod: an entry of `status.nodeAllocatableResourceClaimStatuses`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeAllocatableClaim {
    pub(crate) claim: Arc<str>,
    /// The containers that name the claim, each as often as it does.
    pub(crate) containers: Vec<Arc<str>>,
    /// What the devices represent themselves: `mapping`, in 1.36 `resources`.
    pub(crate) mapped: ResourceList,
    /// What they need in addition, once: `overhead[].perPod`.
    pub(crate) per_pod: ResourceList,
    /// What they need in addition for each container: `overhead[].perContainer`.
    pub(crate) per_container: ResourceList,
}

impl NodeAllocatableClaim {
    /// Compiles an entry. What cannot be read is added to `problems`.
    pub(crate) fn compile(entry: &NodeAllocatableClaimFields, interner: &mut Interner, problems: &mut Vec<String>) -> Self {
        const STATUS_FIELD: &str = "status.nodeAllocatableResourceClaimStatuses";
        let mut listed = |name: &Option<Text>, quantity: &Option<Text>| {
            let (name, quantity) = (name.as_deref()?, quantity.as_deref()?);
            compiled(name, quantity, STATUS_FIELD, interner, problems)
        };
        let overhead = || entry.overhead.iter().flatten();
        let mut mapped: ResourceList = entry.mapping.iter().flatten().filter_map(|of| listed(&of.name, &of.quantity)).collect();
        let per_pod = overhead().filter_map(|of| listed(&of.name, &of.per_pod)).collect();
        let per_container = overhead().filter_map(|of| listed(&of.name, &of.per_container)).collect();
        mapped.extend(resource_list(entry.resources.as_ref(), STATUS_FIELD, interner, problems));
        let containers = entry.containers.iter().flatten().map(|name| interner.string(name)).collect();
        Self {
            claim: interner.string(entry.resource_claim_name.as_deref().unwrap_or_default()),
            containers,
            mapped,
            per_pod,
            per_container,
        }
    }

    /// Everything it consumes of the node.
    pub(crate) fn total(&self) -> ResourceList {
        let mut total = self.mapped.clone();
        add_all(&mut total, &self.per_pod);
        for _ in &self.containers {
            add_all(&mut total, &self.per_container);
        }
        total
    }

    /// How much of it one of its containers may use (`GetContainerDRAAllocations`).
    pub(crate) fn of_container(&self, name: &str) -> ResourceList {
        let mut total = ResourceList::new();
        if self.containers.iter().any(|container| **container == *name) {
            for part in [&self.mapped, &self.per_pod, &self.per_container] {
                add_all(&mut total, part);
            }
        }
        total
    }
}

/// An entry of `status.nodeAllocatableResourceClaimStatuses`, as stored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeAllocatableClaimFields<'a> {
    #[serde(borrow)]
    pub(crate) resource_claim_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) containers: Option<Vec<Text<'a>>>,
    /// 1.36 only.
    #[serde(borrow)]
    pub(crate) resources: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(crate) mapping: Option<Vec<MappedFields<'a>>>,
    #[serde(borrow)]
    pub(crate) overhead: Option<Vec<OverheadFields<'a>>>,
}

/// An entry's `mapping`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MappedFields<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) quantity: Option<Text<'a>>,
}

/// An entry's `overhead`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OverheadFields<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) per_pod: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) per_container: Option<Text<'a>>,
}
