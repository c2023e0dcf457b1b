//! What became of a forecast, once the restore was done.

use super::super::forecast::{Affected, ForecastKind};

/// What became of a forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It came as forecast.
    Right,
    /// It did not.
    Wrong,
    /// The running cluster does not show it.
    NotObservable,
}

impl Outcome {
    /// Every outcome, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Wrong, Self::Right, Self::NotObservable];

    /// Returns the name that machine output has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::NotObservable => "notObservable",
        }
    }
}

/// One forecast about one object, with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// What the forecast was about.
    pub kind: ForecastKind,
    /// The object.
    pub affected: Affected,
    /// What became of it.
    pub outcome: Outcome,
    /// What shows that.
    pub evidence: String,
}
