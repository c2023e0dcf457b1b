//! Reading: the keys asked for, what is there, and what changed.

mod alive;
mod body;
mod changes;
mod dated;
mod history;
mod keys;
mod last_changes;
mod objects;
mod one_by_one;
mod selected;
mod subjects;
mod texts;
mod walk_back;

pub use alive::{alive_names, all, event_keys, looks};
pub use body::{ReadBody, decoder, decoder_of};
pub(crate) use changes::pairs_from_where;
pub use changes::{Read, changes, changes_from, changes_of, events, follower};
pub use dated::{dated_changes, dated_steps};
pub use history::History;
pub use keys::Keys;
pub use last_changes::{LastChanges, last_changes};
pub use objects::{Extent, Fetch, Item, name_below, own_key};
pub use subjects::Subjects;
pub use walk_back::{version_replaced, walk_back};
