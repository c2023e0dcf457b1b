//! Everything that a description shows about one object.

pub mod events;
mod node_pods;

use std::sync::Arc;

use async_stream::try_stream;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde_json::Value;

use ketcd_history::AttributedChange;
use ketcd_kube::{Kind, Object};
use ketcd_store::At;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::last_changes;
use crate::related::owners::{self, StoredObject};
use events::{About, EventFilter};

pub use node_pods::NodePods;

const MAX_CHANGES_SHOWN: usize = 10;

/// Up to this many objects, each change is dated as closely as a long history allows.
const MAX_CLOSELY_DATED_OBJECTS: usize = 8;

/// Everything that a page shows.
pub struct Description {
    /// The kind, where it is known.
    pub kind: Option<Arc<Kind>>,
    /// The object.
    pub object: Object,
    /// The object as it would be named to ketcd: `pod/lab/ubuntu`.
    pub name: String,
    /// The revision that wrote it last.
    pub revision: i64,
    /// Its owners, the nearest first.
    pub owners: Vec<DescribedOwner>,
    /// The Events about it, oldest first.
    pub events: Vec<Object>,
    /// Its last changes, oldest first.
    pub changes: Vec<AttributedChange>,
    /// Whether it had versions before them.
    pub has_earlier_changes: bool,
    /// The pods of a node.
    pub pods: Option<NodePods>,
}

/// An owner.
pub struct DescribedOwner {
    /// The ownerReference.
    pub reference: Value,
    /// The owner's namespace; empty where its kind has none, `None` where its kind is not known.
    pub namespace: Option<String>,
    /// Whether the owner is stored.
    pub found: bool,
}

impl From<owners::Owner> for DescribedOwner {
    fn from(owner: owners::Owner) -> Self {
        Self { reference: owner.reference, namespace: owner.namespace, found: owner.found.is_some() }
    }
}

impl Cluster {
    /// Returns what there is to say about objects that were read at a revision, one after the other.
    pub fn descriptions(&self, objects: Vec<StoredObject>, at: At) -> BoxStream<'_, Result<Description>> {
        try_stream! {
            let closely = objects.len() <= MAX_CLOSELY_DATED_OBJECTS;
            let mut pods = self.node_pods(&objects, at).await?;
            for object in objects {
                let name = object.object["metadata"]["name"].as_str().filter(|_| object.is_node());
                let pods = name.and_then(|name| pods.remove(name));
                yield self.describe(object, pods, at, closely).await?;
            }
        }
        .boxed()
    }

    /// Reads what belongs to an object: its owners, its Events and its last changes, dated one by one where `closely` says so.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn describe(&self, subject: StoredObject, pods: Option<NodePods>, at: At, closely: bool) -> Result<Description> {
        let above = owners::owners(self, &subject.object, at).await?;
        let filter = EventFilter { about: vec![About::object(&subject.object)], ..EventFilter::default() };
        let name = subject.object["metadata"]["name"].as_str().unwrap_or_default();
        let keys = events::keys_of(self, subject.namespace(), name).await?;
        let found = match self.may_read(&keys).await? {
            true => events::read(self, &[keys], at, &filter).await?,
            false => {
                self.miss(&keys);
                Vec::new()
            }
        };
        let decoder = self.decoder.clone().without_managed_fields();
        let events = found.iter().filter_map(|held| held.object(&decoder)).collect();
        let last = last_changes(self, &subject.entry, MAX_CHANGES_SHOWN, closely).await?;
        Ok(Description {
            name: named(&subject),
            revision: subject.entry.mod_revision.0,
            owners: above.into_iter().map(DescribedOwner::from).collect(),
            events,
            changes: last.changes,
            has_earlier_changes: last.has_earlier,
            pods,
            kind: subject.kind,
            object: subject.object,
        })
    }
}

/// The object as an address: `pod/lab/ubuntu`; the key where its kind is not known.
fn named(subject: &StoredObject) -> String {
    let text = |field: &str| subject.object["metadata"].get(field).and_then(Value::as_str);
    match (&subject.kind, text("name")) {
        (Some(kind), Some(name)) => {
            let place = text("namespace").map_or(String::new(), |namespace| format!("{namespace}/"));
            format!("{}/{place}{name}", kind.singular_resource())
        }
        _ => String::from_utf8_lossy(&subject.entry.key).into_owned(),
    }
}
