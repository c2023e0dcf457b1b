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

/// What became of the revisions before the oldest that a source can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum EarlierRevisions {
    /// They were compacted.
    #[default]
    Compacted,
    /// They were not recorded: the recording begins after them, or was interrupted.
    NotRecorded,
    /// They were left out of a bundle, which is a slice of another source.
    LeftOut,
}

impl fmt::Display for EarlierRevisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compacted => "was compacted away",
            Self::NotRecorded => "was not recorded",
            Self::LeftOut => "was left out of the bundle",
        })
    }
}

/// The revisions a source can answer for, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevisionSpan {
    /// The oldest revision at which the whole key space can be read.
    pub oldest: Revision,
    /// The newest revision.
    pub newest: Revision,
    /// The revision of the last compaction, or the one that a recording or a bundle begins with, if there was one; reading at it still works.
    /// `Facts::earlier` says which.
    pub compacted: Option<Revision>,
}
