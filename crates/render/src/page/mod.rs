//! What a command shows of its answer, whether as text or as JSON.

mod plugins;
mod status;
mod triage;
mod usage;

pub use plugins::PluginRow;
pub use status::StatusPage;
pub use triage::TriagePage;
pub use usage::UsagePage;
