//! What `triage` shows, and what became of it since an earlier one: `--since-last FILE`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use ketcd_cluster::triage::Answer;
use ketcd_render::contract::triage::Triage;
use ketcd_render::json;
use ketcd_render::since_last::{EarlierTriage, SinceEarlier, Unfit};
use ketcd_render::triage::{self as render, TriagePage};

use crate::cli::invocation::invocation;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;

/// An answer, and how it was asked for.
pub(in crate::cli) struct TriageTold<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// Whose changes alone are among its changes, where not all are.
    pub by: Option<&'a str>,
    /// The addresses and selectors that were asked for.
    pub asked: &'a [String],
    /// What became of it since an earlier triage.
    pub since_last: Option<&'a SinceEarlier>,
}

impl TriageTold<'_> {
    /// Writes it as a page or, with `-o json`, as a document.
    ///
    /// # Errors
    /// The stream's, or the source cannot be read.
    pub(in crate::cli) async fn write(&self, session: &Session, out: &mut Output) -> Result<()> {
        let page = TriagePage {
            by: self.by,
            namespace: session.cluster.options.namespace.as_deref(),
            asked: self.asked,
            since_last: self.since_last,
            is_wide: session.format == Format::Wide,
            width: out.width(),
            ..TriagePage::of(self.answer, invocation())
        };
        if session.format == Format::Json {
            json::write_document(&Triage { window: session.window_in_head().await?, ..Triage::from(&page) }, out)?;
        } else {
            render::page(&page, out)?;
        }
        Ok(())
    }
}

/// Compares an answer with the earlier triage in a file.
///
/// # Errors
/// The file cannot be read, is something else, or is of another cluster, other objects or a later state.
pub(in crate::cli) fn compare(file: &Path, answer: &mut Answer, session: &Session, asked: &[String]) -> Result<SinceEarlier> {
    let name = file.display();
    let begin = || format!("begin with {} > {name}", invocation().ketcd("triage").and("-o json"));
    let text = fs::read(file).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new(format!("--since-last: no file {name}")).hint(begin()),
        _ => Error::new(format!("--since-last: {name} cannot be read: {error}")),
    })?;
    if text.iter().all(u8::is_ascii_whitespace) {
        let problem = format!("--since-last: {name} is empty");
        return Err(Error::new(problem)
            .hint("a shell empties the file behind > before ketcd reads it: write to another file, and rename that one afterwards"));
    }
    let earlier = EarlierTriage::read(&text)
        .map_err(|problem| Error::new(format!("--since-last: {name} is not the JSON of a triage: {problem}")).hint(begin()))?;
    let namespace = session.cluster.options.namespace.as_deref();
    earlier.fits(answer, namespace, asked).map_err(|unfit| refusal(&name.to_string(), &earlier, answer, &unfit))?;
    Ok(SinceEarlier::new(earlier, answer))
}

fn refusal(name: &str, earlier: &EarlierTriage, answer: &Answer, unfit: &Unfit) -> Error {
    match unfit {
        Unfit::Cluster(other, this) => {
            Error::new(format!("--since-last: {name} is of another cluster: {other}, not {this}")).hint("keep one file for each cluster")
        }
        Unfit::Scope(scope) => {
            Error::new(format!("--since-last: {name} is of {scope}")).hint("ask for the same namespace, addresses and selectors as then")
        }
        Unfit::Younger => {
            let moment = |time: Option<jiff::Timestamp>, revision| match time {
                Some(time) => format!("{time:.0} (revision {revision})"),
                None => format!("revision {revision}"),
            };
            let (then, now) = (moment(earlier.time, earlier.revision), moment(answer.now, answer.revision));
            Error::new(format!("--since-last: {name} is of {then}, which is after {now}")).hint("give the JSON of an earlier triage")
        }
    }
}
