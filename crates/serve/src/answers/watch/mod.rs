//! `watch`: what happened to the objects of a collection after a revision, up to the moment looked at; then nothing happens any more, and the watch
//! stays open until its time is up. On a live source, and in a replay, it continues.

mod frames;

use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{FutureExt, Stream, StreamExt};
use ketcd_store::{At, KeyRange, KeyValue, Revision, Until, Want, WatchItem};
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use self::frames::Frames;
use super::call::Call;
use super::form::Form;
use crate::data::{After, Changes};
use crate::request::{Endpoint, Shape};
use crate::wire::{EXPIRED_WATCH, Encoding, Result, Status, WatchResponse};

/// The text that is gathered before it is sent.
const CHUNK_BYTES: usize = 1 << 16;

/// A watch on its way.
struct Watch {
    call: Call,
    keys: KeyRange,
    begin: Begin,
    deadline: Instant,
}

/// Where a watch begins.
enum Begin {
    /// With the objects there are; `is_marked` says whether a bookmark tells when they have come.
    Objects { is_marked: bool },
    /// With the changes after a revision.
    After(Revision),
    /// It cannot.
    Failed(Box<Status>),
}

/// Answers a watch.
pub(crate) async fn watch(call: Call) -> Result<Response> {
    if call.accepted.encoding == Encoding::Yaml {
        return Err(Endpoint::of(&call.resource, call.app.data.release()).refusal_of_watch());
    }
    let filter = call.filter()?;
    let keys = call.keys(&filter);
    let begin = begin(&call).await?;
    if let Shape::Table(_) = call.accepted.shape {
        // What dates the revisions is read once, which may take long, and not in the watch's own time.
        call.app.data.date(call.moment.revision).await;
    }
    let form = Form::of(&call, call.moment).await?;
    let asked = call.params.timeout_seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    let limits = &call.app.limits;
    let deadline = Instant::now() + asked.map_or_else(|| usual_time(limits.watch), |asked| asked.min(limits.longest_watch));
    let (encoding, frames) = (call.accepted.encoding, Frames::new(&call, filter, form));
    let app = Arc::clone(&call.app);
    let body = app.turns.in_turn(Watch { call, keys, begin, deadline }.chunks(frames));
    let body = Body::from_stream(body.map(Ok::<_, std::io::Error>));
    Ok(([(header::CONTENT_TYPE, encoding.watch_media_type())], Extension(WatchResponse(encoding)), body).into_response())
}

/// Between this time and twice that, so that watches begun together do not all end together.
fn usual_time(least: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or(0);
    least + least.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

async fn begin(call: &Call) -> Result<Begin> {
    let (params, now) = (&call.params, call.moment.revision);
    if params.revision.is_some_and(|asked| asked > now.0) {
        return Ok(Begin::Failed(Status::too_large_version(params.revision.unwrap_or(0), now.0)));
    }
    match (params.send_initial_events, params.revision) {
        (Some(true), _) => Ok(Begin::Objects { is_marked: params.allow_bookmarks }),
        (None, None | Some(0)) => Ok(Begin::Objects { is_marked: false }),
        (Some(false), None | Some(0)) => Ok(Begin::After(now)),
        (_, Some(asked)) => {
            let span = call.app.data.source().span().await.map_err(|error| Status::of_failure(error, Some(EXPIRED_WATCH)))?;
            if asked < span.oldest.0 {
                return Ok(Begin::Failed(Status::expired(format!("too old resource version: {asked} ({})", span.oldest))));
            }
            Ok(Begin::After(Revision(asked)))
        }
    }
}

impl Watch {
    /// The frames. The last is an error, if something fails.
    fn chunks(self, mut frames: Frames) -> impl Stream<Item = Bytes> + Send + 'static {
        stream! {
            let Self { call, keys, begin, deadline } = self;
            let end = call.moment.revision;
            let mut out = Vec::new();
            let from = match begin {
                Begin::Failed(status) => return yield frames.last(&status, out),
                Begin::After(revision) => revision,
                Begin::Objects { is_marked } => {
                    let mut entries = Box::pin(entries(&call, keys.clone()));
                    while let Some(entry) = entries.next().await {
                        consume_budget().await;
                        if let Err(status) = entry.and_then(|entry| frames.added(&entry, &mut out)) {
                            return yield frames.last(&status, out);
                        }
                        if out.len() >= CHUNK_BYTES {
                            yield std::mem::take(&mut out).into();
                        }
                    }
                    if is_marked {
                        frames.bookmark(end, true, &mut out);
                    }
                    end
                }
            };
            // The response begins though nothing happened yet.
            yield std::mem::take(&mut out).into();
            let mut items = changes(&call, keys, from);
            let mut reached = Reached { revision: from, is_over: false };
            while Instant::now() < deadline {
                // A file never lets others wait.
                consume_budget().await;
                let next = if reached.is_over { None } else { items.next().now_or_never() };
                let done = match next {
                    Some(item) => reached.with(item, &call, &mut frames, &mut out).await,
                    // Nothing happens now: what has come together goes out, and the time passes.
                    None => {
                        if !out.is_empty() {
                            yield std::mem::take(&mut out).into();
                        }
                        tokio::select! {
                            item = items.next(), if !reached.is_over => reached.with(item, &call, &mut frames, &mut out).await,
                            () = tokio::time::sleep_until(deadline) => return,
                            () = tokio::time::sleep(call.app.limits.bookmarks) => {
                                reached.mark(&call, &frames, &mut out);
                                Ok(())
                            }
                        }
                    }
                };
                if let Err(status) = done {
                    return yield frames.last(&status, out);
                }
                if out.len() >= CHUNK_BYTES {
                    yield std::mem::take(&mut out).into();
                }
            }
        }
    }
}

