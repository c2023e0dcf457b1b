//! Discovery: which groups, versions and resources there are, as one aggregated document or as one document each.
//!
//! Sources: k8s.io/api v0.36 `apidiscovery/v2`, apimachinery v0.36 `pkg/apis/meta/v1`.

use std::net::SocketAddr;

use ketcd_kube::api::{Catalog, Group, Resource, Version, api_version};
use serde_json::{Value, json};

use super::scale;

/// The first release that says what one object of a built-in resource is called.
const WITH_SINGULAR: u16 = 27;

/// Returns the aggregated document of the core group, or of all others.
pub(crate) fn aggregated(catalog: &Catalog, is_core: bool, version: &str) -> Value {
    let groups = catalog.groups.iter().filter(|group| group.name.is_empty() == is_core);
    let items: Vec<Value> = groups.map(|group| aggregated_group(catalog, group)).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"), "metadata": {}, "items": items})
}

fn aggregated_group(catalog: &Catalog, group: &Group) -> Value {
    let version = |own: &Version| {
        let resources: Vec<Value> = own.resources.iter().map(|resource| aggregated_resource(catalog, resource)).collect();
        json!({"version": own.name, "resources": resources, "freshness": "Current"})
    };
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    let metadata = if group.name.is_empty() { json!({}) } else { json!({"name": group.name}) };
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(catalog: &Catalog, resource: &Resource) -> Value {
    let kind = &resource.kind;
    let subresources: Vec<Value> = resource
        .subresources
        .iter()
        .map(|name| {
            let (group, version, kind) = response_kind(resource, name);
            json!({"subresource": name, "responseKind": {"group": group, "version": version, "kind": kind}, "verbs": ["get"]})
        })
        .collect();
    let mut document = json!({
        "resource": kind.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": kind.kind},
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": singular(catalog, resource),
        "verbs": resource.verbs(),
    });
    for (field, list) in
        [("shortNames", json!(kind.short_names)), ("categories", json!(kind.categories)), ("subresources", subresources.into())]
    {
        if list != json!([]) {
            document[field] = list;
        }
    }
    document
}

fn singular<'a>(catalog: &Catalog, resource: &'a Resource) -> &'a str {
    if resource.custom.is_some() || catalog.release.0 >= WITH_SINGULAR { &resource.kind.singular } else { "" }
}

/// The group, version and kind of what a subresource returns.
fn response_kind<'a>(resource: &'a Resource, subresource: &str) -> (&'a str, &'a str, &'a str) {
    match subresource {
        "scale" => {
            let (group, version) = scale::group_version(resource);
            (group, version, "Scale")
        }
        _ => (&resource.group, &resource.version, &resource.kind.kind),
    }
}

/// Returns `/api`.
pub(crate) fn core_versions(address: SocketAddr) -> Value {
    let address = address.to_string();
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]})
}

/// Returns `/apis`.
pub(crate) fn groups(catalog: &Catalog) -> Value {
    let groups: Vec<Value> = catalog.groups.iter().filter(|group| !group.name.is_empty()).map(group_document).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Returns `/apis/GROUP`.
pub(crate) fn group(catalog: &Catalog, name: &str) -> Option<Value> {
    let mut document = catalog.groups.iter().find(|group| group.name == name && !name.is_empty()).map(group_document)?;
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    Some(document)
}

fn group_document(group: &Group) -> Value {
    let version = |own: &Version| json!({"groupVersion": api_version(&group.name, &own.name), "version": own.name});
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    json!({"name": group.name, "preferredVersion": versions.first(), "versions": versions})
}

/// Returns `/api/v1` or `/apis/GROUP/VERSION`.
pub(crate) fn resources(catalog: &Catalog, group: &str, version: &str) -> Option<Value> {
    let found = catalog.version(group, version)?;
    let documents: Vec<Value> = found.resources.iter().flat_map(|resource| resource_documents(catalog, resource)).collect();
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(group, version), "resources": documents}))
}

fn resource_documents(catalog: &Catalog, resource: &Resource) -> Vec<Value> {
    let kind = &resource.kind;
    let mut own = json!({
        "name": kind.plural, "singularName": singular(catalog, resource), "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": resource.verbs(),
    });
    for (field, list) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        if !list.is_empty() {
            own[field] = json!(list);
        }
    }
    let mut documents = vec![own];
    for name in &resource.subresources {
        let (group, version, response) = response_kind(resource, name);
        let mut document = json!({
            "name": format!("{}/{name}", kind.plural), "singularName": "", "namespaced": kind.namespaced, "kind": response, "verbs": ["get"],
        });
        if response != &*kind.kind {
            document["group"] = group.into();
            document["version"] = version.into();
        }
        documents.push(document);
    }
    documents
}
