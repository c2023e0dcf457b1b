//! What a cluster holds, and held: its objects and changes, when each was written and by whom, what may be read, and the state at a moment.

pub mod api;
pub(crate) mod audit;
pub mod clock;
pub mod files;
pub(crate) mod history_cache;
pub mod kinds;
pub(crate) mod other_requests;
pub mod read;
pub mod related;
mod release;
pub mod replay;
pub mod rights;
pub mod watching;
