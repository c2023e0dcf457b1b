//! Field selectors as the API server of the data's release reads them: only the fields it knows for a kind, with its words for others.
//!
//! Sources: the `AddFieldLabelConversionFunc`s of `pkg/apis/*/*/conversion.go` for the fields and `ToSelectableFields` of
//! `pkg/registry/*/*/strategy.go` for their values (Kubernetes 1.9 to 1.37); `DefaultMetaV1FieldSelectorConversion` of apimachinery
//! `pkg/runtime/conversion.go` for kinds without any, which reads the same in all of them; `ConvertFieldLabel` of apiextensions-apiserver
//! `pkg/apiserver/conversion/converter.go` for custom resources.

use std::borrow::Cow;

use crate::{FieldTerm, Release};
use serde_json::Value;

use crate::api::Resource;

/// A conjunction of terms.
#[derive(Clone, Debug, Default)]
pub struct ServerFieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug)]
struct Term {
    field: Field,
    wanted: String,
    is_equal: bool,
}

/// Where the value of a field is found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    /// The text at a pointer, or what stands for its absence.
    At(String, &'static str),
    /// The text at the first of two pointers, at the second where that is empty.
    Either(&'static str, &'static str),
    /// A label that is accepted although no object has it.
    Nothing,
}

impl ServerFieldSelector {
    /// Reads a selector for objects of a resource. The error is the message of an API server of this release.
    pub fn parse(text: &str, resource: &Resource, release: Release) -> Result<Self, String> {
        let terms = FieldTerm::read(text).map_err(|error| error.problem)?.into_iter();
        let terms = terms
            .map(|FieldTerm { label, value, is_equal }| Ok(Term { field: field(resource, release, &label)?, wanted: value, is_equal }));
        Ok(Self { terms: terms.collect::<Result<_, String>>()? })
    }

    /// Restricts the selection to the object of one name.
    #[must_use]
    pub fn and_name(mut self, name: &str) -> Self {
        self.terms.push(Term { field: Field::Name, wanted: name.to_owned(), is_equal: true });
        self
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it looks at names and namespaces alone.
    pub fn are_of_metadata(&self) -> bool {
        self.terms.iter().all(|term| matches!(term.field, Field::Name | Field::Namespace))
    }

    /// The only name that it selects, if it is one.
    pub fn exact_name(&self) -> Option<&str> {
        self.terms.iter().find(|term| term.field == Field::Name && term.is_equal).map(|term| term.wanted.as_str())
    }

    /// Whether an object is selected, as it is stored.
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| (term.field.value(object) == term.wanted) == term.is_equal)
    }
}

impl Field {
    fn value<'a>(&self, object: &'a Value) -> Cow<'a, str> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        match self {
            Self::Name => text("/metadata/name").into(),
            Self::Namespace => text("/metadata/namespace").into(),
            Self::At(pointer, otherwise) => match object.pointer(pointer) {
                None | Some(Value::Null) => (*otherwise).into(),
                Some(Value::String(text)) => text.as_str().into(),
                Some(other) => other.to_string().into(),
            },
            Self::Either(first, second) => match text(first) {
                "" => text(second).into(),
                found => found.into(),
            },
            Self::Nothing => "".into(),
        }
    }
}

/// What upstream says of a label that it does not know for a kind.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    /// The words of most kinds.
    Label,
    /// With the group, the version and the kind.
    OfKind,
    /// With the type as upstream's source names it.
    OfType(&'static str),
    /// With the label in quotes, and the type.
    QuotedOfType(&'static str),
    /// With label and kind in quotes.
    Quoted,
}

/// A kind with labels of its own, in the releases from `first` to `last`.
struct Row {
    group: &'static str,
    /// Empty for every version.
    version: &'static str,
    kind: &'static str,
    first: u16,
    last: u16,
    /// Every label that is known, each with the first release that knows it.
    labels: &'static [(&'static str, u16)],
    refusal: Refusal,
}

const ON: u16 = u16::MAX;
const NAME: (&str, u16) = ("metadata.name", 0);
const NAMESPACE: (&str, u16) = ("metadata.namespace", 0);
const SIGNER: (&str, u16) = ("spec.signerName", 0);
const SUCCESSFUL: (&str, u16) = ("status.successful", 0);

