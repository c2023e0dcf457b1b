//! Pods: their fields, their compiled form, their requests, and the indices over them.

pub(super) mod affinity;
pub(super) mod excerpt;
pub(super) mod fields;
pub(super) mod index;
pub(super) mod info;
pub(super) mod pod_group;
pub(super) mod request_rules;
pub(super) mod request_sums;
pub(super) mod requests;
mod resize;
pub(super) mod spec;
pub(in crate::cluster) mod template;
