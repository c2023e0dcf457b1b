//! Pods: those that say that all is well are only counted, by a few fields read where they are stored; the others are decoded.

use futures_util::TryStreamExt;
use futures_util::stream::BoxStream;
use serde_json::Value;

use ketcd_history::trouble::triage::Triage;
use ketcd_kube::{Body, Excerpt, FieldSet, Shown, ShownValue};
use ketcd_store::KeyValue;

use super::kinds;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::values_on_cores;

/// The fields that say whether all is well, in the order of [`Field`].
const STATE_FIELDS: [&str; 8] = [
    "metadata.deletionTimestamp",
    "spec.nodeName",
    "status.phase",
    "status.conditions.type",
    "status.conditions.status",
    "status.containerStatuses.state.waiting.reason",
    "status.containerStatuses.lastState.terminated.reason",
    "status.initContainerStatuses.state.waiting.reason",
];

/// What a shown field is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Deletion,
    Node,
    Phase,
    ConditionType,
    ConditionStatus,
    Reason,
}

impl Field {
    fn of(place: usize) -> Self {
        match place {
            0 => Self::Deletion,
            1 => Self::Node,
            2 => Self::Phase,
            3 => Self::ConditionType,
            4 => Self::ConditionStatus,
            _ => Self::Reason,
        }
    }
}

/// What the fields of one pod say.
#[derive(Default)]
struct Glance<'v> {
    node: Option<&'v str>,
    phase: &'v str,
    /// The condition whose fields come, and whether it is Ready.
    condition: (usize, bool),
    is_ready: bool,
    /// Whether it is being deleted, or some container waits or was killed.
    has_more: bool,
}

impl<'v> Glance<'v> {
    fn see(&mut self, shown: Shown<'v>) {
        let ShownValue::Text(text) = shown.value else {
            self.has_more = true;
            return;
        };
        match Field::of(shown.field) {
            Field::Deletion => self.has_more = true,
            Field::Node => self.node = Some(text).filter(|node| !node.is_empty()),
            Field::Phase => self.phase = text,
            // Type is stored before status.
            Field::ConditionType => self.condition = (shown.within, text == "Ready"),
            Field::ConditionStatus => self.is_ready |= self.condition == (shown.within, true) && text == "True",
            Field::Reason => self.has_more |= !matches!(text, "" | "Completed" | "Error"),
        }
    }

    /// Whether it runs and is ready, and nothing else has to be looked at.
    fn is_well(&self) -> bool {
        self.phase == "Running" && self.is_ready && !self.has_more && self.node.is_some()
    }

    fn is_over(&self) -> bool {
        self.phase == "Succeeded" && !self.has_more
    }
}

/// What a pod turned out to be.
enum SeenPod {
    /// It runs and is ready, on this node.
    Well(String),
    /// It has done its work.
    Over,
    /// It has to be looked at; `None` where it cannot be decoded.
    Other(Option<Value>),
}

/// Adds all pods; returns how many there are.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn read(cluster: &Cluster, entries: BoxStream<'_, ketcd_store::Result<KeyValue>>, triage: &mut Triage) -> Result<usize> {
    let excerpt: Option<Excerpt> = cluster.decoder.excerpt("v1", "Pod", &FieldSet::of(["metadata.namespace"]), &STATE_FIELDS);
    let fields = FieldSet::of(kinds::POD_FIELDS.iter().copied());
    let mut pods = values_on_cores(cluster, entries, move |entry, reporting| {
        let (mut glance, mut copied) = (Glance::default(), Vec::new());
        let is_read =
            excerpt.as_ref().is_some_and(|excerpt| excerpt.append(&entry.key, &entry.value, &mut copied, |shown| glance.see(shown)));
        match glance.node.filter(|_| is_read && glance.is_well()) {
            Some(node) => SeenPod::Well(node.to_owned()),
            None if is_read && glance.is_over() => SeenPod::Over,
            None => {
                let body = reporting.decode_only(&entry, &fields);
                SeenPod::Other(if let Body::Object(pod) = body { Some(pod.into_value()) } else { None })
            }
        }
    });
    let mut count = 0;
    while let Some(seen) = pods.try_next().await? {
        count += 1;
        match seen {
            SeenPod::Well(node) => triage.count_pod(Some(&node)),
            SeenPod::Other(Some(pod)) => triage.observe(&pod),
            SeenPod::Over | SeenPod::Other(None) => {}
        }
    }
    Ok(count)
}
