//! The JSON behind the page that `ui` and `serve --ui` give: what each question of the page is answered with, a file a question.

mod changed;
mod decision;
mod diff;
mod findings;
mod history;
mod named;
mod node;
mod object;
mod rows;
mod timeline;
mod window;

use schemars::JsonSchema;

pub use changed::{Author, Changed, Intervention, KindDifference};
pub use decision::{DecisionView, PluginNames, ReasonCount, Refusal};
pub use diff::{Diff, FieldDifference};
pub use findings::{Findings, Place};
pub use history::{History, Version};
pub use named::{Moment, Name, Setter, State};
pub use node::{Heartbeat, NodeCondition, NodeResource, NodeTaint, NodeView};
pub use object::{EventLine, Line, ObjectView, Related};
pub use rows::{Bar, EventMark, Row, RowCounts, RowGroup, RowPlace, Rows, Tick};
pub use timeline::TimelineView;
pub use window::{Density, Gap, KindCount, Outage, Window};

/// What the page's questions are answered with.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "PageAnswers")]
pub enum Answers<'a> {
    /// `/ui/api/window`.
    Window(Box<Window>),
    /// `/ui/api/findings`.
    Findings(Box<Findings<'a>>),
    /// `/ui/api/rows`.
    Rows(Box<Rows>),
    /// `/ui/api/object`.
    Object(Box<ObjectView>),
    /// `/ui/api/history`.
    History(Box<History>),
    /// `/ui/api/diff`.
    Diff(Box<Diff>),
    /// `/ui/api/timeline`.
    Timeline(Box<TimelineView>),
    /// `/ui/api/decision`.
    Decision(Box<DecisionView>),
    /// `/ui/api/node`.
    Node(Box<NodeView>),
    /// `/ui/api/changed`.
    Changed(Box<Changed>),
}
