//! Asks for a password at the terminal, without showing it: not here, where what is typed would be shown.

use std::io::{self, IsTerminal};

use crate::cli::outcome::{Error, Result};
use ketcd_store::etcd::Password;

/// Refuses where somebody could answer; `None` where nobody is there.
///
/// # Errors
/// Standard input is a terminal.
pub(in crate::cli) fn ask() -> Result<Option<Password>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(None);
    }
    Err(Error::new("ketcd cannot ask for a password on this system").hint("give it in ETCDCTL_PASSWORD"))
}
