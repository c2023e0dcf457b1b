//! Who changed what: below a finding the changes that explain it, and last those that explain nothing, folded by author.

use std::collections::{BTreeSet, HashMap};
use std::io;

use jiff::SignedDuration;

use super::super::change_text::{clock_time_on, day_of};
use super::super::duration;
use super::super::request_text::{self, NO_REQUEST};
use super::super::style::{self, StyledWrite, paint};
use super::super::value::{columns, cut};
use super::super::visible::visible;
use super::super::words::trouble::plural;
use super::super::words::{intervention_words, name};
use super::{DEFAULT_COLUMNS, MAX_FINDINGS_SHOWN, TriagePage, is_partial};
use ketcd_cluster::triage::{Cause, ChangeWindow};
use ketcd_history::audit::Authorship;
use ketcd_history::timeline::Subject;
use ketcd_history::{ActorFrom, AttributedChange, intervention};

/// The fewest columns for what changed, and for what changed before a finding, whose new value is what one looks for.
const MIN_DETAIL_COLUMNS: usize = 20;
const LEAST_OF_CAUSE: usize = 60;

/// A change in one line, with the number of similar changes that it stands for.
struct ChangeLine {
    first: usize,
    count: usize,
    subjects: Vec<Subject>,
    what: String,
    by: String,
}

/// Writes the changes that explain a finding, indented by `indent` columns.
pub(super) fn write_causes(page: &TriagePage<'_>, causes: &[Cause], indent: usize, out: &mut dyn StyledWrite) -> io::Result<()> {
    for cause in causes {
        let Some(line) = page.changes.get(cause.change).and_then(|change| line(cause.change, change)) else { continue };
        let (who, by) = (name(&line.subjects[0]), if line.by.is_empty() { "author unknown" } else { &line.by });
        let by = cause.before.map_or_else(|| by.to_owned(), |before| format!("{by}, {}", ago(before)));
        let (who, by, what) = (visible(&who), visible(&by), visible(&line.what));
        let used = indent + 2 + columns(&who) + 2 + 2 + columns(&by);
        let left = page.width.unwrap_or(DEFAULT_COLUMNS).saturating_sub(used).max(LEAST_OF_CAUSE);
        let what = if page.is_wide || page.width.is_none() { what.into_owned() } else { cut(&what, left) };
        writeln!(out, "{:indent$}{} {who}  {what}  {}", "", paint(style::FAINT, "←"), paint(style::ACTOR, &by))?;
    }
    Ok(())
}

/// How long before something began a change was made.
pub(super) fn ago(before: SignedDuration) -> String {
    // What began is known to the second.
    match before.as_secs_f64().round() {
        seconds if seconds < 1.0 => "just before".to_owned(),
        seconds => format!("{} before", duration::length(seconds)),
    }
}

/// Writes the changes that explain no finding: those of one author in one namespace as one line or, where all is shown, each.
pub(super) fn write_others(page: &TriagePage<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let explain: BTreeSet<usize> = page.causes.iter().flatten().map(|cause| cause.change).collect();
    let windows = page.windows.iter().map(|ChangeWindow { from, to, is_cut, .. }| {
        let cut = if *is_cut { " (the readable history begins within it)" } else { "" };
        let are_of_today = page.now.is_some_and(|now| [*from, *to].iter().all(|time| day_of(*time) == day_of(now)));
        let format = if are_of_today { "%H:%M:%S" } else { "%F %H:%M:%S" };
        format!("from {} to {}{cut}", from.strftime(format), to.strftime(format))
    });
    let windows: Vec<String> = windows.collect();
    if !windows.is_empty() {
        let what = if explain.is_empty() { "changed" } else { "other changes" };
        writeln!(out, "{}", paint(style::FAINT, format!("{what} {}", windows.join(", and "))))?;
    }
    let others = page.changes.iter().enumerate().filter(|(place, _)| !explain.contains(place));
    let others: Vec<ChangeLine> = others.filter_map(|(place, change)| line(place, change)).collect();
    if others.is_empty() && !page.windows.is_empty() {
        let of_what = if is_partial(page) { " of what could be read" } else { "" };
        match page.by {
            Some(by) => writeln!(out, "  nothing{of_what} by {}", visible(by))?,
            None => writeln!(out, "  nothing{of_what}: no workload, node, configuration, right or webhook")?,
        }
    }
    if page.is_wide {
        return alike(others).iter().try_for_each(|line| write_change(page, line, out));
    }
    let folded = folded(others);
    let hidden = folded.len().saturating_sub(MAX_FINDINGS_SHOWN);
    if hidden > 0 {
        let count: usize = folded[..hidden].iter().map(|line| line.count).sum();
        writeln!(out, "  {}", paint(style::FAINT, format!("{count} more before (-o wide shows all)")))?;
    }
    folded[hidden..].iter().try_for_each(|line| write_folded(page, line, out))
}

