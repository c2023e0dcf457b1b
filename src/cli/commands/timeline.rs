//! `ketcd timeline`: the story of objects, with who did what and how long each step took.

use std::io::Write;

use clap::Args;
use jiff::Timestamp;

use ketcd_history::clock::{Moment, duration};
use ketcd_history::timeline::{StepKind, Story, Timeline};
use ketcd_render::contract::timeline as contract;
use ketcd_render::style::{STRONG, paint};
use ketcd_render::timeline::{self as render, EntryKind, TimelineEntry};
use ketcd_store::Revision;

use crate::cli::absence::{Missing, Search};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::related::{asked, related, story};
use ketcd_cluster::rights::Question;

/// Show what happened to objects, who did it, and how long each step took
///
/// Turns changes and Events into phases: a pod is created, scheduled, initialized, ready, deleted; a Deployment rolls out; a node loses its
/// heartbeat. Includes the objects that belong to those named. -o wide shows every phase and every Event.
#[derive(Args, Debug)]
#[command(before_help = "\
# What happened to a pod, and how long each step took\n\
ketcd -f snapshot.db timeline pod/lab/ubuntu\n\
# Everything that happened around a moment\n\
ketcd -f snapshot.db timeline --around 22:16:50")]
pub(crate) struct TimelineArgs {
    /// The objects: kind/namespace/name, or a kind. Default: all of a namespace, or with --around all of the cluster.
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    /// Show only what happened around this time: RFC 3339, `14:03:20`, or `-10m`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    around: Option<String>,
    /// How long before and after --around: `30s`, `5m`.
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "around")]
    window: String,
}

