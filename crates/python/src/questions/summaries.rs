//! `triage`, `usage` and `status`: one document about the whole.

use ketcd_cluster::Cluster;
use ketcd_cluster::census::Contents;
use ketcd_render::command_line::Invocation;
use ketcd_render::contract::status::Status;
use ketcd_render::contract::triage::Triage;
use ketcd_render::contract::usage::Usage;
use ketcd_render::contract::window::HistoryWindow;
use ketcd_render::json;
use ketcd_render::status::StatusPage;
use ketcd_render::triage::TriagePage;
use ketcd_render::usage::UsagePage;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::Lines;

/// What is broken, since when and why.
pub(super) async fn triage(cluster: &Cluster, asked: &Asked, invocation: &Invocation, lines: &mut Lines) -> Result<(), Failure> {
    let answer = cluster.triage_of(&asked.words).await?;
    let typed: Vec<String> = asked.words.iter().cloned().chain(asked.typed()).collect();
    let page = TriagePage { namespace: cluster.options.namespace.as_deref(), asked: &typed, ..TriagePage::of(&answer, invocation) };
    let (window, mut document) = (cluster.window().await?.map(HistoryWindow::from), Vec::new());
    json::write_document(&Triage { window, ..Triage::from(&page) }, &mut document)?;
    Ok(lines.send(document)?)
}

/// What fills etcd, and who writes so much.
pub(super) async fn usage(cluster: &Cluster, asked: &Asked, lines: &mut Lines) -> Result<(), Failure> {
    let page = UsagePage::new(cluster.usage_of(&asked.words, false).await?, asked.quota, false);
    let (window, mut document) = (cluster.window().await?.map(HistoryWindow::from), Vec::new());
    json::write_document(&Usage { window, ..Usage::from(&page) }, &mut document)?;
    Ok(lines.send(document)?)
}

/// What the source can tell.
pub(super) async fn status(cluster: &Cluster, lines: &mut Lines) -> Result<(), Failure> {
    let source = cluster.source.status().await?;
    let span = cluster.readable_span().await?;
    let Contents { one_moment, dated, census, is_sampled, problems, .. } = cluster.contents(&source, span, false).await?;
    let (release, release_bounds) = (cluster.release_evidence.release(), cluster.release_evidence.bounds());
    let earlier = cluster.source.facts().earlier;
    let page = StatusPage { source, span, earlier, one_moment, dated, release, release_bounds, census, is_sampled, notes: problems };
    let mut document = Vec::new();
    json::write_document(&Status::from(&page), &mut document)?;
    Ok(lines.send(document)?)
}
