//! `--since` and `--until`: the stretch of the history that a command looks at.

use std::borrow::Cow;

use clap::Args;

use super::Result as CliResult;
use super::args::GlobalArgs;
use super::output::Format;
use super::session::Session;
use ketcd_history::clock::Bound;
use ketcd_render::contract::window::Window;

/// Which stretch of the history is shown.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct WindowArgs {
    /// Show only changes after this: an age (`10m`), a time (RFC 3339 or `14:03:20`), or a revision.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = bound, help_heading = "Selection")]
    since: Option<Bound>,
    /// End with this, written as --since is; the same as --rev or --at.
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        value_parser = bound,
        conflicts_with_all = ["rev", "at"],
        help_heading = "Selection"
    )]
    until: Option<Bound>,
}

/// Reads one end of the stretch.
fn bound(text: &str) -> Result<Bound, String> {
    text.parse().map_err(|error: ketcd_history::clock::ParseBoundError| error.to_string())
}

/// Returns the stretch of history that was asked for, as the head of a JSON document says it; `None` for other formats.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn in_head(session: &Session) -> CliResult<Option<Window>> {
    Ok(match session.format {
        Format::Json => session.window().await?.map(Window::from),
        _ => None,
    })
}

impl WindowArgs {
    /// Whether an end is given.
    pub(super) fn has_end(&self) -> bool {
        self.until.is_some()
    }

    /// Returns the flags of every command as they are with this stretch: they say where the history ends.
    pub(super) fn of<'a>(&self, global: &'a GlobalArgs) -> Cow<'a, GlobalArgs> {
        if self.since.is_none() && self.until.is_none() {
            return Cow::Borrowed(global);
        }
        let mut global = global.clone();
        global.since = self.since;
        global.until = self.until;
        Cow::Owned(global)
    }
}
