//! Watches of several ranges: as one of all that lies between them or, where the user may not read that, each by itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_stream::try_stream;
use futures_util::future::try_join_all;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt, select_all};

use super::stream::watch;
use crate::etcd::client::Cluster;
use crate::{Error, KeyRange, Result, Revision, Until, WatchItem};

/// Returns every change of the ranges from revision `from` on, until `until`. Where each has to be watched by itself, a past is read before
/// any of it is passed on; in one that does not end, changes of different ranges come as they arrive.
pub(in crate::etcd) fn watch_ranges(
    cluster: Arc<Cluster>,
    ranges: Vec<KeyRange>,
    from: Revision,
    until: Until,
) -> BoxStream<'static, Result<WatchItem>> {
    let hull = KeyRange::hull(&ranges);
    let whole = watch(Arc::clone(&cluster), hull.clone(), from, until);
    if ranges.len() < 2 {
        return whole;
    }
    Box::pin(try_stream! {
        let mut whole = whole;
        let mut next = whole.next().await;
        // Only where more keys would do; of a release that needs all of them, each range would.
        if matches!(&next, Some(Err(Error::Denied { keys, .. })) if *keys == hull) {
            whole = apart(&cluster, ranges, from, until).await?;
            next = whole.next().await;
        }
        while let Some(item) = next {
            yield item?;
            next = whole.next().await;
        }
    })
}

async fn apart(
    cluster: &Arc<Cluster>,
    ranges: Vec<KeyRange>,
    from: Revision,
    until: Until,
) -> Result<BoxStream<'static, Result<WatchItem>>> {
    let watches = ranges.into_iter().map(|range| watch(Arc::clone(cluster), range, from, until));
    let mut gaps = BTreeSet::new();
    // A compaction is met by each of them.
    let mut is_first = move |item: &WatchItem| match item {
        WatchItem::Gap { from, to } => gaps.insert((*from, *to)),
        WatchItem::Event(_) | WatchItem::Progress(_) => true,
    };
    if until == Until::Forever {
        return Ok(select_all(watches).try_filter(move |item| std::future::ready(is_first(item))).boxed());
    }
    let read: Vec<Vec<WatchItem>> = try_join_all(watches.map(TryStreamExt::try_collect)).await?;
    let mut items: Vec<WatchItem> = read.into_iter().flatten().filter(|item| !matches!(item, WatchItem::Progress(_))).collect();
    items.retain(is_first);
    items.sort_by_key(|item| match item {
        WatchItem::Event(event) => (event.revision, event.sub_revision),
        WatchItem::Gap { from, .. } | WatchItem::Progress(from) => (*from, 0),
    });
    Ok(futures_util::stream::iter(items.into_iter().map(Ok)).boxed())
}
