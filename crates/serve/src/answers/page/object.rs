//! `/ui/api/object`: an object at the cursor, with who set its lines, what it has to do with, and the Events about it.

use ketcd_cluster::related::owners;
use ketcd_history::ObjectVersion;
use ketcd_history::diff::ManagedFields;
use ketcd_render::browser::{Panel, View, event_lines, lines, shown};
use ketcd_render::contract::browser::{PageEvent, PageName, PageObject, PageRelated};
use ketcd_store::{At, Revision};
use serde_json::Value;

use super::question::{Asked, failed};
use super::subject::Subject;
use crate::data::BEFORE_ALL;
use crate::wire::{Result, Status};

/// The most Events of one object.
const MAX_EVENTS: usize = 200;
/// The most objects that it owns.
const MAX_OWNED: usize = 200;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<PageObject> {
    let moment = asked.moment("at").await?;
    let at = Revision(moment.revision);
    let subject = asked.subject(at).await?;
    let (state, revision) = stands(&subject, at);
    let cluster = asked.stand.at(revision);
    let command = |panel| asked.command(&View::Object(subject.name.address.clone(), panel));
    let cursor = |shown: Revision| if shown == at { asked.cursor("at", at) } else { shown.into() };
    let events = events_about(asked, subject.place, revision.max(at)).await?;
    let mut view = PageObject {
        command: command(Panel::Yaml(cursor(revision))),
        error: None,
        events,
        events_command: command(Panel::Events(cursor(at))),
        lines: Vec::new(),
        moment,
        name: subject.name.clone(),
        object: None,
        owned: Vec::new(),
        owned_left: 0,
        owners: Vec::new(),
        refers_to: Vec::new(),
        related_command: command(Panel::Related(cursor(revision))),
        setters: Vec::new(),
        state,
        version: None,
    };
    let blamed = cluster.blame(subject.keys.clone()).await.map_err(failed)?;
    let Some((object, blamed)) = blamed.blame.finish() else {
        view.state = if state == "notYet" { state } else { "unreadable" };
        view.error = unreadable(asked, &subject, revision).await?;
        return Ok(view);
    };
    (view.lines, view.setters) = lines(&object, &blamed, ManagedFields::Hidden).map_err(Status::internal)?;
    view.name.uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let written = subject.life.changes.iter().rfind(|&&change| change <= revision.0).copied();
    view.version = match written {
        Some(written) => Some(asked.dated(Revision(written)).await?),
        None => None,
    };
    view.owners = owners_of(asked, &object, revision).await?;
    (view.owned, view.owned_left) = owned_by(asked, subject.place, revision).await?;
    view.refers_to = referred_by(asked, &object, revision).await?;
    view.object = Some(shown(&object, ManagedFields::Hidden));
    Ok(view)
}

/// How an object stands at a revision, and the revision whose version is shown.
fn stands(subject: &Subject<'_>, at: Revision) -> (&'static str, Revision) {
    let life = subject.life;
    match life.deleted {
        _ if life.is_created && life.first() > at.0 => ("notYet", Revision(life.first())),
        Some(deleted) if deleted <= at.0 => ("deleted", Revision(deleted).before()),
        _ if life.is_vanished => ("deleted", life.changes.last().map_or(at, |&last| Revision(last))),
        _ => ("there", at.max(Revision(life.first()))),
    }
}

/// Why the version of a revision cannot be decoded.
async fn unreadable(asked: &Asked<'_>, subject: &Subject<'_>, revision: Revision) -> Result<Option<String>> {
    let changes = asked.stand.changes(&[subject.place], (BEFORE_ALL, revision)).await?;
    let error = changes.iter().rev().find_map(|change| match &change.change.after {
        ObjectVersion::Opaque(opaque) => Some(opaque.reason.clone()),
        _ => None,
    });
    Ok(error)
}

/// The Events about an object up to a revision.
pub(super) async fn events_about(asked: &Asked<'_>, place: usize, to: Revision) -> Result<Vec<PageEvent>> {
    let index = asked.stand.index().await?;
    let life = &index.lives[place];
    let changes = asked.stand.changes(index.events_about(life), (BEFORE_ALL, to)).await?;
    let is_about = |event: &Value| event["involvedObject"]["kind"].as_str().is_none_or(|kind| kind == &*life.kind);
    let about: Vec<_> = changes.into_iter().filter(|change| change.change.after.object().is_some_and(&is_about)).collect();
    let surplus = about.len().saturating_sub(MAX_EVENTS);
    Ok(event_lines(&about[surplus..]))
}

async fn owners_of(asked: &Asked<'_>, object: &Value, revision: Revision) -> Result<Vec<PageRelated>> {
    let (cluster, index) = (asked.stand.at(revision), asked.stand.index().await?);
    let mut related = Vec::new();
    for owner in owners::owners(&cluster, object, At::Revision(revision)).await? {
        let text = |field: &str| owner.reference[field].as_str().unwrap_or_default().to_owned();
        let (kind, name, namespace) = (text("kind"), text("name"), owner.namespace.clone().unwrap_or_default());
        let address = match index.find(&kind, &namespace, &name) {
            Some(place) => asked.name(place).await?.address,
            None => String::new(),
        };
        let via = if owner.reference["controller"] == true { "controller" } else { "owner" };
        let object = PageName { address, kind, namespace, name, uid: text("uid") };
        related.push(PageRelated { object, found: owner.found.is_some(), via: via.to_owned() });
    }
    Ok(related)
}

async fn owned_by(asked: &Asked<'_>, place: usize, revision: Revision) -> Result<(Vec<PageRelated>, usize)> {
    let (index, mut owned) = (asked.stand.index().await?, asked.stand.owned(place).await?);
    owned.retain(|(life, _)| index.lives[*life].is_within(revision.before(), revision));
    let left = owned.len().saturating_sub(MAX_OWNED);
    let mut related = Vec::new();
    for (life, uid) in owned.into_iter().take(MAX_OWNED) {
        let object = PageName { uid, ..asked.name(life).await? };
        related.push(PageRelated { object, found: true, via: "owner".to_owned() });
    }
    Ok((related, left))
}

async fn referred_by(asked: &Asked<'_>, object: &Value, revision: Revision) -> Result<Vec<PageRelated>> {
    let mut related = Vec::new();
    for referred in asked.stand.at(revision).referred_by(object).await? {
        let address = asked.stand.cluster.name_of(&referred.key).await?;
        let object = PageName { address, kind: referred.kind, namespace: referred.namespace, name: referred.name, uid: String::new() };
        related.push(PageRelated { object, found: referred.found, via: referred.via.to_owned() });
    }
    Ok(related)
}
