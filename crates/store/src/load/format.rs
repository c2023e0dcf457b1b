//! What a file is, by its bytes.

use bytes::Bytes;

use super::{archive, bolt, kine, raft_snapshot, spool, wal};

/// What bytes are. What cannot be anything else is taken for API objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Tar,
    /// etcd's database.
    Bolt,
    /// kine's database, or the log beside it.
    Sqlite,
    /// kine's table as text.
    KineExport(kine::Form),
    /// A file of a member's log.
    Log,
    RaftSnapshot,
    Objects,
}

impl Format {
    /// What these bytes are, plain. An archive is recognised first: what lies in it looks like itself at some distance from the beginning.
    pub(super) fn of(bytes: &Bytes) -> Self {
        match Self::of_beginning(bytes) {
            Some(format) => format,
            None => match kine::form(bytes) {
                Some(form) => Self::KineExport(form),
                None if raft_snapshot::is_one(bytes) => Self::RaftSnapshot,
                None => Self::Objects,
            },
        }
    }

    /// What bytes are that begin so, as far as a beginning shows it.
    pub(super) fn of_beginning(bytes: &[u8]) -> Option<Self> {
        if archive::looks_like_tar(bytes) {
            Some(Self::Tar)
        } else if bolt::looks_like_bolt(bytes) {
            Some(Self::Bolt)
        } else if kine::looks_like_sqlite(bytes) {
            Some(Self::Sqlite)
        } else if wal::looks_like_log(bytes) {
            Some(Self::Log)
        } else {
            None
        }
    }
}

/// Whether bytes that begin so may be anything that is read, once they are unpacked.
pub(super) fn may_be_known(beginning: &[u8]) -> bool {
    /// Damage further on does not make another thing of a text.
    const TEXT: usize = 4096;
    let has_mark = beginning.starts_with(&[0xff, 0xfe]) || beginning.starts_with(&[0xfe, 0xff]);
    let is_text = || has_mark || !beginning[..beginning.len().min(TEXT)].contains(&0);
    is_text() || Format::of_beginning(beginning).is_some() || raft_snapshot::begins_so(beginning)
}

/// The same of bytes that may be packed.
pub(super) fn may_be_known_or_packed(beginning: &[u8]) -> bool {
    spool::looks_compressed(beginning) || may_be_known(beginning)
}
