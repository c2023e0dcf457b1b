//! `get`, `list` and `ls`: objects, and counts by kind.

use std::io::Write;
use std::pin::pin;

use futures_util::TryStreamExt;

use ketcd_cluster::Cluster;
use ketcd_cluster::kinds::KeySubject;
use ketcd_cluster::not_found::{Looked, NotFound};
use ketcd_cluster::read::{Extent, Fetch, Item, ReadBody};
use ketcd_kube::Address;
use ketcd_render::census::documents;
use ketcd_render::contract::listing::Undecodable;
use ketcd_render::json;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::Lines;

/// One object.
pub(super) async fn object(cluster: &Cluster, asked: &Asked, lines: &mut Lines) -> Result<(), Failure> {
    let addresses = cluster.addresses(&asked.words).await?;
    let [address @ (Address::Objects { name: Some(_), .. } | Address::Key(_))] = &addresses[..] else {
        let many = Failure::new(format!("{:?} does not name one object", asked.words.join(" ")));
        return Err(many.hint("write kind/namespace/name; list() iterates over many"));
    };
    let fetch = Fetch::of(cluster, asked.selection(false)?, Extent::Text);
    let mut items = pin!(fetch.items(Some(address), 1));
    match items.try_next().await? {
        Some(item) => write(&item, lines),
        None => Err(NotFound::of(cluster, address, Looked::At(cluster.revision().await?)).await?.into()),
    }
}

/// Objects of addresses in their order; of every kind where there is none.
pub(super) async fn objects(cluster: &Cluster, asked: &Asked, lines: &mut Lines) -> Result<(), Failure> {
    let addresses = cluster.addresses(&asked.words).await?;
    let wanted = if addresses.is_empty() { vec![None] } else { addresses.iter().map(Some).collect() };
    let fetch = Fetch::of(cluster, asked.selection(false)?, Extent::Text);
    let (limit, mut found, mut absent) = (asked.limit.unwrap_or(usize::MAX), 0, None);
    for address in wanted {
        let before = found;
        let mut items = pin!(fetch.items(address, limit - before));
        while let Some(item) = items.try_next().await? {
            write(&item, lines)?;
            found += 1;
        }
        let single = address.filter(|address| matches!(address, Address::Objects { name: Some(_), .. } | Address::Key(_)));
        absent = absent.or(single.filter(|_| found == before && before < limit && !fetch.is_filtered()));
    }
    match absent {
        Some(address) => Err(NotFound::of(cluster, address, Looked::At(cluster.revision().await?)).await?.into()),
        None => Ok(()),
    }
}

fn write(item: &Item<'_>, lines: &mut Lines) -> Result<(), Failure> {
    match &item.body {
        ReadBody::Text(text) => lines.write_all(text)?,
        ReadBody::Object(object) => json::write_compact(&***object, lines)?,
        ReadBody::Opaque(opaque) => {
            let subject = item.path().map(KeySubject::of).unwrap_or_default();
            json::write_compact(&Undecodable::new(&item.entry.key, subject, item.entry.mod_revision.0, opaque), lines)?;
        }
        ReadBody::None | ReadBody::Row(_) => return Ok(()),
    }
    Ok(lines.write_all(b"\n")?)
}

/// Counts and bytes by kind.
pub(super) async fn kinds(cluster: &Cluster, lines: &mut Lines) -> Result<(), Failure> {
    let rows = cluster.by_resource().await?;
    Ok(documents(&rows).try_for_each(|row| json::write_line(&row, lines))?)
}
