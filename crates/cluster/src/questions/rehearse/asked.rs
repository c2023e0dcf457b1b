//! What is asked of `rehearse` besides the sources.

use jiff::Timestamp;

use ketcd_kube::Release;

/// How a restore is rehearsed.
#[derive(Clone, Debug, Default)]
pub struct RehearseAsked {
    /// The release of the API server that will run on the restored data; `None` for the one that the newest state shows.
    pub target: Option<Release>,
    /// The time at which the question is asked; `None` where it is not known, so that nothing has an age or expires.
    pub now: Option<Timestamp>,
}
