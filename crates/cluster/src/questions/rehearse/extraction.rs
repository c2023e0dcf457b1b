//! The commands that print what people and GitOps wrote since the backup.

use ketcd_store::{SourceKind, SourceStatus};

use super::sources::{files_of, flags_of, names_of};
use super::states::{RehearsedState, States};
use crate::error::Result;

/// The commands, each a line.
pub(super) struct ExtractCommands {
    /// Prints manifests.
    pub extract: String,
    /// Holds them against the backup, so that conflicts are named; `None` where the backup has several parts or is part of the newest state.
    pub plan: Option<String>,
}

/// Returns them. Who wrote an object since shows in its version of then: where the newest state has compacted that, the backup is read with it.
pub(super) async fn commands(states: &States<'_>, newest: &RehearsedState<'_>) -> Result<ExtractCommands> {
    let since = states.backup.revision;
    let (old, new) = (&states.backup_status, states.newest_status.as_ref().unwrap_or(&states.backup_status));
    let are_joined = states.is_of_one_cluster == Some(true) && has_history(old) && has_history(new) && names_of(old) != names_of(new);
    let is_compacted = are_joined && newest.cluster.source.span().await?.oldest > since;
    let flags = if is_compacted { format!("{}{}", files_of(old), files_of(new)) } else { flags_of(new) };
    let extract = format!("ketcd{flags} extract -A --all --since {since} --by people,gitops");
    let plan = match names_of(old).as_slice() {
        [backup] if names_of(new) != names_of(old) => Some(format!("{extract} --against {backup}")),
        _ => None,
    };
    Ok(ExtractCommands { extract, plan })
}

/// Whether a source has revisions, so that it is joined with another of its cluster.
fn has_history(status: &SourceStatus) -> bool {
    !matches!(status.kind, SourceKind::Objects | SourceKind::AuditLog)
}
