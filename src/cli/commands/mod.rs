//! The commands, one file each: gather, compute, render.

mod blame;
mod completion;
mod decode;
mod describe;
mod diff;
mod encryption;
mod events;
mod explain;
mod export;
mod extract;
mod get;
mod history;
mod ls;
mod plugins;
mod record;
mod refused;
mod report;
mod schema;
mod serve;
mod status;
mod timeline;
mod tree;
mod triage;
mod usage;
mod watch;

use std::io::Write;

use clap::Subcommand;

use super::args::GlobalArgs;
use super::output::{Format, Output, note, report_error};
use super::session::Session;
use super::{Error, Outcome, Result, bucket, progress};
use ketcd_cluster::rights::{Question, Reads};

/// What to do.
#[derive(Subcommand, Debug)]
pub(super) enum Command {
    Blame(blame::BlameArgs),
    Completion(completion::CompletionArgs),
    Decode(decode::DecodeArgs),
    Describe(describe::DescribeArgs),
    Encryption(encryption::EncryptionArgs),
    Diff(diff::DiffArgs),
    Events(events::EventsArgs),
    Explain(explain::ExplainArgs),
    Export(export::ExportArgs),
    Extract(extract::ExtractArgs),
    Get(get::GetArgs),
    History(history::HistoryArgs),
    Ls(ls::LsArgs),
    Plugins(plugins::PluginsArgs),
    Record(record::RecordArgs),
    Report(report::ReportArgs),
    Schema(schema::SchemaArgs),
    Serve(serve::ServeArgs),
    Status(status::StatusArgs),
    Timeline(timeline::TimelineArgs),
    Tree(tree::TreeArgs),
    Triage(triage::TriageArgs),
    Usage(usage::UsageArgs),
    Watch(watch::WatchArgs),
    #[command(flatten)]
    Refused(refused::Refused),
}

impl Command {
    /// What it asks of a cluster; `None` where it opens its own source or needs none.
    fn question(&self) -> Option<Question<'_>> {
        Some(match self {
            Self::Blame(args) => args.question(),
            Self::Describe(args) => args.question(),
            Self::Events(args) => args.question(),
            Self::Explain(args) => args.question(),
            Self::Export(args) => args.question(),
            Self::Extract(args) => args.question(),
            Self::Get(args) => args.question(),
            Self::History(args) => args.question(),
            Self::Ls(args) => args.question(),
            Self::Report(args) => args.question(),
            Self::Timeline(args) => args.question(),
            Self::Tree(args) => args.question(),
            Self::Triage(args) => args.question(),
            Self::Watch(args) => args.question(),
            Self::Status(_) => Question::Status,
            Self::Encryption(_) | Self::Usage(_) => Question::Everything,
            Self::Completion(_)
            | Self::Decode(_)
            | Self::Diff(_)
            | Self::Plugins(_)
            | Self::Record(_)
            | Self::Refused(_)
            | Self::Schema(_)
            | Self::Serve(_) => return None,
        })
    }

    /// Whether its table is text for people. Tables as kubectl's are wider than the terminal rather than cut, as kubectl's are; a document
    /// is never broken.
    fn prints_text(&self) -> bool {
        match self {
            Self::Describe(_)
            | Self::Diff(_)
            | Self::Encryption(_)
            | Self::Explain(_)
            | Self::History(_)
            | Self::Plugins(_)
            | Self::Status(_)
            | Self::Timeline(_)
            | Self::Triage(_)
            | Self::Usage(_)
            | Self::Watch(_) => true,
            Self::Blame(_)
            | Self::Completion(_)
            | Self::Decode(_)
            | Self::Events(_)
            | Self::Export(_)
            | Self::Extract(_)
            | Self::Get(_)
            | Self::Ls(_)
            | Self::Record(_)
            | Self::Refused(_)
            | Self::Report(_)
            | Self::Schema(_)
            | Self::Serve(_)
            | Self::Tree(_) => false,
        }
    }
}

