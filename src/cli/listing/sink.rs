//! What prints objects one by one, and what reads them for it as far as it needs them.

use std::pin::pin;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use super::listing_target::ListingTarget;
use crate::cli::outcome::Result;
use crate::cli::output::Output;
use crate::cli::session::Session;
use ketcd_cluster::Selection;
use ketcd_cluster::read::Fetch;
use ketcd_kube::Address;
use ketcd_render::style::StyledWrite;
use ketcd_render::table::row_fields;

pub(super) use ketcd_cluster::read::{Extent, Item, ReadBody, RowMaker};

/// Prints objects one by one; tables may wait until all are known.
pub(super) trait Sink<'c> {
    /// How much of each object it wants to see.
    fn need(&self) -> Extent;
    /// What makes the rows that it prints, where it needs nothing else of their objects.
    fn rows(&self) -> Option<RowMaker> {
        None
    }
    /// Takes an object.
    fn add(&mut self, item: Item<'c>, out: &mut dyn StyledWrite) -> Result<()>;
    /// Prints what waits for others to be aligned with.
    fn flush(&mut self, _: &mut dyn StyledWrite) -> Result<()> {
        Ok(())
    }
    /// Takes changes of objects from now on.
    fn begin_changes(&mut self) {}
    /// Counts ages to this moment from now on.
    fn set_now(&mut self, _: Option<Timestamp>) {}
    /// Prints what was kept until all are known.
    fn finish(self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()>;
}

/// What reads the objects that are selected, as far as a sink needs them.
pub(super) fn fetch<'c>(session: &'c Session, select: Selection, sink: &dyn Sink<'c>) -> Fetch<'c> {
    Fetch::of(&session.cluster, select, sink.need()).with_rows(sink.rows(), |kind| row_fields(kind).map(|fields| &fields.all))
}

/// Hands what is wanted and `is_shown` to the sink; single objects that are not there are `absent`.
pub(super) async fn read<'c, 'w>(
    fetch: &Fetch<'c>,
    wanted: &'w ListingTarget,
    (limit, found): (usize, &mut usize),
    sink: &mut dyn Sink<'c>,
    absent: &mut Vec<&'w Address>,
    out: &mut Output,
    is_shown: &mut dyn FnMut(&Item<'c>) -> bool,
) -> Result<()> {
    let addresses = match wanted {
        ListingTarget::Addresses(addresses) => addresses.iter().map(Some).collect(),
        ListingTarget::Everything => vec![None],
    };
    for address in addresses {
        let before = *found;
        if before == limit {
            break;
        }
        let mut items = pin!(fetch.items(address, limit - before));
        while let Some(item) = items.try_next().await? {
            if is_shown(&item) {
                sink.add(item, out)?;
                *found += 1;
            }
        }
        let single = address.filter(|address| matches!(address, Address::Objects { name: Some(_), .. } | Address::Key(_)));
        absent.extend(single.filter(|_| *found == before && !fetch.is_filtered()));
    }
    Ok(())
}
