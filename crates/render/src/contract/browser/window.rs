//! `/ui/api/window`: the whole axis of time.

use schemars::JsonSchema;
use serde::Serialize;

use super::named::PageMoment;

/// What can be looked at: the whole axis of time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageWindow {
    /// The version of these answers.
    pub api: u32,
    /// The moment that was asked for: where the cursor begins.
    pub asked: PageMoment,
    /// A command that prints about the same.
    pub command: String,
    /// How many changes there were over time; null where nothing is dated.
    pub density: Option<PageDensity>,
    /// The first revision that can be looked at.
    pub first: PageMoment,
    /// Stretches of which nothing can be read.
    pub gaps: Vec<PageGap>,
    /// The kinds of the objects, by name.
    pub kinds: Vec<PageKind>,
    /// The newest revision.
    pub last: PageMoment,
    /// Whether the source goes on.
    pub live: bool,
    /// The namespaces, as far as there are no more than 1,000.
    pub namespaces: Vec<String>,
    /// What the reader must know of the data, one sentence each.
    pub notes: Vec<String>,
    /// How many objects there ever were: without Events and leases.
    pub objects: usize,
    /// Whether it is the state of one moment, without a history.
    pub one_moment: bool,
    /// When nodes were broken or silent.
    pub outages: Vec<PageOutage>,
    /// How many nodes were not looked at for that.
    pub outages_left: usize,
    /// How far the history reaches back, in words.
    pub reach: String,
    /// The release of Kubernetes.
    pub release: String,
    /// Where the data comes from.
    pub source: String,
}

/// How many changes there were in each of equal stretches of time: Events and leases are left out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageDensity {
    /// Where the first begins, in milliseconds since 1970.
    pub from: i64,
    /// How long each is, in milliseconds.
    pub width: i64,
    /// The number of changes in each.
    pub counts: Vec<usize>,
}

/// A stretch of revisions of which nothing can be read, both ends included.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageGap {
    /// The first.
    pub from_revision: i64,
    /// The last.
    pub to_revision: i64,
    /// When it begins, in milliseconds since 1970; null where nothing dates it.
    pub from: Option<i64>,
    /// When it ends.
    pub to: Option<i64>,
    /// Why, in words.
    pub why: String,
}

/// How many objects there are of a kind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageKind {
    /// The kind.
    pub kind: String,
    /// How many objects there ever were.
    pub count: usize,
}

/// When a node was broken or silent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageOutage {
    /// The node, as it is named to ketcd.
    pub address: String,
    /// Its name.
    pub name: String,
    /// Since when, in milliseconds since 1970.
    pub from: i64,
    /// Until when; null while it lasts.
    pub to: Option<i64>,
}
