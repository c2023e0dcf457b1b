//! A rehearsal as text: the decision, the forecasts by chapter, the sources, the way in short, and what is not known.

use std::io;

use ketcd_cluster::rehearse::{Chapter, Forecast, Rehearsal, Step};
use ketcd_cluster::verify::{Verdict, Weight};

use super::screen::{Detail, Lines, SCREEN_COLUMNS, details, lines_of};
use crate::command_line::CommandLine;
use crate::style::{ACTOR, ADDED, FAINT, REMOVED, STRONG, StyledWrite, WARNING, paint};
use crate::visible::visible;
use crate::words::grouped;
use crate::words::rehearsal::{affected_name, affected_says, decision, distribution_words, source};

/// Where the text behind a label begins.
const LABEL_COLUMNS: usize = 11;

/// Where the text behind the weight of a forecast begins, below it.
const WEIGHT_COLUMNS: usize = 8;

/// How many sources are shown on the first screen.
const MAX_SOURCES_SHOWN: usize = 4;

/// How much of what is not known is shown on the first screen.
const MAX_NOT_KNOWN_SHOWN: usize = 2;

/// How much of a rehearsal is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RehearsalAmount {
    /// As much as fits the first screen of a terminal: what is left is counted.
    Screen,
    /// Every forecast, each with its first objects and its first command: nothing is folded where no screen is filled.
    Forecasts,
    /// Every object, every command and every step, too.
    All,
}

/// Writes a rehearsal. `checklist` is the command that prints the whole way.
///
/// # Errors
/// The stream's.
pub fn write_text(of: &Rehearsal, checklist: &CommandLine, amount: RehearsalAmount, out: &mut dyn StyledWrite) -> io::Result<()> {
    head(of, out)?;
    // Nothing that follows is about this cluster.
    let is_of_another = of.is_of_one_cluster == Some(false);
    let below: Vec<LabelledLine> =
        [sources(of, amount), if is_of_another { Vec::new() } else { way(of, checklist, amount) }, not_known(of, amount)]
            .into_iter()
            .flatten()
            .collect();
    if !is_of_another {
        let taken = lines_of(&decision(of)) + below.iter().map(LabelledLine::lines).sum::<usize>();
        write_forecasts(of, taken, amount, out)?;
    }
    below.iter().try_for_each(|line| line.write(out))
}

/// The decision, whose first word says by its colour what comes.
fn head(of: &Rehearsal, out: &mut dyn StyledWrite) -> io::Result<()> {
    let text = decision(of);
    let style = match of.verdict() {
        Verdict::Good => ADDED,
        Verdict::Findings => WARNING,
        Verdict::Bad => REMOVED,
    };
    match text.split_once(' ') {
        Some((first, rest)) => writeln!(out, "{} {}", paint(style, first), visible(rest)),
        None => writeln!(out, "{}", visible(&text)),
    }
}

fn write_forecasts(of: &Rehearsal, taken: usize, amount: RehearsalAmount, out: &mut dyn StyledWrite) -> io::Result<()> {
    let forecasts: Vec<&Forecast> = Chapter::ALL.into_iter().flat_map(|chapter| of.chapter(chapter)).collect();
    let details = match amount {
        RehearsalAmount::Screen => details(&forecasts, taken, lines),
        RehearsalAmount::Forecasts => vec![Detail::Command; forecasts.len()],
        RehearsalAmount::All => vec![Detail::All; forecasts.len()],
    };
    let (mut chapter, mut counted) = (None, Vec::new());
    for (forecast, detail) in forecasts.iter().zip(details) {
        if detail == Detail::Counted {
            counted.push(forecast.weight);
            continue;
        }
        let own = forecast.kind.chapter();
        let label = if chapter.replace(own) == Some(own) { "" } else { own.name() };
        write_forecast(forecast, label, detail, out)?;
    }
    if counted.is_empty() { Ok(()) } else { line("", &paint(FAINT, counted_words(&counted)).to_string()).write(out) }
}

/// What is said of forecasts that do not fit the screen.
fn counted_words(weights: &[Weight]) -> String {
    let they = match weights {
        [Weight::Low] => "forecast that weighs little".to_owned(),
        all if all.iter().all(|weight| *weight == Weight::Low) => "forecasts that weigh little".to_owned(),
        [_] => "forecast".to_owned(),
        _ => "forecasts".to_owned(),
    };
    format!("{} more {they} (-o wide shows all)", grouped(weights.len()))
}

