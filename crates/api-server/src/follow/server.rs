//! A running API server as a [`Source`] that can be followed: what a recorder reads.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_stream::try_stream;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use ketcd_store::{
    At, EarlierRevisions, Error, Event, EventKind, Facts, HistoryKind, KeyRange, Listing, NoShortcuts, Result, Revision, RevisionSpan,
    Source, SourceKind, SourceStatus, Until, Want, WatchItem, Withheld,
};
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::{RwLock, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep};

use super::order::Order;
use super::watcher::{Message, Watcher};
use crate::kubeconfig::Access;
use crate::objects::{Catalog, Resource, WantedResources, left_out_phrases, list, newest};
use crate::problem::remote;
use crate::transport::{Backoff, Client, jitter};

/// Changes that wait between the watches and who reads them.
const MAX_QUEUED_CHANGES: usize = 100;
/// Lists that are requested at once.
const MAX_CONCURRENT_LISTS: usize = 4;
/// How often it is looked whether changes have settled.
const SETTLE_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Definitions of custom resources: where one is added, another resource is to be followed.
const CRD_RESOURCE: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// The namespace whose UID tells clusters apart.
const IDENTITY_NAMESPACE: &str = "kube-system";

/// A running API server. Its past is what it can still list: five minutes, with the defaults of a control plane.
pub struct ApiServer {
    client: Arc<Client>,
    wanted: WantedResources,
    catalog: RwLock<Option<Arc<Catalog>>>,
    /// The newest revision that a watch brought.
    newest: AtomicI64,
    /// Why the last revisions were missed.
    missed: Mutex<String>,
    /// How many lists may be requested at once.
    lists: Arc<Semaphore>,
}

impl ApiServer {
    /// Reads the server that `access` leads to. Nothing is requested yet.
    pub fn new(access: Access, wanted: WantedResources) -> Self {
        let (catalog, newest, missed) = (RwLock::default(), AtomicI64::new(0), Mutex::default());
        let lists = Arc::new(Semaphore::new(MAX_CONCURRENT_LISTS));
        Self { client: Arc::new(Client::new(access)), wanted, catalog, newest, missed, lists }
    }

    async fn catalog(&self) -> Result<Arc<Catalog>> {
        if let Some(known) = &*self.catalog.read().await {
            return Ok(Arc::clone(known));
        }
        let mut catalog = self.catalog.write().await;
        match &*catalog {
            Some(known) => Ok(Arc::clone(known)),
            None => Ok(Arc::clone(catalog.insert(Arc::new(self.look().await?)))),
        }
    }

