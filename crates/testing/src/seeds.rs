//! Small files that the fuzz targets begin with and tests take apart. Pages have 512 bytes in those of kine.

/// kine's database: eight changes.
pub const KINE_WHOLE: &[u8] = include_bytes!("../seeds/kine/whole");

/// The same after a compaction at revision 8.
pub const KINE_COMPACTED: &[u8] = include_bytes!("../seeds/kine/compacted");

/// kine's database before its log.
pub const KINE_BEFORE_LOG: &[u8] = include_bytes!("../seeds/kine/before-log");

/// SQLite's log of that database: three changes more.
pub const KINE_LOG: &[u8] = include_bytes!("../seeds/kine/log");

/// An etcd member's database.
pub const BOLT_WHOLE: &[u8] = include_bytes!("../seeds/bolt/whole");

/// The same compacted.
pub const BOLT_COMPACTED: &[u8] = include_bytes!("../seeds/bolt/compacted");

/// The write-ahead log of that member.
pub const WAL_WHOLE: &[u8] = include_bytes!("../seeds/wal/whole");

/// A log that repeats committed entries behind damage, one with another value.
pub const WAL_WITH_ENTRIES_TWICE: &[u8] = include_bytes!("../seeds/wal/committed-entries-twice");

/// The protobuf message of a Deployment, without its envelope.
pub const STORED_DEPLOYMENT: &[u8] = include_bytes!("../seeds/stored_form/deployment");
