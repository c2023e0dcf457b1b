//! `ketcd report`: the story as one self-contained page.

use clap::Args;

use ketcd_render::report::{Heading, is_page, reach_words, window_words};

use crate::cli::changes::report::{self, Gathered};
use crate::cli::connection::inputs::inputs;
use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::request_filter::ByArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::destination::{Destination, Replacing};
use crate::cli::output::{Output, note};
use crate::cli::session::Session;
use crate::cli::session::absence::note_nothing_within;
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::rights::Question;
use ketcd_render::words::absence_words;
use ketcd_serve::{PAGE_SCRIPT, PAGE_STYLE};

/// Write the history of a cluster as one HTML page
///
/// Shows the state at --since and the changes after it, up to --until. The page shows a row per object below its owner, with its states,
/// changes and Events over time; a click opens versions, differences and scheduling decisions. It holds everything in one file and loads nothing from the network.
///
/// With more than 5,000 objects, a row is shown only for those that were broken, held up, changed or deleted, or that have a Warning, and
/// for their owners. The others are counted by kind, namespace and state. -n NAMESPACE or an address selects fewer objects, and shows all
/// of them. With audit logs, --by shows the objects that a user changed, with all that happened to them.
#[derive(Args, Debug)]
#[command(before_help = "\
# The history of a cluster as one page\n\
ketcd -f snapshot.db report --out incident.html\n\
# Of the pods of one namespace, with a title\n\
ketcd -f snapshot.db report pods -n web --title \"The tomcat rollout\" --out rollout.html")]
pub(crate) struct ReportArgs {
    /// The objects: kind/namespace/name, a kind, or a kind followed by names. Default: all but leases, or with -n those of the namespace.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    by: ByArgs,
    /// The page to write; `-` is standard output. An earlier report is replaced.
    #[arg(long, value_name = "FILE.html", value_hint = clap::ValueHint::FilePath)]
    out: String,
    /// Replace FILE.html even if it is not a report, unless the command reads it.
    #[arg(long)]
    force: bool,
    /// The page's title.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

impl Ask for ReportArgs {
    const ONLY_PRINTS: bool = false;

    fn question(&self) -> Question<'_> {
        Question::Report(&self.addresses)
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    fn selection(&self) -> Result<Selection> {
        Ok(Selection { ever: true, ..self.select.read()? })
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        self.by.check(&session.cluster)?;
        let replacing = Replacing { is_older: &is_page, what: "a report that ketcd wrote", any: Some(self.force) };
        let destination = Destination::open(&self.out, &inputs(&session.args), session.cluster.options.show_secrets, &replacing)?;
        let Gathered { report, notes, is_part_missing } = report::gather(session, &self.addresses, &self.by).await?;
        if report.is_empty() {
            let by = self.by.whom().map(|whom| format!(" that {whom} changed")).unwrap_or_default();
            let is_within = session.cluster.options.namespace.is_some() || !self.addresses.is_empty();
            if is_part_missing {
                return Ok(Outcome::Nothing);
            }
            note_nothing_within(session, is_within && !session.cluster.options.all_namespaces, &format!("no object{by} to report on"))
                .await?;
            session.cluster.no_cluster().await?.iter().for_each(|absence| note(&absence_words(absence)));
            return Ok(Outcome::Nothing);
        }
        let span = session.cluster.source.span().await?;
        let revisions = (span.oldest.max(session.cluster.counted_after()), session.cluster.revision().await?);
        let release = session.cluster.release().to_string();
        let source = &session.cluster.source;
        let mut reach = reach_words(span.compacted, source.facts().earlier, source.is_one_moment());
        if let Some(window) = session.cluster.window().await? {
            reach = format!("{reach}; {}", window_words(&window));
        }
        let source = session.cluster.source.status().await?.name;
        let title = self.title.as_deref().unwrap_or("What happened");
        let is_part = !self.addresses.is_empty() || !session.cluster.options.selection.takes_all() || !self.by.take_all();
        let heading = Heading {
            title,
            source: &source,
            release: &release,
            revisions,
            reach: &reach,
            notes: &notes,
            invocation: invocation(),
            is_part,
            script: PAGE_SCRIPT,
            style: PAGE_STYLE,
        };
        let objects = report.len();
        let still = session.cluster.triage_of_everything().await?;
        destination.write(out, |out| report.write(&heading, &still, out))?;
        let objects = if objects == 1 { "one object".to_owned() } else { format!("{objects} objects") };
        note(&format!("{objects} written to {}", destination.name()));
        Ok(if is_part_missing { Outcome::Nothing } else { Outcome::Found })
    }
}
