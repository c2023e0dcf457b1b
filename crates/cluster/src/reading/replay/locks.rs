//! The objects by which scheduler processes are elected, and whose pods each of them decides about.
//!
//! A process holds a Lease, in old releases an annotation of an Endpoints or a ConfigMap (`resourceLock`, client-go `tools/leaderelection`).
//! It is called as the configuration says, `kube-system/kube-scheduler` by default. Any other is taken for a scheduler's by the program that writes
//! it, or by its holder. Which pods its scheduler decides about is told by the Event that announces a leader: its component is the first profile.

use std::collections::BTreeSet;
use std::pin::pin;

use futures_util::TryStreamExt;
use serde_json::Value;

use ketcd_scheduler::{LeaderLock, RestartedSchedulers};
use ketcd_store::{At, KeyRange, KeyValue, Revision, Want};

use super::feed::Feed;
use crate::error::Result;
use crate::notice::RestartsUnknown;

/// The annotation that holds a leader's record where the lock is not a Lease.
const LEADER_ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";

/// Where locks other than Leases are.
const OLD_PLACES: [&str; 2] = ["services/endpoints", "configmaps"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    /// Its key.
    pub key: String,
    /// Its namespace and name, as `NAMESPACE/NAME`.
    pub name: String,
    /// The schedulers whose processes hold it.
    pub schedulers: RestartedSchedulers,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Who holds it; `None` where nobody does.
    pub holder: Option<String>,
    /// How often another one took it.
    transitions: i64,
    created: i64,
}

