//! The conditions of an object, one a line, with how long each has held.

use std::io;

use serde_json::Value;

use super::Look;
use crate::style::{STRONG, StyledWrite, paint};
use crate::table::fields::{at, list, text};
use crate::table::{ColumnWidths, write_wrapped};
use crate::visible::visible;

pub(super) fn write(object: &Value, look: Look<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let conditions = list(object, "status.conditions");
    if conditions.is_empty() {
        return Ok(());
    }
    let mut rows = vec![["TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"].map(str::to_owned).to_vec()];
    for condition in conditions {
        let since = ["lastTransitionTime", "lastUpdateTime"].iter().find_map(|field| at(condition, field));
        let since = look.ago(since).trim_end_matches(" ago").to_owned();
        let [kind, status, reason, message] = ["type", "status", "reason", "message"].map(|field| text(condition, field).to_owned());
        rows.push(vec![kind, status, since, reason, visible(&message).into_owned()]);
    }
    writeln!(out, "\n{}", paint(STRONG, "Conditions"))?;
    write_wrapped(rows, &mut ColumnWidths::default(), look.width, out)
}
