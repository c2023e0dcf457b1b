//! Services and controllers of pods: their selectors.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api::meta::LabelSelector;

use super::compiler::Compiler;
use super::raw_object::FromRaw;
use super::{Interner, RawObject, Selector, equalities, label_selector};

/// What selects pods: a Service, ReplicationController, ReplicaSet or StatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: Arc<str>,
    /// The pods it selects; `None` matches nothing.
    pub(crate) selector: Option<Selector>,
}

/// The fields that make an owner; a set's template of pods, most of its bytes, is not among them. `S` is its selector.
#[derive(Deserialize)]
pub(super) struct OwnerFields<S> {
    #[serde(default)]
    metadata: OwnerMetadata,
    spec: Option<OwnerSpec<S>>,
}

#[derive(Default, Deserialize)]
struct OwnerMetadata {
    uid: Option<String>,
}

#[derive(Deserialize)]
struct OwnerSpec<S> {
    selector: Option<S>,
}

impl<S: DeserializeOwned> FromRaw for OwnerFields<S> {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.fields()
    }
}

impl Owner {
    fn new<S>(fields: OwnerFields<S>, compile: impl FnOnce(S) -> Option<Selector>) -> Self {
        let selector = fields.spec.and_then(|spec| spec.selector);
        Self { uid: fields.metadata.uid.unwrap_or_default().into(), selector: selector.and_then(compile) }
    }

    /// A Service or ReplicationController: an empty selector selects nothing.
    pub(super) fn by_labels(fields: OwnerFields<BTreeMap<String, String>>, compiler: &mut Compiler<'_>) -> Self {
        Self::new(fields, |selector| (!selector.is_empty()).then(|| of_map(&selector, &mut compiler.interner.texts)))
    }

    /// A ReplicaSet or StatefulSet: an empty selector selects nothing here, as upstream's listers have it.
    pub(super) fn by_selector(fields: OwnerFields<LabelSelector>, compiler: &mut Compiler<'_>) -> Self {
        Self::new(fields, |selector| label_selector(&selector, &mut compiler.interner.texts).filter(|selector| !selector.is_empty()))
    }
}

fn of_map(selector: &BTreeMap<String, String>, interner: &mut Interner) -> Selector {
    equalities(selector.iter().map(|(key, value)| (key.as_str(), value.as_str())), interner)
}
