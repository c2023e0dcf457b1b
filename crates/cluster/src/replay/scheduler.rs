//! The scheduler by whose rules decisions are evaluated.

use ketcd_scheduler::{Gates, Profile, Scheduler, SchedulerConfiguration, VersionFrom, applied_release, gate_refusals};
use ketcd_store::Revision;

use super::feed::{ConfiguredLock, Feed};
use crate::error::{Error, Result};
use crate::notice::Notice;

/// Which scheduler decided, as far as that is known better than from the data.
#[derive(Clone, Debug, Default)]
pub struct SchedulerOptions<'a> {
    /// Its version, such as `1.28` or `v1.20.15`; found in the data where it is not given.
    pub version: Option<&'a str>,
    /// The feature gates it was started with: `A=true,B=false`.
    pub feature_gates: Option<&'a str>,
    /// Its configuration.
    pub configuration: Option<ConfigurationFile<'a>>,
}

/// A KubeSchedulerConfiguration of any version, or a Policy (up to 1.22).
#[derive(Clone, Debug)]
pub struct ConfigurationFile<'a> {
    /// What the file is called.
    pub name: String,
    /// Its text.
    pub text: &'a str,
}

impl Feed<'_> {
    /// The scheduler whose rules are applied: of the release found at `at`, unless another one is given.
    ///
    /// # Errors
    /// The source cannot be read, or the options would be refused by that scheduler.
    pub async fn scheduler(&mut self, options: &SchedulerOptions<'_>, at: Revision) -> Result<Scheduler> {
        let found = self.version(at).await?;
        let recorded = found.release;
        let version = match options.version {
            None => found,
            Some(text) => VersionFrom::given(text, &found).map_err(|error| Error::invalid(error.to_string()))?,
        }
        .with_assumption();
        let gates = Gates::new(applied_release(version.release)).at_patch(version.patch);
        let gates = gates.parse(options.feature_gates.unwrap_or_default()).map_err(Error::invalid)?;
        let refused = gate_refusals(&gates);
        if !refused.is_empty() {
            return Err(Error::invalid(format!("kube-scheduler {} would refuse --feature-gates: {}", version.release, refused.join("; "))));
        }
        for name in gates.without_effect() {
            self.cluster.note(Notice::GateWithoutEffect(name.to_owned()));
        }
        let Some(file) = &options.configuration else {
            return Ok(Scheduler { profiles: vec![Profile::new(version.release, gates)], version, recorded, configured: false });
        };
        let profiles = match SchedulerConfiguration::parse(file.text, version.release, &gates) {
            Ok(configuration) => {
                configuration.notes.iter().for_each(|text| self.cluster.note(Notice::SchedulerConfiguration(text.clone())));
                let profiles = configuration.profiles.iter().map(|profile| profile.scheduler_name.clone()).collect();
                self.configured = Some(ConfiguredLock { lock: configuration.leader_lock, profiles });
                configuration.profiles
            }
            Err(_) if !names_configuration(file.text) => {
                let problem = format!("{} is not a KubeSchedulerConfiguration or a Policy", file.name);
                return Err(Error::invalid(problem).hint("name the file that kube-scheduler is given with --config"));
            }
            Err(reasons) => {
                let refused =
                    Error::invalid(format!("kube-scheduler {} would refuse {}: {}", version.release, file.name, reasons.join("; ")));
                return Err(refused.hint("mend the file, or give the scheduler's own version with --scheduler-version"));
            }
        };
        Ok(Scheduler { profiles, version, recorded, configured: true })
    }
}

/// Whether a file says that it configures a scheduler. Of any other nothing is repeated: it may be one with keys in it.
fn names_configuration(text: &str) -> bool {
    ["kubescheduler.config.k8s.io", "componentconfig/", "Policy", "KubeSchedulerConfiguration"].iter().any(|name| text.contains(name))
}
