//! Which stored bytes the pods of one template share.

use ketcd_kube::{Decoder, Excerpt, FieldSet};

use crate::cluster::PodFields;

/// A field that each pod of a template has for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    Name,
    Uid,
    Annotation,
    Created,
    Deleted,
    RequiredNode,
    Node,
    Started,
    Transition,
    Condition,
}

/// Where these fields are. A DaemonSet's pods name their nodes in `matchFields`.
pub(super) const OWN_FIELDS: [(Own, &str); 10] = [
    (Own::Name, "metadata.name"),
    (Own::Uid, "metadata.uid"),
    (Own::Annotation, "metadata.annotations"),
    (Own::Created, "metadata.creationTimestamp"),
    (Own::Deleted, "metadata.deletionTimestamp"),
    (Own::RequiredNode, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.matchFields.values"),
    (Own::Node, "spec.nodeName"),
    (Own::Started, "status.startTime"),
    (Own::Transition, "status.conditions.lastTransitionTime"),
    (Own::Condition, "status.conditions.type"),
];

/// Not compared either: it is read only with a source that plugins read, and pods that have one are of no template.
const VOLUME_NAME: &str = "spec.volumes.name";

/// What the pods of a template share, of what is read; it shows [`OWN_FIELDS`].
pub(in crate::cluster) fn excerpt(decoder: &Decoder) -> Option<Excerpt> {
    let read = FieldSet::read_by::<PodFields<'static>>().without(VOLUME_NAME);
    // The types of conditions are shared: they show which condition a time belongs to.
    let own = OWN_FIELDS.iter().filter(|(own, _)| *own != Own::Condition);
    let shared = own.fold(read, |read, (_, path)| read.without(path));
    decoder.excerpt("v1", "Pod", &shared, &OWN_FIELDS.map(|(_, path)| path))
}
