//! The objects of one state, read and decoded.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use serde_json::Value;

use ketcd_kube::api::Versions;
use ketcd_kube::{Body, Object, Release};
use ketcd_store::Want;

use super::super::state::ComparedState;
use super::left_out::{EVENTS_REASON, OTHER_KEYS_REASON, Reason};
use super::owners::{group, text};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::options::ReleaseChoice;
use crate::read::Keys;

pub(super) struct StateObjects {
    /// The objects.
    pub objects: Vec<Object>,
    /// The release of the API server, where the data show it.
    pub release: Option<Release>,
    /// The definitions of custom kinds.
    pub definitions: Vec<Value>,
    /// How many keys were not decoded because they are left out in any case.
    pub left_out: [(&'static Reason, usize); 2],
    /// Keys of values that cannot be decoded, and why.
    pub not_decoded: Vec<(String, String)>,
}

impl StateObjects {
    /// Reads what words name, else the namespace looked at, else everything.
    pub(super) async fn read(state: &ComparedState<'_>, words: &[String]) -> Result<Self> {
        let cluster = state.cluster;
        let keys = match (&state.namespace, words) {
            (_, [_, ..]) => Keys::of(cluster, words).await?,
            (Some(namespace), []) => Keys::many(state.namespace(namespace).await?),
            (None, []) => Keys::all(),
        };
        let definitions = match cluster.definitions(state.at).await {
            Err(error) if error.refusal().is_some() => Vec::new(),
            found => found?,
        };
        let decoded = |entry: &ketcd_store::KeyValue| cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body;
        let definitions = definitions.iter().filter_map(|entry| match decoded(entry) {
            Body::Object(object) => Some(object.into_value()),
            Body::Opaque(_) => None,
        });
        let mut found = Self {
            objects: Vec::new(),
            release: known_release(cluster),
            definitions: definitions.collect(),
            left_out: [(&EVENTS_REASON, 0), (&OTHER_KEYS_REASON, 0)],
            not_decoded: Vec::new(),
        };
        for range in keys.apart() {
            let mut entries = cluster.source.range(range, state.at, Want::Values).await?.entries;
            while let Some(entry) = entries.try_next().await? {
                match &*cluster.subject_of(&entry.key).await?.kind {
                    "Event" => found.left_out[0].1 += 1,
                    "" => found.left_out[1].1 += 1,
                    _ => match cluster.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
                        Body::Object(object) => found.objects.push(object),
                        Body::Opaque(opaque) => {
                            found.not_decoded.push((String::from_utf8_lossy(&entry.key).into_owned(), opaque.reason));
                        }
                    },
                }
            }
        }
        Ok(found)
    }
}

fn known_release(cluster: &Cluster) -> Option<Release> {
    match cluster.options.release {
        ReleaseChoice::Given(release) => Some(release),
        ReleaseChoice::Found | ReleaseChoice::Any => cluster.release_evidence.release(),
    }
}

/// Returns the objects of both states in the versions that the newer release prefers; what cannot be converted stays as it is.
pub(super) fn in_one_version(states: [StateObjects; 2]) -> [Vec<(Object, Value)>; 2] {
    let release = states.iter().filter_map(|state| state.release).max().unwrap_or_default();
    let definitions: Vec<Value> = states.iter().rev().flat_map(|state| state.definitions.iter().cloned()).collect();
    let versions = Versions::new(release, &definitions);
    let mut preferred: HashMap<(String, String), Option<String>> = HashMap::new();
    states.map(|state| {
        let convert = |object: Object| {
            let mut value = object.comparable().into_owned();
            let of = (group(&value).to_owned(), text(&value["kind"]).to_owned());
            let wanted = preferred.entry(of).or_insert_with_key(|(group, kind)| versions.preferred(group, kind));
            if let Some(wanted) = wanted.as_deref().filter(|wanted| value["apiVersion"] != **wanted) {
                let mut converted = value.clone();
                if versions.convert(&mut converted, wanted).is_ok() {
                    value = converted;
                }
            }
            (object, value)
        };
        state.objects.into_iter().map(convert).collect()
    })
}
