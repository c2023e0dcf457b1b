//! `/ui/api/changed`: what changed between two moments.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::common::{ActorFrom, Time};
use super::named::{PageMoment, PageName};

/// What changed between two moments.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageChanged {
    /// What somebody did, by author, the author of most first.
    pub authors: Vec<PageAuthor>,
    /// The command that prints it.
    pub command: String,
    /// The first moment.
    pub from: PageMoment,
    /// How many interventions are left out.
    pub interventions_left: usize,
    /// How the two states differ, by kind and namespace.
    pub kinds: Vec<PageDifference>,
    /// The second moment.
    pub to: PageMoment,
}

/// What one author did.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageAuthor {
    /// Who; null where it is not known.
    pub by: Option<String>,
    /// How that is known.
    pub by_from: Option<ActorFrom>,
    /// How many interventions.
    pub changes: usize,
    /// They, oldest first.
    pub items: Vec<PageIntervention>,
}

/// What somebody did to an object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageIntervention {
    /// Which object.
    #[serde(flatten)]
    pub object: PageName,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// The revision.
    pub revision: i64,
    /// When.
    pub time: Option<Time>,
    /// What, in words.
    pub what: String,
}

/// How many objects of a kind and a namespace differ.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PageDifference {
    /// How many are new.
    pub added: usize,
    /// How many differ in bookkeeping alone.
    pub bookkeeping: usize,
    /// How many differ.
    pub changed: usize,
    /// How many are gone.
    pub deleted: usize,
    /// The kind.
    pub kind: String,
    /// The first 20 of them.
    pub names: Vec<PageName>,
    /// The namespace; empty where the kind has none.
    pub namespace: String,
}
