//! Which schedulers a takeover concerns: those whose process ended and was replaced by another.

use std::collections::BTreeSet;

/// The schedulers that began anew, by `schedulerName`. Which profiles a process has is known for certain only from its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestartedSchedulers {
    /// Those that did.
    pub certain: BTreeSet<String>,
    /// Those that did not: processes of their own decide about their pods.
    pub excluded: BTreeSet<String>,
    /// Whether any other may have begun anew.
    pub others: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Concern {
    /// It began anew.
    Certain,
    /// It may have begun anew.
    Possible,
    None,
}

impl RestartedSchedulers {
    /// Returns the schedulers of one process; `others`: whether it may have more profiles.
    pub fn new(certain: BTreeSet<String>, excluded: BTreeSet<String>, others: bool) -> Self {
        Self { certain, excluded, others }
    }

    pub(crate) fn concern(&self, scheduler_name: &str) -> Concern {
        if self.certain.contains(scheduler_name) {
            Concern::Certain
        } else if self.others && !self.excluded.contains(scheduler_name) {
            Concern::Possible
        } else {
            Concern::None
        }
    }
}
