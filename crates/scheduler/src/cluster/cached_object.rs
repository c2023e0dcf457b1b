//! Compiling: what an object becomes when it enters the state.

use std::sync::Arc;

use crate::api::core::{Namespace, PersistentVolumeClaim};

use super::pod::template::ParsedPod;
use super::raw_object::ParseError;
use super::{CachedObject, Interner, Labels, Node, NodeFields, PodInfo, RawObject, RequestRules, Unreadable, WatchedKind};

/// What compiling an object needs and reports.
pub(super) struct Compiler<'c> {
    /// The revision that wrote the object.
    pub(crate) mod_revision: i64,
    /// The rules of the sums over pods and nodes.
    pub(crate) rules: &'c RequestRules,
    /// The strings, label sets and pod templates that objects share.
    pub(crate) interner: &'c mut Interner,
    /// Parts of the object that cannot be read, each a sentence without its full stop.
    pub(crate) problems: Vec<String>,
}

impl Compiler<'_> {
    /// Parses an object, unless it is parsed already, and compiles it.
    ///
    /// # Errors
    /// Why none of it can be read.
    pub(super) fn compile(&mut self, kind: WatchedKind, object: RawObject<'_>) -> Result<CachedObject, ParseError> {
        object.parse(kind)?.compile(self)
    }

    pub(super) fn pod(&mut self, pod: ParsedPod<'_>) -> Result<Arc<PodInfo>, ParseError> {
        pod.compile(self.mod_revision, self.interner, &mut self.problems)
    }

    pub(super) fn node(&mut self, node: &NodeFields<'_>) -> Node {
        Node::compile(node, self.mod_revision, self.rules, self.interner, &mut self.problems)
    }
}

/// Returns the labels, the only part of a namespace that is read.
pub(super) fn namespace_labels(namespace: Namespace, compiler: &mut Compiler<'_>) -> Labels {
    compiler.interner.labels(namespace.metadata.labels.as_ref())
}

/// Gives a claim its resource version, which etcd does not hold.
pub(super) fn with_resource_version(mut claim: PersistentVolumeClaim, compiler: &mut Compiler<'_>) -> PersistentVolumeClaim {
    claim.metadata.resource_version = Some(compiler.mod_revision.to_string());
    claim
}

impl CachedObject {
    /// Returns the mark of an object that cannot be read.
    pub(crate) fn unreadable(&self) -> Option<&Arc<Unreadable>> {
        if let Self::Unreadable(unreadable) = self { Some(unreadable) } else { None }
    }
}
