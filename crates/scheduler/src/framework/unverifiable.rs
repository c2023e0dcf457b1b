//! Parts of a configuration whose effect on a decision cannot be verified.

use crate::Release;

/// A part of a configuration whose effect cannot be verified with what etcd holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Unverifiable {
    /// An extender, whose answers are not in etcd. Without either verb it takes part only in binding or preemption.
    Extender {
        /// Its `urlPrefix`.
        url: String,
        /// Whether it has a `filterVerb`.
        filters: bool,
        /// Whether it has a `prioritizeVerb`.
        prioritizes: bool,
    },
    /// Files of an extender's `tlsConfig`, which kube-scheduler reads as it starts.
    ExtenderFiles {
        /// Its `urlPrefix`.
        url: String,
        /// Their paths.
        files: Vec<String>,
    },
    /// A plugin that is not in-tree.
    OutOfTreePlugin(String),
    /// A filter or score that no rule here implements.
    UnknownPlugin(String),
    /// A score that runs twice because of a bug in upstream's expandMultiPointPlugins (up to 1.25); it is counted once.
    ScoreRunsTwice {
        /// The plugin.
        plugin: String,
        /// The release.
        release: Release,
    },
    /// A negative weight, with which kube-scheduler up to 1.21 starts or not depending on the order of a Go map.
    NegativeWeight(Release),
    /// A score whose PreScore is disabled, where the result is not known.
    ScoreWithoutPreScore(String),
    /// A filter whose PreFilter is disabled, where the result is not known.
    FilterWithoutPreFilter(String),
    /// A predicate of a Policy that is not in the order of predicates, so that it never runs (since 1.10).
    UnorderedPredicate {
        /// The predicate.
        name: String,
        /// The release.
        release: Release,
    },
    /// A predicate of a Policy that no released kube-scheduler registers.
    UnregisteredPredicate {
        /// The predicate.
        name: String,
        /// The release.
        release: Release,
    },
}
