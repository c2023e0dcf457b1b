//! `/ui/api/decision`: why a pod runs where it runs, or runs nowhere.

use ketcd_cluster::explain::Explained;
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Error};
use ketcd_render::browser::{Cursor, DecisionAsked, Panel, View, decision};
use ketcd_render::contract::browser::{PageDecision, PageRefusal};
use ketcd_render::explanation::{PodNow, SinceRefusal};
use ketcd_store::Revision;

use super::question::{Asked, failed};
use crate::data::waited;
use crate::wire::{Result, Status};

pub(super) async fn answer(asked: &Asked<'_>) -> Result<PageDecision> {
    let moment = asked.moment("at").await?;
    let at = Revision(moment.revision);
    let subject = asked.subject(at).await?;
    if subject.name.kind != "Pod" {
        return Err(Status::bad_request(format!("object: {} is not a pod, and only pods are scheduled", subject.name.address)));
    }
    let mut explained = explained(asked, (&subject.name.namespace, &subject.name.name), at)?;
    explained.refusals.retain(|attempt| attempt.revision <= at.0);
    let Explained { explanation, refusals, since, held, .. } = &explained;
    let attempts = refusals.iter().map(|attempt| Revision(attempt.revision)).chain([Revision(explanation.attempt.revision)]);
    // Without waiting: what was explained stays on this thread.
    let attempts: Vec<Revision> = attempts.collect();
    let clock = waited(asked.stand.cluster.clock_around(&attempts, &[]))?;
    let earlier = refusals.iter().map(|attempt| PageRefusal {
        message: attempt.recorded_message.as_deref().map(str::to_owned),
        ms: clock.date(Revision(attempt.revision)).map(|dated| dated.time.as_millisecond()),
        revision: attempt.revision,
    });
    let since = since.as_ref().map(SinceRefusal::from);
    let cursor = if at < asked.stand.newest { asked.cursor("at", at) } else { Cursor::Unset };
    let panel = Panel::Decision(cursor, asked.query.get("node").map(str::to_owned));
    let command = asked.command(&View::Object(subject.name.address.clone(), panel));
    let shown = DecisionAsked {
        mode: explained.mode(),
        time: clock.date(Revision(explanation.attempt.revision)),
        now: PodNow { since: since.as_ref(), held },
        node: asked.query.get("node"),
        earlier: earlier.collect(),
        moment,
        name: subject.name,
        command,
    };
    decision(explanation, shown).map_err(Status::internal)
}

/// Explains a pod: by the attempt that decided before the cursor or, without one, as it was there.
fn explained(asked: &Asked<'_>, (namespace, name): (&str, &str), at: Revision) -> Result<Explained> {
    match explain(&asked.stand.cluster, (namespace, name)) {
        Ok(explained) if explained.explanation.attempt.revision <= at.0 => Ok(explained),
        Err(error) if at >= asked.stand.newest => Err(failed(error)),
        // It was decided later, or the pod is gone by now.
        _ => explain(&asked.stand.at(at), (namespace, name)).map_err(failed),
    }
}

/// Explains a pod. It takes seconds of a large cluster: other answers go on meanwhile, on other threads.
fn explain(cluster: &Cluster, (namespace, name): (&str, &str)) -> Result<Explained, Error> {
    waited(async {
        let mut explainer = cluster.explainer(&SchedulerOptions::default()).await?.with_remedies(true);
        ketcd_what_if::explain_pod(&mut explainer, namespace, name).await
    })
}
