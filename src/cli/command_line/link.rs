//! `ketcd --link URL`: what a link of the page shows, as text. The words of the command that shows it stand for the command, so that everything else is as
//! with a command: what is read, in which form it is printed, which flags do not fit.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, Command};

use ketcd_render::browser::Link;
use ketcd_render::visible::visible;

use crate::cli::invocation::invocation;
use crate::cli::output::note;

/// The flag that stands for a command.
#[derive(Args, Debug)]
pub(in crate::cli) struct LinkArgs {
    /// Print a view of the page as text, in the place of a command: URL is its link (of `ui`, `serve --ui` or a report), which is not fetched.
    #[arg(long, value_name = "URL", help_heading = "Selection")]
    pub link: Option<String>,
}

/// Returns the arguments with the command that shows what `--link` names, where it is among them. `shown` makes the command line.
///
/// # Errors
/// There is a command too, or the link is refused.
pub(super) fn with_command(mut arguments: Vec<OsString>, shown: impl Fn() -> Command) -> clap::error::Result<Vec<OsString>> {
    let is_link = |argument: &OsString| argument == "--link" || argument.as_encoded_bytes().starts_with(b"--link=");
    if !arguments.iter().any(is_link) {
        return Ok(arguments);
    }
    let matches = shown().subcommand_required(false).arg_required_else_help(false).try_get_matches_from(&arguments)?;
    let Some(url) = matches.get_one::<String>("link") else { return Ok(arguments) };
    if let Some(name) = matches.subcommand_name() {
        let problem = format!("the argument '--link <URL>' cannot be used with the command '{name}': the link says what is shown");
        return Err(shown().error(ErrorKind::ArgumentConflict, problem));
    }
    let link = Link::read(url)
        .map_err(|refused| shown().error(ErrorKind::ValueValidation, format!("invalid value for '--link <URL>': {refused}")))?;
    arguments.push(link.view.name().into());
    arguments.extend(link.view.arguments().into_iter().map(OsString::from));
    Ok(arguments)
}

/// Says which command shows what a link opens, and what of the link it does not.
pub(in crate::cli) fn say(url: &str) {
    let Ok(link) = Link::read(url) else { return };
    note(&format!("the link shows: {}", link.view.command(invocation())));
    if !link.left_out.is_empty() {
        note(&format!("not limited by {}: no flag does that", visible(&link.left_out.join(" "))));
    }
}
