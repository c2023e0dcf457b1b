//! `ketcd timeline`: the story of objects, with who did what and how long each step took.

use std::io::Write;

use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::render::change::Shown;
use crate::render::style::{STRONG, paint};
use crate::render::timeline::{self as render, Entry, EntryKind};
use ketcd_history::clock::{Moment, duration};
use ketcd_history::timeline::{Story, Timeline};
use ketcd_store::Revision;

use crate::cli::absence::{Missing, Question};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::stories::{self, related};
use crate::cli::{Error, Outcome, Result};

/// Tells the story of objects: create, schedule, run, end; who, and how long each step took.
#[derive(Args, Debug)]
pub(crate) struct TimelineArgs {
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

/// Runs the command.
pub(super) async fn run(session: &Session, args: &TimelineArgs, out: &mut Output) -> Result<Outcome> {
    let around = around(session, args).await?;
    session.note_reach().await?;
    let everything = args.around.is_some() || session.args.all_namespaces;
    let asked = stories::asked(session, &args.addresses, everything).await?;
    let story = stories::read(session, &asked).await?;
    let subjects: Vec<&Timeline> = story.timelines.iter().filter(|(key, _)| asked.contains(key)).map(|(_, timeline)| timeline).collect();
    let mut missing = Missing::of(session, &asked).await?;
    story.timelines.keys().for_each(|key| missing.saw(key));
    let is_missing = missing.report(session, &Question::up_to(session, "timeline").await?).await?;
    if subjects.is_empty() {
        if !is_missing {
            note("nothing found: no change of it is readable");
        }
        return Ok(Outcome::Nothing);
    }
    let oldest = session.source.span().await?.oldest;
    let options = LineOptions { many: asked.many, all: session.format == Format::Wide, around };
    match &session.format {
        Format::Table | Format::Wide => text(&story, &subjects, &options, oldest, out),
        Format::Json | Format::Ndjson => json(session, &story, subjects, &options, oldest, out),
        other => Err(other.unsupported("timeline", "table, json, ndjson")),
    }
}

/// `--around` and `--window` as a time and seconds.
async fn around(session: &Session, args: &TimelineArgs) -> Result<Option<(Timestamp, f64)>> {
    let Some(text) = &args.around else { return Ok(None) };
    let moment: Moment = text.parse().map_err(|error| Error::new(format!("--around: {error}")))?;
    let window = duration(&args.window)
        .ok_or_else(|| Error::new(format!("--window {:?} is no duration", args.window)).hint("write 30s, 5m or 1h"))?;
    let newest = session.newest_time().await?;
    let newest = newest.ok_or_else(|| Error::new("nothing in this data dates its revisions").hint("leave --around out"))?;
    let center = moment.resolve(newest).ok_or_else(|| Error::new("--around is beyond the calendar"))?;
    Ok(Some((center, window.as_secs_f64())))
}

/// How much is told in text.
struct LineOptions {
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
    "EndpointsNotReady",
    "EndpointsTerminating",
    "NoEndpoints",
    "Bound",
    "Provisioning",
    "Attached",
    "AttachFailed",
    "Allocated",
    "Fired",
    "Stuck",
    "NoMetrics",
    "ResizeDeferred",
    "ResizeInfeasible",
];

fn text(story: &Story, subjects: &[&Timeline], options: &LineOptions, oldest: Revision, out: &mut Output) -> Result<Outcome> {
    let single = if let ([only], false) = (subjects, options.many) { Some(*only) } else { None };
    let (lines, mixed) = lines(story, subjects, options);
    if let Some(subject) = single {
        writeln!(out, "{}", paint(STRONG, render::head(subject, oldest)))?;
        render::write_rollouts(&subject.rollouts, out)?;
        match subject.subject.kind.as_str() {
            "Node" => {
                render::write_cordons(&story.cordons(subject), out)?;
                render::write_outages(&story.outages(subject), out)?;
            }
            "Pod" => {}
            _ => render::write_waiting(&story.waiting(subject), out)?,
        }
    }
    let width = out.width();
    render::write_axis(&lines, mixed, width, out)?;
    if let Some((subject, deletion)) = single.and_then(|subject| Some((subject, story.deletion(subject)?))) {
        render::write_deletion(&deletion, &render::name(&subject.subject), out)?;
    }
    Ok(if lines.is_empty() { Outcome::Nothing } else { Outcome::Found })
}

/// The lines of the axis, and whether they are of several objects.
fn lines(story: &Story, subjects: &[&Timeline], options: &LineOptions) -> (Vec<Entry>, bool) {
    let LineOptions { many, all, around } = *options;
    let mut lines: Vec<Entry> = Vec::new();
    for subject in subjects {
        let own = render::entries(subject, true).into_iter();
        lines.extend(own.filter(|entry| all || !many || entry.kind != EntryKind::Note || entry.warns));
        for timeline in related(story, subject).into_iter().filter(|timeline| !subjects.iter().any(|known| std::ptr::eq(*known, *timeline)))
        {
            let told = |entry: &Entry| all || tells(subject, timeline, entry);
            let entries = render::entries(timeline, true).into_iter().filter(told);
            lines.extend(
                entries.map(|entry| if entry.kind == EntryKind::Longest { Entry { kind: EntryKind::Phase, ..entry } } else { entry }),
            );
        }
    }
    let mixed = many || lines.iter().any(|line| line.object != lines[0].object);
    if many {
        lines.iter_mut().filter(|line| line.kind == EntryKind::Longest).for_each(|line| line.kind = EntryKind::Phase);
    }
    lines.sort_by_key(Entry::place);
    if let Some((center, window)) = around {
        lines = render::within(lines, center, window);
    }
    if !all {
        lines = render::tidy(lines);
    }
    (if mixed && !all { render::coalesce(render::by_write(lines)) } else { lines }, mixed)
}

/// Whether a line of an object that belongs to the subject is told without being asked for all.
fn tells(subject: &Timeline, related: &Timeline, entry: &Entry) -> bool {
    if entry.kind == EntryKind::Note || !OF_RELATED.contains(&entry.phase.as_str()) {
        return false;
    }
    match subject.subject.kind.as_str() {
        "HorizontalPodAutoscaler" => entry.phase.starts_with("Scaled"),
        // What its pods were before they came is their own story.
        "Node" if related.placements.iter().any(|placement| placement.node == subject.subject.name) => {
            !matches!(entry.phase.as_str(), "Created" | "Refused" | "Nominated" | "Gated")
        }
        _ => true,
    }
}

fn json(
    session: &Session,
    story: &Story,
    subjects: Vec<&Timeline>,
    options: &LineOptions,
    oldest: Revision,
    out: &mut Output,
) -> Result<Outcome> {
    let shown = Shown { managed_fields: session.args.show_managed_fields };
    let mut documents = Vec::new();
    for subject in &subjects {
        let mut timeline = (*subject).clone();
        if let Some((center, window)) = options.around {
            timeline.keep_around(center, window);
            if timeline.phases.is_empty() && timeline.notes.is_empty() && timeline.changes.is_empty() {
                continue;
            }
        }
        let deletion = story.deletion(subject);
        let related: Vec<Value> = related(story, subject)
            .into_iter()
            .map(|timeline| {
                let subject = &timeline.subject;
                let object = json!({"kind": subject.kind, "namespace": subject.namespace, "name": subject.name, "uid": subject.uid});
                json!({"object": object, "complete": timeline.complete, "phases": render::json::phases(&timeline.phases)})
            })
            .collect();
        let mut document = render::json::timeline(&mut timeline, deletion.as_ref(), oldest, shown);
        document["related"] = related.into();
        match subject.subject.kind.as_str() {
            "Node" => {
                document["outages"] = story.outages(subject).iter().map(render::json::outage).collect();
                document["cordons"] = story.cordons(subject).iter().map(render::json::cordon).collect();
            }
            "Pod" => {}
            _ => document["waiting"] = story.waiting(subject).into_iter().map(render::json::waiting).collect(),
        }
        documents.push(document);
    }
    let outcome = if documents.is_empty() { Outcome::Nothing } else { Outcome::Found };
    if session.format == Format::Ndjson {
        for document in documents {
            writeln!(out, "{document}")?;
        }
    } else if let ([only], false) = (&documents[..], options.many) {
        writeln!(out, "{only:#}")?;
    } else {
        writeln!(out, "{:#}", json!({"kind": "List", "items": documents}))?;
    }
    Ok(outcome)
}
