//! `ketcd verify`: whether a backup is good, as one verdict.

use std::time::Duration;

use clap::Args;

use crate::cli::connection::runtime::block_on;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::Output;
use crate::cli::recorder::age;
use crate::cli::session::command::Run;
use crate::cli::verification::{self, AskedVerification};
use ketcd_kube::Release;

/// Say whether a backup is good
///
/// The first line is the verdict: GOOD (exit code 0), FINDINGS (1: it can be used, and something needs a look) or BAD (2: it cannot be restored as it is),
/// and what was not checked. Reads every page, the checksum, a member's log, and every value of every key; finds what no API server would have
/// written, references that lead nowhere, and counters that are wrong. HashKV is the number that etcd itself gives, for comparison with a running
/// member. Findings are evidence with a weight, not accusations; those that weigh little leave the verdict GOOD. Several files, such as the members'
/// data dirs after a disaster, are ranked: the best to restore from comes first. A large file takes time, as all of it is read; --sample reads the values of a part.
#[derive(Args, Debug)]
#[command(before_help = "\
# Whether a backup is good\n\
ketcd verify snapshot.db\n\
# What it lacks of yesterday's, for Prometheus\n\
ketcd verify snapshot.db --against yesterday.db -o metrics")]
pub(crate) struct VerifyArgs {
    /// The files: snapshots, data dirs, recordings, or what else -f takes. Default: what -f names, or the live etcd.
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<String>,
    /// How old the newest write may be: `26h`.
    #[arg(long, value_name = "AGE", value_parser = age)]
    max_age: Option<Duration>,
    /// An earlier backup: name the namespaces and kinds that have far fewer objects since.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    against: Option<String>,
    /// How many objects of a namespace or kind may have gone since the earlier backup.
    #[arg(long, hide_short_help = true, value_name = "PERCENT", default_value = "20%", value_parser = percent, requires = "against")]
    keys_within: u8,
    /// The release of Kubernetes that an upgrade goes to: say what it does not serve or read.
    #[arg(long, value_name = "1.NN")]
    target: Option<Release>,
    /// Read the values of each 16th key only.
    #[arg(long, hide_short_help = true)]
    sample: bool,
    /// The time to count ages to, in RFC 3339. Default: now.
    #[arg(long, hide_short_help = true, value_name = "TIME")]
    now: Option<jiff::Timestamp>,
}

impl Run for VerifyArgs {
    fn prints_text(&self) -> bool {
        true
    }

    fn run(&self, global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
        /// How many keys stand for one that is read, where a part is asked for.
        const SAMPLE_EVERY: usize = 16;
        let asked = AskedVerification {
            files: &self.paths,
            against: self.against.as_deref(),
            max_age: self.max_age,
            keys_within: self.keys_within,
            target: self.target,
            sample_every: self.sample.then_some(SAMPLE_EVERY),
            now: self.now.unwrap_or_else(jiff::Timestamp::now),
        };
        block_on(verification::verify(global, &asked, out))
    }
}

/// Reads a percentage: `20%` or `20`.
fn percent(text: &str) -> std::result::Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<u8>().ok();
    number.filter(|percent| *percent <= 100).ok_or_else(|| "expected a percentage from 0% to 100%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_with_and_without_their_sign() {
        assert_eq!((percent("20%"), percent("5")), (Ok(20), Ok(5)));
        assert!(["", "%", "101%", "-1", "2.5%"].iter().all(|text| percent(text).is_err()));
    }
}
