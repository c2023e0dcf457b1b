//! Points in etcd's history.

use std::fmt;

/// A main revision of etcd's store: a point in its history. An empty store is at 1; the first write makes 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub i64);

impl Revision {
    /// The revision just before this one.
    #[must_use]
    pub fn before(self) -> Self {
        Self(self.0 - 1)
    }

    /// The revision just after this one.
    #[must_use]
    pub fn after(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The revision to read at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest there is when the read begins.
    Newest,
    /// Exactly this one.
    Revision(Revision),
}

/// The revisions a source can answer for, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevisionSpan {
    /// The oldest revision at which the whole key space can be read.
    pub oldest: Revision,
    /// The newest revision.
    pub newest: Revision,
    /// The revision of the last compaction, if there was one; reading at it still works.
    pub compacted: Option<Revision>,
}
