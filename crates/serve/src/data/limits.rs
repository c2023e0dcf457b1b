//! How long clients may take, and how many of them there may be.

use std::time::Duration;

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long a connection may take to show the token.
    pub token: Duration,
    /// How long a client may take for the head of a request, and to answer a ping.
    pub head: Duration,
    /// How long the body of a request may take to arrive.
    pub body: Duration,
    /// How long a client may read nothing of its answer.
    pub unread: Duration,
    /// How long a request waits for its turn.
    pub turn: Duration,
    /// How long a client that shows the token waits for a place for its connection: less than it may stay without one, so that it gets an answer.
    pub entry: Duration,
    /// How long a watch lasts that asks for no time: as long again at most, as an API server has it.
    pub watch: Duration,
    /// How long a watch lasts at most, whatever it asks for.
    pub longest_watch: Duration,
    /// How often a quiet watch says up to where nothing happened.
    pub bookmarks: Duration,
    /// How long the newest catalog of a growing source is used before its definitions are read again.
    pub fresh: Duration,
    /// The most connections at one step on the way to the token.
    pub newcomers: usize,
    /// How many connections of clients that have shown the token are open at once.
    pub connections: usize,
    /// How many requests are answered at once, as many as an API server's `--max-requests-inflight`.
    pub requests: usize,
    /// How many watches are open at once.
    pub watches: usize,
}

impl Limits {
    /// The limits of a process that may open `files` files: half of these are for connections of clients that have shown the token.
    pub(crate) fn of_files(files: usize) -> Self {
        Self {
            token: Duration::from_secs(10),
            head: Duration::from_secs(10),
            body: Duration::from_secs(10),
            unread: Duration::from_secs(30),
            turn: Duration::from_secs(10),
            entry: Duration::from_secs(5),
            watch: Duration::from_secs(1800),
            longest_watch: Duration::from_secs(365 * 24 * 3600),
            bookmarks: Duration::from_secs(60),
            fresh: Duration::from_secs(2),
            newcomers: 1_024.min(files / 8).max(1),
            connections: 4_096.min(files / 2),
            requests: 400,
            watches: 5_000,
        }
    }
}
