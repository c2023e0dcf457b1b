//! JSON or CBOR that lies within a message, as the field sets of managers do.

use super::fault::{Fault, Result};
use super::{cbor, raw_json};

/// Fails where [`append`] does.
pub(super) fn check(raw: &[u8], offset: usize) -> Result<()> {
    let result = match raw.strip_prefix(&cbor::CBOR_MAGIC) {
        Some(_) => cbor::append(raw, &mut Vec::new()),
        None => raw_json::check(raw),
    };
    result.map_err(|fault| displaced(fault, offset))
}

/// Appends JSON or CBOR that lies `offset` bytes into the value as canonical JSON.
pub(super) fn append(raw: &[u8], offset: usize, out: &mut Vec<u8>) -> Result<()> {
    let result = match raw.strip_prefix(&cbor::CBOR_MAGIC) {
        Some(_) => cbor::append(raw, out),
        None => raw_json::append(raw, out),
    };
    result.map_err(|fault| displaced(fault, offset))
}

fn displaced(mut fault: Box<Fault>, offset: usize) -> Box<Fault> {
    fault.offset += offset;
    fault
}
