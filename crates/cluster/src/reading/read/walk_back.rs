//! The versions of a key, read backwards: each names the revision before which the one before it is found.

use async_stream::try_stream;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_store::{KeyValue, Source};

use crate::error::Result;

/// Returns a version and those before it, the newest first, as far as they can be read. The one before a version is read when it is asked for.
pub fn walk_back(source: &dyn Source, newest: KeyValue) -> BoxStream<'_, Result<KeyValue>> {
    try_stream! {
        let mut version = Some(newest);
        while let Some(this) = version.take() {
            yield this.clone();
            version = source.version_before(&this).await?;
        }
    }
    .boxed()
}

/// Returns the version that another one, or a deletion, replaced: out of the index of a file, which also knows what outlived a compaction, else the
/// first step of [`walk_back`]. `None` where there was none, and where it cannot be read any more.
///
/// # Errors
/// The source cannot be read.
pub async fn version_replaced(source: &dyn Source, version: &KeyValue) -> Result<Option<KeyValue>> {
    if source.reads_before() {
        return Ok(source.read_before(version));
    }
    walk_back(source, version.clone()).skip(1).try_next().await
}
