//! DefaultBinder: the write that binds a pod. Its page; bindings are read, never made.

use crate::Plugin;

/// Upstream: `plugins/defaultbinder/default_binder.go`.
pub(super) struct DefaultBinder;

impl Plugin for DefaultBinder {
    fn name(&self) -> &'static str {
        "DefaultBinder"
    }

    fn doc(&self) -> &'static str {
        "A pod is bound to the node found for it.

Checks
  nothing. Bind: it has the API server write the pod's spec.nodeName and its condition PodScheduled.
Reads
  nothing
History
  1.9–1.16  part of the scheduler itself; 1.17– a plugin
Differs from upstream
  No pod is ever bound: the binding found in etcd is what an attempt is held against."
    }
}