/// Similar changes in a row as one line.
fn alike(changes: Vec<ChangeLine>) -> Vec<ChangeLine> {
    let mut lines: Vec<ChangeLine> = Vec::new();
    for line in changes {
        match lines.last_mut() {
            Some(last) if last.subjects[0].kind == line.subjects[0].kind && last.what == line.what && last.by == line.by => last.add(line),
            _ => lines.push(line),
        }
    }
    lines
}

/// The changes of one author in one namespace, or of one kind without namespaces, as one line, in the order of their last ones.
fn folded(changes: Vec<ChangeLine>) -> Vec<ChangeLine> {
    let mut lines: HashMap<(String, String), ChangeLine> = HashMap::new();
    for mut line in changes {
        let of = (line.by.clone(), place(&line.subjects[0]));
        if let Some(mut earlier) = lines.remove(&of) {
            earlier.subjects.append(&mut line.subjects);
            (line.count, line.subjects) = (line.count + earlier.count, earlier.subjects);
        }
        lines.insert(of, line);
    }
    let mut lines: Vec<ChangeLine> = lines.into_values().collect();
    lines.sort_by_key(|line| line.first);
    lines
}

/// Where a changed object belongs: ` in shop`, ` of nodes`.
fn place(subject: &Subject) -> String {
    match subject {
        Subject { kind, name, .. } if kind == "Namespace" => format!(" in {name}"),
        Subject { kind, namespace, .. } if namespace.is_empty() => format!(" of {}", plural(kind)),
        Subject { namespace, .. } => format!(" in {namespace}"),
    }
}

impl ChangeLine {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.subjects.extend(other.subjects);
    }
}

fn write_folded(page: &TriagePage<'_>, line: &ChangeLine, out: &mut dyn StyledWrite) -> io::Result<()> {
    let time = clock_time_on(page.now.map(day_of), page.changes[line.first].dated);
    let by = if line.by.is_empty() { "author unknown" } else { &line.by };
    let what = match line.count {
        1 => format!("{} {}", name(&line.subjects[0]), line.what),
        count => format!("{count} changes{}", place(&line.subjects[0])),
    };
    let (by, what) = (visible(by), visible(&what));
    let left = page.width.unwrap_or(DEFAULT_COLUMNS).saturating_sub(6 + columns(&time) + columns(&by)).max(MIN_DETAIL_COLUMNS);
    let what = if page.width.is_none() { what.into_owned() } else { cut(&what, left) };
    writeln!(out, "  {}  {}: {what}", paint(style::FAINT, &time), paint(style::ACTOR, &by))
}

fn write_change(page: &TriagePage<'_>, line: &ChangeLine, out: &mut dyn StyledWrite) -> io::Result<()> {
    let time = clock_time_on(page.now.map(day_of), page.changes[line.first].dated);
    let who = match &line.subjects[..] {
        [only] => name(only),
        many => format!("{} × {}", many.len(), many[0].kind.to_lowercase()),
    };
    let by = if line.by.is_empty() { String::new() } else { format!("  {}", line.by) };
    let command = match &line.subjects[..] {
        [only] => format!("  {}", page.invocation.ketcd("history").word(&name(only)).and("--diff")),
        _ => String::new(),
    };
    let (who, by) = (visible(&who).into_owned(), visible(&by).into_owned());
    let used = 4 + columns(&time) + columns(&who) + 2 + columns(&line.what) + columns(&by);
    let fits = used + columns(&command) <= page.width.unwrap_or(DEFAULT_COLUMNS);
    write!(out, "  {}  {who}  {}{}", paint(style::FAINT, &time), line.what, paint(style::ACTOR, &by))?;
    if fits && !command.is_empty() {
        write!(out, "{}", paint(style::FAINT, &command))?;
    }
    writeln!(out)
}

fn line(place: usize, attributed: &AttributedChange) -> Option<ChangeLine> {
    let subject = Subject::of(attributed.change.object()?);
    let by = match (&attributed.request, attributed.by()) {
        (Some(Authorship::Unexplained(_)), None) => NO_REQUEST.to_owned(),
        (_, None) => String::new(),
        (_, Some(actor)) => format!("{}{}", request_text::actor(&actor), if actor.from == ActorFrom::Inferred { "*" } else { "" }),
    };
    let what = intervention_words(&intervention(attributed)?);
    Some(ChangeLine { first: place, count: 1, subjects: vec![subject], what, by })
}
