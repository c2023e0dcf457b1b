//! Everything that a description shows about one object.

pub mod events;
mod node_pods;

use std::sync::Arc;

use serde_json::Value;

use ketcd_history::AttributedChange;
use ketcd_kube::{Kind, Object};
use ketcd_store::At;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::last_changes;
use crate::related::owners::{self, StoredObject};
use events::{About, EventFilter};

pub use node_pods::{NodePods, node_pods};

/// How many of the last changes are read.
const CHANGES: usize = 10;

/// Everything that a page shows.
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
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
    /// Whether the owner is stored.
    pub found: bool,
}

/// Reads what belongs to an object: its owners, its Events and its last changes, dated one by one where `closely` says so.
///
/// # Errors
/// The source cannot be read.
pub async fn describe(cluster: &Cluster, subject: StoredObject, pods: Option<NodePods>, at: At, closely: bool) -> Result<Description> {
    let above = owners::owners(cluster, &subject.object, at).await?;
    let filter = EventFilter { about: vec![About::object(&subject.object)], types: Vec::new() };
    let name = subject.object["metadata"]["name"].as_str().unwrap_or_default();
    let keys = events::keys_of(cluster, subject.namespace(), name).await?;
    let found = match cluster.may_read(&keys).await? {
        true => events::read(cluster, &[keys], at, &filter).await?,
        false => {
            cluster.miss(&keys);
            Vec::new()
        }
    };
    let decoder = cluster.decoder.clone().without_managed_fields();
    let events = found.iter().filter_map(|held| held.object(&decoder)).collect();
    let last = last_changes(cluster, &subject.entry, CHANGES, closely).await?;
    Ok(Description {
        name: named(&subject),
        revision: subject.entry.mod_revision.0,
        owners: above.into_iter().map(|owner| DescribedOwner { reference: owner.reference, found: owner.found.is_some() }).collect(),
        events,
        changes: last.changes,
        has_earlier_changes: last.has_earlier,
        pods,
        kind: subject.kind,
        object: subject.object,
    })
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
