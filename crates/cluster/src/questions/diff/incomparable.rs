//! Why the members of a cluster cannot be compared.

use ketcd_store::Revision;

/// Why members cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Incomparable {
    /// One holds API objects, which have no keys of a member.
    #[error("{name} holds API objects, not the keys of a member")]
    Objects {
        /// Which one.
        name: String,
    },
    /// They say that they are of different clusters.
    #[error("{} is of cluster {}, {} of cluster {}", first.0, first.1, other.0, other.1)]
    DifferentClusters {
        /// The name of the first that says so, and its cluster.
        first: (String, String),
        /// The name of the first of another cluster, and that cluster.
        other: (String, String),
    },
    /// Fewer than two could be read.
    #[error("fewer than two members could be read")]
    TooFew,
    /// The revision is newer than one of them.
    #[error("{name} has no revision {asked} yet: its newest is {newest}")]
    NotYet {
        /// Which one.
        name: String,
        /// The revision asked for.
        asked: Revision,
        /// The newest that it has.
        newest: Revision,
    },
    /// No revision can be read of all.
    #[error("the members have no revision in common: {} can be read up to {}, {} from {} on", ends.0, ends.1, begins.0, begins.1)]
    NothingInCommon {
        /// The member that ends first, and where it was to be read.
        ends: (String, Revision),
        /// The member that begins last, and where.
        begins: (String, Revision),
    },
}
