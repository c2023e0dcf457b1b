//! `explain`: why a pod runs where it runs, and the same of every decision.

use std::io::Write;

use ketcd_cluster::Cluster;
use ketcd_cluster::explain::{Explainer, Pods};
use ketcd_cluster::replay::{ConfigurationFile, SchedulerOptions};
use ketcd_render::contract::window::HistoryWindow;
use ketcd_render::explanation::{PodNow, SinceRefusal, json};
use ketcd_scheduler::Depth;
use ketcd_store::Revision;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::Lines;

/// One pod's last decision.
pub(super) async fn explain(cluster: &Cluster, asked: &Asked, lines: &mut Lines) -> Result<(), Failure> {
    let pods = Pods::read(cluster, &asked.words).await?;
    let (Some((namespace, name)), false) = (pods.named().next(), pods.are_many()) else {
        let many = Failure::new(format!("{:?} does not name one pod", asked.words.join(" ")));
        return Err(many.hint("write pod/namespace/name; decisions() iterates over those of many"));
    };
    let configuration = configuration(asked)?;
    let mut explainer = explainer(cluster, asked, configuration.as_deref()).await?;
    let explained = ketcd_what_if::explain_pod(&mut explainer, namespace, name).await?;
    let attempts = explained.refusals.iter().chain([&explained.explanation.attempt]).map(|attempt| Revision(attempt.revision));
    let revisions: Vec<Revision> = attempts.chain([Revision(explained.explanation.evaluated_revision)]).collect();
    let clock = cluster.clock_around(&revisions, &[]).await?;
    check_node(asked, &explained.explanation)?;
    let since = explained.since.as_ref().map(SinceRefusal::from);
    let now = PodNow { since: since.as_ref(), held: &explained.held };
    let time = clock.date(Revision(explained.explanation.attempt.revision));
    let (window, mut document) = (cluster.window().await?.map(HistoryWindow::from), Vec::new());
    json::write_json(&explained.explanation, explained.mode(), time, asked.node.as_deref(), now, window, &mut document)?;
    Ok(lines.send(document)?)
}

fn check_node(asked: &Asked, explanation: &ketcd_scheduler::Explanation) -> Result<(), Failure> {
    let Some(wanted) = &asked.node else { return Ok(()) };
    if explanation.judgement.nodes.iter().any(|node| *node.name == **wanted) {
        return Ok(());
    }
    let revision = explanation.evaluated_revision;
    Err(Failure::new(format!("node {wanted} does not exist at revision {revision}")).hint("list(\"nodes\") has the nodes"))
}

/// Every decision about the pods, as they come.
pub(super) async fn decisions(cluster: &Cluster, asked: &Asked, lines: &mut Lines) -> Result<(), Failure> {
    let pods = Pods::read(cluster, &asked.words).await?;
    let (clock, after) = (cluster.clock_around(&[], &[]).await?, cluster.counted_after().0);
    let configuration = configuration(asked)?;
    let mut decisions = explainer(cluster, asked, configuration.as_deref()).await?.decisions();
    let walked = decisions.each(|decision| {
        let attempt = decision.attempt();
        if attempt.revision <= after || !pods.wants(&attempt.pod.namespace, &attempt.pod.name) {
            decision.skip();
            return Ok(());
        }
        let time = clock.date(Revision(attempt.revision));
        let (decided, mut line) = (decision.explain(), Vec::new());
        json::write_json(&decided.explanation, decided.mode, time, asked.node.as_deref(), PodNow::default(), None, &mut line)?;
        line.truncate(line.trim_ascii_end().len());
        line.push(b'\n');
        Ok::<(), Failure>(lines.write_all(&line)?)
    });
    walked.await
}

/// The text of the scheduler's configuration, if one is named.
pub(super) fn configuration(asked: &Asked) -> Result<Option<String>, Failure> {
    let Some(path) = &asked.scheduler_config else { return Ok(None) };
    let text = std::fs::read_to_string(path);
    text.map(Some).map_err(|error| Failure::new(format!("cannot read {path}: {error}")).hint("check the path and its permissions"))
}

/// What explains, by the rules of the scheduler that is asked for.
pub(super) async fn explainer<'c>(cluster: &'c Cluster, asked: &Asked, configuration: Option<&str>) -> Result<Explainer<'c>, Failure> {
    let file = asked.scheduler_config.as_ref().zip(configuration);
    let options = SchedulerOptions {
        version: asked.scheduler_version.as_deref(),
        feature_gates: asked.feature_gates.as_deref(),
        configuration: file.map(|(name, text)| ConfigurationFile { name: name.clone(), text }),
    };
    let depth = asked.node.clone().map_or(Depth::Verdicts, Depth::Node);
    Ok(cluster.explainer(&options).await?.with_depth(depth).with_remedies(!asked.no_remedies))
}
