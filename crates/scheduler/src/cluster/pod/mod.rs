//! Pods: what is read of them, what they are compiled to, what they request, and the indices over them.

pub(super) mod affinity;
pub(super) mod fields;
pub(super) mod index;
pub(super) mod info;
pub(super) mod pod_group;
pub(super) mod request_rules;
pub(super) mod requests;
mod resize;
pub(super) mod spec;
