//! The scheduler by whose rules decisions are evaluated, and the flags that say which.

use std::path::{Path, PathBuf};

use clap::Args;

use ketcd_scheduler::{Gates, Profile, Release, Scheduler, SchedulerConfiguration, VersionFrom, applied_release, gate_refusals};
use ketcd_store::Revision;

use super::output::note;
use super::replay::Feed;
use super::{Error, Result, flag_file};

/// Which scheduler decided.
#[derive(Args, Debug)]
pub(super) struct SchedulerArgs {
    /// Use the scheduler of this release, for example 1.28 or v1.20.15. Default: found in the data.
    #[arg(long, value_name = "VERSION")]
    scheduler_version: Option<String>,
    /// The scheduler's configuration: a KubeSchedulerConfiguration of any version, or a Policy (up to 1.22).
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    scheduler_config: Option<PathBuf>,
    /// The feature gates the scheduler was started with: A=true,B=false.
    #[arg(long, value_name = "GATES")]
    feature_gates: Option<String>,
}

impl SchedulerArgs {
    /// The scheduler whose rules are applied: of the release found at `at`, unless another one is given.
    ///
    /// # Errors
    /// The source cannot be read, or the flags would be refused by that scheduler.
    pub(super) async fn scheduler(&self, feed: &mut Feed<'_>, at: Revision) -> Result<Scheduler> {
        let found = feed.version(at).await?;
        let recorded = found.release;
        let version = match &self.scheduler_version {
            None => found,
            Some(text) => VersionFrom::given(text, &found).map_err(|error| Error::new(error.to_string()))?,
        }
        .with_assumption();
        let gates = Gates::new(applied_release(version.release)).at_patch(version.patch);
        let gates = gates.parse(self.feature_gates.as_deref().unwrap_or_default()).map_err(Error::new)?;
        let refused = gate_refusals(&gates);
        if !refused.is_empty() {
            return Err(Error::new(format!("kube-scheduler {} would refuse --feature-gates: {}", version.release, refused.join("; "))));
        }
        for name in gates.without_effect() {
            note(&format!("feature gate {name} changes no scheduling rule known here"));
        }
        let Some(path) = &self.scheduler_config else {
            return Ok(Scheduler { profiles: vec![Profile::new(version.release, gates)], version, recorded, configured: false });
        };
        Ok(Scheduler { profiles: configured(path, version.release, &gates)?, version, recorded, configured: true })
    }
}

/// The profiles of a configuration file.
fn configured(path: &Path, release: Release, gates: &Gates) -> Result<Vec<Profile>> {
    let shown = path.display();
    let text = flag_file::read("--scheduler-config", path)?;
    match SchedulerConfiguration::parse(&text, release, gates) {
        Ok(configuration) => {
            configuration.notes.iter().for_each(|text| note(text));
            Ok(configuration.profiles)
        }
        Err(_) if !names_configuration(&text) => {
            let problem = format!("{shown} is not a KubeSchedulerConfiguration or a Policy");
            Err(Error::new(problem).hint("name the file that kube-scheduler is given with --config"))
        }
        Err(reasons) => {
            let refused = Error::new(format!("kube-scheduler {release} would refuse {shown}: {}", reasons.join("; ")));
            Err(refused.hint("mend the file, or give the scheduler's own version with --scheduler-version"))
        }
    }
}

/// Whether a file says that it configures a scheduler. Of any other nothing is repeated: it may be one with keys in it.
fn names_configuration(text: &str) -> bool {
    ["kubescheduler.config.k8s.io", "componentconfig/", "Policy", "KubeSchedulerConfiguration"].iter().any(|name| text.contains(name))
}
