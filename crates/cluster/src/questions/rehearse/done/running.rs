//! What the running cluster has of the objects that forecasts are about, read in one pass.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_kube::{Body, Kinds, Object, RegistryKey};
use ketcd_store::{At, KeyRange, Revision, Want};

use super::super::forecast::{Affected, ForecastKind};
use super::super::rehearsal::Rehearsal;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::kinds::KeySubject;

/// The kind, namespace and name of an object.
type Name = (String, String, String);

/// The running cluster, as far as forecasts are about it.
#[derive(Default)]
pub(super) struct Running {
    /// Its revision.
    pub revision: Revision,
    /// When the newest state was written that the forecast was made from; `None` where nothing dates it.
    pub forecast_time: Option<Timestamp>,
    /// The addresses of API servers in the `kubernetes` Service; read only where a forecast is about API servers.
    pub api_servers: BTreeSet<String>,
    objects: BTreeMap<Name, Present>,
    /// By namespace and name of a Job, a pod of it that was created or started after the newest state.
    new_pods: BTreeMap<(String, String), NewPod>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Present {
    /// Its uid; empty where it has none.
    pub uid: String,
    /// Where a pod runs; empty where it runs nowhere.
    pub node: String,
    /// The status of a node's condition Ready; empty where it has none.
    pub ready: String,
    /// When a Job started last.
    pub started: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewPod {
    /// Its name.
    pub name: String,
    /// When it was created, or when a container of it started last, if that was later.
    pub since: Timestamp,
}

impl Running {
    /// Reads the newest state.
    pub(super) async fn read(rehearsal: &Rehearsal, live: &Cluster) -> Result<Self> {
        let (prefix, kinds, revision) = (live.prefix().await?, live.kinds().await?, live.revision().await?);
        let affected = || rehearsal.forecasts.iter().flat_map(|forecast| &forecast.affected);
        let wanted: BTreeSet<Name> = affected().map(name_of).collect();
        let forecasts =
            |kind: ForecastKind| rehearsal.forecasts.iter().any(|forecast| forecast.kind == kind && !forecast.affected.is_empty());
        let (has_jobs, has_servers) = (forecasts(ForecastKind::JobsAgain), forecasts(ForecastKind::ApiServers));
        let forecast_time = rehearsal.newest().and_then(|newest| newest.written);
        let mut running = Self { revision, forecast_time, ..Self::default() };
        let keys = KeyRange::prefix(format!("{prefix}/"));
        let mut entries = live.source.range(keys, At::Revision(revision), Want::Values).await?.entries;
        while let Some(entry) = entries.try_next().await? {
            let Some(name) = name_of_key(prefix, &entry.key, kinds) else { continue };
            let (is_wanted, is_pod) = (wanted.contains(&name), has_jobs && name.0 == "Pod");
            let is_service = has_servers && is_of_api_servers(&name);
            if !is_wanted && !is_pod && !is_service {
                continue;
            }
            let object = match live.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
                Body::Object(object) => Some(object),
                Body::Opaque(_) => None,
            };
            if let (true, Some(object)) = (is_pod, &object) {
                running.note_pod(&name, object);
            }
            if let (true, Some(object)) = (is_service, &object) {
                running.api_servers.extend(addresses(object));
            }
            if is_wanted {
                running.objects.insert(name, object.map(|object| Present::of(&object)).unwrap_or_default());
            }
        }
        Ok(running)
    }

    /// The object that a forecast is about, as it is now; `None` where it is not there.
    pub(super) fn present(&self, affected: &Affected) -> Option<&Present> {
        self.objects.get(&name_of(affected))
    }

    /// A pod of a Job that was created or started after the newest state.
    pub(super) fn new_pod(&self, job: &Affected) -> Option<&NewPod> {
        self.new_pods.get(&(job.subject.namespace.clone(), job.subject.name.clone()))
    }

    /// Notes a pod of a Job that is newer than the forecast.
    fn note_pod(&mut self, (_, namespace, name): &Name, pod: &Object) {
        let since = time(&pod["metadata"]["creationTimestamp"]).max(started(pod));
        let Some(since) = since.filter(|since| self.forecast_time.is_some_and(|forecast| *since > forecast)) else { return };
        for owner in pod["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
            if let ("Job", Some(job)) = (owner["kind"].as_str().unwrap_or_default(), owner["name"].as_str()) {
                let new = NewPod { name: name.clone(), since };
                self.new_pods.entry((namespace.clone(), job.to_owned())).or_insert(new);
            }
        }
    }
}

impl Present {
    fn of(object: &Object) -> Self {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let status = &object["status"];
        let ready = status["conditions"].as_array().into_iter().flatten().find(|condition| condition["type"] == "Ready");
        Self {
            uid: text(&object["metadata"]["uid"]),
            node: text(&object["spec"]["nodeName"]),
            ready: ready.map(|condition| text(&condition["status"])).unwrap_or_default(),
            started: time(&status["startTime"]),
        }
    }
}

/// Whether an object holds the addresses of the `kubernetes` Service.
fn is_of_api_servers((kind, namespace, name): &Name) -> bool {
    matches!(kind.as_str(), "Endpoints" | "EndpointSlice") && (namespace.as_str(), name.as_str()) == ("default", "kubernetes")
}

/// The addresses of Endpoints or of an EndpointSlice.
fn addresses(object: &Object) -> Vec<String> {
    let items = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let subsets = items(&object["subsets"]).into_iter().flat_map(|subset| items(&subset["addresses"]));
    let of_subsets = subsets.filter_map(|address| address["ip"].as_str().map(str::to_owned));
    let slices = items(&object["endpoints"]).into_iter().flat_map(|endpoint| items(&endpoint["addresses"]));
    of_subsets.chain(slices.filter_map(|address| address.as_str().map(str::to_owned))).collect()
}

/// When a container of a pod started last: a pod of the backup that was deleted since is started again, under its uid of then.
fn started(pod: &Object) -> Option<Timestamp> {
    let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    let states = statuses.flat_map(|status| [&status["state"]["running"], &status["state"]["terminated"]]);
    states.filter_map(|state| time(&state["startedAt"])).max()
}

fn time(value: &serde_json::Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn name_of(affected: &Affected) -> Name {
    let KeySubject { kind, namespace, name } = &affected.subject;
    (kind.clone(), namespace.clone(), name.clone())
}

/// The object of a key. What an API server keeps without a kind, such as `masterleases/10.0.0.1`, has the first part of its path for one.
fn name_of_key(prefix: &str, key: &[u8], kinds: &Kinds) -> Option<Name> {
    match RegistryKey::parse(prefix, key, kinds) {
        RegistryKey::Object(path) => {
            let KeySubject { kind, namespace, name } = KeySubject::of(path);
            Some((kind, namespace, name))
        }
        RegistryKey::Special(path) => path.split_once('/').map(|(kind, name)| (kind.to_owned(), String::new(), name.to_owned())),
        RegistryKey::Foreign => None,
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}
