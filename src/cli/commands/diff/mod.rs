//! `ketcd diff`: what differs between two revisions, two files, or the members of a cluster.

mod members;

use std::io::Write;
use std::path::Path;

use clap::Args;
use futures_util::TryStreamExt;

use ketcd_history::ObjectVersion;
use ketcd_history::compare::{Difference, join};
use ketcd_kube::{KeyResource, RegistryKey};
use ketcd_render::command_line::CommandLine;
use ketcd_render::comparison::{self, Named, Showing};
use ketcd_store::{At, KeyValue, Revision, Want};

use crate::cli::absence::{Missing, Search};
use crate::cli::args::GlobalArgs;
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::not_found::Looked;
use ketcd_cluster::read::Keys;
use ketcd_cluster::rights::Question;

/// Show what differs between two revisions, two files or the members of a cluster
///
/// With --rev A..B, compares two revisions of the objects addressed. With two files, compares their newest states. Without an address,
/// compares everything, or with -n the namespace. With --members, checks whether the members of a cluster hold the same data at the newest
/// revision they share (or at --rev N): each member is asked alone, or read from a file. If they differ, names the keys and the member that
/// stands alone. The text is grouped by kind and namespace. Changes to bookkeeping fields, heartbeats and Events are counted; --all-fields
/// shows them.
#[derive(Args, Debug)]
#[command(before_help = "\
# What changed in a Deployment between two revisions\n\
ketcd -f snapshot.db diff deploy/web/tomcat --rev 600..800\n\
# What differs between two snapshots\n\
ketcd diff yesterday.db snapshot.db")]
pub(crate) struct DiffArgs {
    /// Two files; with --rev, the objects to compare (default: all, or those of -n); with --members, the members' files or endpoints
    /// (default: the endpoints of --endpoints).
    #[arg(value_name = "ADDRESS|FILE")]
    targets: Vec<String>,
    /// Show every field that changed, including bookkeeping, heartbeats and Events.
    #[arg(long)]
    all_fields: bool,
    /// Compare what the members of a cluster hold.
    #[arg(long, conflicts_with = "all_fields")]
    members: bool,
}

/// One side: a session and the revision to read it at.
struct Side<'a> {
    session: &'a Session,
    at: At,
    name: String,
}

/// Runs the command; a difference is exit 1.
pub(super) async fn run(global: &GlobalArgs, args: &DiffArgs, out: &mut Output) -> Result<Outcome> {
    if args.members {
        return members::run(global, &args.targets, out).await;
    }
    match (&args.targets[..], &global.rev) {
        (words @ [_, ..], None) if !words.iter().any(|word| word == "-" || Path::new(word).exists()) => Err(needs_revisions(global, words)),
        ([first, second], None) => {
            let (before, after) = (open_file(global, first).await?, open_file(global, second).await?);
            let sides = [(&before, first), (&after, second)].map(|(session, name)| Side { session, at: At::Newest, name: name.clone() });
            let outcome = compare(sides, args, &[], out).await;
            super::end(&[&before, &after], outcome, out)
        }
        (_, Some(span)) => {
            let mut session = Session::new(&GlobalArgs { rev: None, ..global.clone() }, false)?;
            let reads = Question::Differences(&args.targets).reads();
            session.announce(&reads);
            if let Err(error) = session.begin().await {
                return Err(session.with_grants(error.into(), &reads).await);
            }
            let outcome = match compare_revisions(&session, span, args, out).await {
                Err(error) => Err(session.with_grants(error, &reads).await),
                found => found,
            };
            super::end(&[&session], outcome, out)
        }
        _ => Err(Error::new("diff needs two revisions or two files")
            .hint("write diff ADDRESS --rev A..B, or diff FILE FILE; diff --members compares the members of a cluster")),
    }
}

/// The error of words that name objects, where two revisions to compare them between are missing.
fn needs_revisions(global: &GlobalArgs, words: &[String]) -> Error {
    let line = words.iter().fold(CommandLine::ketcd("diff"), |line, word| line.word(word));
    let line = match (&global.namespace, global.all_namespaces) {
        (Some(namespace), _) => line.and("-n").word(namespace),
        (None, true) => line.and("-A"),
        (None, false) => line,
    };
    let names: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let problem = format!("there is no file {}, and objects are compared between two revisions", names.join(" or "));
    Error::new(problem).hint(format!("name them with --rev A..B; from the oldest to the newest: {}", line.and("--rev ..")))
}

async fn compare_revisions(session: &Session, span: &str, args: &DiffArgs, out: &mut Output) -> Result<Outcome> {
    compare(revisions(session, span).await?, args, &args.targets, out).await
}

async fn open_file(global: &GlobalArgs, path: &str) -> Result<Session> {
    if !global.files.is_empty() {
        return Err(Error::new("diff FILE FILE takes no -f").hint("give the two files alone, or addresses with --rev A..B"));
    }
    if path != "-" && !Path::new(path).exists() {
        return Err(Error::new(format!("no file {path}")).hint("to compare two revisions of objects, add --rev A..B"));
    }
    Session::open(&GlobalArgs { files: vec![path.to_owned()], ..global.clone() }, false).await
}

/// `A..B`, `A..` (to the newest) or `..B` (from the oldest).
async fn revisions<'a>(session: &'a Session, text: &str) -> Result<[Side<'a>; 2]> {
    let wrong = || Error::new(format!("invalid --rev {text:?}: expected two revisions, written A..B, A.. or ..B"));
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let span = session.source.span().await?;
    let number = |text: &str, default: Revision| match text {
        "" => Ok(default),
        digits => digits.parse().map(Revision).map_err(|_| wrong()),
    };
    let (from, to) = (number(from, span.oldest)?, number(to, span.newest)?);
    let clock = session.clock_around(&[from, to], &[]).await?;
    let side = |revision: Revision| {
        let time = clock.date(revision).map(|dated| format!(" ({})", dated.time.strftime("%H:%M:%S"))).unwrap_or_default();
        Side { session, at: At::Revision(revision), name: format!("r{revision}{time}") }
    };
    Ok([side(from), side(to)])
}

