//! What goes wrong while a cluster is read.

use std::fmt;

use jiff::Timestamp;

use ketcd_kube::{AddressError, UnknownKind};
use ketcd_store::{Error as StoreError, KeyRange, Revision};

use crate::diff::Incomparable;
use crate::not_found::{NotFound, WithoutKind};

/// The result of a question.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a question has no answer. What to do next depends on who asks, and is not part of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] StoreError),
    /// A word is no address of this cluster.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A kind is none of Kubernetes' own, and the definitions of others may not be read.
    #[error("Kubernetes has no built-in kind \"{word}\", and {}, where custom kinds are defined", refusal.problem)]
    Undefined {
        /// The word.
        word: String,
        /// What may not be read.
        refusal: DeniedKeys,
    },
    /// A word is no address, but objects are called so.
    #[error("{0}")]
    WithoutKind(Box<WithoutKind>),
    /// No kind was named where one is needed.
    #[error("no kind was named")]
    NoKind,
    /// Several API servers store their objects in this etcd: [`Options::prefix`](crate::Options::prefix) chooses one.
    #[error("several clusters share this etcd")]
    SeveralPrefixes(Vec<String>),
    /// The one object that an address names is not there.
    #[error("{0}")]
    NotFound(Box<NotFound>),
    /// Nothing is there of what was asked for.
    #[error("{0}")]
    Nothing(Nothing),
    /// Members of a cluster cannot be compared.
    #[error(transparent)]
    Incomparable(#[from] Incomparable),
    /// A pod's stored object cannot be read as a scheduler reads it.
    #[error("pod {}/{}: {problem} (revision {revision})", pod.0, pod.1)]
    UnreadablePod {
        /// The pod's namespace and name.
        pod: (String, String),
        /// What is wrong with it.
        problem: String,
        /// The revision it was read at.
        revision: Revision,
    },
    /// Nothing in the data says when revisions were written.
    #[error("nothing in this data dates its revisions")]
    Undated,
    /// A time is before the history that can be read.
    #[error("{}; it reaches from {} to {to}", outside(*asked, *days), from.map_or_else(String::new, |from| from.to_string()))]
    BeforeHistory {
        /// The time.
        asked: Timestamp,
        /// What a time of day alone could mean: the last one, which is before the history, and the next, which is after it.
        days: Option<(Timestamp, Timestamp)>,
        /// When the first dated revision was written.
        from: Option<Timestamp>,
        /// When the newest was.
        to: Timestamp,
        /// Whether a compaction took what came before.
        is_compacted: bool,
    },
    /// What was asked for cannot be: a sentence without its full stop, and what to do instead where that is known.
    #[error("{problem}")]
    Invalid {
        /// What is wrong.
        problem: String,
        /// What to do instead.
        hint: Option<String>,
    },
}

/// That a time is before the readable history; of a time of day which days it could be.
fn outside(asked: Timestamp, days: Option<(Timestamp, Timestamp)>) -> String {
    match days {
        Some((before, after)) => {
            format!("{} is in no part of the readable history: {before} is before it, {after} after it", before.strftime("%H:%M:%S"))
        }
        None => format!("{asked} is before the readable history"),
    }
}

/// What was asked for and of which nothing is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// Objects below the prefix.
    Objects {
        /// The prefix.
        prefix: String,
    },
    /// Objects in a namespace.
    InNamespace(String),
    /// Objects in a namespace, in either of two states.
    InEither {
        /// The namespace.
        namespace: String,
        /// What the states are called.
        states: [String; 2],
    },
    /// Objects that selectors select.
    Selected {
        /// Whether they were looked for in all namespaces.
        in_all: bool,
    },
    /// Pods that objects of a kind own.
    PodsOfKind {
        /// The kind.
        kind: String,
        /// The namespace looked at, if only one was.
        namespace: Option<String>,
    },
    /// Pods that an object owns.
    OwnedPods {
        /// The object's address.
        owner: String,
        /// Its namespace, if it has one.
        namespace: Option<String>,
    },
}

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objects { prefix } => write!(f, "no object is stored under {prefix}/"),
            Self::InNamespace(namespace) => write!(f, "nothing found in namespace {namespace:?}"),
            Self::InEither { namespace, states: [before, after] } => {
                write!(f, "nothing found in namespace {namespace:?}, neither in {before} nor in {after}")
            }
            Self::Selected { .. } => f.write_str("nothing found: none of the named objects matches the selectors"),
            Self::PodsOfKind { kind, namespace: Some(namespace) } => write!(f, "no {kind} owns pods in namespace {namespace:?}"),
            Self::PodsOfKind { kind, namespace: None } => write!(f, "no {kind} owns pods"),
            Self::OwnedPods { owner, namespace: Some(namespace) } => write!(f, "{owner} owns no pods in namespace {namespace:?}"),
            Self::OwnedPods { owner, namespace: None } => write!(f, "{owner} owns no pods"),
        }
    }
}

/// Keys that the user may not read.
#[derive(Clone, Debug)]
pub struct DeniedKeys {
    /// The keys that were asked for.
    pub keys: KeyRange,
    /// What was refused, in a sentence that names the user.
    pub problem: String,
}

impl Error {
    /// Returns an error of what cannot be asked for.
    pub fn invalid(problem: impl Into<String>) -> Self {
        Self::Invalid { problem: problem.into(), hint: None }
    }

    /// Adds what to do instead.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Invalid { problem, .. } => Self::Invalid { problem, hint: Some(hint.into()) },
            other => other,
        }
    }

    /// Returns what the user may not read, where that is the error.
    pub fn refusal(&self) -> Option<DeniedKeys> {
        match self {
            Self::Source(StoreError::Denied { keys, problem, .. }) => Some(DeniedKeys { keys: keys.clone(), problem: problem.clone() }),
            Self::Undefined { refusal, .. } => Some(refusal.clone()),
            _ => None,
        }
    }

    /// Whether it is of a time of day that is nearer to the end of the history than to its beginning: the day after was rather meant.
    pub(crate) fn is_rather_after(&self) -> bool {
        let &Self::BeforeHistory { asked, days: Some((_, after)), from: Some(from), to, .. } = self else { return false };
        after.duration_since(to) < from.duration_since(asked)
    }

    /// Whether a revision was compacted away.
    pub fn is_compacted(&self) -> bool {
        matches!(self, Self::Source(StoreError::Compacted { .. } | StoreError::Between { .. }))
    }

    /// Whether it says that what was asked for is not there, which is an answer.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::NotFound(_) | Self::Nothing(_))
    }
}

impl From<UnknownKind> for Error {
    fn from(error: UnknownKind) -> Self {
        Self::Address(error.into())
    }
}
