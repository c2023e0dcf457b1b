//! `ketcd completion`: the completion script of a shell, which asks ketcd itself for candidates.

use std::io::Write;

use clap::Args;
use clap_complete::env::Shells;

use crate::cli::output::Output;
use crate::cli::screen::Content;
use crate::cli::{Error, Outcome, Result};

/// Print the completion script of a shell
///
/// Load it with `source <(ketcd completion bash)`. The script calls ketcd itself for candidates: kinds, namespaces and names come from the
/// source that the command line or `ETCDCTL_*` variables name, as far as it answers within half a second.
#[derive(Args, Debug)]
pub(crate) struct CompletionArgs {
    /// bash, zsh, fish, elvish or powershell.
    shell: String,
}

/// Prints the script.
pub(super) fn run(args: &CompletionArgs, out: &mut Output) -> Result<Outcome> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&args.shell) else {
        let names: Vec<&str> = shells.names().collect();
        return Err(Error::new(format!("no completion for the shell {:?}", args.shell)).hint(format!("use one of {}", names.join(", "))));
    };
    let mut script = Vec::new();
    shell.write_registration("COMPLETE", "ketcd", "ketcd", "ketcd", &mut script)?;
    out.set_content(Content::Raw);
    out.write_all(&script)?;
    Ok(Outcome::Found)
}
