//! `ketcd timeline`: the story of objects, with who did what and how long each step took.

use std::io::Write;

use clap::Args;
use futures_util::TryStreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::history::Told;
use crate::history::clock::{Moment, duration};
use crate::history::timeline::{Story, Timeline};
use crate::kube::{Address, Kinds};
use crate::render::change::Shown;
use crate::render::style::{STRONG, paint};
use crate::render::timeline::{self as render, Entry, EntryKind};
use crate::render::timeline_json;
use crate::store::{At, KeyRange, Revision, Until};

use crate::cli::changes::{Keys, Read, changes};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};

/// Tells the story of objects: create, schedule, run, end; who, and how long each step took.
#[derive(Args, Debug)]
pub struct TimelineArgs {
    /// Objects: pod/shop/web-0, deploy/web, node/n1; none: all of a namespace (-n), or of the cluster around a time.
    #[arg(value_name = "ADDRESS", add = crate::cli::complete::addresses())]
    addresses: Vec<String>,
    /// Only what happened around this time: RFC 3339, `14:03:20`, or `-10m`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    around: Option<String>,
    /// How far around it: `30s`, `5m`.
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "around")]
    window: String,
}

/// Kinds that own others or are owned, so that a namespaced object's story needs them.
const WORKLOADS: &[&str] = &[
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "cronjobs.batch",
    "replicationcontrollers",
];

/// Runs the command.
pub async fn run(session: &Session, args: &TimelineArgs, out: &mut Output) -> Result<Outcome> {
    let around = around(session, args).await?;
    session.note_reach().await?;
    let asked = asked(session, args).await?;
    let story = read(session, &asked).await?;
    let subjects: Vec<&Timeline> = story.timelines.iter().filter(|(key, _)| asked.contains(key)).map(|(_, timeline)| timeline).collect();
    if subjects.is_empty() {
        note("nothing found: no change of it is readable");
        return Ok(Outcome::Nothing);
    }
    let oldest = session.source.span().await?.oldest;
    match &session.format {
        Format::Table | Format::Wide => {
            let telling = Telling { many: asked.many, all: session.format == Format::Wide, around };
            text(&story, &subjects, &telling, oldest, out)
        }
        Format::Json | Format::Ndjson => json(session, &story, subjects, oldest, out),
        other => Err(other.unsupported("timeline", "table, json, ndjson")),
    }
}

/// `--around` and `--window` as a time and seconds.
async fn around(session: &Session, args: &TimelineArgs) -> Result<Option<(Timestamp, f64)>> {
    let Some(text) = &args.around else { return Ok(None) };
    let moment: Moment = text.parse().map_err(|error| Error::new(format!("--around: {error}")))?;
    let window = duration(&args.window)
        .ok_or_else(|| Error::new(format!("--window {:?} is no duration", args.window)).hint("write 30s, 5m or 1h"))?;
    let newest =
        session.clock().await?.newest().ok_or_else(|| Error::new("nothing in this data dates its revisions").hint("leave --around out"))?;
    let center = moment.resolve(newest.time).ok_or_else(|| Error::new("--around is beyond the calendar"))?;
    Ok(Some((center, window.as_secs_f64())))
}

/// The objects asked for: those addressed, else all of the namespace, else (with `--around`) all.
async fn asked(session: &Session, args: &TimelineArgs) -> Result<Keys> {
    if !args.addresses.is_empty() {
        return Keys::of(session, &args.addresses).await;
    }
    let (kinds, prefix) = (session.kinds().await?, session.prefix().await?);
    let quiet = |plural: &str| matches!(plural, "events" | "leases");
    let ranges = match &session.args.namespace {
        Some(namespace) => {
            let namespaced = kinds.iter().filter(|kind| kind.namespaced && kind.is_stored() && !quiet(&kind.plural));
            let own = kinds.find("namespaces").ok().map(|kind| KeyRange::key(kind.key(prefix, None, namespace)));
            namespaced.map(|kind| KeyRange::prefix(kind.key_prefix(prefix, Some(namespace)))).chain(own).collect()
        }
        None if args.around.is_some() || session.args.all_namespaces => kinds
            .iter()
            .filter(|kind| kind.is_stored() && !quiet(&kind.plural))
            .map(|kind| KeyRange::prefix(kind.key_prefix(prefix, None)))
            .collect(),
        None => {
            return Err(
                Error::new("timeline of what?").hint("name objects, a namespace with -n, everything with -A, or a time with --around")
            );
        }
    };
    Ok(Keys { ranges, many: true, addresses: Vec::new() })
}

/// Reads the changes of what was asked for and of all that its story needs.
async fn read(session: &Session, asked: &Keys) -> Result<Story> {
    let newest = match session.at {
        At::Newest => session.source.span().await?.newest,
        At::Revision(revision) => revision,
    };
    let clock = session.clock().await?;
    clock.problems().iter().for_each(|problem| note(problem));
    let (kinds, prefix) = (session.kinds().await?, session.prefix().await?);
    let mut keys = asked.clone();
    keys.ranges.extend(needed(asked, kinds, prefix));
    let mut story = Story::default();
    let mut changes = changes(session, keys, Until::Revision(newest));
    while let Some(read) = changes.try_next().await? {
        if let Read::Item(change) = read {
            let keep = asked.contains(&change.key);
            story.observe(Told::new(change, clock), keep);
        }
    }
    story.finish();
    Ok(story)
}

