//! What can go wrong when reading etcd, structured so that `cli` can say what to do next.

use super::{EarlierRevisions, KeyRange, Revision};

/// The result of reading a source.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a source could not be read. `Display` is a lowercase fragment without a full stop; `cli::Error` adds the hint.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Error {
    /// The requested revision was compacted, or a recording or a bundle begins after it.
    #[error("revision {asked} {earlier}; the oldest that can be read is {oldest}")]
    Compacted {
        /// The requested revision.
        asked: Revision,
        /// The oldest that can still be read.
        oldest: Revision,
        /// What became of it.
        earlier: EarlierRevisions,
    },
    /// The requested revision lies between those of several sources.
    #[error("revision {asked} is in none of the sources, which are readable up to {before} ({ends}) and from {after} ({begins})")]
    Between {
        /// The requested revision.
        asked: Revision,
        /// The newest before it that can be read.
        before: Revision,
        /// The source that ends with that.
        ends: String,
        /// The oldest after it that can be read.
        after: Revision,
        /// The source that begins with that.
        begins: String,
    },
    /// The requested revision does not exist yet.
    #[error("revision {asked} is in the future; the newest is {newest}")]
    Future {
        /// The requested revision.
        asked: Revision,
        /// The newest there is.
        newest: Revision,
    },
    /// A revision was requested of objects that have no history.
    #[error("revision {asked} cannot be read: API objects are the state of one moment, not a history")]
    OneMoment {
        /// The requested revision.
        asked: Revision,
    },
    /// A file could not be read at all.
    #[error("cannot read {path}: {cause}")]
    File {
        /// The file.
        path: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// A file of a recording could not be written.
    #[error("cannot write {path}: {cause}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// A file is not what it was taken for, or is damaged beyond reading.
    #[error("{path}: {problem}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with it, and where.
        problem: String,
    },
    /// The user broke the reading off.
    #[error("interrupted")]
    Interrupted,
    /// A live cluster does not let the user read these keys.
    #[error("{problem}")]
    Denied {
        /// The keys that were asked for.
        keys: KeyRange,
        /// What was refused, in a sentence that names the endpoint and the user.
        problem: String,
        /// What an administrator can do about it.
        hint: String,
    },
    /// A live cluster answered with what cannot be true: a server is broken, or is not etcd.
    #[error("{problem}")]
    Untrue {
        /// The endpoint or endpoints.
        endpoint: String,
        /// What cannot be true, in a sentence that names the endpoint.
        problem: String,
    },
    /// A live cluster could not be reached or refused us.
    #[error("{problem}")]
    Remote {
        /// The endpoint or endpoints.
        endpoint: String,
        /// What went wrong, in a sentence that names the endpoint.
        problem: String,
        /// What the user can do about it.
        hint: Option<String>,
    },
}

impl Error {
    /// Whether the user may not read what was asked for.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Denied { .. })
    }
}
