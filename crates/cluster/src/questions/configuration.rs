//! A pod with the ConfigMaps and Secrets that its containers started with.

use std::sync::Arc;

use futures_util::TryStreamExt;

use ketcd_history::AttributedChange;
use ketcd_history::clock::{Clock, Dated};
use ketcd_history::config::{self, ConfigKind, Use};
use ketcd_kube::{Body, Object};
use ketcd_store::{At, KeyRange, Revision, Until, Want};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::read::{History, Keys, Read, events};

/// A pod and when its containers last started.
pub struct Started {
    /// The pod.
    pub pod: Object,
    /// The revision that shows the last start; `None` where none has started in the readable history.
    pub revision: Option<Revision>,
    /// When that was.
    pub dated: Option<Dated>,
    /// What it takes its configuration from.
    pub config: Vec<Config>,
}

/// A ConfigMap or Secret of the pod.
pub struct Config {
    /// Which.
    pub kind: ConfigKind,
    /// Its name; the namespace is the pod's.
    pub name: String,
    /// How the pod uses it.
    pub used: Use,
    /// As it was when the containers started; `None` where there was none, or where it cannot be read any more.
    pub then: Option<Object>,
    /// When `then` was written; `None` where nothing dates that.
    pub written: Option<Dated>,
    /// As it is at the revision looked at; `None` where it is gone.
    pub now: Option<Object>,
    /// Why `then` is not known, where it is not.
    pub problem: Option<String>,
}

impl Cluster {
    /// Reads a pod's history up to the revision looked at, and its configuration as it was at the last start and is now; `None` where there is no pod.
    ///
    /// # Errors
    /// The source cannot be read, or a ConfigMap or Secret not be decoded.
    pub async fn started(&self, pod: Keys) -> Result<Option<Started>> {
        let newest = self.revision().await?;
        let Some((pod, revision)) = last_start(self, pod, newest).await? else { return Ok(None) };
        let mut config = configuration(self, &pod, revision, newest).await?;
        let mut dated = None;
        if let Some(revision) = revision {
            let clock = self.clock().await?;
            dated = clock.date(revision);
            config.iter_mut().for_each(|config| config.written = written_at(config.then.as_ref()).and_then(|written| clock.date(written)));
        }
        Ok(Some(Started { pod: Arc::unwrap_or_clone(pod), revision, dated, config }))
    }
}

/// The pod as it is, and the revision that shows the last start of one of its containers.
async fn last_start(cluster: &Cluster, keys: Keys, newest: Revision) -> Result<Option<(Arc<Object>, Option<Revision>)>> {
    let mut found: Option<(Arc<Object>, Option<Revision>)> = None;
    // When the others were made is not asked.
    let undated = Arc::new(Clock::default());
    let mut changes = History::of_events(cluster, events(cluster, keys, Until::Revision(newest)), undated, |_| false).changes();
    while let Some(read) = changes.try_next().await? {
        let Read::Item(AttributedChange { change, .. }) = read else { continue };
        let before = change.before.object();
        found = change.after.whole().map(|after| {
            let known = found.take().and_then(|(_, revision)| revision).filter(|_| before.is_some());
            let seen = matches!(change.before, ketcd_history::ObjectVersion::Unreadable);
            let started = !seen && config::started(before, after);
            (Arc::clone(after), if started { Some(change.revision) } else { known })
        });
    }
    Ok(found)
}

async fn configuration(cluster: &Cluster, pod: &Object, started: Option<Revision>, newest: Revision) -> Result<Vec<Config>> {
    let (kinds, prefix) = (cluster.kinds().await?, cluster.prefix().await?);
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
    let oldest = cluster.source.span().await?.oldest;
    let mut found = Vec::new();
    for ((kind, name), used) in config::sources(pod) {
        let row = kinds.find(kind.as_str())?;
        let key = row.key(prefix, Some(namespace), &name);
        let now = version(cluster, &key, newest).await?;
        let (then, problem) = match started {
            Some(revision) if revision >= oldest => (version(cluster, &key, revision).await?, None),
            Some(revision) => (None, Some(format!("revision {revision} was compacted: the configuration at that time cannot be read"))),
            None => (now.clone(), None),
        };
        found.push(Config { kind, name, used, then, written: None, now, problem });
    }
    Ok(found)
}

fn written_at(version: Option<&Object>) -> Option<Revision> {
    version?["metadata"]["resourceVersion"].as_str()?.parse().ok().map(Revision)
}

async fn version(cluster: &Cluster, key: &str, at: Revision) -> Result<Option<Object>> {
    let mut listing = cluster.source.range(KeyRange::key(key), At::Revision(at), Want::Values).await?;
    let Some(entry) = listing.entries.try_next().await? else { return Ok(None) };
    let decoded = cluster.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
    match decoded.body {
        Body::Object(object) => Ok(Some(object)),
        Body::Opaque(_) => Err(Error::invalid(format!("{key} cannot be decoded")).hint("if it is encrypted, add --encryption-config")),
    }
}
