//! `/ui/api/changed`: what changed between two moments.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::common::{ActorFrom, Time};
use super::named::{Moment, Name};

/// What changed between two moments.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageChanged")]
pub struct Changed {
    /// What somebody did, by author, the author of most first.
    pub authors: Vec<Author>,
    /// The command that prints it.
    pub command: String,
    /// The first moment.
    pub from: Moment,
    /// How many interventions are left out.
    pub interventions_left: usize,
    /// How the two states differ, by kind and namespace.
    pub kinds: Vec<KindDifference>,
    /// The second moment.
    pub to: Moment,
}

/// What one author did.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageAuthor")]
pub struct Author {
    /// Who; null where it is not known.
    pub by: Option<String>,
    /// How that is known.
    pub by_from: Option<ActorFrom>,
    /// How many interventions.
    pub changes: usize,
    /// They, oldest first.
    pub items: Vec<Intervention>,
}

/// What somebody did to an object.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageIntervention")]
pub struct Intervention {
    /// Which object.
    #[serde(flatten)]
    pub object: Name,
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
#[schemars(rename = "PageDifference")]
pub struct KindDifference {
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
    pub names: Vec<Name>,
    /// The namespace; empty where the kind has none.
    pub namespace: String,
}
