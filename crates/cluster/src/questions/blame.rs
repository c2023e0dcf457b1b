//! Who last set each field of an object.

use futures_util::TryStreamExt;

use ketcd_history::blame::Blame;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{Keys, Read};

/// What the history of one object says of its fields.
pub struct ObjectBlame {
    /// What was observed.
    pub blame: Blame,
    /// Whether any version of the object was read.
    pub is_there: bool,
}

impl Cluster {
    /// Reads the history of one object up to the revision looked at.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn blame(&self, keys: Keys) -> Result<ObjectBlame> {
        let newest = self.revision().await?;
        if self.source.is_one_moment() {
            self.note_reach().await?;
        }
        let mut blamed = ObjectBlame { blame: Blame::default(), is_there: false };
        let mut changes = self.history(keys, newest).await?.changes();
        while let Some(read) = changes.try_next().await? {
            if let Read::Item(change) = read {
                blamed.is_there = true;
                blamed.blame.observe(&change);
            }
        }
        Ok(blamed)
    }
}