/// What happens after a revision.
fn changes(call: &Call, keys: KeyRange, from: Revision) -> Changes<'_> {
    let until = match (call.moment.after, &call.app.replay) {
        (After::Live, _) => Until::Forever,
        (After::Replay, Some(replay)) => Until::Revision(replay.last()),
        _ => Until::Revision(call.moment.revision),
    };
    let changes = call.app.data.source().watch(keys, from.after(), until);
    match &call.app.replay {
        Some(replay) if call.moment.after == After::Replay => Arc::clone(replay).paced(changes),
        _ => changes,
    }
}

/// The objects there are when a watch begins.
fn entries(call: &Call, keys: KeyRange) -> impl Stream<Item = Result<KeyValue>> + Send {
    stream! {
        let found = call.app.data.source().range(keys, At::Revision(call.moment.revision), Want::Values).await;
        match found {
            Ok(mut listing) => while let Some(entry) = listing.entries.next().await {
                yield entry.map_err(|error| Status::of_failure(error, Some(EXPIRED_WATCH)));
            },
            Err(error) => yield Err(Status::of_failure(error, Some(EXPIRED_WATCH))),
        }
    }
}

/// How far a watch has come.
struct Reached {
    /// Everything up to this revision was sent.
    revision: Revision,
    /// Nothing more will happen.
    is_over: bool,
}

impl Reached {
    /// Appends the frame of what came next.
    async fn with(
        &mut self,
        item: Option<ketcd_store::Result<WatchItem>>,
        call: &Call,
        frames: &mut Frames,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match item {
            Some(Ok(WatchItem::Event(event))) => {
                self.revision = event.revision;
                return frames.change(&event, out).await;
            }
            Some(Ok(WatchItem::Progress(revision))) => self.revision = self.revision.max(revision),
            Some(Ok(WatchItem::Gap { from, to })) => {
                return Err(Status::expired(format!("too old resource version: revisions {from} to {to} were compacted away")));
            }
            Some(Err(error)) => return Err(Status::of_failure(error, Some(EXPIRED_WATCH))),
            None => {
                self.is_over = true;
                self.revision = self.revision.max(call.moment.revision);
                self.mark(call, frames, out);
            }
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
        Ok(())
    }

    /// Appends a bookmark, if the client takes them.
    fn mark(&self, call: &Call, frames: &Frames, out: &mut Vec<u8>) {
        if call.params.allow_bookmarks {
            frames.bookmark(self.revision, false, out);
        }
    }
}
