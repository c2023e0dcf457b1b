//! How much is answered at once, so that no crowd of clients takes more of the machine than a reader may.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::status::{Result, Status};

/// So many requests are answered at once, as many as an API server's `--max-requests-inflight`.
const REQUESTS: usize = 400;

/// So many watches are open at once.
const WATCHES: usize = 5_000;

/// So many connections are open at once.
pub(super) const CONNECTIONS: usize = 4_096;

/// So long a request waits for its turn.
const TURN: Duration = Duration::from_secs(10);

/// The places there are.
pub(super) struct Limits {
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { requests: Arc::new(Semaphore::new(REQUESTS)), watches: Arc::new(Semaphore::new(WATCHES)) }
    }
}

impl Limits {
    /// Takes a place for a request; waits a while for one that another gives back.
    ///
    /// # Errors
    /// There is none: the client is told when to come again.
    pub(super) async fn place(&self, is_watch: bool) -> Result<OwnedSemaphorePermit> {
        let places = if is_watch { &self.watches } else { &self.requests };
        match tokio::time::timeout(TURN, Arc::clone(places).acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(Status::too_many_requests()),
        }
    }
}