/// The kinds with conversions of field labels, in the versions that are served by default (`pkg/apis/*/*/conversion.go` of Kubernetes 1.9 to 1.36); of
/// every other kind upstream knows `metadata.name` and `metadata.namespace`.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { group: "", version: "", kind: "Pod", first: 0, last: ON, refusal: Refusal::Label, labels: &[
        NAME, NAMESPACE, ("spec.nodeName", 0), ("spec.host", 0), ("spec.restartPolicy", 0), ("spec.schedulerName", 0), ("status.phase", 0),
        ("status.podIP", 0), ("status.nominatedNodeName", 10), ("spec.serviceAccountName", 12), ("status.podIPs", 17), ("spec.hostNetwork", 28)] },
    Row { group: "", version: "", kind: "Node", first: 0, last: ON, refusal: Refusal::Label, labels: &[NAME, ("spec.unschedulable", 0)] },
    Row { group: "", version: "", kind: "ReplicationController", first: 0, last: ON, refusal: Refusal::Label,
        labels: &[NAME, NAMESPACE, ("status.replicas", 0)] },
    Row { group: "", version: "", kind: "Event", first: 0, last: ON, refusal: Refusal::Label, labels: &[
        NAME, NAMESPACE, ("involvedObject.kind", 0), ("involvedObject.namespace", 0), ("involvedObject.name", 0), ("involvedObject.uid", 0),
        ("involvedObject.apiVersion", 0), ("involvedObject.resourceVersion", 0), ("involvedObject.fieldPath", 0), ("reason", 0), ("source", 0),
        ("type", 0), ("reportingComponent", 19)] },
    Row { group: "", version: "", kind: "Namespace", first: 0, last: ON, refusal: Refusal::Label, labels: &[NAME, ("status.phase", 0)] },
    Row { group: "", version: "", kind: "Secret", first: 0, last: ON, refusal: Refusal::Label, labels: &[NAME, NAMESPACE, ("type", 0)] },
    Row { group: "", version: "", kind: "Service", first: 31, last: ON, refusal: Refusal::Label,
        labels: &[NAME, NAMESPACE, ("spec.clusterIP", 0), ("spec.type", 0)] },
    Row { group: "apps", version: "v1beta1", kind: "StatefulSet", first: 0, last: ON, refusal: Refusal::OfType("appsv1beta1.StatefulSet"),
        labels: &[NAME, NAMESPACE, SUCCESSFUL] },
    Row { group: "apps", version: "v1beta2", kind: "StatefulSet", first: 0, last: ON, refusal: Refusal::OfType("appsv1beta2.StatefulSet"),
        labels: &[NAME, NAMESPACE, SUCCESSFUL] },
    Row { group: "batch", version: "v1", kind: "Job", first: 0, last: 20, refusal: Refusal::QuotedOfType("batchv1.Job"),
        labels: &[NAME, NAMESPACE, SUCCESSFUL] },
    Row { group: "batch", version: "v1", kind: "Job", first: 21, last: ON, refusal: Refusal::QuotedOfType("Job"),
        labels: &[NAME, NAMESPACE, SUCCESSFUL] },
    Row { group: "batch", version: "v1beta1", kind: "CronJob", first: 0, last: ON, refusal: Refusal::Quoted, labels: &[NAME, NAMESPACE, SUCCESSFUL] },
    Row { group: "certificates.k8s.io", version: "", kind: "CertificateSigningRequest", first: 18, last: ON, refusal: Refusal::Label,
        labels: &[NAME, SIGNER] },
    Row { group: "certificates.k8s.io", version: "", kind: "ClusterTrustBundle", first: 0, last: ON, refusal: Refusal::Label, labels: &[NAME, SIGNER] },
    Row { group: "certificates.k8s.io", version: "", kind: "PodCertificateRequest", first: 0, last: ON, refusal: Refusal::Label,
        labels: &[NAME, SIGNER, ("spec.podName", 0), ("spec.nodeName", 0)] },
    Row { group: "events.k8s.io", version: "", kind: "Event", first: 19, last: ON, refusal: Refusal::Label, labels: &[
        NAME, NAMESPACE, ("regarding.kind", 0), ("regarding.namespace", 0), ("regarding.name", 0), ("regarding.uid", 0), ("regarding.apiVersion", 0),
        ("regarding.resourceVersion", 0), ("regarding.fieldPath", 0), ("reason", 0), ("reportingController", 0), ("type", 0)] },
    Row { group: "resource.k8s.io", version: "", kind: "ResourceSlice", first: 0, last: ON, refusal: Refusal::OfKind,
        labels: &[NAME, ("spec.nodeName", 0), ("spec.driver", 0), ("spec.pool.name", 37)] },
];

