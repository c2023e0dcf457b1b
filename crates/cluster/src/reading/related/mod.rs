//! What belongs to an object: its owners, what it owns, what its story needs; and where it is if it is not there.

mod family;
mod name_search;
mod owner_elsewhere;
pub mod owners;
mod story;
mod story_keys;
mod whereabouts;

pub use family::Family;
pub use owner_elsewhere::OwnerElsewhere;
pub use story::related;
