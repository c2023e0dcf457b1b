//! What is served: one cluster at the moments that are looked at, and what is remembered of them.

mod app;
mod limits;
mod moment;
mod replay;
mod served_cluster;

pub(crate) use app::App;
pub(crate) use limits::Limits;
pub(crate) use moment::{After, Moment};
pub(crate) use replay::{Changes, Replay};
pub(crate) use served_cluster::Served;
