//! `/ui/api/window`: the axis of time, with how much happened when, what cannot be read, and when nodes were lost.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_history::clock::Clock;
use ketcd_render::contract::browser::{PageDensity, PageGap, PageKind, PageOutage, PageWindow};
use ketcd_render::report::reach_words;
use ketcd_store::Revision;

use super::question::Asked;
use crate::data::BEFORE_ALL;
use crate::wire::Result;

/// The version of the answers.
const API_VERSION: u32 = 1;
/// The most stretches of time whose changes are counted.
const MAX_BUCKETS: usize = 4_000;
/// The most namespaces that are listed.
const MAX_NAMESPACES: usize = 1_000;
/// The most nodes whose states are looked at for outages.
const MAX_NODES_LOOKED_AT: usize = 200;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<PageWindow> {
    let (cluster, index) = (&asked.stand.cluster, asked.stand.index().await?);
    let clock = asked.stand.clock().await?;
    let (first, last) = (asked.first().await?, asked.dated(index.last).await?);
    let buckets = asked.query.number("buckets", 1_000, MAX_BUCKETS)?.max(1) as i64;
    let density = first.ms.zip(last.ms).map(|(from, to)| {
        let width = ((to - from) / buckets + 1).max(1);
        let revision = |ms: i64| jiff::Timestamp::from_millisecond(ms).ok().and_then(|time| clock.revision_at(time)).unwrap_or(Revision(0));
        let ends: Vec<Revision> = (0..buckets).map(|bucket| revision(from + (bucket + 1) * width - 1)).collect();
        let begins = [BEFORE_ALL].into_iter().chain(ends.iter().copied());
        PageDensity { from, width, counts: begins.zip(&ends).map(|(begin, &end)| index.changes_within(begin, end)).collect() }
    });
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut namespaces: BTreeSet<&str> = BTreeSet::new();
    for (_, life) in index.shown(true) {
        *kinds.entry(&life.kind).or_default() += 1;
        namespaces.insert(&life.namespace);
    }
    let (outages, outages_left) = outages(asked).await?;
    let span = cluster.source.span().await?;
    Ok(PageWindow {
        api: API_VERSION,
        asked: asked.default_moment().await?,
        command: asked.page.invocation.ketcd("status").to_string(),
        density,
        first,
        gaps: index.gaps.iter().filter(|(_, to)| *to >= span.oldest).map(|gap| self::gap(*gap, &clock)).collect(),
        kinds: kinds.into_iter().map(|(kind, count)| PageKind { kind: kind.to_owned(), count }).collect(),
        last,
        live: cluster.source.is_shared(),
        namespaces: namespaces.into_iter().filter(|name| !name.is_empty()).take(MAX_NAMESPACES).map(str::to_owned).collect(),
        notes: clock.problems().to_vec(),
        objects: index.objects(),
        one_moment: cluster.source.is_one_moment(),
        outages,
        outages_left,
        reach: reach_words(span.compacted, cluster.source.facts().earlier, cluster.source.is_one_moment()),
        release: cluster.release().to_string(),
        source: cluster.source.status().await?.name,
    })
}

fn gap((from, to): (Revision, Revision), clock: &Clock) -> PageGap {
    let ms = |revision| clock.date(revision).map(|dated| dated.time.as_millisecond());
    PageGap { from_revision: from.0, to_revision: to.0, from: ms(from), to: ms(to), why: "revisions are missing here".to_owned() }
}

/// When nodes were broken or silent, and how many nodes were not looked at.
async fn outages(asked: &Asked<'_>) -> Result<(Vec<PageOutage>, usize)> {
    let index = asked.stand.index().await?;
    let nodes: Vec<usize> = index.shown(false).filter(|(_, life)| &*life.kind == "Node").map(|(place, _)| place).collect();
    let looked_at = &nodes[..nodes.len().min(MAX_NODES_LOOKED_AT)];
    let read;
    let rows = match asked.stand.all_rows().await? {
        Some(rows) => rows,
        None => {
            read = asked.stand.rows_of(looked_at, (BEFORE_ALL, asked.stand.newest)).await?;
            &read[..]
        }
    };
    let mut outages = Vec::new();
    for (place, row) in rows.iter().filter(|(place, _)| looked_at.contains(place)) {
        let name = asked.name(*place).await?;
        let outage = |(from, to)| PageOutage { address: name.address.clone(), name: name.name.clone(), from, to };
        outages.extend(row.bad().into_iter().map(outage));
    }
    outages.sort_by_key(|outage| outage.from);
    Ok((outages, nodes.len() - looked_at.len()))
}
