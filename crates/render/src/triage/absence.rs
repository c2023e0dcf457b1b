//! That there was nothing to look at, and why: an empty store or another's is no healthy cluster.

use super::TriagePage;
use crate::visible::visible;

/// Why there was nothing of Kubernetes to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// No key is stored.
    Empty,
    /// No key is stored below the prefix; another prefix has a cluster's.
    OtherPrefix {
        /// The prefix looked below.
        prefix: String,
        /// Where there are keys of a cluster.
        cluster: String,
    },
    /// The keys are of other software.
    Foreign {
        /// The prefix looked below.
        prefix: String,
        /// How some of the keys begin.
        begin: Vec<String>,
    },
    /// Only Events are stored: an API server may keep them in an etcd of their own.
    OnlyEvents {
        /// The prefix looked below.
        prefix: String,
    },
    /// Objects of Kubernetes are stored, none of a kind that is looked at.
    OtherKinds {
        /// The prefix looked below.
        prefix: String,
        /// Some of the kinds that are there.
        kinds: Vec<String>,
    },
    /// The namespace asked for does not exist; what has no namespace was looked at.
    Namespace(String),
}

impl Absence {
    /// Returns the word for machines.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::OtherPrefix { .. } => "OtherPrefix",
            Self::Foreign { .. } => "Foreign",
            Self::OnlyEvents { .. } => "OnlyEvents",
            Self::OtherKinds { .. } => "OtherKinds",
            Self::Namespace(_) => "Namespace",
        }
    }

    /// Returns what there is instead, and what to do next.
    pub fn words(&self) -> String {
        let text = match self {
            Self::Empty => "nothing is stored there: this etcd is new, empty or not the cluster's".to_owned(),
            Self::OtherPrefix { prefix, cluster } => {
                format!("nothing is stored below {prefix}; a cluster's keys are below {cluster}: --prefix {cluster}")
            }
            Self::Foreign { prefix, begin } => {
                let begin = begin.join(", ");
                format!(
                    "no object of Kubernetes is stored below {prefix}: keys begin with {begin}; name the API server's etcd, or its --prefix"
                )
            }
            Self::OnlyEvents { prefix } => {
                format!(
                    "only Events are stored below {prefix}; name the etcd that holds the other objects (--etcd-servers of the API server)"
                )
            }
            Self::OtherKinds { prefix, kinds } => {
                format!("no node, pod, workload or namespace is stored below {prefix}, only other kinds: {}", kinds.join(", "))
            }
            Self::Namespace(name) => format!("namespace \"{name}\" does not exist; ketcd ls namespaces lists those that do"),
        };
        visible(&text).into_owned()
    }
}

/// Returns what has to be said before anything else: that there was nothing to look at, or that values could not be decoded; `None` where neither is so.
pub(super) fn said_first(page: &TriagePage<'_>) -> Option<String> {
    if let Some(absence) = &page.absence {
        return Some(format!("nothing to look at at revision {}: {}", page.revision, absence.words()));
    }
    let values = match page.not_decoded {
        0 => return None,
        1 => "1 value".to_owned(),
        many => format!("{many} values"),
    };
    Some(format!("{values} could not be decoded: what they say is missing here"))
}
