//! `/ui/api/rows`: objects through a window.

use schemars::JsonSchema;
use serde::Serialize;

use super::named::{PageMoment, PageName, PageState};

/// Rows of a window.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageRows {
    /// A command that prints about the same.
    pub command: String,
    /// What was counted.
    pub counts: PageCounts,
    /// Where the object is that was asked for; null where it has no row.
    pub found: Option<PageRowPlace>,
    /// Where the window begins.
    pub from: PageMoment,
    /// By what rows are grouped: `namespace`, `owner`, `node` or `none`.
    pub group: &'static str,
    /// The groups that have rows, the busiest first.
    pub groups: Vec<PageGroup>,
    /// How many groups there was no room for.
    pub groups_left: usize,
    /// The group that was asked for; null for all.
    #[serde(rename = "in")]
    pub within: Option<String>,
    /// Whether a filter that reads objects looked at some of them only.
    pub is_cut: bool,
    /// How many rows come before these.
    pub offset: usize,
    /// The rows; without a group none where there are too many.
    pub rows: Vec<PageRow>,
    /// Where it ends.
    pub to: PageMoment,
    /// How many rows there are in all, of the group or of all.
    pub total: usize,
}

/// Where an object's row is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PageRowPlace {
    /// Its group.
    pub group: String,
    /// How many rows of the group come before it.
    pub index: usize,
}

/// How many objects there were in a window, and why some have no row.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PageCounts {
    /// How many of those with rows were deleted by the end of the window.
    pub deleted: usize,
    /// Those that the filter hides.
    pub filtered: usize,
    /// Those with rows.
    pub matching: usize,
    /// All.
    pub objects: usize,
    /// Those without rows because nothing happened to them.
    pub quiet: usize,
}

/// A group of rows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageGroup {
    /// How many changes its rows have.
    pub changes: usize,
    /// What `in` takes.
    pub id: String,
    /// How many objects of it have no row because nothing happened to them.
    pub quiet: usize,
    /// How many rows it has.
    pub rows: usize,
    /// What it is called.
    pub title: String,
    /// The worst state at the end of the window; null where its objects were not read.
    pub tone: Option<&'static str>,
}

/// A state over time: from when, to when (null: to the end), its tone, its label.
pub type Bar = (Option<i64>, Option<i64>, &'static str, String);
/// A change: when, `+`, `~` or `-`, what happened, its revision, how many it stands for.
pub type PageTick = (i64, &'static str, String, i64, usize);
/// An Event: when, its reason, whether it warns, how many it stands for.
pub type PageEventMark = (i64, String, bool, usize);

/// An object through a window. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PageRow {
    /// Which object.
    #[serde(flatten)]
    pub object: PageName,
    /// How many scheduling decisions about it the window has.
    pub attempts: usize,
    /// Its states.
    pub bars: Vec<Bar>,
    /// When it was created; null where nothing shows it.
    pub begin: Option<i64>,
    /// How many changes of it the window has.
    pub changes: usize,
    /// How many owners stand above it.
    pub depth: usize,
    /// When it was deleted, or was gone at the latest; null while it is there.
    pub end: Option<i64>,
    /// The Events about it.
    pub events: Vec<PageEventMark>,
    /// Its group.
    pub group: String,
    /// The node of a pod.
    pub node: Option<String>,
    /// Its state at the cursor; null where it was not there.
    pub now: Option<PageState>,
    /// Its controller or first owner, as it is named to ketcd.
    pub owner: Option<String>,
    /// When its first readable version was written.
    pub readable: Option<i64>,
    /// Its changes.
    pub ticks: Vec<PageTick>,
    /// Whether it is gone though no readable version shows its deletion.
    pub vanished: bool,
}