impl Row {
    fn of(resource: &Resource, release: Release) -> Option<&'static Self> {
        ROWS.iter().find(|row| {
            row.group == resource.group
                && row.kind == resource.kind.kind
                && (row.version.is_empty() || row.version == resource.version)
                && (row.first..=row.last).contains(&release.0)
        })
    }

    fn refuse(&self, resource: &Resource, label: &str) -> String {
        let kind = self.kind;
        match self.refusal {
            Refusal::Label => format!("field label not supported: {label}"),
            Refusal::OfKind => format!("field label not supported for {}, Kind={kind}: {label}", resource.api_version()),
            Refusal::OfType(name) => format!("field label not supported for {name}: {label}"),
            Refusal::QuotedOfType(name) => format!("field label {label:?} not supported for {name}"),
            Refusal::Quoted => format!("field label {label:?} not supported for {kind:?}"),
        }
    }
}

/// Finds the field that a label names for a resource of a release. The error is upstream's.
fn field(resource: &Resource, release: Release, label: &str) -> Result<Field, String> {
    if let Some(custom) = &resource.custom {
        let path = format!(".{label}");
        return match label {
            "metadata.name" => Ok(Field::Name),
            "metadata.namespace" if resource.kind.namespaced => Ok(Field::Namespace),
            _ if custom.selectable_fields.contains(&path) => Ok(Field::At(path.replace('.', "/"), "")),
            _ => Err(format!("field label not supported: {label}")),
        };
    }
    match Row::of(resource, release) {
        Some(row) if row.labels.iter().any(|(known, first)| *known == label && *first <= release.0) => Ok(place(row, release, label)),
        Some(row) => Err(row.refuse(resource, label)),
        None => match label {
            "metadata.name" => Ok(Field::Name),
            "metadata.namespace" => Ok(Field::Namespace),
            _ => Err(format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")),
        },
    }
}

/// Where the value of a label is found in a stored object. The events of events.k8s.io are stored as those of the core group.
fn place(row: &Row, release: Release, label: &str) -> Field {
    let at = |pointer: &str, otherwise| Field::At(pointer.to_owned(), otherwise);
    match (row.group, row.kind, label) {
        (_, _, "metadata.name") => Field::Name,
        (_, _, "metadata.namespace") => Field::Namespace,
        (_, "Pod", "spec.host") => at("/spec/nodeName", ""),
        (_, "Pod", "status.podIP") => Field::Either("/status/podIP", "/status/podIPs/0/ip"),
        (_, "Pod", "spec.hostNetwork") | (_, "Node", "spec.unschedulable") => at(&pointer(label), "false"),
        (_, "ReplicationController", "status.replicas") => at(&pointer(label), "0"),
        (_, "Job", "status.successful") => at("/status/succeeded", "0"),
        (_, "StatefulSet" | "CronJob", "status.successful") | (_, "Pod", "status.podIPs") => Field::Nothing,
        ("", "Event", "source") if release.0 >= WITH_REPORTER => Field::Either("/source/component", "/reportingComponent"),
        ("", "Event", "source") => at("/source/component", ""),
        ("events.k8s.io", _, "reportingController") => at("/reportingComponent", ""),
        ("events.k8s.io", _, label) => at(&pointer(&label.replacen("regarding.", "involvedObject.", 1)), ""),
        _ => at(&pointer(label), ""),
    }
}

/// The first release in which the controller that reports an event stands for its source (`ToSelectableFields` of
/// `pkg/registry/core/event/strategy.go`).
const WITH_REPORTER: u16 = 19;

fn pointer(label: &str) -> String {
    format!("/{}", label.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::Catalog;

    fn check(resource: (&str, &str, &str), selector: &str, object: &Value, wanted: Result<bool, &str>) {
        check_in(36, resource, selector, object, wanted);
    }

    fn check_in(release: u16, resource: (&str, &str, &str), selector: &str, object: &Value, wanted: Result<bool, &str>) {
        let catalog = Catalog::new(Release(release), &[]);
        let resource = catalog.find(resource.0, resource.1, resource.2).unwrap();
        let found = ServerFieldSelector::parse(selector, resource, Release(release)).map(|fields| fields.matches(object));
        assert_eq!(found.as_ref().map_err(String::as_str), wanted.as_ref().map_err(|problem| *problem), "{selector}");
    }

    #[test]
    fn fields_are_those_of_the_kind() {
        let pods = ("", "v1", "pods");
        let pod = json!({"metadata": {"name": "web-0", "namespace": "shop"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}});
        check(pods, "spec.nodeName=n1,status.phase!=Pending", &pod, Ok(true));
        check(pods, "spec.hostNetwork=false", &pod, Ok(true));
        check(pods, "spec.hostNetwork==true", &pod, Ok(false));
        check(pods, "spec.color=red", &pod, Err("field label not supported: spec.color"));
        check(pods, "spec", &pod, Err("invalid selector: 'spec'; can't understand 'spec'"));
        check(pods, "spec.nodeName=a=b", &pod, Err("invalid field selector: unescaped character in value: 61"));
        let event = json!({"involvedObject": {"uid": "1"}, "reportingComponent": "kubelet"});
        check(("", "v1", "events"), "involvedObject.uid=1,source=kubelet", &event, Ok(true));
        check(("", "v1", "nodes"), "spec.unschedulable=false", &json!({}), Ok(true));
    }

    #[test]
    fn refusals_are_those_of_the_kind() {
        let none = json!({});
        let known = "\"status.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
        check(("apps", "v1", "deployments"), "status.x=1", &none, Err(known));
        check(("batch", "v1", "jobs"), "status.x=1", &none, Err("field label \"status.x\" not supported for Job"));
        let slices = "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: metadata.namespace";
        check(("resource.k8s.io", "v1", "resourceslices"), "metadata.namespace=a", &none, Err(slices));
    }

    /// A label that a release does not know yet, and the next one does.
    fn since(first: u16, resource: (&str, &str, &str), selector: &str, refusal: &str) {
        check_in(first - 1, resource, selector, &json!({}), Err(refusal));
        check_in(first, resource, selector, &json!({}), Ok(false));
    }

    #[test]
    fn fields_are_those_of_the_release() {
        let pods = ("", "v1", "pods");
        since(10, pods, "status.nominatedNodeName=n1", "field label not supported: status.nominatedNodeName");
        since(12, pods, "spec.serviceAccountName=a", "field label not supported: spec.serviceAccountName");
        since(17, pods, "status.podIPs=10.0.0.1", "field label not supported: status.podIPs");
        since(28, pods, "spec.hostNetwork=true", "field label not supported: spec.hostNetwork");
        let known = |label: &str| format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
        since(31, ("", "v1", "services"), "spec.type=NodePort", &known("spec.type"));
        let requests = ("certificates.k8s.io", "v1beta1", "certificatesigningrequests");
        since(18, requests, "spec.signerName=a", &known("spec.signerName"));
        check_in(17, requests, "metadata.namespace=", &json!({}), Ok(true));
        check_in(18, requests, "metadata.namespace=", &json!({}), Err("field label not supported: metadata.namespace"));
        since(19, ("", "v1", "events"), "reportingComponent=a", "field label not supported: reportingComponent");
        since(19, ("events.k8s.io", "v1beta1", "events"), "regarding.name=a", &known("regarding.name"));
        let event = json!({"source": {}, "reportingComponent": "kubelet"});
        check_in(18, ("", "v1", "events"), "source=kubelet", &event, Ok(false));
        check_in(19, ("", "v1", "events"), "source=kubelet", &event, Ok(true));
    }

    #[test]
    fn fields_of_1_37() {
        let slices = ("resource.k8s.io", "v1", "resourceslices");
        since(37, slices, "spec.pool.name=a", "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.pool.name");
        check_in(37, slices, "spec.pool.name=a", &json!({"spec": {"pool": {"name": "a"}}}), Ok(true));
        let requests = ("certificates.k8s.io", "v1", "podcertificaterequests");
        let request = json!({"spec": {"signerName": "s", "podName": "p", "nodeName": "n"}});
        check_in(37, requests, "spec.signerName=s,spec.podName=p,spec.nodeName=n", &request, Ok(true));
        check_in(37, requests, "spec.podUID=1", &request, Err("field label not supported: spec.podUID"));
    }

    #[test]
    fn refusals_are_those_of_the_release() {
        let none = json!({});
        let jobs = ("batch", "v1", "jobs");
        check_in(20, jobs, "status.x=1", &none, Err("field label \"status.x\" not supported for batchv1.Job"));
        check_in(21, jobs, "status.x=1", &none, Err("field label \"status.x\" not supported for Job"));
        check_in(24, ("batch", "v1beta1", "cronjobs"), "status.x=1", &none, Err("field label \"status.x\" not supported for \"CronJob\""));
        let sets = ("apps", "v1beta2", "statefulsets");
        check_in(15, sets, "status.x=1", &none, Err("field label not supported for appsv1beta2.StatefulSet: status.x"));
        check_in(15, sets, "status.successful=1", &none, Ok(false));
        check_in(
            15,
            ("apps", "v1", "statefulsets"),
            "status.successful=1",
            &none,
            Err("\"status.successful\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
        );
    }
}
