//! Saying why nothing was found: whether the object existed at another time, and where else to look.

use futures_util::StreamExt;

use super::Result;
use super::listing::Wanted;
use super::output::note;
use super::session::Session;
use crate::kube::Address;
use crate::store::{At, EventKind, KeyRange, Revision, Until, WatchItem};

/// Says on standard error that the one object an address names is not there, and what the readable history knows of it.
pub(super) async fn explain(session: &Session, address: &Address) -> Result<()> {
    let (key, _) = address.key(session.prefix().await?);
    let what = match address {
        Address::Objects { kind, namespace, name: Some(name) } => {
            let place = namespace.as_ref().map_or(String::new(), |namespace| format!("{namespace}/"));
            format!("{}/{place}{name}", kind.singular_resource())
        }
        _ => key.clone(),
    };
    let span = session.source.span().await?;
    let looked_at = match session.at {
        At::Newest => span.newest,
        At::Revision(revision) => revision,
    };
    let lives = lives(session, &key, span.oldest, span.newest).await?;
    let story = match lives.iter().rfind(|life| life.created <= looked_at) {
        Some(Life { deleted: Some(deleted), .. }) => {
            format!("it was deleted at revision {deleted}; see it with --rev {}", deleted.before())
        }
        _ => match lives.first() {
            Some(later) => format!("it was created later, at revision {}", later.created),
            None => format!("nor at any other readable revision, {} to {}", span.oldest, span.newest),
        },
    };
    note(&format!("{what} is not there at revision {looked_at}: {story}"));
    Ok(())
}

/// From a key's creation to its deletion, as far as the history tells.
struct Life {
    created: Revision,
    deleted: Option<Revision>,
}

async fn lives(session: &Session, key: &str, oldest: Revision, newest: Revision) -> Result<Vec<Life>> {
    let mut lives: Vec<Life> = Vec::new();
    let mut changes = session.source.watch(KeyRange::key(key.as_bytes()), oldest, Until::Revision(newest));
    while let Some(item) = changes.next().await.transpose()? {
        let WatchItem::Event(event) = item else { continue };
        match (event.kind, lives.last_mut().filter(|life| life.deleted.is_none())) {
            (EventKind::Put, None) => lives.push(Life { created: event.key_value.create_revision, deleted: None }),
            (EventKind::Delete, Some(life)) => life.deleted = Some(event.revision),
            (EventKind::Delete, None) => lives.push(Life { created: oldest, deleted: Some(event.revision) }),
            (EventKind::Put, Some(_)) => {}
        }
    }
    Ok(lives)
}

/// Says on standard error that a listing is empty, in kubectl's words.
pub(super) fn note_nothing(session: &Session, wanted: &Wanted) {
    let Wanted::Addresses(addresses) = wanted else { return note("No resources found") };
    let lists: Vec<&Address> = addresses.iter().filter(|address| matches!(address, Address::Objects { name: None, .. })).collect();
    let is_namespaced = lists.iter().any(|address| matches!(address, Address::Objects { namespace: Some(_), .. }));
    match (lists.is_empty(), is_namespaced) {
        (true, _) => {}
        (false, true) => note(&format!("No resources found in {} namespace; -A looks in all", session.namespace())),
        (false, false) => note("No resources found"),
    }
}
