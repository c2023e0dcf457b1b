//! What an API server would not have written.

use super::asked::VerifyAsked;
use super::part::Part;
use crate::cluster::Cluster;
use crate::error::Result;

/// Returns what an API server would not have written.
///
/// # Errors
/// The source cannot be read.
#[expect(clippy::unused_async, reason = "the rules are not written yet")]
pub(super) async fn findings(_cluster: &Cluster, _asked: &VerifyAsked) -> Result<Part> {
    Ok(Part::default())
}
