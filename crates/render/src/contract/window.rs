//! The stretch of history that a document is about, in its head.

use schemars::JsonSchema;
use serde::Serialize;

use super::common::Time;

/// The stretch of history that was asked for, as its words were resolved.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct HistoryWindow {
    /// Changes after this end count; null where no beginning was asked for.
    pub since: Option<WindowEnd>,
    /// The state at this end is looked at; null where the newest one is.
    pub until: Option<WindowEnd>,
}

/// One end of it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct WindowEnd {
    /// Its revision; 0 for a beginning before the whole history.
    pub revision: i64,
    /// The time that an age or a time means; for a revision, when it was written. Null if nothing shows it.
    pub time: Option<Time>,
}

impl From<ketcd_cluster::Window> for HistoryWindow {
    fn from(window: ketcd_cluster::Window) -> Self {
        Self { since: window.since.map(WindowEnd::from), until: window.until.map(WindowEnd::from) }
    }
}

impl From<ketcd_cluster::WindowEnd> for WindowEnd {
    fn from(end: ketcd_cluster::WindowEnd) -> Self {
        Self { revision: end.revision.0, time: end.time.map(Time) }
    }
}
