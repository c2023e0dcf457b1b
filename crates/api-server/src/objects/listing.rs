//! Lists of one resource at exactly one resource version, page by page.

use async_stream::try_stream;
use bytes::Bytes;
use form_urlencoded::Serializer;
use futures_util::Stream;
use ketcd_store::{EarlierRevisions, Error, KeyRange, KeyValue, Result, Revision, Want};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::catalog::Resource;
use super::item::{self, stored};
use crate::transport::{Client, Failure, JSON_ACCEPT, METADATA_ACCEPT};

/// Objects of a page (client-go's pager).
const PAGE_LIMIT: &str = "500";

#[derive(Deserialize)]
struct Page<'a> {
    metadata: Option<PageMetadata>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PageMetadata {
    resource_version: String,
    r#continue: String,
}

/// Returns the newest revision, as a list of `resource` says.
///
/// # Errors
///
/// The server refuses, or is not reached.
pub(crate) async fn newest(client: &Client, resource: &Resource) -> Result<Revision> {
    let (path, _) = resource.path(&resource.keys());
    let failed = |failure| client.error(failure, &resource.name, &resource.keys());
    let text = client.document(&format!("{path}?limit=1"), METADATA_ACCEPT).await.map_err(failed)?;
    let page: Page<'_> = serde_json::from_slice(&text).map_err(|_| not_a_list(client, resource))?;
    revision(&page).ok_or_else(|| not_a_list(client, resource))
}

fn revision(page: &Page<'_>) -> Option<Revision> {
    item::revision(&page.metadata.as_ref()?.resource_version)
}

/// Returns the objects of `resource` whose keys are in `keys`, at exactly this revision, in the order of their keys.
pub(crate) fn list<'a>(
    client: &'a Client,
    resource: &'a Resource,
    keys: KeyRange,
    at: Revision,
    want: Want,
) -> impl Stream<Item = Result<KeyValue>> + Send + 'a {
    let accept = if want == Want::Keys { METADATA_ACCEPT } else { JSON_ACCEPT };
    try_stream! {
        let (path, name) = resource.path(&keys);
        let (mut token, mut last, mut empty) = (String::new(), Bytes::new(), 0);
        loop {
            let query = query(at, &token, name.as_deref());
            let text = match client.document(&format!("{path}?{query}"), accept).await {
                Ok(text) => text,
                // A definition may have been removed since.
                Err(failure) if failure.is_not_found() => return,
                Err(failure) => Err(failed(client, resource, at, failure))?,
            };
            let (entries, next) = entries(client, resource, &text, at, want)?;
            // A server that repeats a page would never end the list.
            if next == token && !next.is_empty() || entries.first().is_some_and(|first| first.key <= last) {
                Err(not_a_list(client, resource))?;
            }
            empty = if entries.is_empty() { empty + 1 } else { 0 };
            if empty > client.access().limits.empty_pages {
                Err(untrue(client, resource, "pages without end that have no objects"))?;
            }
            last = entries.last().map_or(last, |entry| entry.key.clone());
            for entry in entries.into_iter().filter(|entry| keys.contains(&entry.key)) {
                yield entry;
            }
            if next.is_empty() {
                return;
            }
            token = next;
        }
    }
}

fn query(at: Revision, token: &str, name: Option<&str>) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("limit", PAGE_LIMIT);
    if let Some(name) = name {
        query.append_pair("fieldSelector", &format!("metadata.name={name}"));
    }
    // The token has the revision.
    match token.is_empty() {
        true => query.append_pair("resourceVersion", &at.to_string()).append_pair("resourceVersionMatch", "Exact"),
        false => query.append_pair("continue", token),
    };
    query.finish()
}

/// The objects of a page, and the token of the next one.
fn entries(client: &Client, resource: &Resource, text: &Bytes, at: Revision, want: Want) -> Result<(Vec<KeyValue>, String)> {
    let page: Page<'_> = serde_json::from_slice(text).map_err(|_| not_a_list(client, resource))?;
    revision(&page).ok_or_else(|| not_a_list(client, resource))?;
    let mut entries = Vec::new();
    for item in page.items.unwrap_or_default() {
        let entry = stored(resource, item.get(), want == Want::Values).ok_or_else(|| not_a_list(client, resource))?;
        if entry.mod_revision > at {
            let what = format!("an object of revision {} in a list at revision {at}", entry.mod_revision);
            return Err(untrue(client, resource, &what));
        }
        entries.push(entry);
    }
    // Pages follow one another in the order of keys; a watch cache may return one page in another order.
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    Ok((entries, page.metadata.map(|metadata| metadata.r#continue).unwrap_or_default()))
}

fn failed(client: &Client, resource: &Resource, at: Revision, failure: Failure) -> Error {
    if failure.is_expired() {
        return Error::Compacted { asked: at, oldest: at.after(), earlier: EarlierRevisions::Compacted };
    }
    if failure.is_future() {
        return Error::Future { asked: at, newest: at.before() };
    }
    client.error(failure, &resource.name, &resource.keys())
}

fn not_a_list(client: &Client, resource: &Resource) -> Error {
    untrue(client, resource, "something other than a list of them")
}

fn untrue(client: &Client, resource: &Resource, what: &str) -> Error {
    let endpoint = client.access().server();
    let problem = format!("the API server {endpoint} answered a request for {} with {what}", resource.name);
    Error::Untrue { endpoint, problem }
}
