//! `rehearse`: opens the backup, the states that are left and the restored cluster each by itself, asks, and writes the answer.

mod opening;

use std::path::PathBuf;

use jiff::Timestamp;

use ketcd_cluster::Cluster;
use ketcd_cluster::rehearse::{self as answer, Rehearsal, RehearseAsked, RehearsedSource, Scored};
use ketcd_cluster::rights::Question;
use ketcd_cluster::verify::{Verdict, Verification};
use ketcd_kube::Release;
use ketcd_render::command_line::CommandLine;
use ketcd_render::contract::rehearse::Rehearse;
use ketcd_render::json;
use ketcd_render::rehearse::{self as render, RehearsalAmount};

use crate::cli::connection::etcd;
use crate::cli::input::connection::ConnectionArgs;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::source_names::is_url;
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output, progress};
use crate::cli::session::Session;
use opening::{open, open_backup};

/// What was asked besides the flags of every command.
pub(super) struct AskedRehearsal<'a> {
    /// The backup that was named as a word.
    pub backup: Option<&'a str>,
    /// The states that are left.
    pub over: &'a [String],
    /// The cluster after the restore.
    pub done: Option<&'a str>,
    /// The release of the API server that will run on the restored data.
    pub target: Option<Release>,
    /// What ages are counted to, where that is not now.
    pub now: Option<Timestamp>,
}

/// The flags of each source.
struct Sources {
    backup: GlobalArgs,
    over: Vec<GlobalArgs>,
    done: Option<GlobalArgs>,
}

/// Says what restoring the backup would do, or with `--done` what became of that. The exit code goes with the verdict.
///
/// # Errors
/// A source that is not there, or cannot be asked; a backup of which nothing can be read.
pub(super) async fn rehearse(global: &GlobalArgs, asked: &AskedRehearsal<'_>, out: &mut Output) -> Result<Outcome> {
    let format = global.format()?;
    match (&format, asked.done) {
        (Format::Table | Format::Wide | Format::Json, _) | (Format::Markdown, None) => {}
        (other, None) => return Err(other.unsupported("rehearse", "table, wide, json, markdown")),
        (other, Some(_)) => return Err(other.unsupported("rehearse --done", "table, wide, json")),
    }
    let sources = Sources::of(global, asked)?;
    let backup = open_backup(&sources.backup).await.map_err(|error| unusable(error, &sources.backup))?;
    if let Some(chosen) = &backup.chosen {
        check_names(&of_one(&sources.backup, chosen), asked, global.show_secrets)?;
    }
    let rehearsal = rehearsed(&backup.session, &sources, asked).await?;
    let outcome = match &sources.done {
        Some(live) => scored(&rehearsal, live, &format, out).await?,
        None => written(&rehearsal, &format, &checklist(global, asked, backup.chosen.as_deref()), out)?,
    };
    out.end()?;
    Ok(outcome)
}

fn written(rehearsal: &Rehearsal, format: &Format, checklist: &CommandLine, out: &mut Output) -> Result<Outcome> {
    progress::end();
    match format {
        Format::Json => json::write_document(&Rehearse::from(rehearsal), out)?,
        Format::Markdown => render::write_markdown(rehearsal, out)?,
        format => render::write_text(rehearsal, checklist, amount(format, out), out)?,
    }
    Ok(match rehearsal.verdict() {
        Verdict::Bad => Outcome::Damaged,
        Verdict::Findings => Outcome::Nothing,
        Verdict::Good => Outcome::Found,
    })
}

/// How much is written: a screen on a terminal alone.
fn amount(format: &Format, out: &Output) -> RehearsalAmount {
    match format {
        Format::Wide => RehearsalAmount::All,
        _ if out.is_terminal() => RehearsalAmount::Screen,
        _ => RehearsalAmount::Forecasts,
    }
}