fn write_forecast(of: &Forecast, label: &'static str, detail: Detail, out: &mut dyn StyledWrite) -> io::Result<()> {
    let style = match of.weight {
        Weight::High => REMOVED,
        Weight::Medium => WARNING,
        Weight::Low => FAINT,
    };
    let weight = paint(style, format!("{:<WEIGHT_COLUMNS$}", of.weight.name()));
    line(label, &format!("{weight}{}", visible(&of.says))).write(out)?;
    let below = |text: &str, out: &mut dyn StyledWrite| line("", &format!("{:WEIGHT_COLUMNS$}{text}", "")).write(out);
    if detail == Detail::All {
        for affected in &of.affected {
            let says: String = affected_says(affected).iter().map(|says| format!("  {}", paint(FAINT, says))).collect();
            below(&format!("{}{says}", paint(STRONG, affected_name(affected))), out)?;
        }
        if of.count > of.affected.len() {
            below(&paint(FAINT, format!("and {} more", grouped(of.count - of.affected.len()))).to_string(), out)?;
        }
    } else if detail >= Detail::Objects && !of.affected.is_empty() {
        below(&visible(&first_objects(of)), out)?;
    }
    let shown = match detail {
        Detail::All => of.commands.len(),
        Detail::Command => 1,
        Detail::Counted | Detail::Sentence | Detail::Objects => 0,
    };
    of.commands.iter().take(shown).try_for_each(|command| below(&paint(ACTOR, command).to_string(), out))
}

/// The first objects, as many as fit a line: `118: pod/shop/web-0, pod/shop/web-1 and 116 more`.
fn first_objects(of: &Forecast) -> String {
    /// What `and 1,000 more` takes.
    const MORE_COLUMNS: usize = 15;
    let room = SCREEN_COLUMNS - LABEL_COLUMNS - WEIGHT_COLUMNS - MORE_COLUMNS;
    let mut text = format!("{}: ", grouped(of.count));
    let mut shown = 0;
    for affected in &of.affected {
        let name = affected_name(affected);
        let separator = if shown == 0 { "" } else { ", " };
        let room = if shown + 1 == of.count { room + MORE_COLUMNS } else { room };
        if shown > 0 && text.chars().count() + separator.len() + name.chars().count() > room {
            break;
        }
        text.push_str(separator);
        text.push_str(&name);
        shown += 1;
    }
    match of.count.saturating_sub(shown) {
        0 => text,
        more => format!("{text} and {} more", grouped(more)),
    }
}

/// The lines that a forecast takes.
fn lines(of: &Forecast) -> Lines {
    let below = |text: &str| (LABEL_COLUMNS + WEIGHT_COLUMNS + text.chars().count()).div_ceil(SCREEN_COLUMNS);
    Lines {
        sentence: below(&of.says),
        objects: if of.affected.is_empty() { 0 } else { below(&first_objects(of)) },
        command: of.commands.first().map_or(0, |command| below(command)),
    }
}

/// The sources, the best to restore first, where there are several.
fn sources(of: &Rehearsal, amount: RehearsalAmount) -> Vec<LabelledLine> {
    let [_, _, ..] = &of.sources[..] else { return Vec::new() };
    let shown = if amount == RehearsalAmount::Screen { MAX_SOURCES_SHOWN } else { usize::MAX };
    let mut lines: Vec<LabelledLine> = Vec::new();
    for (place, one) in of.sources.iter().enumerate().take(shown) {
        lines.push(line(if place == 0 { "sources" } else { "" }, &format!("{}. {}", place + 1, visible(&source(one)))));
    }
    lines.extend(more(of.sources.len(), shown));
    lines
}

/// The way in short: whose it is, how many steps it has, and the command that prints it whole.
fn way(of: &Rehearsal, checklist: &CommandLine, amount: RehearsalAmount) -> Vec<LabelledLine> {
    let way = &of.way;
    if way.steps.is_empty() {
        return Vec::new();
    }
    let evidence = if way.evidence.is_empty() { String::new() } else { format!(" ({})", way.evidence) };
    let steps = if way.steps.len() == 1 { "1 step".to_owned() } else { format!("{} steps", way.steps.len()) };
    let bump = way.bump.map(|bump| format!(", revisions raised by {}", grouped(bump))).unwrap_or_default();
    let mut lines = vec![line("way", &visible(&format!("{}{evidence}: {steps}{bump}", distribution_words(way.distribution))))];
    if amount == RehearsalAmount::All {
        for (place, step) in way.steps.iter().enumerate() {
            lines.push(line("", &format!("{}. {}", place + 1, visible(&step_words(step)))));
            lines.extend(step.commands.iter().map(|command| line("", &format!("   {}", paint(ACTOR, command)))));
        }
    } else {
        lines.push(line("", &paint(ACTOR, checklist).to_string()));
    }
    lines
}

