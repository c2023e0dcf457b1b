//! `timeline`: the story of objects.

use ketcd_cluster::Cluster;
use ketcd_cluster::not_found::{Looked, NotFound};
use ketcd_history::timeline::Timeline;
use ketcd_render::command_line::Invocation;
use ketcd_render::contract::window::HistoryWindow;
use ketcd_render::timeline::{Told, json};

use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::Lines;

/// The story of addresses, of a namespace, or of everything.
pub(super) async fn timeline(cluster: &Cluster, asked: &Asked, invocation: &Invocation, lines: &mut Lines) -> Result<(), Failure> {
    cluster.note_reach().await?;
    if asked.words.is_empty() && cluster.options.namespace.is_none() && !asked.all_namespaces {
        return Err(Failure::new("timeline needs to know what to show").hint("name objects, namespace= or all_namespaces=True"));
    }
    let keys = cluster.asked(&asked.words, asked.all_namespaces).await?;
    let story = cluster.timeline(&keys).await?;
    let of_asked = story.timelines.iter().filter(|(key, _)| keys.contains(key));
    let subjects: Vec<&Timeline> = of_asked.map(|(_, timeline)| timeline).collect();
    let prefix = cluster.prefix().await?;
    let absent = keys.addresses.iter().find(|address| {
        let (key, is_whole) = address.key(prefix);
        is_whole && !story.timelines.keys().any(|told| told[..] == *key.as_bytes())
    });
    if let Some(address) = absent {
        return Err(NotFound::of(cluster, address, Looked::UpTo(cluster.revision().await?)).await?.into());
    }
    let told = Told {
        story: &story,
        subjects,
        many: keys.many,
        all: false,
        after: cluster.counted_after(),
        around: None,
        by: None,
        oldest: cluster.source.span().await?.oldest,
        invocation,
    };
    let (window, mut document) = (cluster.window().await?.map(HistoryWindow::from), Vec::new());
    json::write_document(&told, window, asked.managed_fields(), &mut document)?;
    Ok(lines.send(document)?)
}
