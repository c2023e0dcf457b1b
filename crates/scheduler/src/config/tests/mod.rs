//! Valid and invalid configurations, compared with upstream.

mod decoding;
mod refusals;
mod sets;

use crate::{Gates, Profile, Release};

use super::SchedulerConfiguration;

fn read(yaml: &str, minor: u16) -> Result<SchedulerConfiguration, Vec<String>> {
    let release = Release(minor);
    SchedulerConfiguration::parse(yaml, release, &Gates::new(release))
}

/// The prefix of the error that a profile cannot be created, since 1.24.
const MADE: &str = "initializing profiles: creating profile for scheduler name default-scheduler: ";

fn v1(rest: &str) -> String {
    format!("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n{rest}")
}

fn beta(version: &str, rest: &str) -> String {
    format!("apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n{rest}")
}

fn scores(profile: &Profile) -> String {
    profile.scores.iter().map(|entry| format!("{}×{}", entry.name, entry.weight)).collect::<Vec<_>>().join(" ")
}

fn filters(profile: &Profile) -> Vec<&'static str> {
    profile.filters.iter().map(|entry| entry.name).collect()
}

/// Checks the errors of a file.
fn refused(yaml: &str, minor: u16, reasons: &[&str]) {
    let found = read(yaml, minor).map(|_| ()).unwrap_err();
    assert_eq!(found, reasons, "{yaml}");
}
