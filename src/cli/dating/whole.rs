//! The clock of a history that is short enough to be read whole.

use std::pin::pin;

use futures_util::TryStreamExt;

use ketcd_history::clock::{Clock, Evidence};
use ketcd_store::{EventKind, Revision, Until};

use crate::cli::Result;
use crate::cli::changes::{Keys, Read, events};
use crate::cli::session::Session;

/// Reads every change up to `newest` for its times.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn clock(session: &Session, newest: Revision) -> Result<Clock> {
    let mut evidence = Evidence::default();
    let mut events = pin!(events(session.source.as_ref(), Keys::all(), Until::Revision(newest)));
    while let Some(read) = events.try_next().await? {
        let Read::Item(event) = read else { continue };
        let entry = &event.key_value;
        let decode = || session.decoder.decode_only(&entry.key, &entry.value, entry.mod_revision.0, Evidence::looked_at());
        let decoded = (event.kind == EventKind::Put).then(decode);
        evidence.observe(event.revision, &entry.key, entry.version == 1, decoded.as_ref().and_then(|decoded| decoded.object()));
    }
    Ok(evidence.finish())
}
