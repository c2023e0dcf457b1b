//! `--since` and `--until`: the stretch of the history that a command looks at.

use std::borrow::Cow;

use clap::Args;

use super::global_flags::GlobalArgs;
use super::placed_revision;
use crate::cli::outcome::Result as CliResult;
use crate::cli::output::Format;
use crate::cli::session::Session;
use ketcd_history::clock::Bound;
use ketcd_render::contract::window::Window;

/// Which stretch of the history is shown.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct WindowArgs {
    /// Show only changes after this: an age (`10m`), a time (RFC 3339 or `14:03:20`), or a revision.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = end, help_heading = "Selection")]
    since: Option<End>,
    /// End with this, written as --since is; the same as --rev or --at.
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

/// One end of the stretch.
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

/// Returns the stretch of history that was asked for, as the head of a JSON document says it; `None` for other formats.
///
/// # Errors
/// The source cannot be read.
pub(in crate::cli) async fn in_head(session: &Session) -> CliResult<Option<Window>> {
    Ok(match session.format {
        Format::Json => session.window().await?.map(Window::from),
        _ => None,
    })
}

impl WindowArgs {
    /// Whether an end is given.
    pub(in crate::cli) fn has_end(&self) -> bool {
        self.until.is_some()
    }

    /// Returns the flags of every command as they are with this stretch: they say where the history ends.
    pub(in crate::cli) fn of<'a>(&self, global: &'a GlobalArgs) -> Cow<'a, GlobalArgs> {
        if self.since.is_none() && self.until.is_none() {
            return Cow::Borrowed(global);
        }
        let mut global = global.clone();
        let ends = [("--since", &self.since), ("--until", &self.until)];
        global.placed = ends.into_iter().filter_map(|(flag, end)| Some((flag, end.as_ref()?.placed.clone()?))).collect();
        global.since = self.since.as_ref().map(|end| end.bound);
        global.until = self.until.as_ref().map(|end| end.bound);
        Cow::Owned(global)
    }
}
