//! `--since` and `--until`: the stretch of the history that a command looks at.

use clap::Args;

use super::placed_revision;
use ketcd_history::clock::Bound;

/// Which stretch of the history is shown.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct WindowArgs {
    /// Show only changes after this: an age (`10m`), a time (RFC 3339 or `14:03:20`), or a revision.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = end, help_heading = "Selection")]
    since: Option<End>,
    /// End here, written like --since; the same as --rev or --at.
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        value_parser = end,
        conflicts_with_all = ["rev", "at"],
        help_heading = "Selection"
    )]
    until: Option<End>,
}

#[derive(Clone, Debug)]
struct End {
    bound: Bound,
    /// As it was typed, where it is a revision that an audit log alone shows.
    placed: Option<String>,
}

/// Reads one end of the stretch.
fn end(text: &str) -> Result<End, String> {
    if let Some(revision) = placed_revision::placed(text) {
        return Ok(End { bound: Bound::Revision(revision), placed: Some(text.to_owned()) });
    }
    let bound = text.parse().map_err(|error: ketcd_history::clock::ParseBoundError| error.to_string())?;
    Ok(End { bound, placed: None })
}

#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Ends {
    /// Since when changes count.
    pub since: Option<Bound>,
    /// Where the history ends.
    pub until: Option<Bound>,
    /// Flags of an end whose revision is marked as one of an audit log alone.
    pub placed: Vec<(&'static str, String)>,
}

impl WindowArgs {
    pub(in crate::cli) fn has_end(&self) -> bool {
        self.until.is_some()
    }

    pub(in crate::cli) fn ends(&self) -> Ends {
        let ends = [("--since", &self.since), ("--until", &self.until)];
        Ends {
            since: self.since.as_ref().map(|end| end.bound),
            until: self.until.as_ref().map(|end| end.bound),
            placed: ends.into_iter().filter_map(|(flag, end)| Some((flag, end.as_ref()?.placed.clone()?))).collect(),
        }
    }
}
