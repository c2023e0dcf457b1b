//! `/ui/api/history`: the versions of an object, which the page steps through by itself.

use ketcd_history::diff::ManagedFields;
use ketcd_render::browser::{Cursor, Panel, View, versions};
use ketcd_render::contract::browser::PageHistory;
use ketcd_store::Revision;

use super::question::{Asked, MAX_ANSWER_BYTES};
use crate::data::BEFORE_ALL;
use crate::wire::{Result, Status};

/// The most versions of one answer.
const MAX_VERSIONS: usize = 500;
/// Bytes of versions that leave room for the rest of the answer.
const MAX_VERSION_BYTES: usize = MAX_ANSWER_BYTES - (64 << 10);

pub(super) async fn answer(asked: &Asked<'_>) -> Result<PageHistory> {
    let to = Revision(asked.moment("to").await?.revision);
    let subject = asked.subject(to).await?;
    let of_window: Vec<i64> = subject.life.changes.iter().copied().filter(|&change| change <= to.0).collect();
    let mut most = asked.query.number("limit", MAX_VERSIONS, MAX_VERSIONS)?.max(1);
    let command = asked.command(&View::Object(subject.name.address.clone(), Panel::Changes(Cursor::Unset)));
    loop {
        let left = of_window.len().saturating_sub(most);
        let after = if left > 0 { Revision(of_window[left - 1]) } else { BEFORE_ALL };
        let changes = asked.stand.changes(&[subject.place], (after, to)).await?;
        let changes: Vec<_> =
            changes.into_iter().filter(|change| subject.life.changes.binary_search(&change.change.revision.0).is_ok()).collect();
        let versions = versions(&changes, asked.stand.clock().await?.leases(), ManagedFields::Hidden).map_err(Status::internal)?;
        let bytes = serde_json::to_vec(&versions).map_err(Status::internal)?.len();
        if bytes <= MAX_VERSION_BYTES || most == 1 {
            return Ok(PageHistory { command, left, name: subject.name, versions });
        }
        most = (most / 2).max(1);
    }
}
