//! Why there is nothing for `triage` to look at: an empty store, another prefix, an etcd of something else, a namespace that does not exist.

use std::collections::BTreeSet;

use ketcd_history::trouble::triage::Counts;
use ketcd_kube::{Kinds, RegistryKey, Resource, find_prefixes};
use ketcd_store::{At, KeyRange, Want};

use crate::cli::Result;
use crate::cli::output::note;
use crate::cli::rights::unless_denied;
use crate::cli::session::{BUILT_IN, DEFAULT_PREFIX, Session};
use ketcd_render::triage::Absence;

/// So many keys are looked at.
const KEYS: usize = 2_000;
/// So many of what was found is named.
const NAMED: usize = 3;

/// Returns why nothing was looked at, where `values_read` is how many values of the kinds looked at are there; `None` where something was.
///
/// # Errors
/// The source cannot be read.
pub(in crate::cli) async fn absence(session: &Session, at: At, values_read: usize, counts: Counts) -> Result<Option<Absence>> {
    let prefix = session.prefix().await?;
    if values_read > 0 {
        let has_some = counts.pods + counts.workloads > 0;
        let Some(namespace) = session.args.namespace.as_deref().filter(|_| !has_some) else { return Ok(None) };
        let key = KeyRange::key(format!("{prefix}/namespaces/{namespace}"));
        let known = unless_denied(session.source.count(key, at).await)?;
        return Ok((known == Some(0)).then(|| Absence::Namespace(namespace.to_owned())));
    }
    let below = format!("{prefix}/");
    let Some(own) = keys(session, at, KeyRange::prefix(below.as_str())).await? else { return Ok(None) };
    if own.is_empty() {
        return elsewhere(session, at, prefix).await;
    }
    let kinds = BUILT_IN.get_or_init(Kinds::builtin);
    let mut found = BTreeSet::new();
    for key in &own {
        if let Some(Resource::Known(kind)) = RegistryKey::parse(prefix, key, kinds).object().map(|object| object.resource) {
            found.insert(kind.plural.to_string());
        }
    }
    if found.is_empty() {
        return Ok(Some(Absence::Foreign { prefix: prefix.to_owned(), begin: begins(&own) }));
    }
    if found.iter().all(|kind| kind == "events") && is_rest_empty(session, at, &below).await? {
        return Ok(Some(Absence::OnlyEvents { prefix: prefix.to_owned() }));
    }
    Ok(Some(Absence::OtherKinds { prefix: prefix.to_owned(), kinds: found.into_iter().take(NAMED).collect() }))
}

/// Says on standard error that there is no cluster, where that is so.
///
/// # Errors
/// The source cannot be read.
pub(in crate::cli) async fn note_absence(session: &Session) -> Result<()> {
    let namespaces = KeyRange::prefix(format!("{}/namespaces/", session.prefix().await?));
    if unless_denied(session.source.first(namespaces, session.at, Want::Keys, 1).await)?.is_none_or(|found| !found.is_empty()) {
        return Ok(());
    }
    match absence(session, session.at, 0, Counts::default()).await? {
        // A file of some objects is no cluster, and is what was asked for.
        None | Some(Absence::OtherKinds { .. }) => {}
        Some(absence) => note(&absence.words()),
    }
    Ok(())
}

/// Whether nothing is stored behind the Events, of which there may be more than were looked at.
async fn is_rest_empty(session: &Session, at: At, below: &str) -> Result<bool> {
    let range = KeyRange { start: format!("{below}events0").into_bytes(), ..KeyRange::prefix(below) };
    Ok(unless_denied(session.source.first(range, at, Want::Keys, 1).await)?.is_none_or(|found| found.is_empty()))
}

/// What is stored where nothing is below the prefix.
async fn elsewhere(session: &Session, at: At, prefix: &str) -> Result<Option<Absence>> {
    let Some(all) = keys(session, at, KeyRange::all()).await? else { return Ok(None) };
    if all.is_empty() {
        return Ok(Some(Absence::Empty));
    }
    let usual = KeyRange::key(format!("{DEFAULT_PREFIX}/namespaces/default"));
    let is_usual = unless_denied(session.source.count(usual, at).await)?.is_some_and(|count| count > 0);
    let mut cluster = is_usual.then(|| DEFAULT_PREFIX.to_owned());
    cluster = cluster.or_else(|| find_prefixes(all.iter().map(Vec::as_slice)).into_iter().next());
    Ok(Some(match cluster.filter(|cluster| cluster != prefix) {
        Some(cluster) => Absence::OtherPrefix { prefix: prefix.to_owned(), cluster },
        None => Absence::Foreign { prefix: prefix.to_owned(), begin: begins(&all) },
    }))
}

/// The first keys of a range; `None` where they may not be read.
async fn keys(session: &Session, at: At, range: KeyRange) -> Result<Option<Vec<Vec<u8>>>> {
    let found = unless_denied(session.source.first(range, at, Want::Keys, KEYS).await)?;
    Ok(found.map(|entries| entries.into_iter().map(|entry| entry.key.to_vec()).collect()))
}

/// How keys begin: up to their second slash.
fn begins(keys: &[Vec<u8>]) -> Vec<String> {
    let begin = |key: &Vec<u8>| {
        let end = key.iter().skip(1).position(|byte| *byte == b'/').map_or(key.len(), |slash| slash + 2);
        String::from_utf8_lossy(&key[..end]).into_owned()
    };
    let begins: BTreeSet<String> = keys.iter().map(begin).collect();
    begins.into_iter().take(NAMED).collect()
}
