//! The fields by which objects are selected. Made from `proto/fields.tsv` by `tests/contracts/codegen`; never edited.

use std::ops::RangeInclusive;

/// A field of a kind.
#[derive(Debug)]
#[non_exhaustive]
pub struct FieldRow {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version of the group; empty for every version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// The minor releases that know the field.
    pub releases: RangeInclusive<u16>,
    /// What selectors call it.
    pub label: &'static str,
    /// Where the stored object has it: JSON pointers, of which the first that is not empty counts; none where no object has it.
    pub pointers: &'static [&'static str],
    /// What stands for an absent value.
    pub absent: &'static str,
}

/// What is answered to fields that a kind does not have.
#[derive(Debug)]
#[non_exhaustive]
pub struct RefusalRow {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version of the group; empty for every version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// The minor releases that answer so.
    pub releases: RangeInclusive<u16>,
    /// The answer; `LABEL` stands for the field, `VERSION` for group and version.
    pub words: &'static str,
}

/// The fields of every kind that has some of its own.
#[rustfmt::skip]
pub const FIELDS: &[FieldRow] = &[
    FieldRow { group: "", version: "", kind: "Pod", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 0..=u16::MAX, label: "spec.nodeName", pointers: &["/spec/nodeName"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 0..=u16::MAX, label: "spec.host", pointers: &["/spec/nodeName"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 0..=u16::MAX, label: "spec.restartPolicy", pointers: &["/spec/restartPolicy"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 0..=u16::MAX, label: "spec.schedulerName", pointers: &["/spec/schedulerName"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 0..=u16::MAX, label: "status.phase", pointers: &["/status/phase"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 0..=u16::MAX, label: "status.podIP", pointers: &["/status/podIP", "/status/podIPs/0/ip"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 10..=u16::MAX, label: "status.nominatedNodeName", pointers: &["/status/nominatedNodeName"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 12..=u16::MAX, label: "spec.serviceAccountName", pointers: &["/spec/serviceAccountName"], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 17..=u16::MAX, label: "status.podIPs", pointers: &[], absent: "" },
    FieldRow { group: "", version: "", kind: "Pod", releases: 28..=u16::MAX, label: "spec.hostNetwork", pointers: &["/spec/hostNetwork"], absent: "false" },
    FieldRow { group: "", version: "", kind: "Node", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "", version: "", kind: "Node", releases: 0..=u16::MAX, label: "spec.unschedulable", pointers: &["/spec/unschedulable"], absent: "false" },
    FieldRow { group: "", version: "", kind: "ReplicationController", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "", version: "", kind: "ReplicationController", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "", version: "", kind: "ReplicationController", releases: 0..=u16::MAX, label: "status.replicas", pointers: &["/status/replicas"], absent: "0" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "involvedObject.kind", pointers: &["/involvedObject/kind"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "involvedObject.namespace", pointers: &["/involvedObject/namespace"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "involvedObject.name", pointers: &["/involvedObject/name"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "involvedObject.uid", pointers: &["/involvedObject/uid"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "involvedObject.apiVersion", pointers: &["/involvedObject/apiVersion"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "involvedObject.resourceVersion", pointers: &["/involvedObject/resourceVersion"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "involvedObject.fieldPath", pointers: &["/involvedObject/fieldPath"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "reason", pointers: &["/reason"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=18, label: "source", pointers: &["/source/component"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 19..=u16::MAX, label: "source", pointers: &["/source/component", "/reportingComponent"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, label: "type", pointers: &["/type"], absent: "" },
    FieldRow { group: "", version: "", kind: "Event", releases: 19..=u16::MAX, label: "reportingComponent", pointers: &["/reportingComponent"], absent: "" },
    FieldRow { group: "", version: "", kind: "Namespace", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "", version: "", kind: "Namespace", releases: 0..=u16::MAX, label: "status.phase", pointers: &["/status/phase"], absent: "" },
    FieldRow { group: "", version: "", kind: "Secret", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "", version: "", kind: "Secret", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "", version: "", kind: "Secret", releases: 0..=u16::MAX, label: "type", pointers: &["/type"], absent: "" },
    FieldRow { group: "", version: "", kind: "Service", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "", version: "", kind: "Service", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "", version: "", kind: "Service", releases: 0..=u16::MAX, label: "spec.clusterIP", pointers: &["/spec/clusterIP"], absent: "" },
    FieldRow { group: "", version: "", kind: "Service", releases: 0..=u16::MAX, label: "spec.type", pointers: &["/spec/type"], absent: "" },
    FieldRow { group: "apps", version: "v1beta1", kind: "StatefulSet", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "apps", version: "v1beta1", kind: "StatefulSet", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "apps", version: "v1beta1", kind: "StatefulSet", releases: 0..=u16::MAX, label: "status.successful", pointers: &[], absent: "" },
    FieldRow { group: "apps", version: "v1beta2", kind: "StatefulSet", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "apps", version: "v1beta2", kind: "StatefulSet", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "apps", version: "v1beta2", kind: "StatefulSet", releases: 0..=u16::MAX, label: "status.successful", pointers: &[], absent: "" },
    FieldRow { group: "batch", version: "v1", kind: "Job", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "batch", version: "v1", kind: "Job", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "batch", version: "v1", kind: "Job", releases: 0..=u16::MAX, label: "status.successful", pointers: &["/status/succeeded"], absent: "0" },
    FieldRow { group: "batch", version: "v1beta1", kind: "CronJob", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "batch", version: "v1beta1", kind: "CronJob", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "batch", version: "v1beta1", kind: "CronJob", releases: 0..=u16::MAX, label: "status.successful", pointers: &[], absent: "" },
    FieldRow { group: "certificates.k8s.io", version: "", kind: "CertificateSigningRequest", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "certificates.k8s.io", version: "", kind: "CertificateSigningRequest", releases: 0..=u16::MAX, label: "spec.signerName", pointers: &["/spec/signerName"], absent: "" },
    FieldRow { group: "certificates.k8s.io", version: "", kind: "ClusterTrustBundle", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "certificates.k8s.io", version: "", kind: "ClusterTrustBundle", releases: 0..=u16::MAX, label: "spec.signerName", pointers: &["/spec/signerName"], absent: "" },
    FieldRow { group: "certificates.k8s.io", version: "", kind: "PodCertificateRequest", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "certificates.k8s.io", version: "", kind: "PodCertificateRequest", releases: 0..=u16::MAX, label: "spec.signerName", pointers: &["/spec/signerName"], absent: "" },
    FieldRow { group: "certificates.k8s.io", version: "", kind: "PodCertificateRequest", releases: 0..=u16::MAX, label: "spec.podName", pointers: &["/spec/podName"], absent: "" },
    FieldRow { group: "certificates.k8s.io", version: "", kind: "PodCertificateRequest", releases: 0..=u16::MAX, label: "spec.nodeName", pointers: &["/spec/nodeName"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "metadata.namespace", pointers: &["/metadata/namespace"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "regarding.kind", pointers: &["/involvedObject/kind"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "regarding.namespace", pointers: &["/involvedObject/namespace"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "regarding.name", pointers: &["/involvedObject/name"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "regarding.uid", pointers: &["/involvedObject/uid"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "regarding.apiVersion", pointers: &["/involvedObject/apiVersion"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "regarding.resourceVersion", pointers: &["/involvedObject/resourceVersion"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "regarding.fieldPath", pointers: &["/involvedObject/fieldPath"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "reason", pointers: &["/reason"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "reportingController", pointers: &["/reportingComponent"], absent: "" },
    FieldRow { group: "events.k8s.io", version: "", kind: "Event", releases: 0..=u16::MAX, label: "type", pointers: &["/type"], absent: "" },
    FieldRow { group: "resource.k8s.io", version: "", kind: "ResourceSlice", releases: 0..=u16::MAX, label: "metadata.name", pointers: &["/metadata/name"], absent: "" },
    FieldRow { group: "resource.k8s.io", version: "", kind: "ResourceSlice", releases: 0..=u16::MAX, label: "spec.nodeName", pointers: &["/spec/nodeName"], absent: "" },
    FieldRow { group: "resource.k8s.io", version: "", kind: "ResourceSlice", releases: 0..=u16::MAX, label: "spec.driver", pointers: &["/spec/driver"], absent: "" },
    FieldRow { group: "resource.k8s.io", version: "", kind: "ResourceSlice", releases: 37..=u16::MAX, label: "spec.pool.name", pointers: &["/spec/pool/name"], absent: "" },
];

/// The answers of every kind that has fields of its own. Every other kind has `metadata.name` and `metadata.namespace`.
#[rustfmt::skip]
pub const REFUSALS: &[RefusalRow] = &[
    RefusalRow { group: "", version: "", kind: "Pod", releases: 0..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "", version: "", kind: "Node", releases: 0..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "", version: "", kind: "ReplicationController", releases: 0..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "", version: "", kind: "Event", releases: 0..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "", version: "", kind: "Namespace", releases: 0..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "", version: "", kind: "Secret", releases: 0..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "", version: "", kind: "Service", releases: 31..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "apps", version: "v1beta1", kind: "StatefulSet", releases: 0..=u16::MAX, words: "field label not supported for appsv1beta1.StatefulSet: LABEL" },
    RefusalRow { group: "apps", version: "v1beta2", kind: "StatefulSet", releases: 0..=u16::MAX, words: "field label not supported for appsv1beta2.StatefulSet: LABEL" },
    RefusalRow { group: "batch", version: "v1", kind: "Job", releases: 0..=20, words: "field label \"LABEL\" not supported for batchv1.Job" },
    RefusalRow { group: "batch", version: "v1", kind: "Job", releases: 21..=u16::MAX, words: "field label \"LABEL\" not supported for Job" },
    RefusalRow { group: "batch", version: "v1beta1", kind: "CronJob", releases: 0..=u16::MAX, words: "field label \"LABEL\" not supported for \"CronJob\"" },
    RefusalRow { group: "certificates.k8s.io", version: "", kind: "CertificateSigningRequest", releases: 18..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "certificates.k8s.io", version: "", kind: "ClusterTrustBundle", releases: 0..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "certificates.k8s.io", version: "", kind: "PodCertificateRequest", releases: 0..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "events.k8s.io", version: "", kind: "Event", releases: 19..=u16::MAX, words: "field label not supported: LABEL" },
    RefusalRow { group: "resource.k8s.io", version: "", kind: "ResourceSlice", releases: 0..=u16::MAX, words: "field label not supported for VERSION, Kind=ResourceSlice: LABEL" },
];
