//! What is served: one cluster at the moments that are looked at, and what is remembered of them.

mod app;
mod limits;
mod moment;
mod page;
mod replay;
mod served_cluster;
mod waiting;

pub(crate) use app::App;
pub(crate) use limits::Limits;
pub(crate) use moment::{After, Moment};
pub(crate) use page::{BEFORE_ALL, Page, Stand};
pub(crate) use replay::{Changes, Replay};
pub(crate) use served_cluster::Served;
pub(crate) use waiting::waited;
