//! Recognises writes that count for nothing by what is stored: those of status, and what the control plane wrote by itself. In a large cluster they are most
//! of what is written, and decoding them would cost most of the time.

use ketcd_history::{LOOKED_AT_FOR_UPKEEP, is_upkeep};
use ketcd_kube::{Decoder, Excerpt, FieldSet};
use ketcd_store::{Event, EventKind, KeyRange, KeyValue, Source};

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
    decoder: Decoder,
    kinds: Vec<(KeyRange, Excerpt)>,
}

impl Upkeep {
    pub(super) async fn of(cluster: &Cluster) -> Result<Self> {
        let (prefix, written) = (cluster.prefix().await?, FieldSet::of(WRITTEN_MEMBERS));
        let kind = |(path, api_version, kind): (&str, &'static str, &'static str)| {
            let excerpt = cluster.decoder.excerpt(api_version, kind, &written, &[])?;
            Some((KeyRange::prefix(format!("{prefix}/{path}/")), excerpt))
        };
        Ok(Self { decoder: cluster.decoder.clone(), kinds: STATUS_KINDS.into_iter().filter_map(kind).collect() })
    }

    /// Whether a write left all of its object as it was but the status, or says that it was the control plane's own.
    pub(super) fn has(&self, replaced: &KeyValue, written: &KeyValue) -> bool {
        self.is_of_status(replaced, written) || self.is_stamped(replaced, written)
    }

    fn is_of_status(&self, replaced: &KeyValue, written: &KeyValue) -> bool {
        let Some((_, excerpt)) = self.kinds.iter().find(|(keys, _)| keys.contains(&written.key)) else { return false };
        let copy = |of: &KeyValue| {
            let mut copied = Vec::new();
            excerpt.append(&of.key, &of.value, &mut copied, |_| ()).then_some(copied)
        };
        copy(replaced).is_some_and(|before| copy(written) == Some(before))
    }

    /// Whether the object says that the control plane wrote it by itself.
    fn is_stamped(&self, replaced: &KeyValue, written: &KeyValue) -> bool {
        let decode = |of: &KeyValue| self.decoder.only(&LOOKED_AT_FOR_UPKEEP).decode(&of.key, &of.value, of.mod_revision.0);
        let (before, after) = (decode(replaced), decode(written));
        before.object().zip(after.object()).is_some_and(|(before, after)| is_upkeep(before, after))
    }
}

/// The version that an update replaced, where the source can read it at once.
pub(super) fn replaced(source: &dyn Source, event: &Event) -> Option<KeyValue> {
    let is_update = event.kind == EventKind::Put && event.key_value.version != 1;
    if is_update && source.reads_before() { source.read_before(&event.key_value) } else { None }
}
