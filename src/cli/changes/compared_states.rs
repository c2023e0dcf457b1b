//! What `diff` compares: two files or two revisions, as its words and flags name them.

use std::path::Path;

use ketcd_cluster::built_in;
use ketcd_cluster::diff::ComparedState;
use ketcd_history::clock::Bound;

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::placed_revision;
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Error, Result};
use crate::cli::session::Session;

/// What the words of a comparison name.
pub(in crate::cli) enum Named<'a> {
    /// Two files, of which the newest states are compared.
    Files(&'a str, &'a str),
    /// Two revisions or times: `A..B`.
    Revisions(&'a str),
}

impl<'a> Named<'a> {
    /// Reads the words and `--rev`.
    ///
    /// # Errors
    /// They name nothing to compare.
    pub(in crate::cli) fn of(global: &'a GlobalArgs, words: &'a [String]) -> Result<Self> {
        match (words, span_asked(global)) {
            (words @ [_, ..], None) if !words.iter().any(|word| word == "-" || Path::new(word).exists()) => {
                Err(needs_revisions(global, words))
            }
            ([first, second], None) => Ok(Self::Files(first, second)),
            (_, Some(span)) => Ok(Self::Revisions(span)),
            _ => Err(Error::new("diff needs two revisions, two times or two files")
                .hint("write diff ADDRESS --rev A..B or --at A..B, or diff FILE FILE; diff --members compares the members of a cluster")),
        }
    }
}

/// The error of words that name objects, where two revisions to compare them between are missing.
fn needs_revisions(global: &GlobalArgs, words: &[String]) -> Error {
    let line = words.iter().fold(invocation().ketcd("diff"), |line, word| line.word(word));
    let line = match (&global.namespace, global.all_namespaces) {
        (Some(namespace), _) => line.and("-n").word(namespace),
        (None, true) => line.and("-A"),
        (None, false) => line,
    };
    let names: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let problem = format!("there is no file {}, and comparing objects needs two revisions", names.join(" or "));
    // What could be a kind, of Kubernetes' own: others are not known before the source is read.
    let is_kind = words[0].split(['/', ',']).next().is_some_and(|kinds| built_in().find_all(kinds).is_ok());
    let line = if is_kind { format!("; from the oldest to the newest: {}", line.and("--rev ..")) } else { String::new() };
    Error::new(problem).hint(format!("name them with --rev A..B{line}"))
}

/// Opens one of two files.
///
/// # Errors
/// It cannot be opened, or `-f` names others.
pub(in crate::cli) async fn open_file(global: &GlobalArgs, path: &str) -> Result<Session> {
    if !global.files.is_empty() && !global.files_of_environment {
        return Err(Error::new("diff FILE FILE takes no -f").hint("give the two files alone, or addresses with --rev A..B"));
    }
    if path != "-" && !Path::new(path).exists() {
        return Err(Error::new(format!("no file {path}")).hint("to compare two revisions of objects, add --rev A..B"));
    }
    Session::open(&GlobalArgs { files: vec![path.to_owned()], ..global.clone() }, false).await
}

/// Returns the states that `A..B`, `A..` (to the newest) or `..B` (from the oldest) names.
///
/// # Errors
/// The text names no two revisions, or the source cannot be read.
pub(in crate::cli) async fn between<'a>(session: &'a Session, text: &str) -> Result<[ComparedState<'a>; 2]> {
    let wrong = || {
        let expected = "expected two revisions or times, written A..B, A.. or ..B";
        Error::new(format!("invalid span {text:?}: {expected}")).hint("a time is an age such as 10m, 14:03:20, or RFC 3339")
    };
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let revision = async |text: &str| match text {
        "" => Ok(None),
        text => {
            placed_revision::check("--rev", text, session.is_of_logs)?;
            let bound = placed_revision::placed(text).map(Bound::Revision).or_else(|| text.parse().ok());
            Ok(Some(session.cluster.end_of(bound.ok_or_else(wrong)?).await?))
        }
    };
    let (from, to): (Result<_>, Result<_>) = (revision(from).await, revision(to).await);
    Ok(ComparedState::between(&session.cluster, from?, to?).await?)
}

/// The span that `--rev A..B` or `--at A..B` names.
fn span_asked(global: &GlobalArgs) -> Option<&str> {
    global.rev.as_deref().or(global.at.as_deref())
}
