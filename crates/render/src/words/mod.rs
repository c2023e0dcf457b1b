//! Answers in words: the sentences that text and JSON share. They know neither a terminal nor a document.

mod absence;
mod caveat;
mod intervention;
pub(crate) mod rehearsal;
pub(crate) mod shared_words;
pub mod trouble;

use ketcd_history::timeline::Subject;

pub(crate) use ketcd_cluster::numbers::grouped;

pub use absence::absence_words;
pub use caveat::caveat;
pub(crate) use caveat::some;
pub(crate) use intervention::intervention_words;

/// kubectl's short names for the kinds that are named most.
const SHORT_KINDS: &[(&str, &str)] = &[
    ("configmap", "cm"),
    ("daemonset", "ds"),
    ("deployment", "deploy"),
    ("horizontalpodautoscaler", "hpa"),
    ("namespace", "ns"),
    ("persistentvolume", "pv"),
    ("persistentvolumeclaim", "pvc"),
    ("replicaset", "rs"),
    ("service", "svc"),
    ("serviceaccount", "sa"),
    ("statefulset", "sts"),
];

/// The kind and name of a subject: `pod/lab/ubuntu`.
pub fn name(subject: &Subject) -> String {
    address(&subject.kind, &subject.namespace, &subject.name)
}

/// The same of a kind, a namespace, which may be empty, and a name.
pub(crate) fn address(kind: &str, namespace: &str, name: &str) -> String {
    let kind = kind.to_lowercase();
    let kind = SHORT_KINDS.iter().find(|(long, _)| *long == kind).map_or(kind.as_str(), |(_, short)| short);
    if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}

/// A size as people read it: `1.5 KiB`.
pub(crate) fn bytes(count: u64) -> String {
    const BYTE_UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < BYTE_UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{size:.1} {}", BYTE_UNITS[unit]) }
}
