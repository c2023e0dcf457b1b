//! `--around` and `--window`: the stretch of time around a moment.

use clap::Args;
use jiff::{SignedDuration, Timestamp};

use crate::cli::outcome::{Error, Result};
use ketcd_cluster::{Cluster, Error as Failure};
use ketcd_history::clock::{Moment, duration};

/// Which stretch of time is shown.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct AroundArgs {
    /// Show only what happened around this time: RFC 3339, `14:03:20`, or an age such as `10m`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    around: Option<String>,
    /// How long before and after --around: `30s`, `5m`.
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "around")]
    window: String,
}

/// A stretch of time around a moment.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Around {
    /// The moment.
    pub center: Timestamp,
    /// How much before and after it.
    pub window: SignedDuration,
}

impl AroundArgs {
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.around.is_some()
    }

    /// Returns the stretch that was asked for.
    ///
    /// # Errors
    /// A time or a duration that cannot be read, or a time of which nothing is readable, which `--at` refuses too.
    pub(in crate::cli) async fn read(&self, cluster: &Cluster) -> Result<Option<Around>> {
        let Some(text) = &self.around else { return Ok(None) };
        let moment: Moment = text.parse().map_err(|error| Error::new(format!("--around: {error}")))?;
        let window = duration(&self.window)
            .ok_or_else(|| Error::new(format!("invalid --window {:?}: expected a duration such as 30s, 5m or 1h", self.window)))?;
        let reference = cluster.reference_time().await?;
        let reference = reference.ok_or_else(|| Error::new("nothing in this data dates its revisions").hint("leave --around out"))?;
        let center = moment.resolve(reference).ok_or_else(|| Error::new("--around is beyond the calendar"))?;
        let around = Around { center, window };
        if !cluster.source.is_one_moment() {
            around.check(cluster, moment, reference).await?;
        }
        Ok(Some(around))
    }
}

impl Around {
    /// Refuses a moment around which nothing is readable.
    async fn check(self, cluster: &Cluster, moment: Moment, newest: Timestamp) -> Result<()> {
        let Self { center, window } = self;
        if center.duration_since(newest) > window {
            let problem = format!("--around {center:.0} is after the readable history, which reaches to {newest:.0}");
            return Err(Error::new(problem).hint("give an earlier time"));
        }
        match cluster.revision_at(moment).await {
            Err(Failure::BeforeHistory { asked, from: Some(from), .. }) if from.duration_since(asked) <= window => Ok(()),
            found => Ok(found.map(drop)?),
        }
    }

    /// Where it is, in words.
    pub(in crate::cli) fn words(self) -> String {
        let ends = [self.center.checked_sub(self.window), self.center.checked_add(self.window)];
        match ends {
            [Ok(from), Ok(to)] => format!(" from {from:.0} to {to:.0}"),
            _ => String::new(),
        }
    }
}
