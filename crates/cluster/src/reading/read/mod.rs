//! Reading: the keys asked for, what is there, and what changed.

mod alive;
mod arrivals;
mod body;
mod changes;
mod depth;
mod history;
mod key_selection;
mod keys;
mod last_changes;
mod list;
mod objects;
mod one_by_one;
mod stored_pairs;
mod subjects;
mod values;
mod walk_back;

pub use alive::{alive_names, all, event_keys, looks};
pub(crate) use arrivals::Arrivals;
pub use body::{ReadBody, Row, decoder, decoder_of};
pub(crate) use changes::{Followed, events_from, knows_before, pairs};
pub use changes::{Read, events};
pub use depth::Depth;
pub use history::{History, Made};
pub use keys::Keys;
pub(crate) use keys::is_in;
pub use last_changes::{LastChanges, last_changes};
pub(crate) use objects::own_key;
pub use objects::{Extent, Fetch, Item, KeyFilter, RowMaker, name_below};
pub(crate) use stored_pairs::{Reporting, attributed, clock_of_pairs, pairs_on_cores};
pub use subjects::Subjects;
pub(crate) use values::{made_on_cores, objects_on_cores, values_on_cores};
pub use walk_back::{version_replaced, walk_back};
