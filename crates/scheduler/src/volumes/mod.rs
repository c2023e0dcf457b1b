//! What the volume plugins share: a pod's claims, finding volumes for them, and in-tree volumes that CSI drivers took over.

mod binder;
mod claims;
mod matching;
mod migration;

pub(crate) use binder::Binder;
pub(crate) use claims::{PodClaims, claim_class, claim_needs, claim_refs, is_controlled_by, owner_problem, spec_class};
pub(crate) use matching::{VolumeAffinity, volume_class};
pub(crate) use migration::{InTreePlugin, inline_csi_volume, is_migrated, volume_plugin};
