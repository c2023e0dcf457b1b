//! What is asked of `rehearse` besides the sources.

use jiff::Timestamp;

use ketcd_kube::Release;

/// How many bytes of what differs are held of a running etcd; the values of a file stay in it.
pub const MAX_HELD_BYTES: usize = 256 << 20;

/// How many states a backup is held against at most.
pub const MAX_STATES: usize = 16;

/// How a restore is rehearsed.
#[derive(Clone, Debug)]
pub struct RehearseAsked {
    /// The release of the API server that will run on the restored data; `None` for the one that the newest state shows.
    pub target: Option<Release>,
    /// The time at which the question is asked; `None` where it is not known, so that nothing has an age or expires.
    pub now: Option<Timestamp>,
    /// How many bytes of a running etcd may be held: [`MAX_HELD_BYTES`], or less.
    pub max_held_bytes: usize,
}

impl Default for RehearseAsked {
    fn default() -> Self {
        Self { target: None, now: None, max_held_bytes: MAX_HELD_BYTES }
    }
}
