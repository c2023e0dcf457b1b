//! Moments, objects and states, as every answer names them.

use schemars::JsonSchema;
use serde::Serialize;

use ketcd_history::clock::Dated;
use ketcd_store::Revision;

use super::super::common::{ActorFrom, Time};

/// A revision, and when it was written.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PageMoment {
    /// The revision.
    pub revision: i64,
    /// When; null where nothing dates it.
    pub time: Option<Time>,
    /// The same in milliseconds since 1970.
    pub ms: Option<i64>,
}

impl PageMoment {
    /// A revision with its time.
    pub fn new(revision: Revision, time: Option<jiff::Timestamp>) -> Self {
        Self { revision: revision.0, time: time.map(Time), ms: time.map(jiff::Timestamp::as_millisecond) }
    }

    /// A revision as a clock dates it.
    pub fn dated(revision: Revision, dated: Option<Dated>) -> Self {
        Self::new(revision, dated.map(|dated| dated.time))
    }
}

/// An object.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PageName {
    /// How it is named to ketcd: `pod/web/tomcat-1`.
    pub address: String,
    /// The kind, such as `Pod`.
    pub kind: String,
    /// The namespace; empty where the kind has none.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The uid; empty where it is not known.
    pub uid: String,
}

/// A state: how it should strike the reader, and its words.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PageState {
    /// `good`, `working`, `waiting`, `bad`, `ending`, `done` or `neutral`.
    pub tone: &'static str,
    /// In Kubernetes' own words where it has some; may be empty.
    pub label: String,
}

impl From<&ketcd_history::state::State> for PageState {
    fn from(state: &ketcd_history::state::State) -> Self {
        Self { tone: state.tone.as_str(), label: state.label.to_string() }
    }
}

/// Who set something, and when.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageSetter {
    /// Who; null where the data does not show it.
    pub by: Option<String>,
    /// How that is known.
    pub by_from: Option<ActorFrom>,
    /// When, in milliseconds since 1970.
    pub ms: Option<i64>,
    /// The request of an audit log, in words; null where no log says.
    pub request: Option<String>,
    /// The revision; null where that is older than the readable history.
    pub revision: Option<i64>,
    /// When.
    pub time: Option<Time>,
}