    /// Looks again for the server's resources, until it has one that was just defined, or does not come to have it.
    async fn look_for(&self, defined: &str) -> Result<()> {
        /// A server takes some seconds.
        const MAX_START_ATTEMPTS: usize = 10;
        for _ in 0..MAX_START_ATTEMPTS {
            let catalog = self.look().await?;
            let is_there = catalog.resources.iter().any(|resource| resource.name == defined);
            *self.catalog.write().await = Some(Arc::new(catalog));
            if is_there {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    }

    async fn look(&self) -> Result<Catalog> {
        let mut catalog = Catalog::of(&self.client, &self.wanted).await?;
        if self.wanted.resources.is_empty() {
            self.leave_out_denied(&mut catalog).await?;
        }
        self.leave_out_other_etcds(&mut catalog).await?;
        if catalog.resources.is_empty() {
            let server = self.client.access().server();
            return Err(remote(&server, format!("the API server {server} has no resources that can be recorded"), None));
        }
        Ok(catalog)
    }

    /// Leaves out what this user may not list, where all is wanted.
    async fn leave_out_denied(&self, catalog: &mut Catalog) -> Result<()> {
        let mut denied = Vec::new();
        for resource in &catalog.resources {
            match newest(&self.client, resource).await {
                Err(error) if error.is_denied() => denied.push(resource.name.clone()),
                found => drop(found?),
            }
        }
        if !denied.is_empty() {
            catalog.left_out.push(format!("left out, as this user may not list them: {}", denied.join(", ")));
            catalog.resources.retain(|resource| !denied.contains(&resource.name));
            catalog.lacking.extend(denied);
        }
        Ok(())
    }

    /// Large clusters keep Events in an etcd of their own, whose revisions are not those of the others (`--etcd-servers-overrides`).
    async fn leave_out_other_etcds(&self, catalog: &mut Catalog) -> Result<()> {
        let Some(events) = catalog.resources.iter().find(|resource| resource.name == "events") else { return Ok(()) };
        let Some(other) = catalog.resources.iter().find(|resource| resource.name != "events") else { return Ok(()) };
        let before = newest(&self.client, other).await?;
        let own = newest(&self.client, events).await?;
        let after = newest(&self.client, other).await?;
        if !(before..=after).contains(&own) {
            let sentence = format!("Events are left out: they are at revision {own}, all else is at {after}, so they lie in another etcd");
            catalog.left_out.push(sentence);
            catalog.resources.retain(|resource| resource.name != "events");
            catalog.lacking.push("events".to_owned());
        }
        Ok(())
    }

    /// Returns what is not read though the server has it, one message per item.
    ///
    /// # Errors
    ///
    /// The server refuses, or is not reached.
    pub async fn left_out(&self) -> Result<Vec<String>> {
        Ok(self.catalog().await?.left_out.clone())
    }

    /// Returns what keys begin with that are read; none where all resources are.
    ///
    /// # Errors
    ///
    /// The server refuses, or is not reached.
    pub async fn prefixes(&self) -> Result<Vec<String>> {
        let catalog = self.catalog().await?;
        let all = self.wanted.resources.is_empty();
        Ok(if all { Vec::new() } else { catalog.resources.iter().map(|resource| resource.prefix.clone()).collect() })
    }

    /// Returns what is not read, in phrases: Secrets that were not wanted, and resources that cannot be read.
    ///
    /// # Errors
    ///
    /// The server refuses, or is not reached.
    pub async fn lacking(&self) -> Result<Vec<String>> {
        let mut phrases = left_out_phrases(&self.wanted);
        phrases.extend(self.catalog().await?.lacking.iter().cloned());
        Ok(phrases)
    }

    /// Returns the UID of the namespace `kube-system`, which tells clusters apart; empty where it may not be read.
    ///
    /// # Errors
    ///
    /// The server is not reached.
    pub async fn identity(&self) -> Result<String> {
        let path = format!("/api/v1/namespaces/{IDENTITY_NAMESPACE}");
        match self.client.document(&path, "application/json").await {
            Ok(text) => {
                let namespace: Value = serde_json::from_slice(&text).unwrap_or_default();
                Ok(namespace["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
            }
            Err(failure) => match self.client.error(failure, "the namespace kube-system", &KeyRange::all()) {
                error if error.is_denied() => Ok(String::new()),
                error => Err(error),
            },
        }
    }

    /// Returns why the last gap of a watch is one.
    pub fn missed(&self) -> String {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn newest_revision(&self) -> Result<Revision> {
        let known = self.newest.load(Ordering::Relaxed);
        if known > 0 {
            return Ok(Revision(known));
        }
        self.listed_revision().await
    }

    /// The newest revision that a list names.
    async fn listed_revision(&self) -> Result<Revision> {
        let catalog = self.catalog().await?;
        newest(&self.client, &catalog.resources[0]).await
    }

    fn untrue(&self, what: String) -> Error {
        let endpoint = self.client.access().server();
        Error::Untrue { problem: format!("the API server {endpoint} {what}"), endpoint }
    }

    /// Follows all resources from a revision on until something is missed: passes on what came, and says why it ends.
    fn follow(&self, resources: Vec<Resource>, after: Revision) -> Following<'_> {
        let (to, messages) = channel(MAX_QUEUED_CHANGES);
        let mut tasks = JoinSet::new();
        let order = Order::new(resources.len(), after);
        for (number, resource) in resources.iter().cloned().enumerate() {
            let (client, lists, to, known) = (Arc::clone(&self.client), Arc::clone(&self.lists), to.clone(), HashMap::new());
            tasks.spawn(Watcher { client, lists, resource, number, after, known, to, untrue: 0, empty: 0 }.run());
        }
        Following { server: self, resources, ended: HashSet::new(), order, messages, begun: Instant::now(), listed: after, _tasks: tasks }
    }
}

/// The watches of all resources.
struct Following<'a> {
    server: &'a ApiServer,
    resources: Vec<Resource>,
    ended: HashSet<usize>,
    order: Order,
    messages: Receiver<Message>,
    begun: Instant,
    /// The newest revision that a list named, or that they begin after.
    listed: Revision,
    _tasks: JoinSet<()>,
}

/// What comes next of the watches.
enum Step {
    Items(Vec<WatchItem>),
    /// They cannot go on.
    Missed(Missed),
}

/// Why watches cannot go on.
struct Missed {
    reason: String,
    /// The custom resource that is to be followed too.
    defined: Option<String>,
}

impl Missed {
    fn of(reason: String) -> Self {
        Self { reason, defined: None }
    }
}

impl Following<'_> {
    /// Waits for what comes next.
    async fn step(&mut self) -> Result<Step> {
        let mut look = interval(SETTLE_CHECK_INTERVAL);
        look.tick().await;
        loop {
            let message = tokio::select! {
                message = self.messages.recv() => message,
                _ = look.tick() => None,
            };
            let mut next = message;
            while let Some(message) = next {
                if let Some(missed) = self.take(message)? {
                    return Ok(Step::Missed(missed));
                }
                next = self.messages.try_recv().ok();
            }
            self.check_newest().await?;
            self.server.newest.fetch_max(self.order.newest().0, Ordering::Relaxed);
            let before = self.order.passed();
            let (events, complete) = self.order.take(self.begun.elapsed());
            if complete > before {
                let mut items: Vec<WatchItem> = events.into_iter().map(WatchItem::Event).collect();
                items.push(WatchItem::Progress(complete));
                return Ok(Step::Items(items));
            }
        }
    }

    /// Holds the newest revision that watches brought against a list, where it is far beyond the last one: a revision that does not exist would be
    /// recorded, and all that exist would come too late.
    async fn check_newest(&mut self) -> Result<()> {
        let (newest, ahead) = (self.order.newest(), self.server.client.access().limits.ahead);
        if newest.0 - self.listed.0 <= ahead {
            return Ok(());
        }
        self.listed = patiently(|| self.server.listed_revision()).await?;
        if newest <= self.listed {
            return Ok(());
        }
        Err(self.server.untrue(format!("sends revision {newest} in its watches, but the newest in its lists is {}", self.listed)))
    }

    /// Says that more changes wait than are held.
    fn too_many_waiting(&self) -> Error {
        let server = self.server.client.access().server();
        let last = self.order.last().map_or("another resource", |number| &self.resources[number].name);
        let mib = self.order.waiting() >> 20;
        remote(
            &server,
            format!(
                "{mib} MiB of changes wait for the watch of {last}, which the API server {server} does not answer; ketcd holds no more"
            ),
            Some("check that server, or record only other resources (--resources)"),
        )
    }

    /// Takes what a watch says; returns why something is missed, if it is.
    fn take(&mut self, message: Message) -> Result<Option<Missed>> {
        let now = self.begun.elapsed();
        match message {
            Message::Connected(number) => self.order.connection(number, true, now),
            Message::Lost(number) => self.order.connection(number, false, now),
            Message::Ended(number) => {
                self.ended.insert(number);
                self.order.end(number);
            }
            Message::Bookmark(number, revision) => self.order.bookmark(number, revision, now),
            Message::Expired(reason) => return Ok(Some(Missed::of(reason))),
            Message::Failed(error) => return Err(error),
            Message::Change(number, event) => {
                let defined = self.defined(number, &event);
                if let Err(late) = self.order.event(number, event, now) {
                    let (name, revision) = (&self.resources[number].name, late.revision);
                    let reason = format!("a change of {name} of revision {revision} came after later ones were recorded");
                    return Ok(Some(Missed::of(reason)));
                }
                if self.order.waiting() > self.server.client.access().limits.waiting {
                    return Err(self.too_many_waiting());
                }
                if let Some(name) = defined {
                    let reason = format!("{name} was defined; ketcd follows it from then on");
                    return Ok(Some(Missed { reason, defined: Some(name) }));
                }
            }
        }
        Ok(None)
    }

    /// The resource that a change of a definition adds to the server's.
    fn defined(&self, number: usize, event: &Event) -> Option<String> {
        if self.resources[number].name != CRD_RESOURCE || event.kind != EventKind::Put || !self.server.wanted.resources.is_empty() {
            return None;
        }
        let definition: Value = serde_json::from_slice(&event.key_value.value).ok()?;
        let name = definition["metadata"]["name"].as_str()?;
        let is_followed = self.resources.iter().enumerate().any(|(number, known)| known.name == name && !self.ended.contains(&number));
        if is_followed {
            return None;
        }
        let conditions = definition["status"]["conditions"].as_array()?;
        let is_served = conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True");
        is_served.then(|| name.to_owned())
    }
}

/// Repeats a request as long as the server is not reached.
async fn patiently<T, F: Future<Output = Result<T>>>(mut request: impl FnMut() -> F) -> Result<T> {
    loop {
        match request().await {
            Err(Error::Remote { .. }) => sleep(jitter(Duration::from_secs(5))).await,
            answer => return answer,
        }
    }
}

impl NoShortcuts for ApiServer {}

impl Source for ApiServer {
    fn facts(&self) -> Facts<'_> {
        Facts {
            history: HistoryKind::Changes,
            earlier: EarlierRevisions::Compacted,
            withheld: Withheld::default(),
            has_all_keys: false,
            damage: &[],
            left_out: &[],
            companions: &[],
            late_damage: None,
            before: None,
            arrivals: None,
            log: None,
            live: None,
        }
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        async move {
            let access = self.client.access();
            let mut status = SourceStatus::new(SourceKind::Objects, format!("kubeconfig:{} ({})", access.name(), access.server()));
            status.newest = Some(self.newest_revision().await?);
            Ok(status)
        }
        .boxed()
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        async move {
            let newest = self.newest_revision().await?;
            Ok(RevisionSpan { oldest: newest, newest, compacted: Some(newest) })
        }
        .boxed()
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        async move {
            let revision = match at {
                At::Revision(revision) => revision,
                At::Newest => self.newest_revision().await?,
            };
            let entries = try_stream! {
                let catalog = self.catalog().await?;
                for resource in &catalog.resources {
                    let own = resource.keys();
                    if !keys.covers(&own) && !own.covers(&keys) {
                        continue;
                    }
                    let wanted = if keys.covers(&own) { own } else { keys.clone() };
                    let mut entries = std::pin::pin!(list(&self.client, resource, wanted, revision, want));
                    while let Some(entry) = entries.try_next().await? {
                        yield entry;
                    }
                }
            };
            Ok(Listing { revision, entries: entries.boxed() })
        }
        .boxed()
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        try_stream! {
            let (mut after, mut expired, mut backoff) = (from.before(), 0, Backoff::default());
            loop {
                let mut resources = self.catalog().await?.resources.clone();
                resources.retain(|resource| keys.covers(&resource.keys()) || resource.keys().covers(&keys));
                let mut following = self.follow(resources, after);
                let missed = loop {
                    match following.step().await? {
                        Step::Missed(missed) => break missed,
                        Step::Items(items) => {
                            for item in items {
                                yield item;
                            }
                            if matches!(until, Until::Revision(end) if following.order.passed() >= end) {
                                return;
                            }
                        }
                    }
                };
                let (passed, seen) = (following.order.passed(), following.order.newest());
                drop(following);
                *self.missed.lock().unwrap_or_else(PoisonError::into_inner) = missed.reason;
                let missed_by_server = missed.defined.is_none();
                if let Some(defined) = missed.defined {
                    patiently(|| self.look_for(&defined)).await?;
                }
                self.newest.store(0, Ordering::Relaxed);
                let newest = patiently(|| self.newest_revision()).await?;
                if newest < seen {
                    let problem = format!("names {newest} as its newest revision after its watches have brought {seen}: it was restored from a backup, or does not tell the truth");
                    Err(self.untrue(problem))?;
                }
                let brought_nothing = passed == after && missed_by_server;
                expired = if brought_nothing { expired + 1 } else { 0 };
                if expired > self.client.access().limits.expired {
                    Err(self.untrue(format!("says again and again that its changes after revision {passed} expired, and sends none")))?;
                }
                if newest > passed {
                    // The last of them counts as missed too, and the state at it has what it wrote.
                    yield WatchItem::Gap { from: passed.after(), to: newest.before() };
                }
                if expired > 1 {
                    sleep(backoff.after_failure(None)).await;
                } else {
                    backoff.works();
                }
                after = newest;
            }
        }
        .boxed()
    }
}
