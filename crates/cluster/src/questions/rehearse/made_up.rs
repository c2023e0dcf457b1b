//! Two states that a test makes up of objects.

use jiff::Timestamp;
use serde_json::{Value, json};

use ketcd_kube::Release;
use ketcd_store::load::{self, Limits};
use ketcd_testing::etcd_file::Record;
use ketcd_testing::snapshot;

use super::forecast::{Forecast, ForecastKind};
use super::rehearse_options::RehearseAsked;
use super::states::States;
use crate::cluster::{Cluster, built_in};
use crate::options::Options;

/// When the tests ask.
pub(super) const NOW: &str = "2026-11-28T12:00:00Z";

/// The first revision of a backup, and of a newest state.
const FIRST_REVISIONS: [i64; 2] = [2, 5_000];

/// A backup and perhaps a newer state.
pub(super) struct MadeUp {
    backup: Cluster,
    newest: Option<Cluster>,
    asked: RehearseAsked,
}

impl MadeUp {
    /// A backup that is held against a newer state.
    pub(super) async fn two(backup: &[Value], newest: &[Value]) -> Self {
        Self { newest: Some(cluster(newest, FIRST_REVISIONS[1]).await), ..Self::alone(backup).await }
    }

    /// A backup without a newer state.
    pub(super) async fn alone(backup: &[Value]) -> Self {
        let asked = RehearseAsked { now: Some(NOW.parse::<Timestamp>().unwrap()), ..RehearseAsked::default() };
        Self { backup: cluster(backup, FIRST_REVISIONS[0]).await, newest: None, asked }
    }

    /// Both, compared.
    pub(super) async fn states(&self) -> States<'_> {
        States::of(&self.backup, self.newest.as_ref(), &self.asked).await.unwrap()
    }
}

/// A cluster that holds objects; of one with a member `key`, the other member `object` is stored there, under the lease that it names.
async fn cluster(objects: &[Value], first: i64) -> Cluster {
    let stored: Vec<(String, Vec<u8>, i64)> = objects.iter().map(stored).collect();
    let records = stored.iter().zip(first..).map(|((key, value, lease), revision)| Record {
        key: key.as_bytes(),
        value: Some(value),
        create_revision: revision,
        mod_revision: revision,
        sub_revision: 0,
        version: 1,
        lease: *lease,
    });
    let records: Vec<Record<'_>> = records.collect();
    let newest = first.max(first + records.len() as i64 - 1);
    let database = snapshot::database(&records, newest, None, false);
    let source = load::open_bytes("store.db", database.into(), &Limits::default(), &|_| None).unwrap();
    Cluster::open(source, Options::default()).await.unwrap()
}

fn stored(object: &Value) -> (String, Vec<u8>, i64) {
    let lease = object["lease"].as_i64().unwrap_or(0);
    let (object, key) = match object["key"].as_str() {
        Some(key) => (&object["object"], Some(key)),
        None => (object, None),
    };
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let made = || {
        let kind = built_in().of_object(text("/apiVersion"), text("/kind")).expect("a built-in kind");
        kind.key("/registry", Some(text("/metadata/namespace")), text("/metadata/name"))
    };
    let key = key.map_or_else(made, str::to_owned);
    let value = ketcd_kube::encode(object, Release::NEWEST).ok().flatten().unwrap_or_else(|| object.to_string().into_bytes());
    (key, value, lease)
}

/// An object of a kind, with a uid.
pub(super) fn object(kind: &str, namespace: &str, name: &str, uid: &str) -> Value {
    let api_version = match kind {
        "Job" | "CronJob" => "batch/v1",
        "StatefulSet" | "ReplicaSet" | "Deployment" => "apps/v1",
        "VolumeAttachment" => "storage.k8s.io/v1",
        "ValidatingWebhookConfiguration" => "admissionregistration.k8s.io/v1",
        "APIService" => "apiregistration.k8s.io/v1",
        "CertificateSigningRequest" => "certificates.k8s.io/v1",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        "Lease" => "coordination.k8s.io/v1",
        _ => "v1",
    };
    let metadata = if namespace.is_empty() {
        json!({"name": name, "uid": uid, "creationTimestamp": "2026-11-01T00:00:00Z"})
    } else {
        json!({"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": "2026-11-01T00:00:00Z"})
    };
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
}

/// The object with other members.
pub(super) fn with(object: Value, members: Value) -> Value {
    let mut object = object;
    json_patch::merge(&mut object, &members);
    object
}

/// A pod on a node.
pub(super) fn pod(name: &str, uid: &str, node: &str, phase: &str) -> Value {
    with(object("Pod", "shop", name, uid), json!({"spec": {"nodeName": node, "containers": []}, "status": {"phase": phase}}))
}

/// A node.
pub(super) fn node(name: &str, uid: &str) -> Value {
    object("Node", "", name, uid)
}

/// The names of what the forecasts of a kind are about.
pub(super) fn names(forecasts: &[Forecast], kind: ForecastKind) -> Vec<String> {
    let of_kind = forecasts.iter().filter(|forecast| forecast.kind == kind);
    of_kind.flat_map(|forecast| forecast.affected.iter().map(|affected| affected.subject.name.clone())).collect()
}
