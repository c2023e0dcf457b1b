//! `/ui/api/changed`: what changed between two moments, interventions first.

use std::collections::HashSet;

use ketcd_cluster::diff::{ComparedState, diff};
use ketcd_cluster::{Selection, WindowEnd};
use ketcd_render::browser::{View, interventions, kind_differences};
use ketcd_render::contract::browser::PageChanged;
use ketcd_store::Revision;

use super::question::{Asked, failed};
use crate::wire::Result;

/// The most changes that are looked at for interventions: the newest.
const MAX_CHANGES_LOOKED_AT: usize = 20_000;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<PageChanged> {
    let ((after, from), to) = (asked.begin("from").await?, asked.moment("to").await?);
    let (index, until) = (asked.stand.index().await?, Revision(to.revision));
    let namespaces: HashSet<String> = asked.query.list("namespace").into_iter().collect();
    let is_asked = |namespace: &str| namespaces.is_empty() || namespaces.contains(namespace);
    let lives: Vec<usize> = index.shown(false).filter(|(_, life)| is_asked(&life.namespace)).map(|(place, _)| place).collect();
    let mut revisions: Vec<i64> = lives.iter().flat_map(|&life| index.lives[life].within(after, until).iter().copied()).collect();
    revisions.sort_unstable();
    let unseen = revisions.len().saturating_sub(MAX_CHANGES_LOOKED_AT);
    let begin = if unseen > 0 { Revision(revisions[unseen - 1]) } else { after };
    let changing: Vec<usize> = lives.into_iter().filter(|&life| !index.lives[life].within(begin, until).is_empty()).collect();
    let mut changes = asked.stand.changes(&changing, (begin, until)).await?;
    if let Some(by) = asked.query.get("by").map(str::to_lowercase) {
        changes.retain(|change| change.by().is_some_and(|who| who.to_string().to_lowercase().contains(&by)));
    }
    let addresses = asked.addresses(&changes.iter().map(|change| &*change.change.key).collect::<Vec<_>>()).await?;
    let (authors, left) = interventions(&changes, |key| addresses.get(key).cloned().unwrap_or_default());
    drop(changes);
    let ends = [Revision(from.revision.max(1)), until].map(|revision| Some(WindowEnd { revision, time: None }));
    let [first, last] = ends;
    let states = ComparedState::between(&asked.stand.cluster, first, last).await?;
    let mut found = diff(&states, &[], &Selection::default()).await.map_err(failed)?.differences;
    found.retain(|named| is_asked(&named.subject.namespace));
    let addresses = asked.addresses(&found.iter().map(|named| &*named.difference.key).collect::<Vec<_>>()).await?;
    // A flag takes one namespace.
    let namespace = asked.query.get("namespace").filter(|namespace| !namespace.contains(',')).map(str::to_owned);
    let view = View::Changed(asked.cursor("from", Revision(from.revision.max(1))), asked.cursor("to", until), namespace);
    Ok(PageChanged {
        authors,
        command: asked.command(&view),
        from,
        interventions_left: left + unseen,
        kinds: kind_differences(&found, |key| addresses.get(key).cloned().unwrap_or_default()),
        to,
    })
}
