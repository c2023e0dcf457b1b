//! What shows that a file is one of a node.

use super::super::problem::LoadProblem;
use super::name::Name;
use super::{segment, snapshot};

/// Whether a file is one of a node, by its name and its first bytes.
pub(in super::super) fn is_of_node(name: &str, bytes: &[u8]) -> bool {
    // A segment that nothing was written to yet holds zeros.
    let is_begun = bytes.get(..8).is_some_and(|format| matches!(format[0], 0 | 1) && format[1..].iter().all(|&byte| byte == 0));
    match Name::of(name) {
        Some(Name::Closed { .. } | Name::Open(_)) => bytes.is_empty() || is_begun,
        _ => snapshot::begins_so(bytes),
    }
}

/// Whether a file of this name belongs to a node.
pub(in super::super) fn is_name(name: &str) -> bool {
    Name::of(name).is_some()
}

/// Whether bytes begin as a segment does that was written to.
pub(in super::super) fn is_segment(bytes: &[u8]) -> bool {
    segment::begins_so(bytes)
}

/// The answer to a segment that is alone.
pub(in super::super) fn segment_alone() -> LoadProblem {
    "is a segment of dqlite's log, which needs the snapshot and the segments before it; name the folder that it lies in".to_owned().into()
}
