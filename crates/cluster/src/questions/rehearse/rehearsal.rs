//! The answer of `rehearse`.

use super::forecast::{Chapter, Forecast};
use super::source::RehearsedSource;
use super::way::Way;
use crate::verify::{Verdict, Weight};

/// What a restore would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsal {
    /// The backup and the states that it was held against, the best to restore first.
    pub sources: Vec<RehearsedSource>,
    /// How many revisions the restore takes back; `None` without a newer state.
    pub lost_revisions: Option<i64>,
    /// Whether the backup and the newest state are of one cluster; `None` where that cannot be said.
    pub is_of_one_cluster: Option<bool>,
    /// What would be, in the order of the chapters, the weightiest first.
    pub forecasts: Vec<Forecast>,
    /// What could not be said, and what evidence is missing; one phrase per item.
    pub not_known: Vec<String>,
    /// How it is done.
    pub way: Way,
}

impl Rehearsal {
    /// The backup that was asked about.
    pub fn backup(&self) -> Option<&RehearsedSource> {
        self.sources.iter().find(|source| source.is_backup)
    }

    /// The newest state that it was held against.
    pub fn newest(&self) -> Option<&RehearsedSource> {
        self.sources.iter().find(|source| source.is_newest)
    }

    /// The source that loses the least and is whole, where that is not the backup.
    pub fn better(&self) -> Option<&RehearsedSource> {
        self.sources.first().filter(|best| !best.is_backup && best.verdict != Verdict::Bad)
    }

    /// The forecasts of a chapter.
    pub fn chapter(&self, chapter: Chapter) -> impl Iterator<Item = &Forecast> {
        self.forecasts.iter().filter(move |forecast| forecast.kind.chapter() == chapter)
    }

    /// The verdict: bad where the backup cannot be restored or is of another cluster, findings where something weighs, good otherwise.
    pub fn verdict(&self) -> Verdict {
        if self.is_of_one_cluster == Some(false) || self.backup().is_some_and(|backup| backup.verdict == Verdict::Bad) {
            Verdict::Bad
        } else if self.better().is_some() || self.forecasts.iter().any(|forecast| forecast.weight > Weight::Low) {
            Verdict::Findings
        } else {
            Verdict::Good
        }
    }
}
