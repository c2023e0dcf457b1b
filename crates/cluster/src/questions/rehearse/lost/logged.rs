//! Who wrote which keys since the backup, where audit logs are read with the newest state.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_history::audit::Authorship;
use ketcd_store::Until;

use super::super::states::States;
use crate::error::Result;
use crate::read::{Depth, History, Keys, Read, events};
use crate::writers::Writer;

/// Returns the users of the requests that wrote or deleted keys after the backup, by the keys' paths: of several the one whose work is hardest to make
/// again, of those the last. None without a log.
pub(super) async fn users(states: &States<'_>) -> Result<HashMap<Bytes, Writer>> {
    let mut users: HashMap<Bytes, Writer> = HashMap::new();
    let Some(newest) = states.newest.as_ref().filter(|newest| !newest.cluster.audit.logs.is_empty()) else { return Ok(users) };
    let (cluster, after) = (newest.cluster, states.backup.revision);
    let clock = cluster.clock_of_writers(&[], &[], &[]).await?;
    let events = events(cluster, Keys::all(), Until::Revision(newest.revision));
    let history = History::of_events(cluster, events, clock, move |event| event.revision <= after);
    let history = history.decoded_by(cluster.decoder.clone()).decoded_to(Depth::BriefCreation);
    let mut made = history.on_cores(|change, _, _| {
        let request = change.request.as_ref().and_then(Authorship::request);
        request.map(|request| Writer::of_user(&request.user))
    });
    while let Some(read) = made.try_next().await? {
        let Read::Item((event, Some(Some(writer)))) = read else { continue };
        if let Some(path) = newest.path(&event.key_value.key) {
            let known = users.entry(path).or_insert_with(|| writer.clone());
            if writer.kind <= known.kind {
                *known = writer;
            }
        }
    }
    Ok(users)
}
