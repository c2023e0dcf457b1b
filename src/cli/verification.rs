//! `verify`: opens each source by itself, asks it, and ranks several.

use std::time::Duration;

use jiff::Timestamp;

use ketcd_cluster::rights::Question;
use ketcd_cluster::verify::{Verdict, Verification, VerifyAsked, rank};
use ketcd_kube::Release;
use ketcd_render::contract::verify::Verify;
use ketcd_render::json;
use ketcd_render::verify::{self as render, metrics};

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::history_window::Ends;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output, progress};
use crate::cli::session::Session;

/// What was asked besides the flags of every command.
pub(super) struct AskedVerification<'a> {
    /// The files that were named as words.
    pub files: &'a [String],
    /// An earlier backup.
    pub against: Option<&'a str>,
    /// How old the newest write may be.
    pub max_age: Option<Duration>,
    /// Which percentage of the keys may have gone since the earlier backup.
    pub keys_within: u8,
    /// The release that an upgrade goes to.
    pub target: Option<Release>,
    /// How many keys stand for one that is read; all are read without it.
    pub sample_every: Option<usize>,
    /// What ages are counted to.
    pub now: Timestamp,
}

/// Verifies the sources and writes what was found. The exit code goes with the worst verdict.
///
/// # Errors
/// A source that is not there, or cannot be asked.
pub(super) async fn verify(global: &GlobalArgs, asked: &AskedVerification<'_>, out: &mut Output) -> Result<Outcome> {
    let format = global.format()?;
    if !matches!(format, Format::Table | Format::Wide | Format::Json | Format::Metrics) {
        return Err(format.unsupported("verify", "table, wide, json, metrics"));
    }
    let mut question = VerifyAsked {
        max_age: asked.max_age,
        target: asked.target,
        sample_every: asked.sample_every,
        keys_within: Some(asked.keys_within),
        now: Some(asked.now),
        ..VerifyAsked::default()
    };
    if let Some(path) = asked.against {
        let before = open(&of_one(global, path)).await?;
        question.against = Some((path.to_owned(), before.cluster.holdings().await?));
    }
    let mut all = Vec::new();
    for args in sources(global, asked.files)? {
        all.push(one(&args, &question).await?);
    }
    rank(&mut all);
    progress::end();
    match format {
        Format::Json => json::write_document(&Verify::of(&all), out)?,
        Format::Metrics => metrics::write(&all, Some(asked.now), out)?,
        format => render::write_text(&all, format == Format::Wide, out)?,
    }
    out.end()?;
    Ok(match all.iter().map(Verification::verdict).max() {
        Some(Verdict::Bad) => Outcome::Damaged,
        Some(Verdict::Findings) => Outcome::Nothing,
        Some(Verdict::Good) | None => Outcome::Found,
    })
}

/// The flags of each source: the files that were named, or what `-f` names as one.
fn sources(global: &GlobalArgs, files: &[String]) -> Result<Vec<GlobalArgs>> {
    if files.is_empty() {
        return Ok(vec![GlobalArgs { no_cache: true, ..global.clone() }]);
    }
    if !global.files.is_empty() && !global.files_of_environment {
        return Err(Error::new("verify FILE takes no -f").hint("name the files alone; -f several times reads them as one history"));
    }
    Ok(files.iter().map(|path| of_one(global, path)).collect())
}

/// The flags of one file, which is read whole whatever is known of it.
fn of_one(global: &GlobalArgs, path: &str) -> GlobalArgs {
    GlobalArgs { files: vec![path.to_owned()], files_of_environment: false, no_cache: true, ..global.clone() }
}

/// Verifies one source. A file of which nothing can be read is bad.
async fn one(args: &GlobalArgs, question: &VerifyAsked) -> Result<Verification> {
    let session = match open(args).await {
        Ok(session) => session,
        Err(error) if !args.names_live_etcd() && args.api_server().is_none() && error.is_damage() => {
            return Ok(Verification::unreadable(&args.files.join(", "), &error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let reads = Question::Everything.reads();
    let question = VerifyAsked { encryption: session.encryption.config.clone(), ..question.clone() };
    let answer = session.cluster.verify(&question).await.map_err(Error::from);
    session.or_grants(answer, &reads).await
}

async fn open(args: &GlobalArgs) -> Result<Session> {
    Session::with_problems_in_answer(args, &Ends::default())?.begun(&Question::Everything.reads()).await
}
