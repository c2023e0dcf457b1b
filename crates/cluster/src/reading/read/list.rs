//! The objects that an address names: the first thing that anybody wants of a cluster.

use std::pin::pin;
use std::sync::Arc;

use async_stream::try_stream;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use super::body::ReadBody;
use super::objects::{Extent, Fetch};
use crate::cluster::Cluster;
use crate::error::Result;
use ketcd_kube::Object;

impl Cluster {
    /// Returns the objects that an address names (`pod/shop/web-0`, `pods`, a raw key) and the selectors select, at the revision looked at, as an API
    /// server returns them. A value that cannot be decoded is not returned: it is noted, and [`Cluster::not_decoded`] counts it.
    pub fn list(&self, address: &str) -> BoxStream<'_, Result<Object>> {
        let word = address.to_owned();
        try_stream! {
            let fetch = Fetch::of(self, self.options.selection.clone(), Extent::Object);
            for address in self.address(&word).await? {
                let mut items = pin!(fetch.items(Some(&address), usize::MAX));
                while let Some(item) = items.try_next().await? {
                    if let ReadBody::Object(object) = item.body {
                        yield Arc::unwrap_or_clone(object);
                    }
                }
            }
        }
        .boxed()
    }
}
