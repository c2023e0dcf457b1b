//! Which rows are exported.

use crate::cli::input::request_filter::ByArgs;
use crate::cli::input::scheduler::SchedulerArgs;
use ketcd_cluster::AskedKeys;
use ketcd_render::contract::export::Table;

pub(in crate::cli) struct ExportedRows<'a> {
    /// The tables asked for.
    pub tables: Vec<Table>,
    /// The objects asked for; `None` where all are.
    pub of: Option<AskedKeys>,
    /// What else says which they are, as it was written: the namespace, the selectors.
    pub selectors: [Option<&'a str>; 3],
    /// Whose changes.
    pub by: &'a ByArgs,
    /// How decisions are evaluated.
    pub scheduler: &'a SchedulerArgs,
}
