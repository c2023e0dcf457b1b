//! The versions of a key, read backwards: each names the revision before which the one before it is found.

use async_stream::try_stream;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

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
