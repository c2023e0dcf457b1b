//! What the page in a browser shows: rows of a window, an object with who set its lines, its versions, a decision, a node, what changed; the command of
//! each view, and what a link opens.

mod changed;
mod decision;
mod findings;
mod link;
mod node;
mod object;
mod refusals;
mod rows;
mod view;

pub use changed::{interventions, kind_differences};
pub use decision::{DecisionAsked, decision};
pub use findings::{MAX_FINDING_OBJECTS, finding_ids, places};
pub use link::{Link, LinkRefused};
pub use node::{NodeStory, node};
pub use object::{differences, event_lines, lines, setters, shown, versions, yaml};
pub use rows::{FullRow, RowFilter, RowSet, RowView, merged, worst};
pub use view::{Cursor, Panel, RowWords, View};
