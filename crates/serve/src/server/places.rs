//! How many requests are answered at once, and how many connections are open.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::data::Limits;
use crate::wire::{Result, Status};

/// The places there are.
pub(super) struct Places {
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    /// How long a request waits for its turn.
    turn: Duration,
    /// How long a connection waits for its place.
    entry: Duration,
}

impl Places {
    /// As many as the limits say, all of them free.
    pub(super) fn new(limits: &Limits) -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        let (requests, watches, connections) = (places(limits.requests), places(limits.watches), places(limits.connections));
        Self { requests, watches, connections, turn: limits.turn, entry: limits.entry }
    }

    /// Takes a place for a request; waits a while for one that another gives back.
    ///
    /// # Errors
    /// No place became free in time. The client learns when to ask again.
    pub(super) async fn request(&self, is_watch: bool) -> Result<OwnedSemaphorePermit> {
        taken(if is_watch { &self.watches } else { &self.requests }, self.turn).await
    }

    /// Takes a place for a connection, as [`Places::request`] does.
    ///
    /// # Errors
    /// As there.
    pub(super) async fn connection(&self) -> Result<OwnedSemaphorePermit> {
        taken(&self.connections, self.entry).await
    }
}

async fn taken(places: &Arc<Semaphore>, patience: Duration) -> Result<OwnedSemaphorePermit> {
    match tokio::time::timeout(patience, Arc::clone(places).acquire_owned()).await {
        Ok(Ok(place)) => Ok(place),
        _ => Err(Status::too_many_requests()),
    }
}
