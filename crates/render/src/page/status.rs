//! What `status` shows.

use jiff::Timestamp;

use ketcd_history::clock::Dated;
use ketcd_kube::Release;
use ketcd_scheduler::cluster::Census;
use ketcd_store::{EarlierRevisions, RevisionSpan, SourceStatus};

/// All that `status` shows.
pub struct StatusPage {
    /// The source's own word.
    pub source: SourceStatus,
    /// The readable revisions.
    pub span: RevisionSpan,
    /// What became of the revisions before those.
    pub earlier: EarlierRevisions,
    /// Where it is the state of one moment: the newest time in it.
    pub one_moment: Option<Option<Timestamp>>,
    /// The first and the last revision that can be dated.
    pub dated: Option<(Dated, Dated)>,
    /// The API server's most likely release, where the data shows it.
    pub release: Option<Release>,
    /// The oldest and the newest it can be.
    pub release_bounds: Option<(Release, Release)>,
    /// What the values say.
    pub census: Census,
    /// Whether only some of the values were read for the census.
    pub is_sampled: bool,
    /// What else is to be known, a sentence each.
    pub notes: Vec<String>,
}

impl StatusPage {
    /// Returns whether anything is wrong with the source.
    pub fn has_problems(&self) -> bool {
        !(self.source.alarms.is_empty() && self.source.problems.is_empty())
    }
}
