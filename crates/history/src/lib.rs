#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod actor;
mod attributed_change;
pub mod blame;
mod change;
pub mod clock;
pub mod compare;
pub mod config;
pub mod diff;
mod event_pair;
mod follow;
mod intervention;
mod lease_facts;
mod leases;
pub mod noise;
mod recent;
pub mod state;
pub mod timeline;
pub mod trouble;
pub mod usage;

pub use ketcd_audit as audit;

pub use actor::{Actor, ActorFrom, actor};
pub use attributed_change::{AttributedChange, Logged};
pub use change::{Change, ChangeKind, ObjectVersion};
pub use event_pair::{EventPair, PrevVersion, TextChange};
pub use follow::{Follower, Past};
pub use intervention::{Intervention, LOOKED_AT_FOR_UPKEEP, intervention, is_upkeep};
pub use leases::Leases;
pub use recent::{Problems, Recent, SharedVersion};
