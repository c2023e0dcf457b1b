//! Connections that have not shown the token yet. At each step on the way there is room for so many; for one more, the one that has been at that step the
//! longest is closed, of the address that has the most there. So those who stay keep nobody out, and who comes from one address takes no room from others.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell, OwnedSemaphorePermit};

use super::places::Places;
use crate::data::Limits;
use crate::wire::Result;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It was accepted and has sent nothing.
    Silent,
    /// It has begun its TLS handshake.
    Handshake,
    /// It can send requests, and has sent none with the token.
    Asking,
}

/// All newcomers.
pub(crate) struct Newcomers {
    /// Room at one step.
    room: usize,
    /// How long one may take to show the token.
    patience: Duration,
    steps: Mutex<[Waiting; 3]>,
}

/// The newcomers at one step.
#[derive(Default)]
struct Waiting {
    /// The one that has been there the longest comes first.
    queue: VecDeque<Entry>,
    /// How many there are of each address.
    counts: HashMap<IpAddr, usize>,
}

struct Entry {
    from: IpAddr,
    closing: Arc<Notify>,
}

impl Newcomers {
    /// No newcomers yet.
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self { room: limits.newcomers, patience: limits.token, steps: Mutex::default() })
    }

    /// Adds a connection from an address.
    pub(crate) fn arrive(self: &Arc<Self>, from: IpAddr) -> Client {
        let newcomer = Newcomer { all: Arc::clone(self), from: network(from), closing: Arc::default() };
        newcomer.reach(Step::Silent);
        Client { newcomer, place: OnceCell::new() }
    }

    /// Closes a connection, where the process may open no more files.
    pub(crate) fn close_one(&self) {
        let mut steps = self.steps();
        if let Some(waiting) = steps.iter_mut().find(|waiting| !waiting.queue.is_empty()) {
            waiting.close_one();
        }
    }

    fn steps(&self) -> MutexGuard<'_, [Waiting; 3]> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, entry: Entry, room: usize) {
        if self.queue.len() >= room {
            self.close_one();
        }
        *self.counts.entry(entry.from).or_default() += 1;
        self.queue.push_back(entry);
    }

    fn close_one(&mut self) {
        let most = self.counts.values().max().copied();
        let is_crowded = |entry: &Entry| self.counts.get(&entry.from).copied() == most;
        if let Some(entry) = self.queue.iter().position(is_crowded).and_then(|place| self.remove_at(place)) {
            entry.closing.notify_one();
        }
    }

    fn remove(&mut self, closing: &Arc<Notify>) {
        if let Some(place) = self.queue.iter().position(|entry| Arc::ptr_eq(&entry.closing, closing)) {
            self.remove_at(place);
        }
    }

    fn remove_at(&mut self, place: usize) -> Option<Entry> {
        let entry = self.queue.remove(place)?;
        if let Some(count) = self.counts.get_mut(&entry.from) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&entry.from);
            }
        }
        Some(entry)
    }
}

/// What counts as one address: of IPv6, the network that one client has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(own) => Ipv6Addr::from_bits(own.to_bits() >> 64 << 64).into(),
        own @ IpAddr::V4(_) => own,
    }
}

/// A connection among the newcomers.
struct Newcomer {
    all: Arc<Newcomers>,
    from: IpAddr,
    closing: Arc<Notify>,
}

impl Newcomer {
    fn reach(&self, step: Step) {
        let mut steps = self.all.steps();
        steps.iter_mut().for_each(|waiting| waiting.remove(&self.closing));
        steps[step as usize].add(Entry { from: self.from, closing: Arc::clone(&self.closing) }, self.all.room);
    }

    fn leave(&self) {
        self.all.steps().iter_mut().for_each(|waiting| waiting.remove(&self.closing));
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The client of one connection: a newcomer until it shows the token.
pub(crate) struct Client {
    newcomer: Newcomer,
    /// Its place among those that have.
    place: OnceCell<OwnedSemaphorePermit>,
}

impl Client {
    /// Says how far the connection has come on the way to the token.
    pub(crate) fn reach(&self, step: Step) {
        self.newcomer.reach(step);
    }

    /// Says that the token was shown: from now on the connection may stay.
    ///
    /// # Errors
    /// There are too many such connections.
    pub(crate) async fn welcome(&self, places: &Places) -> Result<()> {
        self.place.get_or_try_init(|| places.connection()).await?;
        self.newcomer.leave();
        Ok(())
    }

    /// Serves the connection until that ends, or it must be closed.
    pub(crate) async fn while_open(&self, served: impl Future<Output = ()>) {
        tokio::select! {
            () = served => {}
            () = self.closed() => {}
        }
    }

    /// Ends when the connection must be closed: it took too long to show the token, or made room for another.
    async fn closed(&self) {
        tokio::select! {
            () = self.newcomer.closing.notified() => {}
            () = tokio::time::sleep(self.newcomer.all.patience) => {}
        }
        if self.place.initialized() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures_util::FutureExt;
    use tokio::time::Instant;

    use super::*;

    fn is_open(client: &Client) -> bool {
        client.closed().now_or_never().is_none()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn newcomers(room: usize) -> Arc<Newcomers> {
        Newcomers::new(&Limits { newcomers: room, ..Limits::of_files(1024) })
    }

    #[tokio::test]
    async fn the_longest_at_a_step_makes_room() {
        let newcomers = newcomers(3);
        let one = address("127.0.0.1");
        let clients: Vec<Client> = (0..3).map(|_| newcomers.arrive(one)).collect();
        assert!(clients.iter().all(is_open));
        // Another step has room of its own.
        clients[0].reach(Step::Handshake);
        let more: Vec<Client> = (0..2).map(|_| newcomers.arrive(one)).collect();
        assert_eq!(clients.iter().chain(&more).map(is_open).collect::<Vec<_>>(), [true, false, true, true, true]);
        newcomers.close_one();
        assert!(!is_open(&clients[2]));
    }

    #[tokio::test]
    async fn a_crowd_of_one_address_takes_no_room_of_others() {
        let newcomers = newcomers(4);
        let alone = newcomers.arrive(address("192.0.2.7"));
        let crowd: Vec<Client> = (1..20).map(|number| newcomers.arrive(address(&format!("2001:db8::{number}")))).collect();
        assert!(is_open(&alone));
        assert_eq!(crowd.iter().filter(|client| is_open(client)).count(), 3);
        drop(crowd);
        assert!(newcomers.steps()[0].counts.len() == 1 && newcomers.steps()[0].queue.len() == 1);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_is_closed_at_its_time() {
        let begun = Instant::now();
        newcomers(1).arrive(address("127.0.0.1")).while_open(pending()).await;
        assert_eq!(begun.elapsed(), Limits::of_files(1024).token);
    }

    #[tokio::test]
    async fn whoever_showed_the_token_stays() {
        let (newcomers, places) = (newcomers(1), Places::new(&Limits::of_files(4)));
        let client = newcomers.arrive(address("127.0.0.1"));
        client.welcome(&places).await.unwrap();
        let others: Vec<Client> = (0..2).map(|_| newcomers.arrive(address("127.0.0.1"))).collect();
        assert_eq!((is_open(&client), is_open(&others[0]), is_open(&others[1])), (true, false, true));
    }
}
