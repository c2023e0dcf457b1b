//! The name that ketcd was called by, which begins every command line that is shown to be copied.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

/// What users of kubectl type for its plugin `kubectl-forensics`, which is this binary under another name.
pub const PLUGIN: &str = "kubectl forensics";

static IS_PLUGIN: LazyLock<bool> = LazyLock::new(|| std::env::args_os().next().is_some_and(|path| is_plugin_file(&path)));

/// Whether kubectl runs it as a plugin.
pub fn is_plugin() -> bool {
    *IS_PLUGIN
}

/// Returns `ketcd`, or `kubectl forensics`.
pub fn name() -> &'static str {
    if is_plugin() { PLUGIN } else { "ketcd" }
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