/// Holds the running cluster against the forecast and writes what became of it.
async fn scored(rehearsal: &Rehearsal, live: &GlobalArgs, format: &Format, out: &mut Output) -> Result<Outcome> {
    let session = open(live).await?;
    let compared = answer::compare(rehearsal, &session.cluster).await.map_err(Error::from);
    let scored: Vec<Scored> = session.or_grants(compared, &Question::Everything.reads()).await?;
    let (name, revision) = (live.files.join(", "), session.cluster.revision().await?);
    progress::end();
    match format {
        Format::Json => json::write_document(&Rehearse::scores(&scored, &name, revision), out)?,
        format => render::write_scores(&scored, &name, amount(format, out), out)?,
    }
    let is_wrong = scored.iter().any(|one| one.outcome == answer::Outcome::Wrong);
    Ok(if is_wrong { Outcome::Nothing } else { Outcome::Found })
}

/// Asks. A state that is left and of which nothing can be read is one of the sources all the same.
async fn rehearsed(backup: &Session, sources: &Sources, asked: &AskedRehearsal<'_>) -> Result<Rehearsal> {
    let (mut over, mut unreadable) = (Vec::new(), Vec::new());
    for args in &sources.over {
        match open(args).await {
            Ok(session) => over.push(session),
            Err(error) if !args.names_live_etcd() && args.api_server().is_none() && error.is_damage() => {
                unreadable.push(not_read(&args.files.join(", "), &error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    let question = RehearseAsked { target: asked.target, now: Some(asked.now.unwrap_or_else(Timestamp::now)), ..RehearseAsked::default() };
    let clusters: Vec<&Cluster> = over.iter().map(|session| &session.cluster).collect();
    let answered = answer::rehearse(&backup.cluster, &clusters, &question).await.map_err(Error::from);
    let live = over.iter().find(|session| session.args.names_live_etcd()).unwrap_or(backup);
    let mut rehearsal = live.or_grants(answered, &Question::Everything.reads()).await?;
    if over.is_empty() && !unreadable.is_empty() {
        rehearsal.not_known.insert(0, "what is lost: nothing can be read of the newer state that was named".to_owned());
    }
    rehearsal.sources.extend(unreadable);
    Ok(rehearsal)
}

/// What is said of a state of which nothing can be read.
fn not_read(name: &str, problem: &str) -> RehearsedSource {
    let found = Verification::unreadable(name, problem);
    RehearsedSource {
        name: name.to_owned(),
        kind: found.kind,
        revision: found.revision(),
        written: None,
        age: None,
        keys: 0,
        verdict: Verdict::Bad,
        says: problem.to_owned(),
        is_backup: false,
        is_newest: false,
        lacks: None,
    }
}

/// The error of a backup that cannot be opened, with the command that says more.
fn unusable(error: Error, args: &GlobalArgs) -> Error {
    match (&args.files[..], error.is_damage()) {
        ([path], true) => {
            let verify = invocation().bare().and("verify").word(path);
            error.hint(format!("it cannot be restored; what is wrong with it: {verify}"))
        }
        _ => error,
    }
}

/// The command that prints the whole way, of the backup that was chosen where several were named.
fn checklist(global: &GlobalArgs, asked: &AskedRehearsal<'_>, chosen: Option<&str>) -> CommandLine {
    let backup = chosen.or(asked.backup);
    // The files of the environment are not read where the backup is a word.
    let files = if backup.is_some() { Vec::new() } else { global.files.clone() };
    let flags = GlobalArgs { files, ..global.clone() }.source_flags();
    let line = invocation().reading(flags).ketcd("rehearse");
    let line = backup.iter().fold(line, |line, backup| line.word(backup));
    let line = asked.over.iter().fold(line, |line, over| line.and("--over").word(over));
    let line = asked.target.iter().fold(line, |line, target| line.and("--target").word(&target.to_string()));
    let line = asked.now.iter().fold(line, |line, now| line.and("--now").word(&now.to_string()));
    line.and("-o markdown")
}

impl Sources {
    fn of(global: &GlobalArgs, asked: &AskedRehearsal<'_>) -> Result<Self> {
        answer::check_states(asked.over.len())?;
        let backup = backup(global, asked.backup)?;
        check_names(&backup, asked, global.show_secrets)?;
        if !asked.over.is_empty() && global.connection.given().is_some_and(|given| given.names_endpoints) {
            return Err(Error::new("--over and --endpoints both name the newest state")
                .hint("name the live etcd as one of several: --over https://10.0.0.1:2379"));
        }
        let mut over: Vec<GlobalArgs> = asked.over.iter().map(|name| of_one(global, name)).collect();
        if over.is_empty() && etcd::is_named(&global.connection, asked.done.is_none()) {
            over.push(GlobalArgs { files: Vec::new(), files_of_environment: false, no_cache: true, ..global.clone() });
        }
        Ok(Self { backup, over, done: asked.done.map(|name| of_one(global, name)) })
    }
}

/// The flags of the backup: the file that was named, or what `-f` names.
fn backup(global: &GlobalArgs, word: Option<&str>) -> Result<GlobalArgs> {
    let given = !global.files.is_empty() && !global.files_of_environment;
    let args = match word {
        Some(_) if given => {
            return Err(Error::new("rehearse BACKUP takes no -f").hint("name the newest state that is left with --over"));
        }
        Some(path) => of_one(global, path),
        None if global.files.is_empty() => {
            return Err(Error::new("rehearse needs a backup").hint("name its file: ketcd rehearse snapshot.db"));
        }
        None => GlobalArgs { connection: ConnectionArgs::default(), no_cache: true, ..global.clone() },
    };
    match args.files.iter().find(|name| is_url(name) || args.api_server().is_some()) {
        Some(live) => Err(Error::new(format!("{live} runs, so it is not a backup"))
            .hint("name a snapshot, and what runs as the newest state: ketcd rehearse snapshot.db --over URL")),
        None => Ok(args),
    }
}

/// Refuses a source that is named twice, and an API server whose Secrets are not read: they would all seem lost.
fn check_names(backup: &GlobalArgs, asked: &AskedRehearsal<'_>, shows_secrets: bool) -> Result<()> {
    let mut seen: Vec<(PathBuf, String)> = backup.files.iter().map(|name| (place(name), format!("the backup {name}"))).collect();
    let named = asked.over.iter().map(|name| ("--over", name.as_str())).chain(asked.done.map(|name| ("--done", name)));
    for (flag, name) in named {
        let place = place(name);
        if let Some((_, before)) = seen.iter().find(|(other, _)| *other == place) {
            let hint = match flag {
                "--done" => "name the cluster that runs after the restore: its endpoint, kubeconfig:CONTEXT, or a new snapshot of it",
                _ => "name each state that is left once: a member's data dir, a live etcd, a recording, or a younger backup",
            };
            return Err(Error::new(format!("{flag} {name} is the same as {before}")).hint(hint));
        }
        if name.starts_with("kubeconfig:") && !shows_secrets {
            return Err(Error::new(format!("{flag} {name} would be read without its Secrets"))
                .hint("give --show-secrets too, which reads them; no value is printed"));
        }
        seen.push((place, format!("{flag} {name}")));
    }
    Ok(())
}

/// The file that a name means, or the name itself where it is not one.
fn place(name: &str) -> PathBuf {
    std::fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name))
}

/// The flags of one source, which is read whole whatever is known of it. How a live etcd is reached says nothing of a file.
fn of_one(global: &GlobalArgs, name: &str) -> GlobalArgs {
    let connection = match is_url(name) {
        true => ConnectionArgs { endpoints: Vec::new(), ..global.connection.clone() },
        false => ConnectionArgs::default(),
    };
    GlobalArgs { files: vec![name.to_owned()], files_of_environment: false, no_cache: true, connection, ..global.clone() }
}
