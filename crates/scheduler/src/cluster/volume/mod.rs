//! Volumes of pods.

pub(super) mod pod_volume;
