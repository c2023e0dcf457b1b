//! Runs a command: opens the cluster, asks, writes the answer, sets the exit code.

use std::io::{self, ErrorKind};
use std::mem;

use super::{Session, absence};
use crate::cli::connection::bucket;
use crate::cli::connection::runtime::block_on;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::history_window::WindowArgs;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output, note, progress, report_error};
use ketcd_cluster::Selection;
use ketcd_cluster::rights::Question;

pub(in crate::cli) trait Run {
    /// Whether its table is text for people. Tables as kubectl's are wider than the terminal rather than cut, as kubectl's are; a document
    /// is never broken.
    fn prints_text(&self) -> bool {
        false
    }

    /// Whether what it prints may go through a pager. What runs until it is told to stop, or uses the terminal itself, may not.
    fn may_be_paged(&self) -> bool {
        true
    }

    /// Runs it.
    ///
    /// # Errors
    /// What it was asked for cannot be done.
    fn run(&self, global: &GlobalArgs, out: &mut Output) -> Result<Outcome>;
}

/// A command that asks one cluster one question.
pub(in crate::cli) trait Ask {
    /// Whether its table is text for people.
    const PRINTS_TEXT: bool = false;
    /// Whether Ctrl-C ends it with what it found by then. Partial output of other commands would mislead, so they are aborted.
    const SHOWS_PART: bool = false;
    /// Whether what it prints is all it does, so that it may end when nobody reads that any more.
    const ONLY_PRINTS: bool = true;
    /// Whether all is read of one revision while a live etcd goes on.
    const FIXES_REVISION: bool = false;
    /// Whether its answer holds the problems of the source.
    const SHOWS_PROBLEMS: bool = false;

    /// Whether what it prints may go through a pager.
    fn may_be_paged(&self) -> bool {
        true
    }

    /// What it asks, which says what is read of etcd.
    fn question(&self) -> Question<'_>;

    /// The stretch of the history that it looks at, where it takes one.
    fn window(&self) -> Option<&WindowArgs> {
        None
    }

    /// Which of the objects addressed it is about, where the cluster is to select them.
    fn selection(&self) -> Result<Selection> {
        Ok(Selection::default())
    }

    /// Whether it prints columns or names alone, which look the same in every release.
    fn prints_columns(&self, _format: &Format) -> bool {
        false
    }

    /// Its answer where that needs no cluster.
    fn answer_alone(&self, _out: &mut Output) -> Result<Option<Outcome>> {
        Ok(None)
    }

    /// Asks the cluster and writes the answer.
    ///
    /// # Errors
    /// The source cannot be read, or what is asked for is not there.
    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome>;
}

impl<A: Ask> Run for A {
    fn prints_text(&self) -> bool {
        A::PRINTS_TEXT
    }

    fn may_be_paged(&self) -> bool {
        Ask::may_be_paged(self)
    }

    fn run(&self, global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
        match self.answer_alone(out)? {
            Some(outcome) => Ok(outcome),
            None => block_on(ask(global, self, out)),
        }
    }
}

/// Runs a command and flushes what it printed.
pub(in crate::cli) fn run(global: &GlobalArgs, command: &dyn Run) -> Result<Outcome> {
    let (global, _fetched) = bucket::fetched(global)?;
    let global = &*global;
    let mut out = Output::new(global.color);
    if let Ok(format) = global.format() {
        out.set_content(format.content());
        if matches!(format, Format::Table | Format::Wide) && command.prints_text() {
            out.fold_lines();
        }
    }
    if command.may_be_paged() && !global.no_pager {
        out.page();
    }
    let outcome = command.run(global, &mut out);
    match out.end() {
        // Nobody takes what is left: that is said by the command, or no error.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        ended => {
            let outcome = outcome?;
            ended?;
            Ok(outcome)
        }
    }
}

/// Opens the cluster that the flags name, and asks it.
async fn ask<A: Ask>(global: &GlobalArgs, command: &A, out: &mut Output) -> Result<Outcome> {
    let ends = command.window().map(WindowArgs::ends).unwrap_or_default();
    let mut session = match A::SHOWS_PROBLEMS {
        true => Session::with_problems_in_answer(global, &ends)?,
        false => Session::new(global, &ends, command.prints_columns(&global.format()?))?,
    };
    session.cluster.options.selection = command.selection()?;
    let interrupt = session.interrupt.clone();
    if A::ONLY_PRINTS && !out.is_kept() {
        interrupt.end_with_pipe();
    }
    match ask_session(session, command, out).await {
        // Whatever could not be read: nobody waits for it.
        Err(_) if interrupt.is_closed() => {
            progress::end();
            Err(io::Error::from(ErrorKind::BrokenPipe).into())
        }
        outcome => outcome,
    }
}

