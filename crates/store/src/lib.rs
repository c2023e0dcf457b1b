#![doc = include_str!("../README.md")]

mod alarm;
mod arrival;
mod companion;
mod error;
#[cfg(feature = "live")]
pub mod etcd;
mod fusion;
mod hash_kv;
mod key_value;
pub mod load;
mod member_log;
mod memory;
#[rustfmt::skip]
#[allow(missing_docs, dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated")]
mod proto;
mod reading;
#[cfg(feature = "recording")]
pub mod recording;
mod revision;
pub mod shell;
mod shortcuts;
mod source;
mod status;
#[cfg(feature = "live")]
pub mod tls;
mod versions;

pub use alarm::Alarm;
pub use arrival::{Arrival, Arrivals};
pub use companion::{Companion, CompanionChoice, CompanionKind};
pub use error::{Error, Result};
pub use hash_kv::{HashKv, KeyValueHasher};
pub use key_value::{Event, EventKind, KeyRange, KeyValue, Origin, Sources};
pub use member_log::{
    Call, CalledCompare, CalledOperation, CalledPut, CalledTxn, CompareRelation, CompareTarget, LogState, LoggedCall, MemberLog,
};
pub use reading::{Generations, KeyHistory, Listing, Unsearched, Until, Want, WatchItem};
pub use revision::{At, EarlierRevisions, Revision, RevisionSpan};
pub use shortcuts::{NoShortcuts, Shortcuts};
pub use source::{Facts, HistoryKind, LateDamage, LiveEtcd, Source, VersionIndex, Withheld};
pub use status::{Checksum, Member, MemberHash, MemberHashes, PartGap, PartStatus, RaftStatus, SourceKind, SourceStatus};
