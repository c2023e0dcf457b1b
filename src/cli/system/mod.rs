//! What depends on the operating system: modes of files, signals, terminals without echo, Unix sockets. The rest of the command is the same everywhere.
//!
//! `unix` and `elsewhere` have the same items; where a system lacks what one needs, it says so.

#[cfg(not(unix))]
mod elsewhere;
mod interruption;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use elsewhere::{cut_short, files, password, process, sockets, termination};
pub(super) use interruption::Interrupted;
#[cfg(unix)]
pub(super) use unix::{cut_short, files, password, process, sockets, termination};
