//! What an API server has: its resources, lists of their objects, and the state of one moment.

mod catalog;
mod discovery;
mod item;
mod listing;
mod present_state;

pub use catalog::WantedResources;
pub use present_state::PresentState;

pub(crate) use catalog::{Catalog, Resource, left_out_phrases};
pub(crate) use item::{revision, stored};
pub(crate) use listing::{list, newest};
