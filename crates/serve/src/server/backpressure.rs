//! Backpressure: an answer is written by a task of its own, a little ahead of its client: one that takes nothing for long loses its
//! answer, and its place among those who are answered.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// How many pieces of an answer are made before the client reads the first.
const PIECES_AHEAD: usize = 2;

/// An answer no longer than this needs no task.
const MAX_SHORT_ANSWER_BYTES: u64 = 1 << 16;

/// Makes a response one that gives `place` back when it is out, or given up because its client read nothing of it for longer than `patience`.
pub(crate) fn pumped(response: Response, place: OwnedSemaphorePermit, patience: Duration) -> Response {
    if response.body().size_hint().exact().is_some_and(|length| length <= MAX_SHORT_ANSWER_BYTES) {
        return response;
    }
    response.map(|body| {
        let (out, mut taken) = mpsc::channel::<Option<io::Result<Bytes>>>(PIECES_AHEAD);
        tokio::spawn(pump(body, out, place, patience));
        Body::from_stream(async_stream::stream! {
            loop {
                match taken.recv().await {
                    Some(Some(piece)) => yield piece,
                    Some(None) => return,
                    None => return yield Err(io::Error::new(io::ErrorKind::TimedOut, "the client read nothing for too long")),
                }
            }
        })
    })
}

/// Hands on the pieces of a body, then that it ended; a body that did not end has an end of no answer.
async fn pump(body: Body, out: mpsc::Sender<Option<io::Result<Bytes>>>, place: OwnedSemaphorePermit, patience: Duration) {
    let mut pieces = body.into_data_stream();
    loop {
        let piece = tokio::select! {
            piece = pieces.next() => piece,
            // The client is gone: a watch would wait for a change to notice.
            () = out.closed() => return,
        };
        let is_last = !matches!(piece, Some(Ok(_)));
        let piece = piece.map(|piece| piece.map_err(io::Error::other));
        if out.send_timeout(piece, patience).await.is_err() || is_last {
            break;
        }
    }
    drop(place);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::response::IntoResponse;
    use tokio::sync::Semaphore;
    use tokio::time::Instant;

    use super::*;

    fn endless() -> Body {
        Body::from_stream(futures_util::stream::repeat_with(|| Ok::<_, io::Error>(Bytes::from_static(b"more"))))
    }

    const TEST_PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_loses_its_answer() {
        let places = Arc::new(Semaphore::new(1));
        let place = Arc::clone(&places).try_acquire_owned().unwrap();
        let mut body = pumped(endless().into_response(), place, TEST_PATIENCE).into_body().into_data_stream();
        assert!(body.next().await.unwrap().is_ok());
        let begun = Instant::now();
        // It is given back though the body is still there.
        drop(places.acquire().await.unwrap());
        assert_eq!(begun.elapsed(), TEST_PATIENCE);
        let rest: Vec<bool> = body.map(|piece| piece.is_ok()).collect().await;
        assert_eq!(rest, [true, true, false], "what was made is there, and that it is not all");
    }

    #[tokio::test]
    async fn an_answer_that_ends_gives_its_place_back() {
        let places = Arc::new(Semaphore::new(1));
        let place = Arc::clone(&places).try_acquire_owned().unwrap();
        let body = pumped("all of it".into_response(), place, TEST_PATIENCE).into_body();
        assert_eq!(axum::body::to_bytes(body, 100).await.unwrap(), "all of it");
        assert_eq!(places.available_permits(), 1);
        let place = Arc::clone(&places).try_acquire_owned().unwrap();
        drop(pumped(Body::from_stream(futures_util::stream::pending::<io::Result<Bytes>>()).into_response(), place, TEST_PATIENCE));
        // A client that goes gives its place back.
        drop(places.acquire().await.unwrap());
    }
}