fn step_words(of: &Step) -> String {
    if of.place.is_empty() { of.says.clone() } else { format!("{}: {}", of.place, of.says) }
}

fn not_known(of: &Rehearsal, amount: RehearsalAmount) -> Vec<LabelledLine> {
    let shown = if amount == RehearsalAmount::Screen { MAX_NOT_KNOWN_SHOWN } else { usize::MAX };
    let label = |place: usize| if place == 0 { "not known" } else { "" };
    let mut lines: Vec<LabelledLine> = of
        .not_known
        .iter()
        .enumerate()
        .take(shown)
        .map(|(place, phrase)| line(label(place), &paint(WARNING, phrase).to_string()))
        .collect();
    lines.extend(more(of.not_known.len(), shown));
    lines
}

fn more(all: usize, shown: usize) -> Option<LabelledLine> {
    let more = all.checked_sub(shown).filter(|more| *more > 0)?;
    Some(line("", &paint(FAINT, format!("{} more (-o wide shows all)", grouped(more))).to_string()))
}

/// A line with its label.
struct LabelledLine {
    label: &'static str,
    text: String,
}

fn line(label: &'static str, text: &str) -> LabelledLine {
    LabelledLine { label, text: text.to_owned() }
}

impl LabelledLine {
    /// The lines of a screen that it takes; the marks of styles count, so that it is rather too many.
    fn lines(&self) -> usize {
        (LABEL_COLUMNS + self.text.chars().count()).div_ceil(SCREEN_COLUMNS)
    }

