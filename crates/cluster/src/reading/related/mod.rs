//! What belongs to an object: its owners, what it owns, what its story needs; and where it is if it is not there.

mod called;
mod elsewhere;
mod family;
mod owner_elsewhere;
pub mod owners;
mod story;
mod story_keys;

pub use family::Family;
pub use owner_elsewhere::OwnerElsewhere;
pub use story::related;
