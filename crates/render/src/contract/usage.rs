//! The JSON of `usage`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::common::Time;
use super::window::HistoryWindow;
use crate::page::UsagePage;
use ketcd_cluster::kinds::KeySubject;
use ketcd_cluster::usage::{Large, NamedKey};
use ketcd_history::usage::Sum;

/// What `usage` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Usages<'a> {
    /// `-o json`.
    Usage(Box<Usage<'a>>),
    /// Each line of `-o ndjson`.
    Row(UsageRow<'a>),
}

/// What fills etcd and who writes so much.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage<'a> {
    /// The keys with the most changes, the busiest first.
    pub busiest: Vec<UsageRow<'a>>,
    /// One update in this many was compared with what it replaced; 0 where none was.
    pub compared_every: u64,
    /// Whether values were read. Where not, bytes are null, and growth is estimated from the keys and the size of the database.
    pub counts_bytes: bool,
    /// Days until what is live has filled the quota; null where that is not known, as of a bundle, and where it does not grow.
    pub days_to_quota: Option<f64>,
    /// Bytes that were written by bytes that are live; null where bytes are not known.
    pub history_to_live: Option<f64>,
    /// The largest objects, the largest first; empty where no values were read.
    pub largest: Vec<Largest<'a>>,
    /// What controllers left behind, the most bytes first; empty where no values were read.
    pub left_behind: Vec<LeftBehind<'a>>,
    /// Bytes by which what is live grows in an hour; null where neither bytes nor the database's size or no times are known.
    pub live_bytes_per_hour: Option<f64>,
    /// By field manager, the most writes first; null where no values were read.
    pub managers: Option<Vec<UsageRow<'a>>>,
    /// By namespace, the most changes first.
    pub namespaces: Vec<UsageRow<'a>>,
    /// The quota in bytes; null where it is neither known nor given.
    pub quota: Option<u64>,
    /// By resource, the most changes first.
    pub resources: Vec<UsageRow<'a>>,
    /// Whether the source is a bundle: all figures are then those of a slice of the cluster.
    pub slice: bool,
    /// What was counted.
    pub span: CountedSpan,
    /// All of it.
    pub total: Sums,
    /// Revisions of the span, at least, that are not among the writes and deletions, as their keys were made and deleted in between; null where every
    /// change was read.
    pub unseen_revisions: Option<u64>,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
    /// Bytes that are written in an hour; null where neither bytes nor the database's size or no times are known.
    pub written_bytes_per_hour: Option<f64>,
}

/// What was counted.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountedSpan {
    /// The revision after which changes count.
    pub after: i64,
    /// Its time; null where nothing dates it.
    pub after_time: Option<Time>,
    /// Seconds between both; null where either is not dated.
    pub seconds: Option<f64>,
    /// The last revision.
    pub until: i64,
    /// Its time; null where nothing dates it.
    pub until_time: Option<Time>,
}

/// Sums of one resource, namespace, manager or key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow<'a> {
    /// What the sums are of.
    pub by: By,
    /// etcd's key; absent for sums of many keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Cow<'a, str>>,
    /// The kind of the key's object, such as `Pod`; its resource, such as `crontabs.stable.example.com`, where the definition is not stored;
    /// empty where the key belongs to no object, absent for sums of many keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'a str>,
    /// The namespace of the key's object; empty where the kind has none, absent for sums of many keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<&'a str>,
    /// A resource, a namespace (empty for what has none), a field manager (empty if there is none), or the name of the key's object (empty
    /// where the key belongs to no object).
    pub name: &'a str,
    /// The sums.
    #[serde(flatten)]
    pub sums: Sums,
}

/// What sums are of.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// A resource.
    Resource,
    /// A namespace.
    Namespace,
    /// A field manager.
    Manager,
    /// A key.
    Key,
}

/// Sums.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sums {
    /// Updates that were compared with what they replaced.
    pub compared: u64,
    /// Deletions of keys in the span.
    pub deletions: u64,
    /// The updates, among those compared, that changed nothing but timestamps and managedFields.
    pub idle: u64,
    /// Keys that are there at the end of the span. Of managers 0.
    pub keys: u64,
    /// Bytes of their values; null where they are not known. Of managers 0.
    pub live_bytes: Option<u64>,
    /// Writes in the span.
    pub writes: u64,
    /// Bytes of the values written; null where they are not known.
    pub written_bytes: Option<u64>,
}

