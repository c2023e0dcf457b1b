//! `history`: every readable change, oldest first.

use std::io::Write;

use futures_util::TryStreamExt;

use ketcd_cluster::Cluster;
use ketcd_cluster::not_found::{Looked, NotFound};
use ketcd_cluster::read::{Depth, Read};
use ketcd_render::change::{JsonOptions, json};

use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::Lines;

/// The changes of addresses; without any of a namespace or of everything.
pub(super) async fn history(cluster: &Cluster, asked: &Asked, lines: &mut Lines) -> Result<(), Failure> {
    let keys = cluster.asked(&asked.words, asked.all_namespaces).await?;
    let newest = cluster.revision().await?;
    let selection = asked.selection(false)?;
    cluster.note_reach().await?;
    let prefix = cluster.prefix().await?;
    let named = keys.addresses.iter().map(|address| (address.key(prefix), address)).filter(|((_, is_whole), _)| *is_whole);
    let mut missing: Vec<_> = named.map(|((key, _), address)| (key, address.clone())).collect();
    let options = JsonOptions { managed_fields: asked.managed_fields(), objects: asked.objects };
    let depth = if selection.takes_all() { Depth::Text(options.managed_fields) } else { Depth::Named };
    let history = cluster.counted_history(keys, newest).await?.decoded_to(depth);
    let mut changes =
        history.on_cores(move |change, subject, text| selection.takes(&change.change).then(|| json(&change, subject, text, options)));
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Gap { from, to } => cluster.note_gap(from, to),
            Read::Item((event, line)) => {
                missing.retain(|(key, _)| key.as_bytes() != &event.key_value.key[..]);
                if let Some(mut line) = line.flatten() {
                    line.push(b'\n');
                    lines.write_all(&line)?;
                }
            }
        }
    }
    match missing.first() {
        Some((_, address)) => Err(NotFound::of(cluster, address, Looked::UpTo(newest)).await?.into()),
        None => Ok(()),
    }
}