    fn write(&self, out: &mut dyn StyledWrite) -> io::Result<()> {
        writeln!(out, "{:<LABEL_COLUMNS$}{}", self.label, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{affected, hostile, rehearsal, source};
    use super::*;
    use crate::style::plain;
    use ketcd_cluster::rehearse::ForecastKind;

    fn text(of: &Rehearsal, amount: RehearsalAmount) -> String {
        let checklist = CommandLine::of("ketcd rehearse snapshot.db --over etcd-2 -o markdown");
        plain(|out| write_text(of, &checklist, amount, out))
    }

    #[test]
    fn the_first_screen_is_the_decision_with_its_reasons() {
        let shown = text(&rehearsal(), RehearsalAmount::Screen);
        let (first, rest) = shown.split_once('\n').unwrap();
        assert!(
            first.starts_with("RESTORE of snapshot.db (r441846, 26 h old) over member etcd-2 (r512003): you lose 70,157 revisions"),
            "{first}"
        );
        assert_eq!(
            rest,
            "\
lost       high    3 namespaces are not in the backup
                   3: ns/shop, ns/lab, ns/ci
                   ketcd -f etcd-2 extract ns/shop
           high    41 Deployments lose their last change, 12 of them by people
                   41: deploy/shop/web, deploy/shop/web and 39 more
                   ketcd -f etcd-2 history deploy -A --since r441846
runs       high    118 pods would run on 14 nodes unknown to the API
                   118: pod/shop/web-0, pod/shop/web-1 and 116 more
                   crictl pods --name web-0 -q | xargs -r crictl stopp
fits       high    6 volumes of the backup are gone
stale      low     2 locks name leaders of the past
           low     Events of the last hour are lost
sources    1. member etcd-2 (r512003): whole, lacks nothing
           2. snapshot.db (r441846, 26 h old), the backup: whole, lacks 70,157 revisions
way        kubeadm (the static pod etcd-etcd-1 has kubeadm's annotations): 3 steps, revisions raised by 1,000,000,000
           ketcd rehearse snapshot.db --over etcd-2 -o markdown
not known  what containers run: no kubelet was asked
"
        );
        let height: usize = shown.lines().map(lines_of).sum();
        assert!(height < 24, "{height} lines:\n{shown}");
    }

    #[test]
    fn wide_shows_every_object_and_every_command() {
        let shown = text(&rehearsal(), RehearsalAmount::All);
        assert!(shown.contains("deploy/shop/web  spec.replicas 3 → 5  by alice  r500000"), "{shown}");
        assert_eq!(shown.matches("pod/shop/web-").count(), 118, "{shown}");
        assert!(shown.contains("2. on etcd-1: Restore the data") && shown.contains("--mark-compacted"), "{shown}");
    }

    #[test]
    fn a_usual_answer_fits_a_screen_however_much_there_is() {
        let mut many = rehearsal();
        let low =
            |kind| Forecast::new(kind, Weight::Low, "a remark of the usual length about something", vec![affected("Secret", "a", "b")]);
        many.forecasts.extend(ForecastKind::ALL.into_iter().map(low));
        let shown = text(&many, RehearsalAmount::Screen);
        assert!(
            shown.contains(&format!("{} more forecasts that weigh little (-o wide shows all)", 2 + ForecastKind::ALL.len())),
            "{shown}"
        );
        assert!(shown.lines().map(lines_of).sum::<usize>() < 24, "{shown}");
    }

    #[test]
    fn nothing_is_folded_where_no_screen_is_filled() {
        let mut many = rehearsal();
        let more = |kind| Forecast::new(kind, Weight::Medium, "a remark", vec![affected("Secret", "a", "b"); 9]).with_command("ketcd ls");
        many.forecasts.extend(ForecastKind::ALL.into_iter().map(more));
        many.sources.extend((0..9).map(|number| source(&format!("etcd-{number}"), 7)));
        many.not_known = (0..9).map(|number| format!("thing {number}")).collect();
        let shown = text(&many, RehearsalAmount::Forecasts);
        assert!(!shown.contains("(-o wide shows all)"), "{shown}");
        let counts = ["a remark", "9: secret/a/b", "ketcd ls", "etcd-8", "thing 8"].map(|part| shown.matches(part).count());
        let all = ForecastKind::ALL.len();
        assert_eq!(counts, [all, all, all, 1, 1], "{shown}");
    }

    /// Nearly all of a cluster is lost, and every chapter has something to say of it.
    #[test]
    fn a_large_loss_fits_a_screen_too() {
        let weights = [vec![Weight::High], [Weight::Medium, Weight::Low, Weight::Medium].repeat(ForecastKind::ALL.len())].concat();
        let kinds =
            ["3 namespaces (3 by people)", "41 Deployments (12 by people, 20 by GitOps)", "90 ConfigMaps (88 by GitOps)"].join(", ");
        let forecasts = ForecastKind::ALL.into_iter().zip(weights.into_iter().cycle()).map(|(kind, weight)| {
            let says = format!(
                "what was made since the backup is gone: {kinds}, 150,000 Pods, 2 CRDs (2 by people), 70,157 objects of 40 other kinds"
            );
            let affected = vec![affected("Deployment", "a-namespace-with-a-long-name", "a-deployment-with-a-name-that-is-longer"); 1_000];
            let headline = match kind.chapter() {
                Chapter::Lost => format!("{kinds}, 1,234 objects of 34 other kinds"),
                _ => "150,000 pods would run on 5,000 nodes unknown to the API".to_owned(),
            };
            let forecast = Forecast::new(kind, weight, says, affected).with_headline(headline);
            Forecast {
                count: 150_000,
                ..forecast.with_command("kubectl get deployments -A --field-selector=metadata.namespace=a-namespace -o wide")
            }
        });
        let lost = Rehearsal { forecasts: forecasts.collect(), ..rehearsal() };
        let shown = text(&lost, RehearsalAmount::Screen);
        let height: usize = shown.lines().map(lines_of).sum();
        assert!(height < 24, "{height} lines:\n{shown}");
        let (first, rest) = shown.split_once('\n').unwrap();
        assert!(first.contains("you lose 70,157 revisions: 3 namespaces (3 by people), ") && first.contains(" more; better: "), "{first}");
        assert!(rest.starts_with("lost       high    ") && rest.contains(" more forecasts (-o wide shows all)"), "{rest}");
        assert!(text(&lost, RehearsalAmount::All).matches("150,000 Pods").count() == ForecastKind::ALL.len(), "wide shows all");
    }

    #[test]
    fn what_does_not_fit_is_counted_by_weight() {
        use Weight::{Low, Medium};
        for (weights, wanted) in [
            (&[Low][..], "1 more forecast that weighs little (-o wide shows all)"),
            (&[Low, Low][..], "2 more forecasts that weigh little (-o wide shows all)"),
            (&[Medium][..], "1 more forecast (-o wide shows all)"),
            (&[Low, Medium][..], "2 more forecasts (-o wide shows all)"),
        ] {
            assert_eq!(counted_words(weights), wanted);
        }
    }

    #[test]
    fn another_cluster_ends_the_answer() {
        let shown = text(&Rehearsal { is_of_one_cluster: Some(false), ..rehearsal() }, RehearsalAmount::Screen);
        assert!(
            shown.contains("do not: the backup is of another cluster") && !shown.contains("lost  ") && !shown.contains("way  "),
            "{shown}"
        );
    }

    #[test]
    fn names_drive_no_terminal() {
        for amount in [RehearsalAmount::Screen, RehearsalAmount::Forecasts, RehearsalAmount::All] {
            let shown = text(&hostile(), amount);
            assert!(!shown.contains('\x1b') && !shown.lines().any(|line| line.starts_with("# heading")), "{shown}");
        }
    }
}
