//! What `extract` does with manifests beside printing them: writes them into a folder, or reads the cluster that they are to be applied to.

mod folder;
mod kubectl;
mod switches;
mod target;
mod written;

pub(super) use folder::Folder;
pub(super) use switches::switches;
pub(super) use target::plan;
pub(super) use written::WrittenArgs;
