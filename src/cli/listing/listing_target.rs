//! What is listed: which objects, in what order, with what in their columns.

use clap::Args;

use crate::cli::input::selectors::SelectArgs;
use ketcd_kube::Address;

/// Which objects, in what order, with what beside them.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct ListArgs {
    /// Which objects count.
    #[command(flatten)]
    pub select: SelectArgs,
    /// Show only the first N objects.
    #[arg(long, value_name = "N", help_heading = "Selection", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Sort by the field at this path, such as `.metadata.creationTimestamp`.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub sort_by: Option<String>,
    /// Print tables without headings.
    #[arg(long, help_heading = "Output")]
    pub no_headers: bool,
    /// Print tables with kinds before names, such as `pod/web-0`.
    #[arg(long, help_heading = "Output")]
    pub show_kind: bool,
    /// Print tables with a last column for all labels.
    #[arg(long, help_heading = "Output")]
    pub show_labels: bool,
    /// Print tables with a column for each of these labels.
    #[arg(short = 'L', long, value_name = "LABEL", value_delimiter = ',', help_heading = "Output")]
    pub label_columns: Vec<String>,
}

/// What is to be listed: addresses in their order, or everything.
pub(in crate::cli) enum ListingTarget {
    Addresses(Vec<Address>),
    Everything,
}

impl ListingTarget {
    /// The addresses, unless everything is listed.
    pub(super) fn addresses(&self) -> Option<&[Address]> {
        match self {
            Self::Addresses(addresses) => Some(addresses),
            Self::Everything => None,
        }
    }
}
