//! Compiling: what an object becomes when it enters the state.

use std::sync::Arc;

use crate::api::core::{Namespace, PersistentVolumeClaim};

use super::pod::template::{ParsedPod, Templates};
use super::raw_object::ParseError;
use super::{Labels, Node, NodeFields, PodInfo, PodInterner, RequestRules};

/// What compiling an object needs and reports.
pub(super) struct Compiler<'c> {
    /// The revision that wrote the object.
    pub(crate) mod_revision: i64,
    /// The rules of the sums over pods and nodes.
    pub(crate) rules: &'c RequestRules,
    /// The strings, label sets and pod specs that objects share.
    pub(crate) interner: &'c mut PodInterner,
    /// A compiled pod of each template.
    pub(crate) templates: &'c mut Templates,
    /// Parts of the object that cannot be read, each a sentence without its full stop.
    pub(crate) problems: Vec<String>,
}

impl Compiler<'_> {
    pub(super) fn pod(&mut self, pod: ParsedPod<'_>) -> Result<Arc<PodInfo>, ParseError> {
        pod.compile(self.mod_revision, self.interner, self.templates, &mut self.problems)
    }

    pub(super) fn node(&mut self, node: &NodeFields<'_>) -> Node {
        Node::compile(node, self.mod_revision, self.rules, &mut self.interner.texts, &mut self.problems)
    }
}

/// Returns the labels, the only part of a namespace that is read.
pub(super) fn namespace_labels(namespace: Namespace, compiler: &mut Compiler<'_>) -> Labels {
    compiler.interner.texts.labels(namespace.metadata.labels.as_ref())
}

/// Gives a claim its resource version, which etcd does not hold.
pub(super) fn with_resource_version(mut claim: PersistentVolumeClaim, compiler: &mut Compiler<'_>) -> PersistentVolumeClaim {
    claim.metadata.resource_version = Some(compiler.mod_revision.to_string());
    claim
}
