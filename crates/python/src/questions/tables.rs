//! The tables of `ketcd export`, row by row, without files.

use std::pin::pin;

use futures_util::TryStreamExt;

use ketcd_cluster::export::Exported;
use ketcd_cluster::read::{Extent, Fetch};
use ketcd_cluster::{AskedKeys, At, Cluster, Selection, built_in};
use ketcd_kube::RegistryKey;
use ketcd_render::contract::export::Table;
use ketcd_render::explanation::json::Decision;
use ketcd_render::export::{ExportedObject, event_row, history_row};
use ketcd_render::json;
use ketcd_store::Revision;

use super::explain;
use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::Lines;

/// The rows of a table, in the order of their revisions.
pub(super) async fn table(cluster: &Cluster, asked: &Asked, lines: &mut Lines) -> Result<(), Failure> {
    let (table, of) = (asked.table()?, AskedKeys::of(cluster, &asked.words).await?);
    match table {
        Table::Objects => objects(cluster, of.as_ref(), lines).await,
        Table::History | Table::Events => changes(cluster, asked, table, of.as_ref(), lines).await,
        Table::Decisions | Table::DecisionNodes => decisions(cluster, asked, table, of.as_ref(), lines).await,
    }
}

async fn objects(cluster: &Cluster, of: Option<&AskedKeys>, lines: &mut Lines) -> Result<(), Failure> {
    let revision = cluster.revision().await?;
    let time = cluster.moment_of(At::Revision(revision)).await?;
    let fetch = Fetch::of(cluster, Selection::default(), Extent::Text);
    let mut items = pin!(fetch.items(None, usize::MAX));
    while let Some(item) = items.try_next().await? {
        if of.is_none_or(|of| of.contains(&item.entry.key))
            && let Some(object) = ExportedObject::read(&item)?
        {
            json::write_line(&object.row(revision, time), lines)?;
        }
    }
    Ok(())
}

async fn changes(cluster: &Cluster, asked: &Asked, table: Table, of: Option<&AskedKeys>, lines: &mut Lines) -> Result<(), Failure> {
    cluster.note_reach().await?;
    let clock = cluster.clock_of_writers(&[], &[], &[]).await?;
    let (prefix, kinds) = (cluster.prefix().await?, cluster.kinds().await?);
    let mut changes = cluster.exported(clock, of, |_| false);
    while let Some(exported) = changes.try_next().await? {
        let Exported::Change { change, stored, is_event } = exported else { continue };
        let (revision, dated) = (change.change.revision.0, change.dated);
        if table == Table::History && of.is_none_or(|of| of.contains(&change.change.key)) {
            let path = RegistryKey::parse(prefix, &change.change.key, kinds).object();
            json::write_line(&history_row(&change, path.as_ref(), stored, asked.managed_fields()), lines)?;
        }
        if table == Table::Events
            && is_event
            && let Some(event) = change.change.after.object()
        {
            json::write_line(&event_row(revision, dated, event), lines)?;
        }
    }
    Ok(())
}

async fn decisions(cluster: &Cluster, asked: &Asked, table: Table, of: Option<&AskedKeys>, lines: &mut Lines) -> Result<(), Failure> {
    let (clock, after) = (cluster.clock_around(&[], &[]).await?, cluster.counted_after().0);
    let configuration = explain::configuration(asked)?;
    let mut decisions = explain::explainer(cluster, asked, configuration.as_deref()).await?.decisions();
    let (prefix, pods) = (cluster.prefix().await?, built_in().find("pods").map_err(ketcd_cluster::Error::from)?);
    let walked = decisions.each(|decision| {
        let (revision, pod) = (decision.attempt().revision, &decision.attempt().pod);
        let key = pods.key(prefix, Some(&pod.namespace), &pod.name);
        if revision <= after || of.is_some_and(|of| !of.contains(key.as_bytes())) {
            decision.skip();
            return Ok(());
        }
        let decided = decision.explain();
        let decision = Decision::new(&decided.explanation, decided.mode, clock.date(Revision(revision)));
        match table {
            Table::Decisions => json::write_line(&decision.row(), lines)?,
            _ => decision.node_rows().try_for_each(|row| json::write_line(&row, lines))?,
        }
        Ok::<(), Failure>(())
    });
    walked.await
}