impl TimelineArgs {
    /// What it asks.
    pub(super) fn question(&self) -> Question<'_> {
        Question::Timeline(&self.addresses)
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &TimelineArgs, out: &mut Output) -> Result<Outcome> {
    let around = around(session, args).await?;
    session.note_reach().await?;
    let everything = args.around.is_some() || session.args.all_namespaces;
    if args.addresses.is_empty() && session.args.namespace.is_none() && !everything {
        let wrong = Error::new("timeline needs to know what to show");
        return Err(wrong.hint("name objects, a namespace with -n, everything with -A, or a time with --around"));
    }
    let asked = asked(session, &args.addresses, everything).await?;
    let story = story(session, &asked).await?;
    let subjects: Vec<&Timeline> = story.timelines.iter().filter(|(key, _)| asked.contains(key)).map(|(_, timeline)| timeline).collect();
    let mut missing = Missing::of(session, &asked).await?;
    story.timelines.keys().for_each(|key| missing.saw(key));
    let is_missing = missing.report(session, &Search::up_to(session, "timeline").await?).await?;
    if subjects.is_empty() {
        if !is_missing {
            note("nothing found: it has no readable change");
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
        .ok_or_else(|| Error::new(format!("invalid --window {:?}: expected a duration such as 30s, 5m or 1h", args.window)))?;
    let reference = session.reference_time().await?;
    let reference = reference.ok_or_else(|| Error::new("nothing in this data dates its revisions").hint("leave --around out"))?;
    let center = moment.resolve(reference).ok_or_else(|| Error::new("--around is beyond the calendar"))?;
    Ok(Some((center, window.as_secs_f64())))
}

/// How much is printed as text.
struct LineOptions {
    /// Whether several objects are shown.
    many: bool,
    /// All steps and all Events, of those that belong to the subject too.
    all: bool,
    /// Only within so many seconds of a time.
    around: Option<(Timestamp, f64)>,
}

/// Phases that are printed of objects that belong to the subject; `-o wide` prints all.
const OF_RELATED: &[StepKind] = &[
    StepKind::Created,
    StepKind::Scheduled,
    StepKind::Refused,
    StepKind::Nominated,
    StepKind::Gated,
    StepKind::Ready,
    StepKind::NotReady,
    StepKind::Restarted,
    StepKind::Waiting,
    StepKind::Evicted,
    StepKind::Deleting,
    StepKind::Deleted,
    StepKind::Failed,
    StepKind::Succeeded,
    StepKind::ScaledUp,
    StepKind::ScaledDown,
    StepKind::Rollout,
    StepKind::EndpointsReady,
    StepKind::EndpointsGone,
    StepKind::EndpointsNotReady,
    StepKind::EndpointsTerminating,
    StepKind::NoEndpoints,
    StepKind::Bound,
    StepKind::Provisioning,
    StepKind::Attached,
    StepKind::AttachFailed,
    StepKind::Allocated,
    StepKind::Fired,
    StepKind::Stuck,
    StepKind::NoMetrics,
    StepKind::ResizeDeferred,
    StepKind::ResizeInfeasible,
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
fn lines(story: &Story, subjects: &[&Timeline], options: &LineOptions) -> (Vec<TimelineEntry>, bool) {
    let LineOptions { many, all, around } = *options;
    let mut lines: Vec<TimelineEntry> = Vec::new();
    for subject in subjects {
        let own = render::entries(subject, true).into_iter();
        lines.extend(own.filter(|entry| all || !many || entry.kind != EntryKind::Note || entry.warns));
        for timeline in related(story, subject).into_iter().filter(|timeline| !subjects.iter().any(|known| std::ptr::eq(*known, *timeline)))
        {
            let is_printed = |entry: &TimelineEntry| all || is_printed_by_default(subject, timeline, entry);
            let entries = render::entries(timeline, true).into_iter().filter(is_printed);
            lines.extend(
                entries
                    .map(|entry| if entry.kind == EntryKind::Longest { TimelineEntry { kind: EntryKind::Phase, ..entry } } else { entry }),
            );
        }
    }
    let mixed = many || lines.iter().any(|line| line.object != lines[0].object);
    if many {
        lines.iter_mut().filter(|line| line.kind == EntryKind::Longest).for_each(|line| line.kind = EntryKind::Phase);
    }
    lines.sort_by_key(TimelineEntry::place);
    if let Some((center, window)) = around {
        lines = render::within(lines, center, window);
    }
    if !all {
        lines = render::tidy(lines);
    }
    (if mixed && !all { render::coalesce(render::by_write(lines)) } else { lines }, mixed)
}

/// Whether a line of an object that belongs to the subject is printed without `-o wide`.
fn is_printed_by_default(subject: &Timeline, related: &Timeline, entry: &TimelineEntry) -> bool {
    if entry.kind == EntryKind::Note || !entry.step.is_some_and(|step| OF_RELATED.contains(&step)) {
        return false;
    }
    match subject.subject.kind.as_str() {
        "HorizontalPodAutoscaler" => matches!(entry.step, Some(StepKind::ScaledUp | StepKind::ScaledDown)),
        // What its pods were before they came is their own story.
        "Node" if related.placements.iter().any(|placement| placement.node == subject.subject.name) => {
            !matches!(entry.step, Some(StepKind::Created | StepKind::Refused | StepKind::Nominated | StepKind::Gated))
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
    let managed_fields = session.args.managed_fields();
    let mut gathered = Vec::new();
    for subject in subjects {
        let mut timeline = subject.clone();
        if let Some((center, window)) = options.around {
            timeline.keep_around(center, window);
            if timeline.phases.is_empty() && timeline.notes.is_empty() && timeline.changes.is_empty() {
                continue;
            }
        }
        let (is_node, is_pod) = (subject.subject.kind == "Node", subject.subject.kind == "Pod");
        gathered.push(render::json::Gathered {
            timeline,
            deletion: story.deletion(subject),
            related: related(story, subject),
            outages: is_node.then(|| story.outages(subject)),
            cordons: is_node.then(|| story.cordons(subject)),
            waiting: (!is_node && !is_pod).then(|| story.waiting(subject)),
        });
    }
    let outcome = if gathered.is_empty() { Outcome::Nothing } else { Outcome::Found };
    let mut documents = gathered.iter().map(|gathered| render::json::document(gathered, oldest, managed_fields));
    if session.format == Format::Ndjson {
        for document in documents {
            serde_json::to_writer(&mut *out, &document)?;
            writeln!(out)?;
        }
        return Ok(outcome);
    }
    match (documents.len(), documents.next()) {
        (1, Some(only)) if !options.many => serde_json::to_writer_pretty(&mut *out, &only)?,
        (_, first) => {
            let items = first.into_iter().chain(documents).collect();
            serde_json::to_writer_pretty(&mut *out, &contract::List { items, kind: "List" })?
        }
    }
    writeln!(out)?;
    Ok(outcome)
}
