//! Receives what decoding leaves out.

use std::fmt::Debug;

use super::object::{Opaque, UnknownField};

/// Receives, for every decoded value, what its object does not show.
pub trait Observer: Debug + Send + Sync {
    /// Fields that are not shown; there is at least one.
    fn unknown_fields(&self, key: &[u8], fields: &[UnknownField]);

    /// A value that could not be decoded.
    fn opaque(&self, key: &[u8], mod_revision: i64, opaque: &Opaque);
}
