//! `verify`: whether a backup is good, as one verdict with what was checked and what was not.

mod asked;
mod finding;
mod part;
mod tampering;

pub use asked::{KEYS_WITHIN, VerifyAsked};
pub use finding::{Finding, FindingKind, Weight};
pub use part::Part;

use crate::cluster::Cluster;
use crate::error::Result;

impl Cluster {
    /// Checks the source from its bytes to its contents.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn verify(&self, asked: &VerifyAsked) -> Result<Part> {
        let mut all = Part::default();
        all.add(tampering::findings(self, asked).await?);
        Ok(all)
    }
}
