//! `/ui/api/timeline`: what happened to an object, in phases.

use ketcd_history::diff::ManagedFields;
use ketcd_history::timeline::Timeline;
use ketcd_render::browser::{Panel, View};
use ketcd_render::contract::browser::PageTimelines;
use ketcd_render::timeline::{Told, json};
use ketcd_store::Revision;
use serde_json::Value;

use super::question::{Asked, failed};
use crate::wire::{Result, Status};

pub(super) async fn answer(asked: &Asked<'_>) -> Result<PageTimelines> {
    let moment = asked.moment("at").await?;
    let at = Revision(moment.revision);
    let subject = asked.subject(at).await?;
    let cluster = asked.stand.at(at);
    let story = cluster.timeline(&subject.keys).await.map_err(failed)?;
    let subjects: Vec<&Timeline> =
        story.timelines.iter().filter(|(key, _)| subject.keys.contains(key)).map(|(_, timeline)| timeline).collect();
    let oldest = asked.stand.index().await?.first;
    let told = Told {
        story: &story,
        subjects,
        many: false,
        all: true,
        after: Revision(0),
        around: None,
        by: None,
        oldest,
        invocation: &asked.page.invocation,
    };
    let mut text = Vec::new();
    json::write_lines(&told, ManagedFields::Hidden, &mut text).map_err(Status::internal)?;
    let timelines: Result<Vec<Value>, _> = serde_json::Deserializer::from_slice(&text).into_iter::<Value>().collect();
    let mut timelines = timelines.map_err(Status::internal)?;
    // The page has them of `/ui/api/history`.
    timelines.iter_mut().for_each(|timeline| timeline["changes"] = Value::Array(Vec::new()));
    let command = asked.command(&View::Object(subject.name.address, Panel::Timeline(asked.cursor("at", at))));
    Ok(PageTimelines { command, moment, timelines })
}
