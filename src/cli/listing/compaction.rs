//! Listings that a compaction overtakes: the revision that their pages are of cannot be read any more.

use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Output, note};
use crate::cli::session::Session;
use ketcd_store::At;

/// What a listing does where a compaction overtakes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Overtaken {
    /// Nothing: it is read again.
    Repeat,
    ShowFound,
}

/// Runs a listing. Where a compaction overtakes it before anything was printed, it is read once more at the newest revision, unless it is
/// asked for at another.
pub(in crate::cli) async fn repeated(
    session: &Session,
    out: &mut Output,
    listing: impl AsyncFn(&mut Output, Overtaken) -> Result<Outcome>,
) -> Result<Outcome> {
    if session.cluster.at != At::Newest {
        return listing(out, Overtaken::ShowFound).await;
    }
    match listing(out, Overtaken::Repeat).await {
        Err(error) if error.is_compacted() && !out.has_begun() => {
            note("a compaction removed the revision being listed: listing the newest instead");
            listing(out, Overtaken::ShowFound).await
        }
        done => done,
    }
}

/// Says that a listing is not complete.
pub(in crate::cli) fn note_cut_short(found: usize) {
    let s = if found == 1 { "" } else { "s" };
    note(&format!(
        "error: the listing is cut short after {found} object{s}: a compaction removed the revision being listed; run it again, or read a snapshot with -f"
    ));
}
