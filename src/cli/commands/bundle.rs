//! `ketcd bundle`: a slice of a source in one file that may leave.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::cli::bundling::{self, AskedBundle, RedactionArgs};
use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::rights::Question;

/// Write a slice of a source into one file, with its history
///
/// The file is a recording of the chosen objects and of what their stories need: owners and what they own, nodes, Events, configuration,
/// volumes, Services and budgets that select them, quotas and Leases. It has the state at --since and every change up to --until, and -f
/// reads it with every command. Where a decision about a pod is in it, the other pods and nodes are in it as far as a scheduler reads them,
/// so that explain gives the same verdicts. Values of Secrets are masked unless --show-secrets is given.
///
/// With --redact, values are replaced by pseudonyms that stay the same throughout, so that references, selectors and verdicts hold. What was
/// replaced is in a report; read it before you send the bundle. The result is searched for every value that was replaced, also in base64,
/// gzip, hexadecimal, JSON and URL encoding; if one is found, no file is written. Values shorter than eight characters and words that
/// Kubernetes itself uses are replaced where a field holds them, and not searched for; names shorter than six are not in what only looks
/// encoded, as a uid does.
#[derive(Args, Debug)]
#[command(before_help = "\
# A namespace with its history, for a vendor\n\
ketcd -f snapshot.db bundle -n web --out incident.ketcd\n\
# One pod, without names, values and addresses\n\
ketcd -f snapshot.db bundle pod/web/db-0 --redact all --out pod.ketcd")]
pub(crate) struct BundleArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, or ns/NAME for a namespace with everything in it. Default: all of
    /// the namespace of -n, or with -A everything.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    window: WindowArgs,
    /// The file to write. An earlier bundle is replaced.
    #[arg(long, value_name = "FILE.ketcd", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    #[command(flatten)]
    redaction: RedactionArgs,
    /// Replace FILE.ketcd, or the report, even if ketcd did not write it, unless the command reads it.
    #[arg(long, hide_short_help = true)]
    force: bool,
}

impl Ask for BundleArgs {
    const ONLY_PRINTS: bool = false;
    const FIXES_REVISION: bool = true;
    const PRINTS_TEXT: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Bundle
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    fn selection(&self) -> Result<Selection> {
        Ok(Selection { ever: true, ..self.select.read()? })
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let asked = AskedBundle { words: &self.addresses, out: &self.out, redaction: &self.redaction, force: self.force };
        bundling::bundle(session, &asked, out).await
    }
}
