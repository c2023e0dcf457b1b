//! `ketcd rehearse`: what restoring a backup would do.

use clap::Args;

use crate::cli::connection::runtime::block_on;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::Output;
use crate::cli::rehearsal::{self, AskedRehearsal};
use crate::cli::session::command::Run;
use ketcd_kube::Release;

/// Say what restoring a backup would do
///
/// Compares the backup with the newest state that is left, such as the disk of a member that survived. The first line is the decision: what is lost, what
/// runs and will not be known to the API, what will not fit, and whether another source is better. Each forecast below has a command that shows or mends
/// it; a terminal is shown what fits a screen, `-o wide` shows all commands, and up to 1,000 objects of each forecast. `-o markdown` prints the way
/// through as a checklist, with the exact commands of the restore. Nothing is written and nothing is restored. Exit code 0: nothing weighs; 1: something
/// does, or another source is better; 2: the backup cannot be restored, or is of another cluster. Without --over, the backup alone answers, or the live
/// etcd that the flags name is the newest state.
#[derive(Args, Debug)]
#[command(before_help = "\
# What is lost if yesterday's backup replaces what is left\n\
ketcd rehearse yesterday.db --over snapshot.db\n\
# The whole way, as a checklist\n\
ketcd rehearse yesterday.db --over snapshot.db -o markdown")]
pub(crate) struct RehearseArgs {
    /// The backup: a snapshot, a data dir, or a database of kine; of a folder or an archive of several, the newest whole one. Default: what -f names.
    #[arg(value_name = "BACKUP", value_hint = clap::ValueHint::AnyPath)]
    backup: Option<String>,
    /// A state that is left: a member's data dir, a younger backup, a recording, or a live etcd (`https://10.0.0.1:2379`). The newest is compared, all are
    /// ranked; at most 16.
    #[arg(long, value_name = "NEWEST", value_hint = clap::ValueHint::AnyPath)]
    over: Vec<String>,
    /// After the restore: compare this cluster with the forecast, and say what came as forecast (exit code 0) and what did not (1).
    #[arg(long, value_name = "LIVE", value_hint = clap::ValueHint::AnyPath)]
    done: Option<String>,
    /// The release of the API server that will run on the restored data. Default: the one found in the newest state.
    #[arg(long, value_name = "1.NN")]
    target: Option<Release>,
    /// The time to count ages to, in RFC 3339. Default: now.
    #[arg(long, hide_short_help = true, value_name = "TIME")]
    now: Option<jiff::Timestamp>,
}

impl Run for RehearseArgs {
    fn prints_text(&self) -> bool {
        true
    }

    fn run(&self, global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
        let asked = AskedRehearsal {
            backup: self.backup.as_deref(),
            over: &self.over,
            done: self.done.as_deref(),
            target: self.target,
            now: self.now,
        };
        block_on(rehearsal::rehearse(global, &asked, out))
    }
}
