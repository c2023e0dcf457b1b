//! What `usage` shows.

use crate::duration;
use ketcd_cluster::usage::{Large, Left, ManagerSums, NamedKey, UsageData};
use ketcd_history::clock::Dated;
use ketcd_history::usage::Sum;
use ketcd_store::{Revision, SourceStatus};

/// All that `usage` shows.
pub struct UsagePage {
    /// The source's own word.
    pub source: SourceStatus,
    /// The revisions of the span: after the first, up to the second.
    pub span: (Revision, Revision),
    /// Their times.
    pub times: Option<(Dated, Dated)>,
    /// All of it.
    pub total: Sum,
    /// Keys, and bytes of their values where they are known, at the beginning of the span.
    pub before: (u64, Option<u64>),
    /// Whether values were read, so that bytes are known.
    pub has_bytes: bool,
    /// About how many versions the database holds, if growth is estimated from its size.
    pub stored: Option<u64>,
    /// The least number of revisions that no version shows, if versions were counted: those of keys that were created and deleted in between.
    pub unseen: Option<u64>,
    /// One write in this many was compared with what it replaced; 0 where none was.
    pub compared_every: u64,
    /// The quota, where it is known or was given.
    pub quota: Option<u64>,
    /// By resource.
    pub resources: Vec<(String, Sum)>,
    /// By namespace.
    pub namespaces: Vec<(String, Sum)>,
    /// By field manager; `None` where no values were read.
    pub managers: Option<ManagerSums>,
    /// The busiest keys.
    pub keys: Vec<(NamedKey, Sum)>,
    /// The largest objects.
    pub largest: Vec<Large>,
    /// What controllers left behind.
    pub left: Vec<Left>,
    /// Whether all rows are shown.
    pub is_wide: bool,
}

impl UsagePage {
    /// Returns what the page shows of what was read; `quota` is the one given.
    pub fn new(gathered: UsageData, quota: Option<u64>, is_wide: bool) -> Self {
        let is_part = gathered.is_part();
        Self {
            span: gathered.span,
            times: gathered.times,
            total: gathered.usage.total(),
            before: gathered.before,
            has_bytes: gathered.has_bytes,
            stored: gathered.stored().filter(|_| !is_part),
            unseen: gathered.unseen().filter(|_| !is_part),
            compared_every: gathered.compared_every,
            quota: quota.or(gathered.quota()),
            resources: gathered.by_resource(),
            namespaces: gathered.by_namespace(),
            managers: gathered.managers,
            keys: gathered.keys,
            largest: gathered.largest,
            left: gathered.left,
            is_wide,
            source: gathered.source,
        }
    }

    /// Whether the source is a bundle, so that all figures are of a slice of the cluster.
    pub fn is_slice(&self) -> bool {
        self.source.is_bundle()
    }

    /// Seconds of the span.
    pub fn seconds(&self) -> Option<f64> {
        self.times.map(|(from, to)| duration::seconds_between(from, to)).filter(|seconds| *seconds > 0.0)
    }

    /// Bytes by which what is live grows in an hour; `None` where they or times are not known. Without values it is the growth in keys times the mean size.
    pub fn live_growth(&self) -> Option<f64> {
        let grown = match self.before.1 {
            Some(before) => self.total.live_bytes as f64 - before as f64,
            None => (self.total.keys as f64 - self.before.0 as f64) * self.mean_size()?,
        };
        Some(grown * 3600.0 / self.seconds()?)
    }

    /// Bytes that are written in an hour; without values, the writes times the mean size.
    pub fn written_growth(&self) -> Option<f64> {
        let written = if self.has_bytes { self.total.written_bytes as f64 } else { self.total.writes as f64 * self.mean_size()? };
        Some(written * 3600.0 / self.seconds()?)
    }

    /// The mean size of a version by the size of the database, in bytes, keys and pages included; `None` where values were read or it has no size.
    fn mean_size(&self) -> Option<f64> {
        let stored = self.stored.filter(|stored| *stored > 0 && self.source.in_use_bytes > 0)?;
        Some(self.source.in_use_bytes as f64 / stored as f64)
    }

    /// Days until live data fills the quota at the present rate; `None` if that is not known, as of a bundle, or if it does not grow.
    pub fn days_to_quota(&self) -> Option<f64> {
        if self.is_slice() {
            return None;
        }
        let room = self.quota?.saturating_sub(self.source.in_use_bytes) as f64;
        let growth = self.live_growth().filter(|growth| *growth > 0.0)?;
        Some(room / growth / 24.0)
    }

    /// The size of the history as a multiple of the live data.
    pub fn history_to_live(&self) -> Option<f64> {
        (self.has_bytes && self.total.live_bytes > 0).then_some(self.total.written_bytes as f64 / self.total.live_bytes as f64)
    }
}
