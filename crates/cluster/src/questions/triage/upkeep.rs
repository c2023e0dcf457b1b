//! Recognises writes that count for nothing by what is stored: those of status, and what the control plane wrote by itself. In a large cluster they are most
//! of what is written, and decoding them would cost most of the time.

use ketcd_history::{LOOKED_AT_FOR_UPKEEP, is_upkeep};
use ketcd_kube::{Excerpt, FieldSet};
use ketcd_store::{Event, EventKind, KeyRange, KeyValue};

use crate::cluster::Cluster;
use crate::error::Result;

/// The kinds whose status is written often: below which path they lie, and their message.
const STATUS_KINDS: [(&str, &str, &str); 8] = [
    ("minions", "v1", "Node"),
    ("namespaces", "v1", "Namespace"),
    ("persistentvolumeclaims", "v1", "PersistentVolumeClaim"),
    ("resourcequotas", "v1", "ResourceQuota"),
    ("deployments", "apps/v1", "Deployment"),
    ("statefulsets", "apps/v1", "StatefulSet"),
    ("daemonsets", "apps/v1", "DaemonSet"),
    ("jobs", "batch/v1", "Job"),
];

/// All that these kinds have but their status and what changes with every write.
const WRITTEN_MEMBERS: [&str; 8] = [
    "metadata.labels",
    "metadata.annotations",
    "metadata.finalizers",
    "metadata.ownerReferences",
    "metadata.deletionTimestamp",
    "metadata.deletionGracePeriodSeconds",
    "metadata.generateName",
    "spec",
];

/// Tells such writes from others.
pub(super) struct Upkeep {
    kinds: Vec<(KeyRange, Excerpt)>,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Upkeep {
    pub(super) async fn of(cluster: &Cluster) -> Result<Self> {
        let (prefix, written) = (cluster.prefix().await?, FieldSet::of(WRITTEN_MEMBERS));
        let kind = |(path, api_version, kind): (&str, &'static str, &'static str)| {
            let excerpt = cluster.decoder.excerpt(api_version, kind, &written, &[])?;
            Some((KeyRange::prefix(format!("{prefix}/{path}/")), excerpt))
        };
        Ok(Self { kinds: STATUS_KINDS.into_iter().filter_map(kind).collect(), before: Vec::new(), after: Vec::new() })
    }

    /// Whether an event left all of its object as it was but the status, or says that it was the control plane's own.
    pub(super) fn has(&mut self, cluster: &Cluster, event: &Event) -> bool {
        let written = &event.key_value;
        if event.kind != EventKind::Put || written.version == 1 || !cluster.source.reads_before() {
            return false;
        }
        let Some(replaced) = cluster.source.read_before(written) else { return false };
        self.is_of_status(&replaced, written) || is_stamped(cluster, &replaced, written)
    }

    fn is_of_status(&mut self, replaced: &KeyValue, written: &KeyValue) -> bool {
        let Self { kinds, before, after } = self;
        let Some((_, excerpt)) = kinds.iter().find(|(keys, _)| keys.contains(&written.key)) else { return false };
        let copy = |of: &KeyValue, into: &mut Vec<u8>| {
            into.clear();
            excerpt.append(&of.key, &of.value, into, |_| ())
        };
        copy(replaced, before) && copy(written, after) && before == after
    }
}

/// Whether the object says that the control plane wrote it by itself.
fn is_stamped(cluster: &Cluster, replaced: &KeyValue, written: &KeyValue) -> bool {
    let decode = |of: &KeyValue| cluster.decoder.decode_only(&of.key, &of.value, of.mod_revision.0, &LOOKED_AT_FOR_UPKEEP);
    let (before, after) = (decode(replaced), decode(written));
    before.object().zip(after.object()).is_some_and(|(before, after)| is_upkeep(before, after))
}