/// A large object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Largest<'a> {
    /// Bytes of its value.
    pub bytes: u64,
    /// The field that makes it large: from the top down always the largest, as long as that holds at least half of what it is in; null of Secrets, and
    /// where the object cannot be decoded.
    pub field: Option<&'a str>,
    /// The part of the object's JSON that the field is; null with `field`.
    pub field_part: Option<f64>,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// Its kind, such as `Pod`; its resource, such as `crontabs.stable.example.com`, where the definition is not stored; empty where the key
    /// belongs to no object.
    pub kind: &'a str,
    /// Its name; empty where the key belongs to no object.
    pub name: &'a str,
    /// Its namespace; empty where the kind has none.
    pub namespace: &'a str,
}

/// Objects that a controller left behind.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftBehind<'a> {
    /// Bytes of their values.
    pub bytes: u64,
    /// Their kind.
    pub kind: &'a str,
    /// How many.
    pub objects: u64,
    /// The kind of their owner; empty where they have none.
    pub owner: &'a str,
    /// `Ended`, `Superseded` (a ReplicaSet of an earlier rollout), `OwnerGone` (none of its owners exists) or `SupersededRelease` (what Helm stored of
    /// an earlier revision). There may be more words in time.
    pub reason: &'static str,
    /// The Helm release, `namespace/name`; null where the reason is another than `SupersededRelease`.
    pub release: Option<&'a str>,
}

impl<'a> From<&'a UsagePage> for Usage<'a> {
    fn from(page: &'a UsagePage) -> Self {
        let largest = |large: &'a Large| Largest {
            bytes: large.bytes,
            field: large.field.as_ref().map(|field| field.path.as_str()),
            field_part: large.field.as_ref().map(|field| field.bytes as f64 / (field.of as f64).max(1.0)),
            key: large.key.text(),
            kind: &large.key.subject.kind,
            name: &large.key.subject.name,
            namespace: &large.key.subject.namespace,
        };
        let left = page.left.iter().map(|left| LeftBehind {
            bytes: left.bytes,
            kind: &left.kind,
            objects: left.objects,
            owner: &left.owner,
            reason: left.reason.as_str(),
            release: Some(&left.release[..]).filter(|release| !release.is_empty()),
        });
        Self {
            busiest: keys(page),
            compared_every: page.compared_every,
            counts_bytes: page.has_bytes,
            days_to_quota: page.days_to_quota(),
            history_to_live: page.history_to_live(),
            largest: page.largest.iter().map(largest).collect(),
            left_behind: left.collect(),
            live_bytes_per_hour: page.live_growth(),
            managers: page.managers.as_ref().map(|managers| rows(page, By::Manager, managers)),
            namespaces: rows(page, By::Namespace, &page.namespaces),
            quota: page.quota,
            resources: rows(page, By::Resource, &page.resources),
            slice: page.is_slice(),
            span: CountedSpan {
                after: page.span.0.0,
                after_time: page.times.map(|(from, _)| Time(from.time)),
                seconds: page.seconds(),
                until: page.span.1.0,
                until_time: page.times.map(|(_, to)| Time(to.time)),
            },
            total: sums(page, page.total),
            unseen_revisions: page.unseen,
            window: None,
            written_bytes_per_hour: page.written_growth(),
        }
    }
}

/// All rows, as `-o ndjson` prints them.
pub fn all_rows(page: &UsagePage) -> Vec<UsageRow<'_>> {
    let mut all = rows(page, By::Resource, &page.resources);
    all.extend(rows(page, By::Namespace, &page.namespaces));
    all.extend(page.managers.iter().flat_map(|managers| rows(page, By::Manager, managers)));
    all.extend(keys(page));
    all
}

fn rows<'a>(page: &UsagePage, by: By, of: &'a [(String, Sum)]) -> Vec<UsageRow<'a>> {
    of.iter().map(|(name, sum)| UsageRow { by, key: None, kind: None, namespace: None, name, sums: sums(page, *sum) }).collect()
}

/// The rows of single keys.
fn keys(page: &UsagePage) -> Vec<UsageRow<'_>> {
    page.keys.iter().map(|(key, sum)| key_row(key, sums(page, *sum))).collect()
}

fn key_row(key: &NamedKey, sums: Sums) -> UsageRow<'_> {
    let KeySubject { kind, namespace, name } = &key.subject;
    UsageRow { by: By::Key, key: Some(key.text()), kind: Some(kind), namespace: Some(namespace), name, sums }
}

fn sums(page: &UsagePage, sum: Sum) -> Sums {
    Sums {
        compared: sum.compared,
        deletions: sum.deletions,
        idle: sum.idle,
        keys: sum.keys,
        live_bytes: page.has_bytes.then_some(sum.live_bytes),
        writes: sum.writes,
        written_bytes: page.has_bytes.then_some(sum.written_bytes),
    }
}
