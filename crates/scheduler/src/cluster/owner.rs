//! Services and controllers of pods: their selectors.

use std::collections::BTreeMap;
use std::sync::Arc;

use ketcd_kube::api::apps::v1::{ReplicaSet, StatefulSet};
use ketcd_kube::api::core::v1::{ReplicationController, Service};
use ketcd_kube::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::cached_object::Compiler;
use super::{Interner, Selector, equalities, label_selector};

/// A Service, ReplicationController, ReplicaSet or StatefulSet, as far as it selects pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Its uid.
    pub(crate) uid: Arc<str>,
    /// The pods it selects; `None` matches nothing.
    pub(crate) selector: Option<Selector>,
}

impl Owner {
    fn new(metadata: ObjectMeta, selector: Option<Selector>) -> Self {
        Self { uid: metadata.uid.unwrap_or_default().into(), selector }
    }

    pub(super) fn of_service(service: Service, compiler: &mut Compiler<'_>) -> Self {
        let selector = service.spec.unwrap_or_default().selector.filter(|selector| !selector.is_empty());
        Self::new(service.metadata, selector.map(|selector| of_map(&selector, compiler.interner)))
    }

    pub(super) fn of_replication_controller(controller: ReplicationController, compiler: &mut Compiler<'_>) -> Self {
        let selector = controller.spec.unwrap_or_default().selector.filter(|selector| !selector.is_empty());
        Self::new(controller.metadata, selector.map(|selector| of_map(&selector, compiler.interner)))
    }

    pub(super) fn of_replica_set(set: ReplicaSet, compiler: &mut Compiler<'_>) -> Self {
        Self::new(set.metadata, not_empty(&set.spec.unwrap_or_default().selector, compiler.interner))
    }

    pub(super) fn of_stateful_set(set: StatefulSet, compiler: &mut Compiler<'_>) -> Self {
        Self::new(set.metadata, not_empty(&set.spec.unwrap_or_default().selector, compiler.interner))
    }
}

fn of_map(selector: &BTreeMap<String, String>, interner: &mut Interner) -> Selector {
    equalities(selector.iter().map(|(key, value)| (key.as_str(), value.as_str())), interner)
}

/// An empty selector of a set matches nothing here, as upstream's listers have it.
fn not_empty(selector: &LabelSelector, interner: &mut Interner) -> Option<Selector> {
    label_selector(selector, interner).filter(|selector| !selector.is_empty())
}
