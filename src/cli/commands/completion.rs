//! `ketcd completion`: the completion script of a shell, which asks ketcd itself for candidates.

use std::io::Write;

use clap::Args;
use clap_complete::env::EnvCompleter;

use crate::cli::complete::KNOWN_SHELLS;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::Output;
use crate::cli::session::command::Run;
use ketcd_render::style::Content;

/// Print the completion script of a shell
///
/// Load it with `source <(ketcd completion bash)`. The script calls ketcd for candidates: kinds, namespaces and names come from the source
/// named on the command line or in `ETCDCTL_*` variables, if it answers within half a second; `KETCD_COMPLETION_TIMEOUT=2s` waits
/// longer.
#[derive(Args, Debug)]
#[command(before_help = "\
# Complete kinds, namespaces and names in this bash\n\
source <(ketcd completion bash)\n\
# In every zsh: put the script into a folder of $fpath\n\
ketcd completion zsh > _ketcd")]
pub(crate) struct CompletionArgs {
    /// bash, zsh, fish, elvish or powershell.
    shell: String,
}

impl Run for CompletionArgs {
    fn run(&self, _global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
        let Some(shell) = KNOWN_SHELLS.completer(&self.shell) else {
            let names: Vec<&str> = KNOWN_SHELLS.iter().map(EnvCompleter::name).collect();
            return Err(
                Error::new(format!("no completion for the shell {:?}", self.shell)).hint(format!("use one of {}", names.join(", ")))
            );
        };
        let mut script = Vec::new();
        shell.write_registration("COMPLETE", "ketcd", "ketcd", "ketcd", &mut script)?;
        if self.shell == "zsh" {
            script = loadable_by_zsh(&script)?;
        }
        out.set_content(Content::Raw);
        out.write_all(&script)?;
        Ok(Outcome::Found)
    }
}

/// The script for zsh, made such that it completes at once where zsh itself loads it from a folder of `$fpath`, as packages install it: it is then the
/// function `_ketcd`, called to complete the word at the cursor.
fn loadable_by_zsh(script: &[u8]) -> Result<Vec<u8>> {
    const ZSH_REGISTRATION: &str = "compdef _clap_dynamic_completer_ketcd ketcd";
    let script = String::from_utf8_lossy(script);
    let Some(functions) = script.trim_end().strip_suffix(ZSH_REGISTRATION) else {
        return Err(Error::new("the completion script for zsh does not end as it should"));
    };
    let by_name = "if [[ ${funcstack[1]} == _ketcd ]]; then\n    _clap_dynamic_completer_ketcd \"$@\"";
    Ok(format!("{functions}{by_name}\nelse\n    {ZSH_REGISTRATION}\nfi\n").into_bytes())
}