/// Runs the command and flushes what it printed.
pub(super) fn run(global: &GlobalArgs, command: &Command) -> Result<Outcome> {
    let (global, _fetched) = bucket::fetched(global)?;
    let global = &*global;
    let mut out = Output::new(global.color);
    if let Ok(format) = global.format() {
        out.set_content(format.content());
        if matches!(format, Format::Table | Format::Wide) && command.prints_text() {
            out.fold_lines();
        }
    }
    let outcome = match command {
        Command::Completion(args) => completion::run(args, &mut out),
        Command::Decode(args) => decode::run(args, global, &mut out),
        Command::Plugins(args) => plugins::run(args, global.output.as_deref(), &mut out),
        Command::Record(args) => block_on(record::run(global, args)),
        Command::Refused(refused) => refused::run(refused),
        Command::Schema(args) => schema::run(args, &mut out),
        Command::Extract(args) if args.lists_rules() => extract::rules(&mut out),
        Command::Diff(args) => block_on(diff::run(global, args, &mut out)),
        Command::Serve(args) => block_on_threads(ketcd_serve::threads(), serve::run(global, args)),
        command => match command.question() {
            Some(question) => block_on(run_on_source(global, command, &question.reads(), &mut out)),
            None => Err(Error::new("this command reads no source")),
        },
    }?;
    out.flush()?;
    Ok(outcome)
}

/// Runs a command that reads a source.
async fn run_on_source(global: &GlobalArgs, command: &Command, reads: &Reads<'_>, out: &mut Output) -> Result<Outcome> {
    let columns_only = match command {
        Command::Get(args) => args.is_columns(global)?,
        Command::Describe(_) | Command::Events(_) | Command::Ls(_) | Command::Tree(_) => global.format()?.is_columns(),
        _ => false,
    };
    let mut session = Session::new(global, columns_only)?;
    session.announce(reads);
    if let Err(error) = session.begin().await {
        return Err(session.with_grants(error.into(), reads).await);
    }
    if matches!(command, Command::Export(_)) {
        session.fix_revision().await?;
    }
    // Partial output of other commands would mislead, so Ctrl-C aborts them.
    if matches!(command, Command::Get(_) | Command::History(_) | Command::Ls(_) | Command::Watch(_)) {
        session.interrupt.listen();
    }
    let outcome = match command {
        Command::Blame(args) => blame::run(&session, args, out).await,
        Command::Encryption(args) => encryption::run(&session, args, out).await,
        Command::Events(args) => events::run(&session, args, out).await,
        Command::Explain(args) => explain::run(&session, args, out).await,
        Command::Export(args) => export::run(&session, args, out).await,
        Command::Extract(args) => extract::run(&session, args, out).await,
        Command::Get(args) => get::run(&session, args, out).await,
        Command::Ls(args) => ls::run(&session, args, out).await,
        Command::History(args) => history::run(&session, args, out).await,
        Command::Timeline(args) => timeline::run(&session, args, out).await,
        Command::Describe(args) => describe::run(&session, args, out).await,
        Command::Tree(args) => tree::run(&session, args, out).await,
        Command::Triage(_) => triage::run(&session, out).await,
        Command::Usage(args) => usage::run(&session, args, out).await,
        Command::Status(args) => status::run(&session, args, out).await,
        Command::Report(args) => report::run(&session, args, out).await,
        Command::Watch(args) => watch::run(&session, args, out).await,
        Command::Completion(_)
        | Command::Decode(_)
        | Command::Diff(_)
        | Command::Plugins(_)
        | Command::Record(_)
        | Command::Refused(_)
        | Command::Schema(_)
        | Command::Serve(_) => {
            unreachable!("needs no source")
        }
    };
    let outcome = match outcome {
        Err(error) => Err(session.with_grants(error, reads).await),
        found => found,
    };
    end(&[&session], outcome, out)
}

/// Ends a command on `sessions`: what it showed goes out first, and where nobody takes it any more nothing is waited for.
fn end(sessions: &[&Session], outcome: Result<Outcome>, out: &mut Output) -> Result<Outcome> {
    progress::end();
    if sessions.iter().any(|session| session.interrupt.is_set()) {
        out.flush()?;
        note("interrupted: what was found by then is shown");
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
        out.flush()?;
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

/// Waits for `work` on a small runtime; commands without a source never start one.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    block_on_threads(2, work)
}

fn block_on_threads<T>(threads: usize, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Error::new(format!("cannot start: {error}")))?
        .block_on(work)
}
