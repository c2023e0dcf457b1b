//! What `usage` found.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use ketcd_history::clock::Dated;
use ketcd_history::usage::{LargestField, Remains, Sum, Usage};
use ketcd_kube::{Kinds, RegistryKey};
use ketcd_store::{Revision, SourceStatus};

use crate::asked_keys::AskedKeys;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::kinds::KeySubject;
use crate::not_found::{Looked, NotFound};
use crate::triage::resource;

/// Sums by field manager.
pub type ManagerSums = Vec<(String, Sum)>;

/// A key, and the object that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKey {
    /// etcd's key.
    pub key: Bytes,
    /// The object; empty where the key belongs to none.
    pub subject: KeySubject,
    /// The key as a person would type it: an address, or the key itself.
    pub address: String,
}

impl NamedKey {
    /// Returns the key of an object of this cluster, with what it is called.
    ///
    /// # Errors
    /// The kinds cannot be read.
    pub(super) async fn of(cluster: &Cluster, key: Bytes) -> Result<Self> {
        Ok(Self { subject: cluster.subject_of(&key).await?, address: cluster.name_of(&key).await?, key })
    }

    /// Returns etcd's key as text.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.key)
    }
}

/// A large object.
#[derive(Clone, Debug, PartialEq)]
pub struct Large {
    /// Its key.
    pub key: NamedKey,
    /// Bytes of its value.
    pub bytes: u64,
    /// The field that makes it large; `None` where it cannot be decoded, and of Secrets.
    pub field: Option<LargestField>,
}

/// Objects that a controller left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Their kind.
    pub kind: String,
    /// The kind of their owner; empty where they have none.
    pub owner: String,
    /// The Helm release of superseded ones, `namespace/name`; empty for all others.
    pub release: String,
    /// Why they are only left behind.
    pub reason: Remains,
    /// How many.
    pub objects: u64,
    /// Bytes of their values.
    pub bytes: u64,
}

/// What counts, where not everything does.
#[derive(Clone, Debug)]
pub(super) enum UsageOf {
    /// Every key of a namespace.
    Namespace(String),
    /// The objects that words name and selectors select.
    Objects(AskedKeys),
}

/// Which keys count, and as what.
pub(super) struct UsageScope {
    pub prefix: String,
    /// The only keys that count; `None` where all do.
    pub asked: Option<UsageOf>,
    pub kinds: Kinds,
}

impl UsageScope {
    /// Whether a key is asked for.
    pub(super) fn counts(&self, key: &[u8]) -> bool {
        match &self.asked {
            None => true,
            Some(UsageOf::Objects(asked)) => asked.contains(key),
            Some(UsageOf::Namespace(namespace)) => {
                RegistryKey::parse(&self.prefix, key, &self.kinds).object().is_some_and(|object| object.namespace == Some(namespace))
            }
        }
    }
}

/// All that was read.
pub struct UsageData {
    /// The source's own word.
    pub source: SourceStatus,
    pub(super) scope: Arc<UsageScope>,
    /// The busiest keys.
    pub keys: Vec<(NamedKey, Sum)>,
    /// Sums by key.
    pub usage: Usage,
    /// Sums by field manager, where values were read.
    pub managers: Option<ManagerSums>,
    /// The largest objects, where values were read.
    pub largest: Vec<Large>,
    /// What controllers left behind, where values were read.
    pub left: Vec<Left>,
    /// Keys, and bytes of their values where they are known, at the beginning of the span.
    pub before: (u64, Option<u64>),
    /// Whether values were read, so that bytes are known.
    pub has_bytes: bool,
    /// One update in this many was compared with what it replaced; 0 where none was.
    pub compared_every: u64,
    /// The oldest revision that can be read.
    pub(super) oldest: Revision,
    /// The revisions of the span: after the first, up to the second.
    pub span: (Revision, Revision),
    /// Their times.
    pub times: Option<(Dated, Dated)>,
}

impl UsageData {
    /// How many versions of keys the source holds about, where they were not counted: those there at the beginning, and one each revision since the oldest.
    pub fn stored(&self) -> Option<u64> {
        let revisions = u64::try_from(self.span.1.0 - self.oldest.0).unwrap_or(0);
        (!self.has_bytes).then(|| self.before.0 + revisions)
    }

    /// How many revisions of the span, at least, no version of a key shows, where versions were counted.
    pub fn unseen(&self) -> Option<u64> {
        let revisions = u64::try_from(self.span.1.0 - self.span.0.0).unwrap_or(0);
        (!self.has_bytes).then(|| revisions.saturating_sub(self.usage.total().changes()))
    }

    /// Returns whether only some keys count.
    pub fn is_part(&self) -> bool {
        self.scope.asked.is_some()
    }

    /// Returns the single objects that were named and of which no change was counted, and which are not there.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn absent(&self, cluster: &Cluster) -> Result<Vec<NotFound>> {
        let Some(UsageOf::Objects(asked)) = &self.scope.asked else { return Ok(Vec::new()) };
        let (prefix, looked) = (cluster.prefix().await?, Looked::UpTo(self.span.1));
        let mut absent = Vec::new();
        for address in &asked.addresses {
            let (key, is_whole) = address.key(prefix);
            if is_whole && !self.usage.holds(key.as_bytes()) {
                absent.push(NotFound::of(cluster, address, looked).await?);
            }
        }
        Ok(absent)
    }

    /// Returns the quota that members report: the smallest.
    pub fn quota(&self) -> Option<u64> {
        let quota = self.source.members.iter().filter_map(|member| member.db_size_quota).min()?;
        u64::try_from(quota).ok().filter(|quota| *quota > 0)
    }

    /// Returns sums by resource.
    pub fn by_resource(&self) -> Vec<(String, Sum)> {
        self.usage.by(|key| Some(resource(&self.scope.prefix, key, &self.scope.kinds)))
    }

    /// Returns sums by namespace.
    pub fn by_namespace(&self) -> Vec<(String, Sum)> {
        self.usage.by(|key| {
            let path = RegistryKey::parse(&self.scope.prefix, key, &self.scope.kinds).object();
            Some(path.and_then(|path| path.namespace).unwrap_or_default().to_owned())
        })
    }

    /// Whether a key is asked for.
    pub(super) fn counts(&self, key: &[u8]) -> bool {
        self.scope.counts(key)
    }
}
