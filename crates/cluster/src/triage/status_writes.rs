//! Recognises writes of status by the bytes that are stored: in a large cluster they are most of what is written, and decoding them would cost most of the
//! time.

use ketcd_kube::{Excerpt, FieldSet};
use ketcd_store::{Event, EventKind, KeyRange, KeyValue};

use crate::cluster::Cluster;
use crate::error::Result;

/// The kinds whose status is written often: below which path they lie, and their message.
const KINDS: [(&str, &str, &str); 8] = [
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
const WRITTEN: [&str; 8] = [
    "metadata.labels",
    "metadata.annotations",
    "metadata.finalizers",
    "metadata.ownerReferences",
    "metadata.deletionTimestamp",
    "metadata.deletionGracePeriodSeconds",
    "metadata.generateName",
    "spec",
];

/// Tells writes of status from others.
pub(super) struct StatusWrites {
    kinds: Vec<(KeyRange, Excerpt)>,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl StatusWrites {
    pub(super) async fn of(cluster: &Cluster) -> Result<Self> {
        let (prefix, written) = (cluster.prefix().await?, FieldSet::of(WRITTEN));
        let kind = |(path, api_version, kind): (&str, &'static str, &'static str)| {
            let excerpt = cluster.decoder.excerpt(api_version, kind, &written, &[])?;
            Some((KeyRange::prefix(format!("{prefix}/{path}/")), excerpt))
        };
        Ok(Self { kinds: KINDS.into_iter().filter_map(kind).collect(), before: Vec::new(), after: Vec::new() })
    }

    /// Whether the bytes show that an event left all of its object as it was but the status.
    pub(super) fn has(&mut self, cluster: &Cluster, event: &Event) -> bool {
        let Self { kinds, before, after } = self;
        let written = &event.key_value;
        if event.kind != EventKind::Put || written.version == 1 || !cluster.source.reads_before() {
            return false;
        }
        let Some((_, excerpt)) = kinds.iter().find(|(keys, _)| keys.contains(&written.key)) else { return false };
        let Some(replaced) = cluster.source.read_before(written) else { return false };
        let copy = |of: &KeyValue, into: &mut Vec<u8>| {
            into.clear();
            excerpt.append(&of.key, &of.value, into, |_| ())
        };
        copy(&replaced, before) && copy(written, after) && before == after
    }
}
