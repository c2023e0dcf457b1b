//! What depends on the operating system: modes of files, signals, terminals without echo, Unix sockets. The rest of the command is the same everywhere.
//!
//! `unix` and `elsewhere` have the same items; where a system lacks what one needs, it says so.

#[cfg(not(unix))]
mod elsewhere;
mod interruption;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use elsewhere::{closed, cut_short, files, password, process, sockets, termination};
pub(super) use interruption::{Interrupted, interrupts};
#[cfg(unix)]
pub(super) use unix::{closed, cut_short, files, password, process, sockets, termination};
