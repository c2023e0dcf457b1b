//! `list`: the objects of a collection at one revision, written while they are read.

mod default_class;
mod envelope;
mod items;
mod length;
mod page;
mod plan;

use std::sync::Arc;

use async_stream::stream;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use ketcd_store::{At, Want};
use tokio::task::coop::consume_budget;

use self::default_class::default_class;
use self::length::Part;
use self::page::ListPage;
use self::plan::{Format, List};
use super::call::Call;
use crate::wire::{Result, Status};

/// The text that is gathered before it is sent.
const CHUNK_BYTES: usize = 1 << 18;

/// Answers a list.
pub(crate) async fn list(call: Call) -> Result<Response> {
    let media_type = call.accepted.encoding.media_type();
    let list = Arc::new(List::new(call).await?);
    let turns = &list.call.app.turns;
    let body = match &list.format {
        Format::Protobuf(encoder) => length::body(encoder, turns, |part| turns.in_turn(chunks(Arc::clone(&list), part))).await?,
        Format::Json | Format::Yaml => {
            let mut chunks = Box::pin(turns.in_turn(chunks(Arc::clone(&list), Part::Whole)));
            // What fails before the first text can still be said.
            let first = chunks.next().await.unwrap_or_else(|| Err(Status::internal("an empty answer")))?;
            let all = futures_util::stream::once(std::future::ready(Ok(first))).chain(chunks);
            Body::from_stream(all.map(|chunk| chunk.map_err(|status| std::io::Error::other(status.to_json().to_string()))))
        }
    };
    Ok(([(header::CONTENT_TYPE, media_type)], body).into_response())
}

/// The text of the list. It is an error only before the first text, or where the source fails amid the list.
fn chunks(list: Arc<List>, part: Part) -> impl Stream<Item = Result<Bytes>> + Send + 'static {
    stream! {
        let limit = list.call.params.limit;
        let source = list.call.app.data.source();
        let mut entries = match source.range(list.keys.clone(), At::Revision(list.revision), Want::Values).await {
            Ok(listing) => listing.entries,
            Err(error) => return yield Err(list.unreadable(error)),
        };
        let mut page = match default_class(&list).await {
            Ok(default) => ListPage::new(default),
            Err(status) => return yield Err(status),
        };
        let mut out = envelope::head(&list);
        while let Some(entry) = entries.next().await {
            // A file never lets others wait, and what a selector passes over fills no chunk.
            consume_budget().await;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return yield Err(list.unreadable(error)),
            };
            if list.is_page() && page.items == limit {
                page.has_more = true;
                break;
            }
            page.keys += 1;
            match items::append(&list, &entry, &mut page, &mut out) {
                Ok(true) => {
                    page.items += 1;
                    page.last_key = entry.key;
                }
                Ok(false) => {}
                Err(status) => return yield Err(status),
            }
            if out.len() >= CHUNK_BYTES {
                yield Ok(std::mem::replace(&mut out, Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4)).into());
            }
        }
        page.write_sorted(list.is_yaml(), &mut out);
        if part == Part::Items {
            return yield Ok(out.into());
        }
        let tail = match envelope::tail(&list, &page).await {
            Ok(tail) => tail,
            Err(status) => return yield Err(status),
        };
        yield Ok(out.into());
        yield Ok(tail.into());
    }
}
