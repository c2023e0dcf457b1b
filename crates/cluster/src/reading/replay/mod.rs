//! The scheduler's replay, fed from a source, and the scheduler by whose rules decisions are evaluated.

mod between;
mod feed;
mod gap;
mod locks;
mod restarts;
mod scheduler;
mod seen;
mod started;
mod walk;

pub use feed::Feed;
pub use scheduler::{ConfigurationFile, SchedulerOptions};
pub use seen::Seen;