impl Feed<'_> {
    /// The schedulers' locks that exist at one of two revisions.
    pub(super) async fn locks(&self, between: [Revision; 2]) -> Result<Vec<Lock>> {
        let mut found: Vec<(String, String)> = Vec::new();
        for at in between {
            for entry in self.lock_entries(at).await? {
                let key = String::from_utf8_lossy(&entry.key).into_owned();
                let Some(name) = self.lock_name(&key) else { continue };
                let is_known = found.iter().any(|(_, known)| *known == name);
                if !is_known && (self.is_named(&name) || self.object(&entry).is_some_and(|object| is_of_scheduler(&name, &object))) {
                    found.push((key, name));
                }
            }
        }
        let mut named = Vec::new();
        for (_, name) in &found {
            named.push(self.schedulers_of(name, between).await?);
        }
        let claimed: BTreeSet<String> = named.iter().flatten().cloned().collect();
        let locks = found.into_iter().zip(named).map(|((key, name), certain)| {
            let excluded = claimed.difference(&certain).cloned().collect();
            // Only a configuration names all profiles.
            let others = self.configured_lock().is_none_or(|configured| configured != name);
            Lock { key, name, schedulers: RestartedSchedulers::new(certain, excluded, others) }
        });
        Ok(locks.collect())
    }

    /// The entries that may be locks: Leases but those of nodes, and the other places of locks that are known by name.
    async fn lock_entries(&self, at: Revision) -> Result<Vec<KeyValue>> {
        let leases = |from: &str, to: &str| KeyRange {
            start: format!("{}leases{from}", self.prefix).into_bytes(),
            end: Some(format!("{}leases{to}", self.prefix).into_bytes()),
        };
        // A '0' follows the '/'.
        let mut ranges = vec![leases("/", "/kube-node-lease/"), leases("/kube-node-lease0", "0")];
        let names: BTreeSet<String> = self.configured_lock().into_iter().chain([default_name()]).collect();
        let of_name = |name: &String| OLD_PLACES.map(|place| KeyRange::key(format!("{}{place}/{name}", self.prefix)));
        ranges.extend(names.iter().flat_map(of_name));
        let mut found = Vec::new();
        let mut is_denied = false;
        for range in ranges {
            match self.entries(range, at).await {
                Err(error) if error.refusal().is_some() => is_denied = true,
                entries => found.extend(entries?),
            }
        }
        if is_denied {
            // Who may not list Leases may be allowed to read the one that matters.
            for name in names {
                match self.entries(KeyRange::key(format!("{}leases/{name}", self.prefix)), at).await {
                    Err(error) if error.refusal().is_some() => self.note_unknown(RestartsUnknown::Denied { lock: name }),
                    entries => found.extend(entries?),
                }
            }
        }
        Ok(found)
    }

    /// The names of the schedulers that hold a lock, as far as they are known.
    async fn schedulers_of(&self, name: &str, at: [Revision; 2]) -> Result<BTreeSet<String>> {
        if let Some(configured) = &self.configured
            && self.configured_lock().is_some_and(|configured| configured == name)
        {
            return Ok(configured.profiles.clone());
        }
        let mut found = BTreeSet::new();
        for at in at {
            let below = KeyRange::prefix(format!("{}events/{name}.", self.prefix));
            match self.entries(below, at).await {
                Err(error) if error.refusal().is_some() => break,
                entries => found.extend(entries?.iter().filter_map(|entry| announcer(&self.object(entry)?))),
            }
        }
        if found.is_empty() && name == default_name() {
            found.insert("default-scheduler".to_owned());
        }
        Ok(found)
    }

    pub(super) fn held(&self, entry: &KeyValue) -> Held {
        let Some(object) = self.object(entry) else { return Held { created: entry.create_revision.0, ..Held::default() } };
        let parsed =
            object["metadata"]["annotations"][LEADER_ANNOTATION].as_str().and_then(|record| serde_json::from_str::<Value>(record).ok());
        let (record, transitions) = match &parsed {
            Some(record) => (record, "leaderTransitions"),
            None => (&object["spec"], "leaseTransitions"),
        };
        Held {
            holder: record["holderIdentity"].as_str().filter(|holder| !holder.is_empty()).map(str::to_owned),
            transitions: record[transitions].as_i64().unwrap_or(0),
            created: entry.create_revision.0,
        }
    }

    pub(super) async fn entries(&self, range: KeyRange, at: Revision) -> Result<Vec<KeyValue>> {
        let mut found = Vec::new();
        let listing = self.cluster.source.range(range, At::Revision(at), Want::Values).await?;
        let mut entries = pin!(listing.entries);
        while let Some(entry) = entries.try_next().await? {
            found.push(entry);
        }
        Ok(found)
    }

    /// The object in an entry, if it can be decoded.
    pub(super) fn object(&self, entry: &KeyValue) -> Option<Value> {
        self.cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).object().cloned()
    }

    /// The namespace and the name of a lock, from its key.
    fn lock_name(&self, key: &str) -> Option<String> {
        let path = key.strip_prefix(&self.prefix)?;
        let place = OLD_PLACES.iter().chain(&["leases"]).find_map(|place| path.strip_prefix(place)?.strip_prefix('/'))?;
        Some(place.to_owned())
    }

    fn is_named(&self, name: &str) -> bool {
        name == default_name() || self.configured_lock().is_some_and(|configured| configured == name)
    }

    fn configured_lock(&self) -> Option<String> {
        self.configured.as_ref()?.lock.as_ref().map(|lock| format!("{}/{}", lock.namespace, lock.name))
    }
}

fn default_name() -> String {
    let LeaderLock { namespace, name } = LeaderLock::default();
    format!("{namespace}/{name}")
}

/// Whether a lock of another name is a scheduler's: by its name, the program that writes it, or its holder, which is the host's or the pod's name.
fn is_of_scheduler(name: &str, object: &Value) -> bool {
    let tells = |text: &str| text.contains("scheduler") && !text.contains("descheduler");
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let holder = object["spec"]["holderIdentity"].as_str().unwrap_or_default();
    tells(name) || tells(holder) || managers.filter_map(|fields| fields["manager"].as_str()).any(tells)
}

/// The component of an Event that announces a leader.
fn announcer(event: &Value) -> Option<String> {
    let components = [&event["source"]["component"], &event["reportingComponent"]];
    let component = components.into_iter().find_map(|component| component.as_str().filter(|component| !component.is_empty()))?;
    (event["reason"] == "LeaderElection").then(|| component.to_owned())
}
