//! What is read: how a source is reached and opened, and what opens its sealed values.

pub(in crate::cli) mod api_server;
pub(in crate::cli) mod bucket;
pub(in crate::cli) mod cautions;
pub(in crate::cli) mod encryption;
pub(in crate::cli) mod etcd;
pub(in crate::cli) mod inputs;
pub(in crate::cli) mod interruptible;
pub(in crate::cli) mod kms;
mod resolve;
pub(in crate::cli) mod runtime;
pub(in crate::cli) mod source;
pub(in crate::cli) mod well_known;
