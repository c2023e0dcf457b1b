//! What is wrong with a value, where.

use std::fmt;

/// A value that could not be read: what, at which byte, in which field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// A lowercase fragment.
    pub what: String,
    /// Bytes from the beginning of the value.
    pub offset: usize,
    /// JSON path of the field, empty for the value itself.
    pub path: String,
}

/// Faults are rare and results many: the box keeps them small.
pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

impl Fault {
    pub(super) fn new(what: impl Into<String>, offset: usize) -> Box<Self> {
        Box::new(Self { what: what.into(), offset, path: String::new() })
    }

    /// The same fault seen from one level up.
    pub(super) fn within(mut self: Box<Self>, segment: &str) -> Box<Self> {
        prepend(&mut self.path, segment);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", self.what, self.offset)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, ", field {}", self.path) }
    }
}

/// Puts a member's name or an index before a path: `spec` + `containers[0]`.
pub(super) fn prepend(path: &mut String, segment: &str) {
    if !path.is_empty() && !path.starts_with('[') {
        path.insert(0, '.');
    }
    path.insert_str(0, segment);
}
