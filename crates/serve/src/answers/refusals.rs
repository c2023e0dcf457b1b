//! What is answered to those who want to change or connect to something.

use crate::data::Moment;
use crate::wire::Status;

/// Refuses to change or to connect to anything.
pub(crate) fn read_only(moment: Moment) -> Box<Status> {
    Status::not_allowed(format!(
        "ketcd serves a recording, the cluster as it was at revision {}: it can be read, and nothing in it can be changed or connected to",
        moment.revision
    ))
}

/// Refuses a write, and says what dry runs can be done instead.
pub(crate) fn refusal(moment: Moment, query: &str) -> Box<Status> {
    if form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "dryRun") {
        return Status::not_allowed(format!(
            "ketcd serves a recording, the cluster as it was at revision {}: no API server is there to run admission and defaulting, so a dry run \
             on the server cannot be answered; use --dry-run=client",
            moment.revision
        ));
    }
    read_only(moment)
}