/// Asks a cluster that is open.
async fn ask_session<A: Ask>(session: Session, command: &A, out: &mut Output) -> Result<Outcome> {
    let reads = command.question().reads();
    let mut session = session.begun(&reads).await?;
    if A::FIXES_REVISION {
        session.cluster.fix_revision().await?;
    }
    if A::SHOWS_PART && !out.is_kept() {
        session.interrupt.listen();
    }
    let mut outcome = session.or_grants(command.answer(&session, out).await, &reads).await;
    if matches!(outcome, Ok(Outcome::Nothing)) && !says_absence(&command.question()) {
        outcome = absence::note_missing_namespace(&session).await.map(|()| Outcome::Nothing);
    }
    let outcome = end(&[&session], outcome, out);
    if session.ends_process() {
        // Taking the index and all that is kept of a large cluster apart would be a twentieth of its time.
        mem::forget(session);
    }
    outcome
}

/// Whether the answer itself says that a namespace does not exist, or ends with this outcome for another reason.
fn says_absence(question: &Question<'_>) -> bool {
    match question {
        Question::Triage | Question::Differences(_) | Question::WhatIf => true,
        Question::Objects(words) | Question::WithConfiguration(words) => !words.is_empty(),
        _ => false,
    }
}

/// Ends a command on `sessions`: what it showed goes out first, and where nobody takes it any more nothing is waited for.
///
/// # Errors
/// Those of the command, and the stream's.
pub(in crate::cli) fn end(sessions: &[&Session], outcome: Result<Outcome>, out: &mut Output) -> Result<Outcome> {
    progress::end();
    if sessions.iter().any(|session| session.interrupt.is_closed()) {
        return Err(io::Error::from(ErrorKind::BrokenPipe).into());
    }
    if sessions.iter().any(|session| session.interrupt.is_set()) {
        out.end()?;
        note("interrupted: showing what was found so far");
        return Ok(Outcome::Interrupted);
    }
    let outcome = match outcome {
        Err(error) if error.is_nothing() => {
            report_error(&error);
            Ok(Outcome::Nothing)
        }
        other => other,
    };
    let shown = outcome.and_then(|outcome| {
        out.end()?;
        Ok(outcome)
    });
    let end = |outcome: Outcome| sessions.iter().fold(outcome, |outcome, session| session.end(outcome));
    match shown {
        Ok(outcome) => Ok(end(outcome)),
        Err(error) if error.is_broken_pipe() => Err(error),
        Err(error) => {
            end(Outcome::Damaged);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clap::FromArgMatches as _;
    use ketcd_cluster::files;
    use ketcd_store::load::{AuditLogs, Limits};
    use tempfile::NamedTempFile;

    use super::*;
    use crate::cli::input::opened::OpenedSource;

    /// A command that lets go of something large.
    struct Large(Arc<()>);

    impl Ask for Large {
        fn question(&self) -> Question<'_> {
            Question::Status
        }

        async fn answer(&self, session: &Session, _out: &mut Output) -> Result<Outcome> {
            session.let_go(Arc::clone(&self.0));
            Ok(Outcome::Found)
        }
    }

    /// Asks once with these flags; returns how many hold what the command let go of.
    fn asked(global: &GlobalArgs) -> usize {
        let large = Large(Arc::default());
        let (mut out, _) = Output::in_memory(0);
        assert!(matches!(block_on(ask(global, &large, &mut out)), Ok(Outcome::Found)));
        Arc::strong_count(&large.0)
    }

    #[test]
    fn what_a_question_took_is_given_back_where_the_process_goes_on() {
        let file = NamedTempFile::with_suffix(".json").unwrap();
        std::fs::write(file.path(), r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}"#).unwrap();
        let path = file.path().display().to_string();
        let mut global = GlobalArgs::from_arg_matches(&crate::cli::command().get_matches_from(["ketcd", "-f", &path, "status"])).unwrap();
        // Nobody waits until a large cluster is taken apart.
        assert_eq!(asked(&global), 2);
        let opened = files::open(&[path], &Limits::default()).unwrap();
        let opened = OpenedSource::new(opened.source, opened.newest_stamp, (AuditLogs::default(), None));
        global.opened = Some(opened.clone());
        assert_eq!(asked(&global), 1);
        drop(global);
        assert_eq!(opened.holders(), 1);
    }
}
