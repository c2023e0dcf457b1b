//! The questions, each a file: what `Cluster` answers, written as the command writes it with `-o json` or, line by line, `-o ndjson`.

mod explain;
mod grep;
mod history;
mod listing;
mod summaries;
mod tables;
mod timeline;

use std::str::FromStr;

use ketcd_cluster::Notices;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::Lines;
use crate::opened::Opened;
use crate::shared::Abandoned;

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// One object.
    Object,
    /// Objects.
    Objects,
    /// Counts and bytes by kind.
    Kinds,
    /// Changes.
    History,
    /// The story of objects.
    Timeline,
    /// What is broken.
    Triage,
    /// Why a pod runs where it runs.
    Explain,
    /// The same of every decision.
    Decisions,
    /// What fills etcd.
    Usage,
    /// Which objects ever held a value.
    Grep,
    /// What the source can tell.
    Status,
    /// The rows of a table of `ketcd export`.
    Table,
}

impl FromStr for Question {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Self, Failure> {
        Ok(match name {
            "object" => Self::Object,
            "objects" => Self::Objects,
            "kinds" => Self::Kinds,
            "history" => Self::History,
            "timeline" => Self::Timeline,
            "triage" => Self::Triage,
            "explain" => Self::Explain,
            "decisions" => Self::Decisions,
            "usage" => Self::Usage,
            "grep" => Self::Grep,
            "status" => Self::Status,
            "table" => Self::Table,
            _ => return Err(Failure::new(format!("no question is called {name:?}"))),
        })
    }
}

/// Answers a question, line by line or as one document.
///
/// # Errors
/// The source cannot be read, what is asked for is not there, or nobody waits.
pub(crate) async fn answer(
    opened: &Opened,
    question: Question,
    asked: &Asked,
    sinks: (Notices, Abandoned),
    lines: &mut Lines,
) -> Result<(), Failure> {
    let selection = match question {
        // These select what they read themselves.
        Question::Object | Question::Objects | Question::Kinds | Question::History | Question::Status => Default::default(),
        Question::Triage => asked.selection(false)?,
        _ => asked.selection(true)?,
    };
    let cluster = &asked.cluster(opened, sinks, selection).await?;
    match question {
        Question::Object => listing::object(cluster, asked, lines).await?,
        Question::Objects => listing::objects(cluster, asked, lines).await?,
        Question::Kinds => listing::kinds(cluster, lines).await?,
        Question::History => history::history(cluster, asked, lines).await?,
        Question::Timeline => timeline::timeline(cluster, asked, &opened.invocation, lines).await?,
        Question::Triage => summaries::triage(cluster, asked, &opened.invocation, lines).await?,
        Question::Explain => explain::explain(cluster, asked, lines).await?,
        Question::Decisions => explain::decisions(cluster, asked, lines).await?,
        Question::Usage => summaries::usage(cluster, asked, lines).await?,
        Question::Grep => grep::grep(cluster, asked, lines).await?,
        Question::Status => summaries::status(cluster, lines).await?,
        Question::Table => tables::table(cluster, asked, lines).await?,
    }
    cluster.finish();
    Ok(())
}
