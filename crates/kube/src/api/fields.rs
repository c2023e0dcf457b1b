//! Field selectors as the API server of the data's release reads them: only the fields it knows for a kind, with its words for others.
//!
//! Kubernetes' own kinds are lines of `proto/fields.tsv`. Further sources: `DefaultMetaV1FieldSelectorConversion` of apimachinery
//! `pkg/runtime/conversion.go` for kinds without fields of their own, which reads the same in Kubernetes 1.9 to 1.37; `ConvertFieldLabel` of
//! apiextensions-apiserver `pkg/apiserver/conversion/converter.go` for custom resources.

use std::borrow::Cow;

use crate::proto::fields::{FIELDS, FieldRow, REFUSALS, RefusalRow};
use crate::{FieldTerm, Release};
use serde_json::Value;

use crate::api::Resource;

/// A conjunction of terms.
#[derive(Clone, Debug, Default)]
pub struct ServerFieldSelector {
    terms: Vec<SelectableTerm>,
}

#[derive(Clone, Debug)]
struct SelectableTerm {
    field: FieldSource,
    wanted: String,
    is_equal: bool,
}

/// Where the value of a field is found.
#[derive(Clone, Debug)]
enum FieldSource {
    Name,
    Namespace,
    /// As a line of the table says.
    BuiltIn(&'static FieldRow),
    Custom(String),
}

impl ServerFieldSelector {
    /// Reads a selector for objects of a resource. The error is the message of an API server of this release.
    pub fn parse(text: &str, resource: &Resource, release: Release) -> Result<Self, String> {
        let terms = FieldTerm::read(text).map_err(|error| error.problem)?.into_iter();
        let terms = terms.map(|FieldTerm { label, value, is_equal }| {
            Ok(SelectableTerm { field: field(resource, release, &label)?, wanted: value, is_equal })
        });
        Ok(Self { terms: terms.collect::<Result<_, String>>()? })
    }

    /// Selects the object of one name, in addition to what it selects.
    #[must_use]
    pub fn and_name(mut self, name: &str) -> Self {
        self.terms.push(SelectableTerm { field: FieldSource::Name, wanted: name.to_owned(), is_equal: true });
        self
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it looks at names and namespaces alone.
    pub fn are_of_metadata(&self) -> bool {
        self.terms.iter().all(|term| matches!(term.field, FieldSource::Name | FieldSource::Namespace))
    }

    /// The only name that it selects, if it is one.
    pub fn exact_name(&self) -> Option<&str> {
        self.terms.iter().find(|term| matches!(term.field, FieldSource::Name) && term.is_equal).map(|term| term.wanted.as_str())
    }

    /// Whether an object is selected, as it is stored.
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| (term.field.value(object) == term.wanted) == term.is_equal)
    }
}

impl FieldSource {
    fn value<'a>(&self, object: &'a Value) -> Cow<'a, str> {
        match self {
            Self::Name => text(object, "/metadata/name").unwrap_or_default(),
            Self::Namespace => text(object, "/metadata/namespace").unwrap_or_default(),
            Self::BuiltIn(row) => {
                let found = row.pointers.iter().filter_map(|pointer| text(object, pointer));
                found.reduce(|first, second| if first.is_empty() { second } else { first }).unwrap_or(Cow::Borrowed(row.absent))
            }
            Self::Custom(pointer) => text(object, pointer).unwrap_or_default(),
        }
    }
}

/// The text at a pointer; `None` where nothing is.
fn text<'a>(object: &'a Value, pointer: &str) -> Option<Cow<'a, str>> {
    match object.pointer(pointer)? {
        Value::Null => None,
        Value::String(text) => Some(text.as_str().into()),
        other => Some(other.to_string().into()),
    }
}

/// Finds the field that a label names for a resource of a release. The error is upstream's.
fn field(resource: &Resource, release: Release, label: &str) -> Result<FieldSource, String> {
    if let Some(custom) = &resource.custom {
        let path = format!(".{label}");
        return match label {
            "metadata.name" => Ok(FieldSource::Name),
            "metadata.namespace" if resource.kind.namespaced => Ok(FieldSource::Namespace),
            _ if custom.selectable_fields.contains(&path) => Ok(FieldSource::Custom(path.replace('.', "/"))),
            _ => Err(format!("field label not supported: {label}")),
        };
    }
    let is_of = |group: &str, version: &str, kind: &str| {
        group == resource.group && kind == resource.kind.kind && (version.is_empty() || version == resource.version)
    };
    let is_meant = |row: &&RefusalRow| is_of(row.group, row.version, row.kind) && row.releases.contains(&release.0);
    let refusal = REFUSALS.iter().find(is_meant);
    let is_meant = |row: &&FieldRow| row.label == label && is_of(row.group, row.version, row.kind) && row.releases.contains(&release.0);
    match (label, refusal, FIELDS.iter().find(is_meant)) {
        ("metadata.name", None, _) | ("metadata.name", Some(_), Some(_)) => Ok(FieldSource::Name),
        ("metadata.namespace", None, _) | ("metadata.namespace", Some(_), Some(_)) => Ok(FieldSource::Namespace),
        (_, Some(_), Some(row)) => Ok(FieldSource::BuiltIn(row)),
        (_, Some(refusal), None) => Err(refusal.words.replace("VERSION", &resource.api_version()).replace("LABEL", label)),
        (_, None, _) => Err(format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")),
    }
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
