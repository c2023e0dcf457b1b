//! The scheduler by whose rules decisions are evaluated.

use ketcd_scheduler::{Gates, Profile, Scheduler, SchedulerConfiguration, VersionEvidence, VersionFrom, applied_release, gate_refusals};
use ketcd_store::Revision;

use super::feed::{ConfiguredLock, Feed};
use super::scheduler_start::Start;
use crate::error::{Error, Result};
use crate::notice::{Notice, SchedulerStart};

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
    /// The scheduler whose rules are applied: that of the release found at `at`, unless another one is given.
    ///
    /// # Errors
    /// The source cannot be read, or the options would be refused by that scheduler.
    pub async fn scheduler(&mut self, options: &SchedulerOptions<'_>, at: Revision) -> Result<Scheduler> {
        let found = self.version(at).await?;
        let (recorded, is_shown) = (found.release, found.evidence != VersionEvidence::Assumed);
        let version = match options.version {
            None => found,
            Some(text) => VersionFrom::given(text, &found).map_err(|error| Error::invalid(error.to_string()))?,
        }
        .with_assumption();
        // Where the data do not show who decided, whoever gives the release says it.
        let recorded = if is_shown { recorded } else { version.release };
        let start = self.start(at, options.configuration.is_none()).await?;
        let gates = self.gates(options, &start, &version)?;
        let (profiles, configured) = match (&options.configuration, &start) {
            (Some(file), _) => (self.given_profiles(file, &version, &gates)?, true),
            (None, Start { configuration: Some((place, text)), .. }) => match self.profiles(text, &version, &gates) {
                Ok(profiles) => {
                    self.note(SchedulerStart::Configured { place: place.clone() });
                    (profiles, true)
                }
                Err(reasons) => {
                    self.note(SchedulerStart::Unusable { place: place.clone(), problem: reasons.join("; ") });
                    (vec![Profile::new(version.release, gates)], false)
                }
            },
            (None, Start { without, .. }) => {
                without.iter().for_each(|pod| self.note(SchedulerStart::Default { pod: pod.clone() }));
                (vec![Profile::new(version.release, gates)], without.is_some())
            }
        };
        Ok(Scheduler { profiles, version, recorded, configured })
    }

    fn note(&self, start: SchedulerStart) {
        self.cluster.note(Notice::SchedulerStart(start));
    }

    /// The feature gates that the options name, or else those that the scheduler's Pods set.
    fn gates(&self, options: &SchedulerOptions<'_>, start: &Start, version: &VersionFrom) -> Result<Gates> {
        let defaults = Gates::new(applied_release(version.release)).at_patch(version.patch);
        let Some(given) = options.feature_gates else { return Ok(self.found_gates(defaults, start)) };
        let gates = defaults.parse(given).map_err(Error::invalid)?;
        let refused = gate_refusals(&gates);
        if !refused.is_empty() {
            return Err(Error::invalid(format!("kube-scheduler {} would refuse --feature-gates: {}", version.release, refused.join("; "))));
        }
        for name in gates.without_effect() {
            self.cluster.note(Notice::GateWithoutEffect(name.to_owned()));
        }
        Ok(gates)
    }

    /// The gates that Pods set. Most of OpenShift's are of other programs, and those change nothing here.
    fn found_gates(&self, defaults: Gates, start: &Start) -> Gates {
        let Some((pod, text)) = &start.gates else { return defaults };
        let accepted = |gates: Gates| match &gate_refusals(&gates)[..] {
            [] => Ok(gates),
            refused => Err(refused.join("; ")),
        };
        match defaults.clone().parse(text).and_then(accepted) {
            Ok(gates) => {
                self.note(SchedulerStart::Gates { pod: pod.clone(), gates: text.clone() });
                gates
            }
            Err(problem) => {
                self.note(SchedulerStart::Unusable { place: format!("--feature-gates of {pod}"), problem });
                defaults
            }
        }
    }

    fn profiles(&mut self, text: &str, version: &VersionFrom, gates: &Gates) -> std::result::Result<Vec<Profile>, Vec<String>> {
        let configuration = SchedulerConfiguration::parse(text, version.release, gates)?;
        configuration.notes.iter().for_each(|text| self.cluster.note(Notice::SchedulerConfiguration(text.clone())));
        let profiles = configuration.profiles.iter().map(|profile| profile.scheduler_name.clone()).collect();
        self.configured = Some(ConfiguredLock { lock: configuration.leader_lock, profiles });
        Ok(configuration.profiles)
    }

    /// The profiles of the file that the user names; of a ConfigMap that holds one configuration, of that.
    fn given_profiles(&mut self, file: &ConfigurationFile<'_>, version: &VersionFrom, gates: &Gates) -> Result<Vec<Profile>> {
        match &SchedulerConfiguration::in_config_map(file.text)[..] {
            [] => {}
            [(key, text)] => {
                let name = format!("{} (the key {key} of a ConfigMap)", file.name);
                self.cluster.note(Notice::SchedulerConfiguration(format!(
                    "{} is a ConfigMap: the configuration in its key {key} is used",
                    file.name
                )));
                return self.given_profiles(&ConfigurationFile { name, text }, version, gates);
            }
            several => {
                let keys = several.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(", ");
                let problem = format!("{} is a ConfigMap with several configurations: {keys}", file.name);
                return Err(Error::invalid(problem).hint("write the one that kube-scheduler is given into a file of its own"));
            }
        }
        self.profiles(file.text, version, gates).map_err(|reasons| {
            if !names_configuration(file.text) {
                let problem = format!("{} is not a KubeSchedulerConfiguration or a Policy", file.name);
                return Error::invalid(problem).hint("name the file that kube-scheduler is given with --config");
            }
            let refused = Error::invalid(format!("kube-scheduler {} would refuse {}: {}", version.release, file.name, reasons.join("; ")));
            refused.hint("correct the file, or give the scheduler's own version with --scheduler-version")
        })
    }
}

/// Whether a file says that it configures a scheduler. Of any other nothing is repeated: it may be one with keys in it.
fn names_configuration(text: &str) -> bool {
    ["kubescheduler.config.k8s.io", "componentconfig/", "Policy", "KubeSchedulerConfiguration"].iter().any(|name| text.contains(name))
}
