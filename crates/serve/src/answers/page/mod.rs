//! Answers the page's questions: one file for each.

mod changed;
mod decision;
mod diff;
mod files;
mod findings;
mod history;
mod node;
mod object;
mod params;
mod question;
mod rows;
mod subject;
mod timeline;
mod window;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use self::params::Query;
use self::question::{ANSWER_HEADERS, Asked, with_headers, written};
use crate::data::{Page, Stand};
use crate::wire::{Result, Status};

pub(crate) use files::file;
pub use files::{PAGE_SCRIPT, PAGE_STYLE};

/// Answers `/ui/api/NAME`.
pub(crate) async fn answer(page: &Page, name: &str, query: &str, headers: &HeaderMap) -> Result<Response> {
    let stand = page.stand().await?;
    let tag = format!("\"r{}\"", stand.newest);
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        let unchanged = (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
        return Ok(with_headers(unchanged, &ANSWER_HEADERS));
    }
    let question = format!("{name}?{query}");
    let text = match stand.known(&question) {
        Some(known) => known,
        None => asked_first(page, &stand, name, query, question).await?,
    };
    let response = ([(header::CONTENT_TYPE, "application/json"), (header::ETAG, tag.as_str())], Body::from(text)).into_response();
    Ok(with_headers(response, &ANSWER_HEADERS))
}

/// Answers what was not answered yet, once: who asks the same meanwhile waits for that answer.
async fn asked_first(page: &Page, stand: &Arc<Stand>, name: &str, query: &str, question: String) -> Result<Bytes> {
    let query = Query::parse(query)?;
    let _alone = stand.alone(&question).await;
    if let Some(known) = stand.known(&question) {
        return Ok(known);
    }
    let _turn = page.turn(matches!(name, "findings" | "decision" | "changed")).await;
    let text = Bytes::from(text(&Asked { page, stand, query: &query }, name).await?);
    stand.keep(question, text.clone());
    Ok(text)
}

async fn text(asked: &Asked<'_>, name: &str) -> Result<Vec<u8>> {
    match name {
        "window" => written(&window::answer(asked).await?),
        "findings" => findings::answer(asked).await,
        "rows" => written(&rows::answer(asked).await?),
        "object" => written(&object::answer(asked).await?),
        "history" => written(&history::answer(asked).await?),
        "diff" => written(&diff::answer(asked).await?),
        "timeline" => written(&timeline::answer(asked).await?),
        "decision" => written(&decision::answer(asked).await?),
        "node" => written(&node::answer(asked).await?),
        "changed" => written(&changed::answer(asked).await?),
        _ => Err(Status::no_such_path()),
    }
}
