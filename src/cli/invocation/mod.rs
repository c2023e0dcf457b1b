//! How this process was called: by which name, which every suggested command begins with, with which words, and with which credentials.

pub(super) mod arguments;
pub(super) mod commands;
pub(super) mod credential_variables;
pub(super) mod spelling;
pub(super) mod typed_line;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use ketcd_render::command_line::Invocation;

/// What users of kubectl type for its plugin `kubectl-forensics`, which is this binary under another name.
pub(super) const PLUGIN_NAME: &str = "kubectl forensics";

/// The call, once its flags are parsed.
static PARSED_INVOCATION: OnceLock<Invocation> = OnceLock::new();

/// The call before that: by its name alone.
static UNPARSED_INVOCATION: LazyLock<Invocation> = LazyLock::new(|| Invocation::new(program(), []));

/// Returns how this process was called; without flags until they are parsed.
pub(super) fn invocation() -> &'static Invocation {
    PARSED_INVOCATION.get().unwrap_or_else(|| &UNPARSED_INVOCATION)
}

/// Adds the flags that say what this process reads, each with its value. Called once.
pub(super) fn reads(flags: impl IntoIterator<Item = (&'static str, String)>) {
    let _ = PARSED_INVOCATION.set(Invocation::new(program(), flags));
}

/// Whether kubectl runs it as a plugin.
pub(super) fn is_plugin() -> bool {
    invocation().program() == PLUGIN_NAME
}

fn program() -> &'static str {
    if arguments::all().first().is_some_and(|path| is_plugin_file(path)) { PLUGIN_NAME } else { "ketcd" }
}

fn is_plugin_file(path: &OsStr) -> bool {
    Path::new(path).file_stem().is_some_and(|name| name == "kubectl-forensics")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_known_by_its_file_name() {
        for (path, expected) in [
            ("/root/.krew/bin/kubectl-forensics", true),
            ("kubectl-forensics", true),
            ("/usr/bin/ketcd", false),
            ("kubectl", false),
            ("kubectl-forensics/ketcd", false),
        ] {
            assert_eq!(is_plugin_file(OsStr::new(path)), expected, "{path}");
        }
    }
}
