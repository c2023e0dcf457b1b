//! Windows, where files have no modes, processes no signals, and KMS plugins no sockets.

pub(in crate::cli) mod closed;
pub(in crate::cli) mod cut_short;
pub(in crate::cli) mod files;
pub(in crate::cli) mod password;
pub(in crate::cli) mod process;
pub(in crate::cli) mod sockets;
pub(in crate::cli) mod termination;
