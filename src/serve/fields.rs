//! Field selectors as the API server reads them: only the fields it knows for a kind, with its words for others.
//!
//! Sources: the `AddFieldLabelConversionFunc`s of `pkg/apis/*/v1/conversion.go` for the fields and
//! `ToSelectableFields` of `pkg/registry/*/*/strategy.go` for their values (Kubernetes 1.36).

use std::borrow::Cow;

use ketcd_kube::FieldTerm;
use serde_json::Value;

use crate::serve::resources::Resource;

/// A conjunction of terms.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
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
    /// An event's source: its component, else its controller.
    Source,
    /// One that is accepted and that no object has.
    Nothing,
}

impl Fields {
    /// Reads a selector for objects of a resource. The error is the API server's message.
    pub(super) fn parse(text: &str, resource: &Resource) -> Result<Self, String> {
        let terms = FieldTerm::read(text).map_err(|error| error.problem)?.into_iter();
        let terms = terms.map(|FieldTerm { label, value, is_equal }| Ok(Term { field: field(resource, &label)?, wanted: value, is_equal }));
        Ok(Self { terms: terms.collect::<Result<_, String>>()? })
    }

    /// Selects the object of one name beside what it selects.
    pub(super) fn and_name(mut self, name: &str) -> Self {
        self.terms.push(Term { field: Field::Name, wanted: name.to_owned(), is_equal: true });
        self
    }

    /// Whether it selects everything.
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it looks at names and namespaces alone.
    pub(super) fn are_of_metadata(&self) -> bool {
        self.terms.iter().all(|term| matches!(term.field, Field::Name | Field::Namespace))
    }

    /// The only name that it selects, if it is one.
    pub(super) fn exact_name(&self) -> Option<&str> {
        self.terms.iter().find(|term| term.field == Field::Name && term.is_equal).map(|term| term.wanted.as_str())
    }

    /// Whether an object is selected, as it is stored.
    pub(super) fn matches(&self, object: &Value) -> bool {
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
            Self::Source => {
                let component = text("/source/component");
                if component.is_empty() { text("/reportingComponent").into() } else { component.into() }
            }
            Self::Nothing => "".into(),
        }
    }
}

/// Fields that only a name's look shows to be names of the same.
fn field(resource: &Resource, label: &str) -> Result<Field, String> {
    let at = |pointer: &str, otherwise| Ok(Field::At(pointer.to_owned(), otherwise));
    let unsupported = || Err(format!("field label not supported: {label}"));
    if let Some(custom) = &resource.custom {
        let path = format!(".{label}");
        return match label {
            "metadata.name" => Ok(Field::Name),
            "metadata.namespace" if resource.kind.namespaced => Ok(Field::Namespace),
            _ if custom.selectable_fields.contains(&path) => Ok(Field::At(path.replace('.', "/"), "")),
            _ => unsupported(),
        };
    }
    let group_version_kind = (resource.group.as_str(), resource.kind.kind.as_ref());
    match (group_version_kind, label) {
        (_, "metadata.name") => Ok(Field::Name),
        // Kinds with conversions of their own know the namespace only if they say so.
        (("", "Node" | "Namespace") | ("certificates.k8s.io", _) | ("resource.k8s.io", "ResourceSlice"), "metadata.namespace") => {
            refuse(resource, label)
        }
        (_, "metadata.namespace") => Ok(Field::Namespace),
        (("", "Pod"), "spec.host") => at("/spec/nodeName", ""),
        (("", "Pod"), "spec.hostNetwork") => at("/spec/hostNetwork", "false"),
        (("", "Pod"), "status.podIPs") => Ok(Field::Nothing),
        (("", "Pod"), "status.podIP") => at("/status/podIPs/0/ip", ""),
        (
            ("", "Pod"),
            "spec.nodeName"
            | "spec.restartPolicy"
            | "spec.schedulerName"
            | "spec.serviceAccountName"
            | "status.phase"
            | "status.nominatedNodeName",
        )
        | (("", "Namespace"), "status.phase")
        | (("", "Service"), "spec.clusterIP" | "spec.type")
        | (("certificates.k8s.io", "CertificateSigningRequest" | "ClusterTrustBundle"), "spec.signerName")
        | (("resource.k8s.io", "ResourceSlice"), "spec.nodeName" | "spec.driver") => at(&format!("/{}", label.replace('.', "/")), ""),
        (("", "Node"), "spec.unschedulable") => at("/spec/unschedulable", "false"),
        (("", "ReplicationController"), "status.replicas") => at("/status/replicas", "0"),
        (("batch", "Job"), "status.successful") => at("/status/succeeded", "0"),
        (("batch", "CronJob"), "status.successful") if resource.version == "v1beta1" => Ok(Field::Nothing),
        (("", "Secret"), "type") => at("/type", ""),
        (("", "Event"), label) => match event_field(label) {
            Some(field) => Ok(field),
            None => unsupported(),
        },
        (("events.k8s.io", _), label) => match new_event_field(label) {
            Some(field) => Ok(field),
            None => unsupported(),
        },
        _ => refuse(resource, label),
    }
}

/// The refusal of a kind, which differs.
fn refuse(resource: &Resource, label: &str) -> Result<Field, String> {
    let (group, version, kind) = (resource.group.as_str(), resource.version.as_str(), resource.kind.kind.as_ref());
    Err(match (group, kind) {
        ("", "Pod" | "Node" | "Namespace" | "Service" | "Secret" | "ReplicationController") | ("certificates.k8s.io", _) => {
            format!("field label not supported: {label}")
        }
        ("resource.k8s.io", "ResourceSlice") => format!("field label not supported for {group}/{version}, Kind={kind}: {label}"),
        ("batch", "Job") if version == "v1" => format!("field label {label:?} not supported for Job"),
        ("batch", _) if version == "v1beta1" => format!("field label {label:?} not supported for {kind:?}"),
        _ => format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
    })
}

/// The parts of a reference that events can be selected by.
const REFERENCE: [&str; 7] = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

fn event_field(label: &str) -> Option<Field> {
    let reference = label.strip_prefix("involvedObject.").filter(|part| REFERENCE.contains(part));
    match (label, reference) {
        (_, Some(part)) => Some(Field::At(format!("/involvedObject/{part}"), "")),
        ("reason" | "type" | "reportingComponent", _) => Some(Field::At(format!("/{label}"), "")),
        ("source", _) => Some(Field::Source),
        _ => None,
    }
}

/// Of events.k8s.io, as the stored event of the core group shows it.
fn new_event_field(label: &str) -> Option<Field> {
    let reference = label.strip_prefix("regarding.").filter(|part| REFERENCE.contains(part));
    match (label, reference) {
        (_, Some(part)) => Some(Field::At(format!("/involvedObject/{part}"), "")),
        ("reason" | "type", _) => Some(Field::At(format!("/{label}"), "")),
        ("reportingController", _) => Some(Field::At("/reportingComponent".to_owned(), "")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ketcd_kube::Release;
    use serde_json::json;

    use super::*;
    use crate::serve::resources::Catalog;

    fn check(resource: (&str, &str, &str), selector: &str, object: &Value, wanted: Result<bool, &str>) {
        let catalog = Catalog::new(Release(36), &[]);
        let resource = catalog.find(resource.0, resource.1, resource.2).unwrap();
        let found = Fields::parse(selector, resource).map(|fields| fields.matches(object));
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
}
