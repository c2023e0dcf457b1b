//! Recording: a watch and a listing of a live etcd, or of an API server, go into a recording, and what that came to is shown.

mod feed;
mod follower;
mod keep;
mod metrics;
mod position;
mod progress;
mod recording;

pub(super) use keep::{age, keep};
pub(super) use recording::{OfApiServer, Recording};
