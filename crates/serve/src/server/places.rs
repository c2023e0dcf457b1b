//! How many requests are answered at once, and how many connections are open.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::wire::{Result, Status};

/// How many requests are answered at once, as many as an API server's `--max-requests-inflight`.
const REQUESTS: usize = 400;

/// How many watches are open at once.
const WATCHES: usize = 5_000;

/// How many connections of clients that have shown the token are open at once.
const CONNECTIONS: usize = 4_096;

/// How long a request waits for its turn.
const TURN: Duration = Duration::from_secs(10);

/// How long a client that shows the token waits for a place for its connection: less than it may stay without one, so that it gets an answer.
const ENTRY: Duration = Duration::from_secs(5);

/// The places there are.
pub(super) struct Places {
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    connections: Arc<Semaphore>,
}

impl Places {
    /// The places of a process that may open so many files: half of them are for connections.
    pub(super) fn new(files: usize) -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        Self { requests: places(REQUESTS), watches: places(WATCHES), connections: places(CONNECTIONS.min(files / 2)) }
    }

    /// Takes a place for a request; waits a while for one that another gives back.
    ///
    /// # Errors
    /// No place became free in time. The client learns when to ask again.
    pub(super) async fn request(&self, is_watch: bool) -> Result<OwnedSemaphorePermit> {
        taken(if is_watch { &self.watches } else { &self.requests }, TURN).await
    }

    /// Takes a place for a connection, as [`Places::request`] does.
    ///
    /// # Errors
    /// As there.
    pub(super) async fn connection(&self) -> Result<OwnedSemaphorePermit> {
        taken(&self.connections, ENTRY).await
    }
}

async fn taken(places: &Arc<Semaphore>, patience: Duration) -> Result<OwnedSemaphorePermit> {
    match tokio::time::timeout(patience, Arc::clone(places).acquire_owned()).await {
        Ok(Ok(place)) => Ok(place),
        _ => Err(Status::too_many_requests()),
    }
}
