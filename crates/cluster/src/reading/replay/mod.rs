//! The scheduler's replay, fed from a source, and the scheduler by whose rules decisions are evaluated.

mod cache_view;
mod feed;
mod gap;
mod locks;
mod restarts;
mod scheduler;
mod scheduler_start;
mod state_and_changes;
mod walk;

pub use cache_view::SeenChange;
pub use feed::Feed;
pub use scheduler::{ConfigurationFile, SchedulerOptions};
