//! The objects of a cluster that must be read to find the obstacles.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::identity::ObjectId;
use crate::pod_template;
use crate::references::{Related, references};

/// What has to be read of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// Single objects: those of the manifests, their namespaces, and what they refer to.
    pub objects: BTreeSet<ObjectId>,
    /// All objects of a group and kind; in a namespace, or in all.
    pub lists: BTreeSet<(&'static str, &'static str, Option<String>)>,
}

/// Kinds that are asked before any object is stored.
const ADMISSION_KINDS: &[&str] = &[
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

impl Needed {
    /// What has to be read before manifests are applied.
    pub fn of(manifests: &[Value]) -> Self {
        let mut needed = Self::default();
        needed.lists.extend(ADMISSION_KINDS.iter().map(|kind| ("admissionregistration.k8s.io", *kind, None)));
        for manifest in manifests {
            let id = ObjectId::of(manifest);
            if let Some(namespace) = &id.namespace {
                needed.objects.insert(ObjectId::new("", "Namespace", None, namespace));
                needed.lists.extend(["LimitRange", "ResourceQuota"].map(|kind| ("", kind, Some(namespace.clone()))));
            }
            if pod_template::pointer(manifest).is_some() || id.is("", "PersistentVolumeClaim") {
                needed.objects.extend(references(manifest, Related::Config));
                needed.objects.extend(references(manifest, Related::Storage));
            }
            if id.is("", "Service") && has_addresses(manifest) {
                needed.lists.insert(("", "Service", None));
            }
            needed.objects.insert(id);
        }
        needed
    }

    /// The Services of webhooks, known once their configurations are read.
    pub fn services_of_webhooks<'a>(objects: impl Iterator<Item = &'a Value>) -> BTreeSet<ObjectId> {
        let webhooks = objects.flat_map(|object| object["webhooks"].as_array().into_iter().flatten());
        let service = |webhook: &Value| {
            let service = &webhook["clientConfig"]["service"];
            Some(ObjectId::new("", "Service", Some(service["namespace"].as_str()?), service["name"].as_str()?))
        };
        webhooks.filter_map(service).collect()
    }
}

/// Whether a Service wants an address or a port that another may have.
fn has_addresses(service: &Value) -> bool {
    let spec = &service["spec"];
    let mut ports = spec["ports"].as_array().into_iter().flatten();
    spec["clusterIP"].as_str().is_some_and(|address| address != "None") || ports.any(|port| !port["nodePort"].is_null())
}
