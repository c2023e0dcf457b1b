//! Warning Events, summed by object and reason.

use std::collections::BTreeMap;

use futures_util::TryStreamExt;
use jiff::Timestamp;
use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_kube::{Body, Excerpt, FieldSet, ShownValue};
use ketcd_store::{At, KeyRange, KeyValue, Want};

use super::object::{number, text, time};
use crate::cluster::Cluster;
use crate::describe::events::{about, last_time};
use crate::error::Result;
use crate::read::values_on_cores;

/// Warning Events of one reason about one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// The object.
    pub subject: Subject,
    /// Kubernetes' word for the reason.
    pub reason: String,
    /// The message of the newest one.
    pub message: String,
    /// How often it occurred.
    pub count: i64,
    /// When it occurred first, where that is known.
    pub first: Option<Timestamp>,
    /// When it occurred last, where that is known.
    pub last: Option<Timestamp>,
}

impl Warning {
    /// Whether it is about the object of this kind, namespace and name.
    pub(super) fn is_about(&self, (kind, namespace, name): (&str, &str, &str)) -> bool {
        self.subject.kind == kind && self.subject.namespace == namespace && self.subject.name == name
    }
}

const EVENT_FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata.creationTimestamp",
    "involvedObject",
    "regarding",
    "type",
    "reason",
    "message",
    "note",
    "count",
    "deprecatedCount",
    "series",
    "firstTimestamp",
    "deprecatedFirstTimestamp",
    "lastTimestamp",
    "deprecatedLastTimestamp",
    "eventTime",
];

/// Returns the Warnings of `-n`'s namespace or of all. Other Events are passed over as they are stored.
pub(super) async fn warnings(cluster: &Cluster, at: At) -> Result<Vec<Warning>> {
    let below = cluster.options.namespace.as_deref().map_or(String::new(), |namespace| format!("{namespace}/"));
    let keys = KeyRange::prefix(format!("{}/events/{below}", cluster.prefix().await?));
    let Some(listing) = cluster.range_or_miss(keys, at, Want::Values).await? else { return Ok(Vec::new()) };
    let excerpt = cluster.decoder.excerpt("v1", "Event", &FieldSet::of(["metadata.namespace"]), &["type"]);
    let fields = FieldSet::of(EVENT_FIELDS.iter().copied());
    let mut found = values_on_cores(cluster, listing.entries, move |entry, reporting| {
        if is_known_normal(excerpt.as_ref(), &entry) {
            return None;
        }
        match reporting.decode_only(&entry, &fields) {
            Body::Object(event) if event["type"] == "Warning" => Some(warning(&event)),
            _ => None,
        }
    });
    let mut sums: BTreeMap<[String; 4], Warning> = BTreeMap::new();
    while let Some(found) = found.try_next().await? {
        found.into_iter().for_each(|warning| add(&mut sums, warning));
    }
    Ok(sums.into_values().collect())
}

fn is_known_normal(excerpt: Option<&Excerpt>, entry: &KeyValue) -> bool {
    let (mut is_normal, mut copied) = (false, Vec::new());
    let is_read = excerpt.is_some_and(|excerpt| {
        excerpt.append(&entry.key, &entry.value, &mut copied, |shown| is_normal = shown.value == ShownValue::Text("Normal"))
    });
    is_read && is_normal
}

fn add(sums: &mut BTreeMap<[String; 4], Warning>, warning: Warning) {
    let Subject { kind, namespace, name, .. } = warning.subject.clone();
    match sums.get_mut(&[kind.clone(), namespace.clone(), name.clone(), warning.reason.clone()]) {
        Some(sum) => {
            sum.count = sum.count.saturating_add(warning.count);
            sum.first = sum.first.into_iter().chain(warning.first).min();
            if warning.last > sum.last {
                sum.last = warning.last;
                sum.message = warning.message;
                sum.subject = warning.subject;
            }
        }
        None => drop(sums.insert([kind, namespace, name, warning.reason.clone()], warning)),
    }
}

fn warning(event: &Value) -> Warning {
    let of = about(event);
    let owned = |pointer: &str| text(of, pointer).to_owned();
    let counts = ["/series/count", "/count", "/deprecatedCount"];
    let first = ["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    let message = if text(event, "/message").is_empty() { text(event, "/note") } else { text(event, "/message") };
    Warning {
        subject: Subject { kind: owned("/kind"), namespace: owned("/namespace"), name: owned("/name"), uid: owned("/uid") },
        reason: text(event, "/reason").to_owned(),
        message: message.to_owned(),
        count: counts.iter().map(|pointer| number(event, pointer)).max().unwrap_or(0).max(1),
        first: first.iter().find_map(|pointer| time(event, pointer)),
        last: last_time(event),
    }
}
