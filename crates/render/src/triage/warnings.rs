//! Warning Events that no finding explains, a line for each.

use std::io;

use super::TriagePage;
use crate::duration;
use crate::style::{self, StyledWrite, paint};
use crate::value::cut;
use crate::visible::visible;
use crate::words::name;
use ketcd_cluster::triage::Warning;

const MAX_WARNINGS_NAMED: usize = 3;

/// Writes them, those that occur most often first, with the command that shows all.
pub(super) fn write(page: &TriagePage<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    if page.warnings.is_empty() {
        return Ok(());
    }
    let shown = if page.is_wide { page.warnings.len() } else { MAX_WARNINGS_NAMED };
    writeln!(out, "Warning Events that no finding explains")?;
    for warning in page.warnings.iter().take(shown) {
        let line = visible(&line(page, warning)).into_owned();
        let width = page.width.filter(|_| !page.is_wide);
        writeln!(out, "  {}", width.map_or_else(|| line.clone(), |width| cut(&line, width.saturating_sub(2))))?;
    }
    let more = page.warnings.len().saturating_sub(shown);
    let more = if more > 0 { format!("{more} more: ") } else { String::new() };
    let command = page.at_moment(page.invocation.ketcd("events --types=Warning -A"));
    writeln!(out, "  {}", paint(style::FAINT, format!("{more}{command}")))
}

/// `cronjob/shop/poll  TooManyMissedTimes (900 times, last 20 s before): too many missed start times`.
fn line(page: &TriagePage<'_>, warning: &Warning) -> String {
    let Warning { subject, reason, message, count, last, .. } = warning;
    let before = page.now.zip(*last).map(|(now, last)| duration::length(now.duration_since(last).as_secs_f64().max(0.0).round()));
    let last = before.map_or(String::new(), |before| format!(", last {before} before"));
    format!("{}  {reason} ({count} times{last}): {}", name(subject), message.trim())
}
