//! Reading: the keys asked for, what is there, and what changed.

mod alive;
mod body;
mod changes;
mod history;
mod keys;
mod last_changes;
mod list;
mod objects;
mod one_by_one;
mod pairs;
mod selected;
mod subjects;
mod walk_back;

pub use alive::{alive_names, all, event_keys, looks};
pub use body::{ReadBody, decoder, decoder_of};
pub use changes::{Read, changes, events, follower};
pub(crate) use changes::{changes_from, pairs_from_where};
pub use history::{Counted, History};
pub use keys::Keys;
pub use last_changes::{LastChanges, last_changes};
pub(crate) use objects::own_key;
pub use objects::{Extent, Fetch, Item, KeyFilter, name_below};
pub(crate) use pairs::{Reporting, attributed, pairs_on_cores};
pub use subjects::Subjects;
pub use walk_back::{version_replaced, walk_back};
