//! Stored values, something made of each on all cores, in their order.

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};
use serde_json::Value;

use ketcd_history::Problems;
use ketcd_kube::{Body, FieldSet};
use ketcd_store::KeyValue;

use super::stored_pairs::Reporting;
use crate::cluster::Cluster;
use crate::cores;
use crate::error::{Error, Result};

/// Makes something of each entry. What `make` decodes is reported when it is the entry's turn.
pub(crate) fn values_on_cores<'c, T: Send + 'static>(
    cluster: &'c Cluster,
    entries: impl Stream<Item = ketcd_store::Result<KeyValue>> + Send + 'c,
    make: impl Fn(KeyValue, &mut Reporting<'_>) -> T + Send + Sync + 'static,
) -> BoxStream<'c, Result<T>> {
    let decoder = cluster.decoder.clone();
    let made = move |entry: KeyValue| {
        let mut reporting = Reporting::of(&decoder);
        let key = entry.key.clone();
        let made = make(entry, &mut reporting);
        (key, made, reporting.found())
    };
    let reported = move |(key, made, found): (Bytes, T, Vec<(i64, Problems)>)| {
        found.iter().for_each(|(revision, found)| cluster.reporting_decoder.report(&key, *revision, found));
        made
    };
    cores::in_order_ahead(entries.map_err(Error::from), |entry: &KeyValue| entry.value.len(), made).map_ok(reported).boxed()
}

/// Which fields a manager owns, and templates of pods: most of many objects, and nothing that is wrong with the object itself.
const LARGE_MEMBERS: [&str; 2] = ["metadata.managedFields.fieldsV1", "spec.template"];

/// Decodes the objects among some entries without [`LARGE_MEMBERS`], or only these members of each; `None` for what cannot be decoded or is left out.
pub(crate) fn objects_on_cores<'c>(
    cluster: &'c Cluster,
    entries: impl Stream<Item = ketcd_store::Result<KeyValue>> + Send + 'c,
    fields: Option<FieldSet>,
    is_wanted: impl Fn(&KeyValue) -> bool + Send + Sync + 'static,
) -> BoxStream<'c, Result<Option<Value>>> {
    let fields = fields.unwrap_or_else(|| FieldSet::all_but(LARGE_MEMBERS));
    values_on_cores(cluster, entries, move |entry, reporting| {
        if !is_wanted(&entry) {
            return None;
        }
        if let Body::Object(object) = reporting.decode_only(&entry, &fields) { Some(object.into_value()) } else { None }
    })
}

/// Makes something of each object where it is decoded, so that none is handed over or kept.
pub(crate) fn made_on_cores<'c, T: Send + 'static>(
    cluster: &'c Cluster,
    entries: impl Stream<Item = ketcd_store::Result<KeyValue>> + Send + 'c,
    fields: Option<FieldSet>,
    make: impl Fn(Value) -> Option<T> + Send + Sync + 'static,
) -> BoxStream<'c, Result<Option<T>>> {
    let fields = fields.unwrap_or_else(|| FieldSet::all_but(LARGE_MEMBERS));
    values_on_cores(cluster, entries, move |entry, reporting| match reporting.decode_only(&entry, &fields) {
        Body::Object(object) => make(object.into_value()),
        Body::Opaque(_) => None,
    })
}
