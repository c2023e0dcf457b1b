#![doc = include_str!("../README.md")]

mod actor;
pub mod blame;
mod change;
pub mod clock;
pub mod compare;
pub mod config;
pub mod diff;
mod follow;
mod intervention;
mod leases;
pub mod noise;
pub mod state;
mod step;
pub mod timeline;
pub mod trouble;
pub mod usage;

pub use actor::{Actor, ActorFrom, actor};
pub use change::{AttributedChange, Change, ChangeKind, ObjectVersion};
pub use follow::{Follower, Past};
pub use intervention::{Intervention, intervention};
pub use leases::Leases;
pub use step::{Before, Step, TextChange};
