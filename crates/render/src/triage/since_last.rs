//! What is new, what ended and what stays since an earlier triage, as one screen.

use std::io;

use super::{at, write_finding, write_reduced};
use crate::page::TriagePage;
use crate::since_last::{GoneTrouble, SinceEarlier};
use crate::style::{self, StyledWrite, paint};
use crate::visible::visible;
use crate::words::{shared_words, trouble};
use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::triage::since_last::TroubleState;

/// Writes the screen.
pub(super) fn write(page: &TriagePage<'_>, since: &SinceEarlier, out: &mut dyn StyledWrite) -> io::Result<()> {
    let mut findings = Vec::new();
    page.findings.iter().enumerate().for_each(|(place, finding)| flatten(finding, Some(place), &mut findings));
    let of = |state: TroubleState| findings.iter().filter(move |(_, finding)| since.state_of(finding) == Some(state));
    let gone = |state: TroubleState| since.gone.iter().filter(move |gone| gone.state == state);
    let count = |state: TroubleState| of(state).count() + gone(state).count();
    let (new, ended, stay) = (count(TroubleState::New), count(TroubleState::Ended), count(TroubleState::Stays));
    let earlier = since.time.map_or(String::new(), |time| format!("{time:.0}, "));
    let head = format!("{new} new, {ended} ended, {stay} stay{}; since {earlier}revision {}", at(page), since.revision);
    writeln!(out, "{}", paint(style::STRONG, head))?;
    write_reduced(page, out)?;
    if new > 0 {
        writeln!(out, "{}", paint(style::REMOVED, "new"))?;
    }
    for (place, finding) in of(TroubleState::New) {
        let alone = Finding { effects: Vec::new(), ..(*finding).clone() };
        write_finding(page, &alone, place.map_or(&[][..], |place| page.causes_of(place)), (0, None), out)?;
    }
    if ended > 0 {
        writeln!(out, "{}", paint(style::ADDED, "ended"))?;
    }
    gone(TroubleState::Ended).try_for_each(|gone| write_gone(page, gone, out))?;
    if stay > 0 {
        writeln!(out, "{}", paint(style::FAINT, "stays"))?;
    }
    for (_, finding) in of(TroubleState::Stays) {
        write_staying(page, finding, out)?;
    }
    gone(TroubleState::Stays).try_for_each(|gone| write_gone(page, gone, out))
}

/// A finding and all that followed from it, with the place of those that have causes of their own.
fn flatten<'f>(finding: &'f Finding, place: Option<usize>, into: &mut Vec<(Option<usize>, &'f Finding)>) {
    into.push((place, finding));
    finding.effects.iter().for_each(|effect| flatten(effect, None, into));
}

/// `deploy/web/tomcat  1/3 ready since 22:10:00 (12m)`.
fn write_staying(page: &TriagePage<'_>, finding: &Finding, out: &mut dyn StyledWrite) -> io::Result<()> {
    let since = trouble::since_behind(finding, page.now);
    let line = format!("{}  {}{since}", trouble::who(finding), shared_words::all_what(finding));
    writeln!(out, "  {}{}", visible(&line), super::id_in_wide(page, finding))
}

/// `node/node2  silent since 22:20:12`; where it may still be there, that it was not seen.
fn write_gone(page: &TriagePage<'_>, gone: &GoneTrouble, out: &mut dyn StyledWrite) -> io::Result<()> {
    let of = &gone.trouble;
    let or_earlier = if of.may_begin_earlier { trouble::OR_EARLIER } else { "" };
    let since = of.since.map_or(String::new(), |since| format!(" since {since:.0}{or_earlier}"));
    let unseen = if gone.state == TroubleState::Stays { ", not seen: some of the data could not be read" } else { "" };
    let id = if page.is_wide { format!("  id {}", of.id) } else { String::new() };
    writeln!(out, "  {}", visible(&format!("{}  {}{since}{unseen}{id}", trouble::several(1, &of.object, None), of.what)))
}
