//! What is recorded: a live etcd, or an API server.

use jiff::Timestamp;

use ketcd_api_server::ApiServer;
use ketcd_store::etcd::EtcdSource;
use ketcd_store::{Revision, Source};

#[derive(Clone, Copy)]
pub(crate) enum Followed<'a> {
    Etcd(&'a EtcdSource),
    ApiServer(&'a ApiServer),
}

impl<'a> Followed<'a> {
    pub(crate) fn source(self) -> &'a dyn Source {
        match self {
            Self::Etcd(source) => source,
            Self::ApiServer(source) => source,
        }
    }

    /// Says of revisions, both included, that they were missed, for the user; and why, for the recording.
    pub(crate) fn missed(self, from: Revision, to: Revision) -> (String, String) {
        match self {
            Self::Etcd(_) => (
                format!("revisions {from} to {to} were compacted before they could be recorded: a gap"),
                format!("etcd had compacted them when they were to be read, at {:.0}", Timestamp::now()),
            ),
            Self::ApiServer(source) => {
                let reason = source.missed();
                (
                    format!("revisions {from} to {to} are missing from the recording: {reason}"),
                    format!("{reason}, at {:.0}", Timestamp::now()),
                )
            }
        }
    }
}
