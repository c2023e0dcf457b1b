//! What belongs to an object: its owners, what it owns, what its story needs; and where it is if it is not there.

mod family;
mod joined_namespaces;
mod name_search;
mod observation;
mod owner_elsewhere;
pub mod owners;
mod shelves;
mod story;
mod story_keys;
mod story_parts;
mod whereabouts;

pub use family::Family;
pub use owner_elsewhere::OwnerElsewhere;
pub use story::related;
pub use story_parts::{MAX_CHANGES_AT_ONCE, StoryParts};
