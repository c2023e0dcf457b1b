//! What `plugins` shows of a scheduling rule.

use ketcd_scheduler::{Gates, NEWEST_SCHEDULER, OLDEST_SCHEDULER, Plugin, Profile, Release, applied_release};

/// A rule and where the defaults run it.
pub struct PluginRow {
    plugin: &'static dyn Plugin,
    filters: Vec<u16>,
    scores: Vec<u16>,
}

impl PluginRow {
    /// Looks a rule up in the default profile of every release.
    pub fn of(plugin: &'static dyn Plugin) -> Self {
        let mut row = Self { plugin, filters: Vec::new(), scores: Vec::new() };
        for minor in OLDEST_SCHEDULER.0..=NEWEST_SCHEDULER.0 {
            let profile = Profile::new(Release(minor), Gates::new(Release(minor)));
            row.filters.extend(profile.filters.iter().any(|entry| entry.name == plugin.name()).then_some(minor));
            row.scores.extend(profile.scores.iter().any(|entry| entry.name == plugin.name()).then_some(minor));
        }
        row
    }

    /// The rule's name.
    pub fn name(&self) -> &'static str {
        self.plugin.name()
    }

    /// Whether the defaults of a release run it.
    pub fn runs_in(&self, release: Release) -> bool {
        let minor = applied_release(release).0;
        self.filters.contains(&minor) || self.scores.contains(&minor)
    }

    /// The minor releases whose defaults run it as a filter.
    pub fn filters(&self) -> &[u16] {
        &self.filters
    }

    /// The minor releases whose defaults run it as a score.
    pub fn scores(&self) -> &[u16] {
        &self.scores
    }

    /// The rule's page.
    pub fn page(&self) -> &'static str {
        self.plugin.doc()
    }

    /// The first line of the rule's page.
    pub fn summary(&self) -> &'static str {
        self.page().lines().next().unwrap_or_default()
    }
}
