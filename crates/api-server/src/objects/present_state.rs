//! The state of one moment as a [`Source`]: lists of what a question needs, all at the revision of the first.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, TryFutureExt};
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use ketcd_store::{
    At, EarlierRevisions, Error, Event, EventKind, Facts, HistoryKind, KeyRange, KeyValue, Listing, NoShortcuts, Origin, Result, Revision,
    RevisionSpan, Source, SourceKind, SourceStatus, Sources, Until, Want, WatchItem, Withheld,
};
use tokio::sync::OnceCell;

use super::catalog::{Catalog, Resource, WantedResources, left_out_phrases};
use super::listing::{list, newest};
use crate::kubeconfig::Access;
use crate::problem::remote;
use crate::transport::Client;

/// What a running API server has at the moment of the first question. Nothing is requested before.
pub struct PresentState {
    client: Client,
    wanted: WantedResources,
    opened: OnceCell<Opened>,
    lists: Mutex<HashMap<String, Arc<OnceCell<Vec<KeyValue>>>>>,
    held: AtomicUsize,
    tell: Tell,
    /// What this user may not list.
    denied: Mutex<BTreeSet<String>>,
}

/// Says something that the user should know while a question is still being answered.
type Tell = Box<dyn Fn(&str) + Send + Sync>;

struct Opened {
    catalog: Catalog,
    revision: Revision,
}

impl PresentState {
    /// Reads the server that `access` leads to; Secrets are requested if `secrets` is set. `tell` says what is left out, when that is known.
    pub fn new(access: Access, secrets: bool, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let wanted = WantedResources { resources: Vec::new(), secrets };
        Self {
            client: Client::new(access),
            wanted,
            opened: OnceCell::new(),
            lists: Mutex::default(),
            held: AtomicUsize::new(0),
            tell: Box::new(tell),
            denied: Mutex::default(),
        }
    }

    async fn opened(&self) -> Result<&Opened> {
        self.opened.get_or_try_init(|| self.open()).await
    }

