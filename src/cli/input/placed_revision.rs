//! Revisions as `~r779` shows them: those that an audit log alone gives to changes whose own it does not name. They are no revisions of etcd's.

use crate::cli::outcome::{Error, Result};
use ketcd_store::Revision;

/// Reads `~r779`, or `~779`; `None` of every other text.
pub(in crate::cli) fn placed(text: &str) -> Option<Revision> {
    let number = text.strip_prefix('~')?;
    number.strip_prefix('r').unwrap_or(number).parse().ok().filter(|number| *number > 0).map(Revision)
}

/// Refuses such a revision of `flag`, where what is read is not the log alone.
pub(in crate::cli) fn check(flag: &str, text: &str, is_of_logs: bool) -> Result<()> {
    if is_of_logs || placed(text).is_none() {
        return Ok(());
    }
    let problem =
        format!("{flag} {text} is a revision that ketcd assigned to a change in an audit log; etcd may have the change at another one");
    Err(Error::new(problem).hint("give the time of the change, with --at, --since or --until"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_marked_is_placed() {
        assert_eq!(["~r779", "~779"].map(placed), [Some(Revision(779)); 2]);
        assert_eq!(["779", "r779", "~", "~r0", "~r-1", "~10m", ""].map(placed), [None; 7]);
        assert!(check("--rev", "~r779", false).is_err() && check("--rev", "~r779", true).is_ok() && check("--rev", "779", false).is_ok());
    }
}
