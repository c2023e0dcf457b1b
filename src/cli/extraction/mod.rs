//! What `extract` does with manifests beside printing them: writes them into a folder, or reads the cluster that they are to be applied to.

mod against;
mod folder;
mod kubectl;
mod switches;

pub(super) use against::plan;
pub(super) use folder::Folder;
pub(super) use switches::switches;
