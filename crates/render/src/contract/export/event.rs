//! The rows of table `events`.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::common::Time;
use super::{Row, Table};

/// A version of a Kubernetes Event.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EventRow<'a> {
    /// The revision that wrote it.
    pub revision: i64,
    /// When it was written; null where nothing in the data dates the revision.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
    /// The Event's namespace.
    pub namespace: Option<&'a str>,
    /// The Event's name.
    pub name: &'a str,
    /// The Event's uid.
    pub uid: Option<&'a str>,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub severity: &'a str,
    /// Why it was reported, in one word, such as `FailedScheduling`.
    pub reason: &'a str,
    /// What happened, in the reporter's words.
    pub message: &'a str,
    /// Who reported it, such as `kubelet, node1`.
    pub reporter: String,
    /// The kind of the object that it is about.
    pub about_kind: &'a str,
    /// The namespace of that object; null where it has none.
    pub about_namespace: Option<&'a str>,
    /// The name of that object.
    pub about_name: &'a str,
    /// The uid of that object; null where the Event does not say it.
    pub about_uid: Option<&'a str>,
    /// How often it occurred, up to this version.
    pub count: i64,
    /// When it occurred first; null where the Event does not say it.
    pub first_time: Option<Time>,
    /// When it occurred last; null where the Event does not say it.
    pub last_time: Option<Time>,
}

impl Row for EventRow<'_> {
    const TABLE: Table = Table::Events;
}