    async fn open(&self) -> Result<Opened> {
        let catalog = Catalog::of(&self.client, &self.wanted).await?;
        catalog.left_out.iter().for_each(|sentence| (self.tell)(sentence));
        let mut denied = None;
        // Namespaces are few and every user may read some of them; a user of few rights may read other resources alone.
        let namespaces = catalog.resources.iter().filter(|resource| resource.name == "namespaces");
        for resource in namespaces.chain(catalog.resources.iter().filter(|resource| resource.name != "namespaces")) {
            match newest(&self.client, resource).await {
                Ok(revision) => return Ok(Opened { catalog, revision }),
                Err(error) if error.is_denied() => denied = denied.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        let server = self.client.access().server();
        Err(denied.unwrap_or_else(|| remote(&server, format!("the API server {server} has no resources that lie in etcd"), None)))
    }

    /// The objects of one resource whose keys are in a range; each list is requested once.
    async fn listed(&self, resource: &Resource, keys: &KeyRange, revision: Revision) -> Result<Vec<KeyValue>> {
        let (all, selected) = (resource.path(&resource.keys()), resource.path(keys));
        let name = |(path, name): &(String, Option<String>)| format!("{path} {}", name.as_deref().unwrap_or_default());
        let cell = {
            let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
            let whole = lists.get(&name(&all)).filter(|cell| cell.initialized()).cloned();
            whole.unwrap_or_else(|| Arc::clone(lists.entry(name(&selected)).or_default()))
        };
        let read = || async {
            let mut listed = pin!(list(&self.client, resource, keys_of(resource, &selected), revision, Want::Values));
            let mut entries = Vec::new();
            while let Some(entry) = listed.try_next().await.map_err(|error| self.explained(error))? {
                self.hold(&entry, resource)?;
                entries.push(entry);
            }
            Ok::<_, Error>(entries)
        };
        let entries = cell.get_or_try_init(read).await?;
        Ok(entries.iter().filter(|entry| keys.contains(&entry.key)).cloned().collect())
    }

    fn hold(&self, entry: &KeyValue, resource: &Resource) -> Result<()> {
        /// What is known of an object beside its text.
        const OBJECT_OVERHEAD_BYTES: usize = 200;
        let length = entry.key.len() + entry.value.len() + OBJECT_OVERHEAD_BYTES;
        let (held, most) = (self.held.fetch_add(length, Ordering::Relaxed) + length, self.client.access().limits.state);
        if held <= most {
            return Ok(());
        }
        let endpoint = self.client.access().server();
        let problem = format!(
            "the API server {endpoint} has more than {} MiB of objects, {} among them, and no more are held at once",
            most >> 20,
            resource.name
        );
        Err(remote(&endpoint, problem, Some("name a kind and a namespace, or use ketcd record DIR --kubeconfig")))
    }

    fn explained(&self, error: Error) -> Error {
        match error {
            Error::Compacted { asked, .. } => remote(
                &self.client.access().server(),
                format!("revision {asked} was compacted while ketcd read it: a control plane keeps five minutes of history"),
                Some("start the command again, or ask for less at once"),
            ),
            Error::Future { asked, .. } => remote(
                &self.client.access().server(),
                format!(
                    "these objects have not reached revision {asked}, at which ketcd reads everything: they may be in another etcd (--etcd-servers-overrides)"
                ),
                Some("read them alone: ketcd record DIR --kubeconfig --resources events"),
            ),
            error => error,
        }
    }

    fn is_denied(&self, name: &str) -> bool {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    fn deny(&self, name: &str, error: &Error) {
        if self.denied.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned()) {
            (self.tell)(&format!("{name} are left out: {error}"));
        }
    }

    async fn entries(&self, keys: &KeyRange) -> Result<(Revision, Vec<KeyValue>)> {
        let Opened { catalog, revision } = self.opened().await?;
        let mut found = Vec::new();
        for resource in catalog.resources.iter().filter(|resource| overlaps(&resource.keys(), keys)) {
            // A question about more than one resource is answered without those that may not be read.
            let is_wider = !resource.keys().covers(keys);
            if is_wider && self.is_denied(&resource.name) {
                continue;
            }
            match self.listed(resource, keys, *revision).await {
                Err(error) if error.is_denied() && is_wider => self.deny(&resource.name, &error),
                listed => found.extend(listed?),
            }
        }
        Ok((*revision, found))
    }
}

/// The keys that a list selects.
fn keys_of(resource: &Resource, (path, name): &(String, Option<String>)) -> KeyRange {
    let namespace = path.split("/namespaces/").nth(1).and_then(|rest| rest.split_once('/')).map(|(namespace, _)| namespace);
    match (namespace, name) {
        (namespace, Some(name)) => KeyRange::key(resource.key(namespace, name)),
        (Some(namespace), None) => KeyRange::prefix(format!("{}{namespace}/", resource.prefix)),
        (None, None) => resource.keys(),
    }
}

fn overlaps(one: &KeyRange, other: &KeyRange) -> bool {
    let begins_before_end = |start: &[u8], end: &Option<Vec<u8>>| end.as_deref().is_none_or(|end| start < end);
    begins_before_end(&one.start, &other.end) && begins_before_end(&other.start, &one.end)
}

impl NoShortcuts for PresentState {}

impl Source for PresentState {
    fn facts(&self) -> Facts<'_> {
        Facts {
            history: HistoryKind::OneMoment,
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
        let access = self.client.access();
        async move {
            let mut status = SourceStatus::new(SourceKind::Objects, format!("kubeconfig:{} ({})", access.name(), access.server()));
            let opened = self.opened().await?;
            status.newest = Some(opened.revision);
            let secrets = left_out_phrases(&self.wanted).into_iter().map(|phrase| format!("{phrase} (--show-secrets requests them)"));
            status.not_recorded = secrets.collect();
            status.problems.clone_from(&opened.catalog.left_out);
            Ok(status)
        }
        .boxed()
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        async move {
            let revision = self.opened().await?.revision;
            Ok(RevisionSpan { oldest: revision, newest: revision, compacted: None })
        }
        .boxed()
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        async move {
            let (revision, mut entries) = self.entries(&keys).await?;
            if let At::Revision(asked) = at
                && asked != revision
            {
                return Err(Error::OneMoment { asked });
            }
            if want == Want::Keys {
                entries.iter_mut().for_each(|entry| entry.value = bytes::Bytes::new());
            }
            Ok(Listing { revision, entries: stream::iter(entries.into_iter().map(Ok)).boxed() })
        }
        .boxed()
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        let items = async move {
            let (newest, mut entries) = self.entries(&keys).await?;
            let to = if let Until::Revision(to) = until { to.min(newest) } else { newest };
            entries.retain(|entry| (from..=to).contains(&entry.mod_revision));
            entries.sort_by_key(|entry| entry.mod_revision);
            let mut last = (Revision(0), 0);
            let mut items = Vec::with_capacity(entries.len() + 1);
            for key_value in entries {
                last = if last.0 == key_value.mod_revision { (last.0, last.1 + 1) } else { (key_value.mod_revision, 0) };
                let (revision, kind, origin, sources) = (last.0, EventKind::Put, Origin::Objects, Sources::default());
                items.push(Ok(WatchItem::Event(Event { revision, sub_revision: last.1, kind, key_value, origin, sources })));
            }
            items.push(Ok(WatchItem::Progress(to)));
            Ok::<_, Error>(stream::iter(items))
        };
        items.try_flatten_stream().boxed()
    }
}
