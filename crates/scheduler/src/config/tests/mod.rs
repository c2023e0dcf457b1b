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

/// Checks why a file is refused.
fn refused(yaml: &str, minor: u16, reasons: &[&str]) {
    let found = read(yaml, minor).map(|_| ()).unwrap_err();
    assert_eq!(found, reasons, "{yaml}");
}
