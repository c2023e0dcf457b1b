//! What `serve` needs of its surroundings: a source, how to decode it, and when its revisions were written.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use ketcd_kube::{Decoder, Release};
use ketcd_store::{At, Revision, Source};

/// The data that is served.
pub trait Data: Send + Sync + 'static {
    /// Returns where it comes from.
    fn source(&self) -> &dyn Source;

    /// Returns the decoder, whose release is the data's.
    fn decoder(&self) -> &Decoder;

    /// Returns the API server's `--etcd-prefix`.
    fn prefix(&self) -> &str;

    /// Returns the release whose API is served.
    fn release(&self) -> Release;

    /// Returns the moment that was asked for.
    fn at(&self) -> At;

    /// Whether the source goes on while it is served.
    fn is_live(&self) -> bool;

    /// Returns the newest revision written at or before a time, and that time. The error is a sentence for the user.
    fn revision_at<'a>(&'a self, time: &'a str) -> BoxFuture<'a, Result<(Revision, Timestamp), String>>;

    /// Returns the time that ages are counted to when `at` is looked at; none where nothing shows it.
    fn time_of(&self, at: At) -> BoxFuture<'_, Result<Option<Timestamp>, String>>;

    /// Returns when a revision was written, as far as the history shows it.
    fn date(&self, revision: Revision) -> BoxFuture<'_, Option<Timestamp>>;
}
