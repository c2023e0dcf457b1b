//! Which of the objects asked for are extracted, by when they were written last and by whom.

use futures_util::TryStreamExt;

use ketcd_history::clock::Bound;
use ketcd_kube::Body;
use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Revision, Want};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::writers::{Writer, WriterKind};

/// Whose objects are extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// What people wrote, and what nothing says the writer of.
    People,
    /// What GitOps wrote.
    GitOps,
    /// What anybody wrote.
    All,
}

impl By {
    fn takes(self, writer: WriterKind) -> bool {
        match self {
            Self::People => matches!(writer, WriterKind::Person | WriterKind::Unknown),
            Self::GitOps => writer == WriterKind::GitOps,
            Self::All => true,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is not.
    No,
    Yes,
    /// It is, and may be too old: who wrote it since shows only in what it was then, which cannot be read any more.
    Maybe,
}

/// Which objects are extracted, by their last writes.
#[derive(Clone, Debug, Default)]
pub struct LastWritten {
    /// Those written after this revision; `None` for all.
    pub after: Option<Revision>,
    /// Those that one of these wrote; none for all.
    pub by: Vec<By>,
}

impl LastWritten {
    pub(super) fn takes_all(&self) -> bool {
        self.after.is_none() && self.takes_every_writer()
    }

    /// Whether objects are extracted no matter who wrote them.
    pub(super) fn takes_every_writer(&self) -> bool {
        self.by.is_empty() || self.by.contains(&By::All)
    }

    /// Whether an object is extracted. Who wrote it since a revision shows in its version then; where that is not readable
    /// any more, all of its managers count, and those that wrote it before are taken for those that wrote it since.
    pub(super) async fn takes(&self, cluster: &Cluster, entry: &KeyValue, object: &Value) -> Result<Taken> {
        if self.after.is_some_and(|after| entry.mod_revision <= after) {
            return Ok(Taken::No);
        }
        if self.takes_every_writer() {
            return Ok(Taken::Yes);
        }
        let before = match self.after {
            Some(after) if entry.create_revision <= after => version_at(cluster, entry, after).await?,
            _ => Then::Absent,
        };
        let writer = Writer::since(before.object(), object).unwrap_or_else(Writer::unknown);
        Ok(match (self.by.iter().any(|by| by.takes(writer.kind)), before) {
            (false, _) => Taken::No,
            (true, Then::NotReadable) => Taken::Maybe,
            (true, _) => Taken::Yes,
        })
    }
}

/// What an object was at a revision.
enum Then {
    /// It was not there.
    Absent,
    Object(Value),
    /// That is compacted, or cannot be decoded.
    NotReadable,
}

impl Then {
    fn object(&self) -> Option<&Value> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }
}

async fn version_at(cluster: &Cluster, entry: &KeyValue, at: Revision) -> Result<Then> {
    let read = match cluster.source.range(KeyRange::key(&entry.key[..]), At::Revision(at), Want::Values).await {
        Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => return Ok(Then::NotReadable),
        listing => listing?.entries.try_next().await?,
    };
    let Some(entry) = read else { return Ok(Then::Absent) };
    Ok(match cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
        Body::Object(object) => Then::Object(object.into_value()),
        Body::Opaque(_) => Then::NotReadable,
    })
}

impl Cluster {
    /// Returns the revision after which objects count: one that is named may be older than the readable history, as an object says by itself when it was
    /// written last.
    ///
    /// # Errors
    /// A moment before the readable history.
    pub async fn written_after(&self, bound: Bound) -> Result<Revision> {
        match bound {
            Bound::Revision(revision) => Ok(revision),
            Bound::Moment(moment) => self.revision_at(moment).await,
        }
    }
}
