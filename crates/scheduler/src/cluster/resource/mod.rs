//! Amounts of resources: exact ones by name, as manifests list them, and sums in the scheduler's units.

pub(super) mod amount;
pub(super) mod list;

pub(super) mod resources;
