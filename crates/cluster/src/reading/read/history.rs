//! The history of objects: every change that can be read, with the clock that dates them.

use std::sync::Arc;

use futures_util::stream::BoxStream;

use ketcd_history::Change;
use ketcd_history::clock::Clock;

use super::changes::Read;
use super::dated::dated_changes;
use super::keys::Keys;
use crate::cluster::Cluster;
use crate::error::Result;

/// The history of some objects.
pub struct History<'c> {
    /// Every readable change up to the revision looked at, oldest first, with its gaps.
    pub changes: BoxStream<'c, Result<Read<Change>>>,
    /// When revisions were written, and who was alive: [`AttributedChange::new`](ketcd_history::AttributedChange::new) takes it.
    pub clock: Arc<Clock>,
}

impl Cluster {
    /// Returns the history of what an address names: `pod/shop/web-0`, `pods`, a raw key.
    ///
    /// # Errors
    /// The address names no kind, or the source cannot be read.
    pub async fn history(&self, address: &str) -> Result<History<'_>> {
        let keys = Keys::of(self, &[address.to_owned()]).await?;
        let (changes, clock) = dated_changes(self, keys, self.revision().await?).await?;
        Ok(History { changes, clock })
    }
}