/// What a story needs beside its own objects: Events, owners and owned, the namespace, a node's pods and heartbeat.
fn needed(asked: &Keys, kinds: &Kinds, prefix: &str) -> Vec<KeyRange> {
    let mut ranges = Vec::new();
    let mut add = |word: &str, namespace: Option<&str>| {
        if let Ok(kind) = kinds.find(word) {
            ranges.push(KeyRange::prefix(kind.key_prefix(prefix, namespace)));
        }
    };
    if asked.addresses.is_empty() {
        add("events", None);
        add("leases.coordination.k8s.io", Some("kube-node-lease"));
    }
    for address in &asked.addresses {
        let Address::Objects { kind, namespace, .. } = address else { continue };
        let namespace = namespace.as_deref();
        add("events", namespace);
        add("namespaces", None);
        if kind.kind == "Node" {
            add("pods", None);
            add("leases.coordination.k8s.io", Some("kube-node-lease"));
        }
        if kind.namespaced {
            WORKLOADS.iter().for_each(|word| add(word, namespace));
            if kind.kind != "Pod" {
                add("pods", namespace);
            }
            if kind.kind == "Service" {
                add("endpoints", namespace);
                add("endpointslices.discovery.k8s.io", namespace);
            }
        }
    }
    ranges
}

/// The objects that belong to a subject's own story.
fn related<'a>(story: &'a Story, subject: &Timeline) -> Vec<&'a Timeline> {
    match subject.subject.kind.as_str() {
        "Node" => story.of_node(&subject.subject.name),
        "Pod" => Vec::new(),
        "Service" => {
            let mut found = story.controlled(subject);
            found.extend(story.find("Endpoints", &subject.subject.namespace, &subject.subject.name));
            found
        }
        _ => story.controlled(subject),
    }
}

/// How much is told in text.
struct Telling {
    /// Of several objects.
    many: bool,
    /// All steps and all Events, of those that belong to the subject too.
    all: bool,
    /// Only within so many seconds of a time.
    around: Option<(Timestamp, f64)>,
}

/// Phases that are told of objects that belong to the subject; `-o wide` tells all.
const OF_RELATED: &[&str] = &[
    "Created",
    "Scheduled",
    "Refused",
    "Nominated",
    "Gated",
    "Ready",
    "NotReady",
    "Restarted",
    "Waiting",
    "Evicted",
    "Deleting",
    "Deleted",
    "Failed",
    "Succeeded",
    "ScaledUp",
    "ScaledDown",
    "Rollout",
    "EndpointsReady",
    "EndpointsGone",
    "Bound",
    "ResizeDeferred",
    "ResizeInfeasible",
];

fn text(story: &Story, subjects: &[&Timeline], telling: &Telling, oldest: Revision, out: &mut Output) -> Result<Outcome> {
    let Telling { many, all, around } = *telling;
    let mut lines: Vec<Entry> = Vec::new();
    let single = if let ([only], false) = (subjects, many) { Some(*only) } else { None };
    for subject in subjects {
        let own = render::entries(subject, true).into_iter();
        lines.extend(own.filter(|entry| all || !many || entry.kind != EntryKind::Note || entry.warns));
        for timeline in related(story, subject).into_iter().filter(|timeline| !subjects.iter().any(|known| std::ptr::eq(*known, *timeline)))
        {
            let told = |entry: &Entry| all || OF_RELATED.contains(&entry.phase.as_str()) && entry.kind != EntryKind::Note;
            lines.extend(render::entries(timeline, true).into_iter().filter(told));
        }
    }
    let mixed = many || lines.iter().any(|line| line.object != lines[0].object);
    lines.sort_by_key(|line| line.revision);
    if let Some((center, window)) = around {
        lines = render::within(lines, center, window);
    }
    if let Some(subject) = single {
        writeln!(out, "{}", paint(STRONG, render::head(subject, oldest)))?;
    }
    let lines = if mixed { render::coalesce(lines) } else { lines };
    render::write_axis(&lines, mixed, out.width(), out)?;
    if let Some((subject, deletion)) = single.and_then(|subject| Some((subject, story.deletion(subject)?))) {
        render::write_deletion(&deletion, &render::name(&subject.subject), out)?;
    }
    if let Some(subject) = single {
        match subject.subject.kind.as_str() {
            "Node" => render::write_outages(&story.outages(subject), out)?,
            "Pod" => {}
            _ => render::write_waiting(&story.waiting(subject), out)?,
        }
    }
    Ok(if lines.is_empty() { Outcome::Nothing } else { Outcome::Found })
}

fn json(session: &Session, story: &Story, subjects: Vec<&Timeline>, oldest: Revision, out: &mut Output) -> Result<Outcome> {
    let shown = Shown { managed_fields: session.args.show_managed_fields, secrets: session.args.show_secrets };
    let mut documents = Vec::new();
    for subject in &subjects {
        let deletion = story.deletion(subject);
        let related: Vec<Value> = related(story, subject)
            .into_iter()
            .map(|timeline| {
                let subject = &timeline.subject;
                let object = json!({"kind": subject.kind, "namespace": subject.namespace, "name": subject.name, "uid": subject.uid});
                json!({"object": object, "complete": timeline.complete, "phases": timeline_json::phases(&timeline.phases)})
            })
            .collect();
        let mut document = timeline_json::timeline(&mut (*subject).clone(), deletion.as_ref(), oldest, shown);
        document["related"] = related.into();
        documents.push(document);
    }
    if session.format == Format::Ndjson {
        for document in documents {
            writeln!(out, "{document}")?;
        }
    } else if let [only] = &documents[..] {
        writeln!(out, "{only:#}")?;
    } else {
        writeln!(out, "{:#}", json!({"kind": "List", "items": documents}))?;
    }
    Ok(Outcome::Found)
}
