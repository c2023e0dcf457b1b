//! The scheduler by whose rules decisions are evaluated, and the flags that say which.

use std::path::PathBuf;

use clap::Args;
use zeroize::Zeroizing;

use ketcd_cluster::Cluster;
use ketcd_cluster::explain::Explainer;
use ketcd_cluster::replay::{ConfigurationFile, SchedulerOptions};

use super::flag_file;
use crate::cli::outcome::Result;

/// Which scheduler decided.
#[derive(Args, Debug)]
pub(in crate::cli) struct SchedulerArgs {
    /// Apply the rules of the scheduler of this release, for example 1.28 or v1.20.15. Default: found in the data.
    #[arg(long, hide_short_help = true, value_name = "VERSION")]
    scheduler_version: Option<String>,
    /// The scheduler's configuration: a KubeSchedulerConfiguration of any version, or a Policy (up to 1.22).
    #[arg(long, hide_short_help = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    scheduler_config: Option<PathBuf>,
    /// The feature gates the scheduler was started with: A=true,B=false.
    #[arg(long, hide_short_help = true, value_name = "GATES")]
    feature_gates: Option<String>,
}

impl SchedulerArgs {
    /// Returns what explains decisions by the rules of the scheduler that the flags name: of the release found in the data, unless they name another.
    ///
    /// # Errors
    /// The source cannot be read, or the flags would be refused by that scheduler.
    pub(in crate::cli) async fn explainer<'c>(&self, cluster: &'c Cluster) -> Result<Explainer<'c>> {
        let text = self.configuration()?;
        Ok(cluster.explainer(&self.options(text.as_ref())).await?)
    }

    /// Reads the configuration that the flags name, if they name one.
    pub(in crate::cli) fn configuration(&self) -> Result<Option<Zeroizing<String>>> {
        self.scheduler_config.as_deref().map(|path| flag_file::read("--scheduler-config", path)).transpose()
    }

    /// Returns what the flags say, with the text of the configuration.
    pub(in crate::cli) fn options<'a>(&'a self, text: Option<&'a Zeroizing<String>>) -> SchedulerOptions<'a> {
        let file = self.scheduler_config.as_ref().zip(text);
        SchedulerOptions {
            version: self.scheduler_version.as_deref(),
            feature_gates: self.feature_gates.as_deref(),
            configuration: file.map(|(path, text)| ConfigurationFile { name: path.display().to_string(), text }),
        }
    }
}
