//! Waits for events, however long they take: a slow machine fails no test. `tools/test` ends what hangs and names it.

use std::thread;
use std::time::{Duration, Instant};

/// Between two looks; longer where a look itself takes long, so that waiting leaves the machine to what is waited for.
const POLL_PAUSE: Duration = Duration::from_millis(5);

/// Waits until `look` finds something that gives no sign of its own: a port that opens, a file that another process writes.
pub fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        let begun = Instant::now();
        match look() {
            Some(found) => return found,
            None => thread::sleep(POLL_PAUSE.max(2 * begun.elapsed())),
        }
    }
}

/// The same where looking takes a runtime.
#[cfg(feature = "etcd")]
pub async fn until_async<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        let begun = Instant::now();
        match look().await {
            Some(found) => return found,
            None => tokio::time::sleep(POLL_PAUSE.max(2 * begun.elapsed())).await,
        }
    }
}

/// The time between two looks, for a task that is spawned: what an [`AsyncFnMut`] returns cannot be said to be `Send`.
#[cfg(feature = "etcd")]
pub async fn pause() {
    tokio::time::sleep(POLL_PAUSE).await;
}
