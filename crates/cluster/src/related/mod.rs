//! What belongs to an object: its owners, what it owns, what its story needs; and where it is if it is not there.

mod called;
mod elsewhere;
mod family;
pub mod owners;
mod story;
mod story_keys;

pub use family::Family;
pub use story::related;