async fn compare(sides: [Side<'_>; 2], args: &DiffArgs, addresses: &[String], out: &mut Output) -> Result<Outcome> {
    let keys = keys(&sides, addresses).await?;
    let lists = [entries(&sides[0], &keys).await?, entries(&sides[1], &keys).await?];
    if let (Some(namespace), [], true) = (&sides[0].session.args.namespace, addresses, lists.iter().all(Vec::is_empty)) {
        let [before, after] = &sides;
        return Err(Error::new(format!("nothing found in namespace {namespace:?}, neither in {} nor in {}", before.name, after.name))
            .hint(format!("list the namespaces: {}", CommandLine::ketcd("ls namespaces")))
            .nothing());
    }
    show(&sides, lists, &keys, args, out).await
}

/// The objects to compare: those addressed, else all of the namespace on either side, else all there are.
async fn keys(sides: &[Side<'_>; 2], addresses: &[String]) -> Result<Keys> {
    let session = sides[1].session;
    if !addresses.is_empty() {
        return Ok(Keys::of(session, addresses).await?);
    }
    let Some(namespace) = &session.args.namespace else { return Ok(Keys::all()) };
    let mut keys = session.keys_of_namespace(namespace, sides[1].at).await?;
    let mut before = sides[0].session.keys_of_namespace(namespace, sides[0].at).await?.ranges;
    before.retain(|range| !keys.ranges.contains(range));
    keys.ranges.append(&mut before);
    Ok(keys)
}

async fn show(sides: &[Side<'_>; 2], lists: [Vec<KeyValue>; 2], keys: &Keys, args: &DiffArgs, out: &mut Output) -> Result<Outcome> {
    let session = sides[1].session;
    let mut missing = Missing::of(session, keys).await?;
    lists.iter().flatten().for_each(|entry| missing.saw(&entry.key));
    let is_missing = match (sides[0].at, sides[1].at) {
        (At::Revision(first), At::Revision(last)) => {
            missing.report(session, &Search { command: "diff", looked: Looked::Between(first, last) }).await?
        }
        _ => false,
    };
    let [before, after] = lists;
    let mut found = Vec::new();
    for (before, after) in join(before, after) {
        found.push(named(sides, before, after).await?);
    }
    found.retain(|named| named.difference.before != named.difference.after);
    let managed_fields = session.args.managed_fields();
    let outcome = if found.is_empty() && !is_missing { Outcome::Found } else { Outcome::Nothing };
    match &session.format {
        Format::Table | Format::Wide if found.is_empty() && is_missing => {}
        Format::Table | Format::Wide => {
            let showing = Showing { all_fields: args.all_fields, width: out.width() };
            comparison::write_text(&comparison::head(&sides[0].name, &sides[1].name), &found, showing, out)?;
        }
        Format::Ndjson => {
            for named in &found {
                comparison::write_json(named, managed_fields, out)?;
                out.write_all(b"\n")?;
            }
        }
        Format::Json => {
            out.write_all(b"{\"kind\":\"Diff\",\"differences\":[")?;
            for (place, named) in found.iter().enumerate() {
                out.write_all(if place == 0 { b"\n" } else { b",\n" })?;
                comparison::write_json(named, managed_fields, out)?;
            }
            out.write_all(b"]}\n")?;
        }
        other => return Err(other.unsupported("diff", "table, json, ndjson")),
    }
    Ok(outcome)
}

/// What one side holds of some keys, ascending, each once however many of the ranges hold it.
async fn entries(side: &Side<'_>, keys: &Keys) -> Result<Vec<KeyValue>> {
    let mut found = Vec::new();
    for range in keys.apart() {
        let listing = side.session.source.range(range, side.at, Want::Values).await?;
        found.extend(listing.entries.try_collect::<Vec<_>>().await?);
    }
    Ok(found)
}

async fn named(sides: &[Side<'_>; 2], before: Option<KeyValue>, after: Option<KeyValue>) -> Result<Named> {
    let decode = |side: &Side<'_>, entry: &Option<KeyValue>| match entry {
        Some(entry) => ObjectVersion::from(side.session.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body),
        None => ObjectVersion::Absent,
    };
    let (old, new) = (decode(&sides[0], &before), decode(&sides[1], &after));
    let session = sides[usize::from(after.is_some())].session;
    let Some(entry) = after.or(before) else { return Err(Error::new("a difference without an object")) };
    let difference = Difference { key: entry.key.clone(), before: old, after: new, revision: entry.mod_revision };
    let (prefix, kinds) = (session.prefix().await?, session.kinds().await?);
    let parsed = RegistryKey::parse(prefix, &entry.key, kinds).object();
    let (kind, namespace, name) = match parsed {
        Some(object) => {
            let kind = match object.resource {
                KeyResource::Known(kind) => kind.kind.to_string(),
                KeyResource::Unlisted { group, plural } => format!("{plural}.{group}"),
            };
            (kind, object.namespace.unwrap_or_default().to_owned(), object.name.to_owned())
        }
        None => ("other keys".to_owned(), String::new(), String::from_utf8_lossy(&entry.key).into_owned()),
    };
    Ok(Named { kind, namespace, name, difference })
}
