//! What the page in a browser shows: rows of a window, an object with who set its lines, its versions, a decision, a node, what changed.

mod changed;
mod decision;
mod findings;
mod node;
mod object;
mod rows;

pub use changed::{interventions, kind_differences};
pub use decision::{DecisionAsked, decision};
pub use findings::{finding_ids, places};
pub use node::{NodeStory, node};
pub use object::{differences, event_lines, lines, setters, shown, versions, yaml};
pub use rows::{FullRow, RowFilter, RowSet, RowView, merged, worst};
