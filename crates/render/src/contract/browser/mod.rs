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

pub use changed::{PageAuthor, PageChanged, PageDifference, PageIntervention};
pub use decision::{PageDecision, PagePlugins, PageReason, PageRefusal};
pub use diff::{PageDiff, PageField};
pub use findings::{PageFindings, PagePlace};
pub use history::{PageHistory, PageVersion};
pub use named::{PageMoment, PageName, PageSetter, PageState};
pub use node::{PageCondition, PageHeartbeat, PageNode, PageResource, PageTaint};
pub use object::{PageEvent, PageLine, PageObject, PageRelated};
pub use rows::{Bar, PageCounts, PageEventMark, PageGroup, PageRow, PageRowPlace, PageRows, PageTick};
pub use timeline::PageTimelines;
pub use window::{PageDensity, PageGap, PageKind, PageOutage, PageWindow};

/// What the page's questions are answered with.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum PageAnswers<'a> {
    /// `/ui/api/window`.
    Window(Box<PageWindow>),
    /// `/ui/api/findings`.
    Findings(Box<PageFindings<'a>>),
    /// `/ui/api/rows`.
    Rows(Box<PageRows>),
    /// `/ui/api/object`.
    Object(Box<PageObject>),
    /// `/ui/api/history`.
    History(Box<PageHistory>),
    /// `/ui/api/diff`.
    Diff(Box<PageDiff>),
    /// `/ui/api/timeline`.
    Timeline(Box<PageTimelines>),
    /// `/ui/api/decision`.
    Decision(Box<PageDecision>),
    /// `/ui/api/node`.
    Node(Box<PageNode>),
    /// `/ui/api/changed`.
    Changed(Box<PageChanged>),
}
