//! The newest revision of a live cluster, by the header of an answer about a key that the user may read.

use super::answer::{RangeAsked, RangeContent};
use super::calls::Client;
use super::client::Cluster;
use super::trouble::{Class, Trouble};
use super::wire::{nonempty, range_request};
use crate::proto::etcdserverpb::RangeRequest;
use crate::{KeyRange, Result, Revision};

/// Keys that a client with few permissions may still ask for; what they hold does not matter.
const ASKED_FOR: [&[u8]; 3] = [b"\0", b"/registry/", b"/kubernetes.io/"];

/// Returns the newest revision the cluster agrees on.
pub(super) async fn newest(cluster: &Cluster) -> Result<Revision> {
    head(cluster).await.map(|(_, newest)| newest)
}

/// A key we may ask for, and the newest revision.
pub(super) async fn head(cluster: &Cluster) -> Result<(Vec<u8>, Revision)> {
    let announced = cluster.announced();
    let wanted = announced.first().cloned().unwrap_or_else(KeyRange::all);
    let mut denied = Vec::new();
    for keys in announced.into_iter().chain(ASKED_FOR.map(KeyRange::key)) {
        let key = nonempty(&keys.start);
        match revision_of(cluster, &key, 0).await {
            Ok(newest) => {
                if !denied.is_empty() {
                    cluster.may_read(&keys);
                }
                return Ok((key, newest));
            }
            Err(troubles) if has(&troubles, Class::Denied) => denied = troubles,
            Err(troubles) => return Err(cluster.error(troubles)),
        }
    }
    Err(cluster.error_reading(&wanted, denied))
}

/// Asks for one key at a revision (0: the newest) and returns the header's revision.
pub(super) async fn revision_of(cluster: &Cluster, key: &[u8], revision: i64) -> Result<Revision, Vec<Trouble>> {
    let keys = KeyRange::key(key);
    let asked = RangeAsked { keys: &keys, revision: (revision > 0).then_some(Revision(revision)), content: RangeContent::Count };
    let request = RangeRequest { count_only: true, ..range_request(&keys, asked.revision) };
    let count = |client: Client, consistency| {
        let request = request.with(consistency);
        async move { Ok(asked.check(&client.range(request).await?)?) }
    };
    cluster.ask(count).await
}

pub(super) fn has(troubles: &[Trouble], class: Class) -> bool {
    troubles.iter().any(|trouble| trouble.class == class)
}
