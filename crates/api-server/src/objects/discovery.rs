//! Which resources a server has (k8s.io/api v0.36 `apidiscovery/v2`, and what servers before 1.26 answer instead).

use ketcd_store::{Error, KeyRange, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::problem::remote;
use crate::transport::{Client, Failure};

/// All at once where the server can, else the old documents.
const DISCOVERY_ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// A resource in one version of its group, the preferred version first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub names: Vec<String>,
    pub kind: String,
    pub namespaced: bool,
    /// Whether its objects can be listed and watched.
    pub is_listed: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoveredResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    kind: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}

/// Asks a server for its resources.
pub(super) async fn discover(client: &Client) -> Result<Vec<Served>> {
    let (core, groups) = (document(client, "/api").await?, document(client, "/apis").await?);
    let mut served = Vec::new();
    check_versions(client, &core, &groups)?;
    for document in [&core, &groups] {
        match document["kind"].as_str() {
            Some("APIGroupDiscoveryList") => served.extend(of_aggregated(document)),
            Some("APIVersions") => {
                for version in strings(&document["versions"]) {
                    served.extend(of_version(client, "", &version).await?);
                }
            }
            _ => {
                for (group, version) in group_versions(document) {
                    served.extend(of_version(client, &group, &version).await?);
                }
            }
        }
    }
    check_names(client, served.iter().map(|one| (&*one.group, &*one.version)))?;
    if served.is_empty() {
        let server = client.access().server();
        return Err(remote(
            &server,
            format!("{server} is not a Kubernetes API server: it names no resources"),
            Some("check the server of the context"),
        ));
    }
    Ok(served)
}

/// Refuses names of versions that are none, which would become parts of paths, and more than any server has: old servers are asked for each.
fn check_versions(client: &Client, core: &Value, groups: &Value) -> Result<()> {
    let of_core = strings(&core["versions"]).into_iter().map(|version| (String::new(), version));
    let all: Vec<(String, String)> = of_core.chain(group_versions(groups)).collect();
    check_names(client, all.iter().map(|(group, version)| (&**group, &**version)))?;
    let endpoint = client.access().server();
    if all.len() <= client.access().limits.versions {
        return Ok(());
    }
    let problem = format!("the API server {endpoint} names {} versions of its groups, more than any server has", all.len());
    Err(Error::Untrue { endpoint, problem })
}

/// Refuses names of groups and versions that are none.
fn check_names<'n>(client: &Client, mut names: impl Iterator<Item = (&'n str, &'n str)>) -> Result<()> {
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte)) && text.len() <= 253;
    let Some((group, version)) = names.find(|(group, version)| !is_name(group) || !is_name(version) || version.is_empty()) else {
        return Ok(());
    };
    let endpoint = client.access().server();
    let (group, version) = (shown(group), shown(version));
    let problem = format!("the API server {endpoint} names the version {version:?} of the group {group:?}, which is not a version");
    Err(Error::Untrue { endpoint, problem })
}

/// The beginning of a name that is none.
fn shown(name: &str) -> String {
    name.chars().take(100).collect()
}

async fn document(client: &Client, path: &str) -> Result<Value> {
    let failed = |failure| client.error(failure, "the resources that the server has", &KeyRange::all());
    let text = client.document(path, DISCOVERY_ACCEPT).await.map_err(failed)?;
    serde_json::from_slice(&text).map_err(|_| no_json(client, path))
}

fn no_json(client: &Client, path: &str) -> Error {
    let server = client.access().server();
    remote(&server, format!("{server} is not a Kubernetes API server: it answers {path} with something other than JSON"), None)
}

/// The groups of the old document with all their versions, the preferred first.
fn group_versions(document: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for group in document["groups"].as_array().into_iter().flatten() {
        let name = group["name"].as_str().unwrap_or_default();
        let preferred = group["preferredVersion"]["version"].as_str();
        let versions = group["versions"].as_array().into_iter().flatten().filter_map(|version| version["version"].as_str());
        let others = versions.filter(|version| Some(*version) != preferred);
        found.extend(preferred.into_iter().chain(others).map(|version| (name.to_owned(), version.to_owned())));
    }
    found
}

/// The resources of one version, as the old document has them. A version whose server is down is passed over, as kubectl does.
async fn of_version(client: &Client, group: &str, version: &str) -> Result<Vec<Served>> {
    let path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    // Groups with a point may be served by servers of their own, which are not waited for.
    let is_of_other = group.contains('.');
    let text = match is_of_other {
        false => client.document(&path, "application/json").await,
        true => match client.get(&path, "application/json").await {
            Ok(response) => response.whole().await,
            Err(failure) => Err(failure),
        },
    };
    let text = match text {
        Ok(text) => text,
        Err(failure @ Failure::Silent(_)) => return Err(client.error(failure, "the resources that the server has", &KeyRange::all())),
        Err(failure) if is_of_other && (failure.is_transient() || failure.is_not_found()) => return Ok(Vec::new()),
        Err(failure) => return Err(client.error(failure, "the resources that the server has", &KeyRange::all())),
    };
    let document: Value = serde_json::from_slice(&text).map_err(|_| no_json(client, &path))?;
    let resources = document["resources"].as_array().into_iter().flatten();
    let resources =
        resources.filter_map(|resource| DiscoveredResource::deserialize(resource).ok()).filter(|resource| !resource.name.contains('/'));
    Ok(resources.map(|resource| served(group, version, resource)).collect())
}

fn served(group: &str, version: &str, resource: DiscoveredResource) -> Served {
    let DiscoveredResource { name, singular_name, namespaced, kind, verbs, short_names } = resource;
    let has = |verb: &str| verbs.iter().any(|own| own == verb);
    let is_listed = has("list") && has("watch");
    let mut names = short_names;
    names.extend([name.clone(), singular_name, kind.to_ascii_lowercase()].into_iter().filter(|name| !name.is_empty()));
    Served { group: group.to_owned(), version: version.to_owned(), plural: name, names, kind, namespaced, is_listed }
}

/// The resources of the new document.
fn of_aggregated(document: &Value) -> Vec<Served> {
    let mut found = Vec::new();
    for group in document["items"].as_array().into_iter().flatten() {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        for version in group["versions"].as_array().into_iter().flatten() {
            let version_name = version["version"].as_str().unwrap_or_default();
            for resource in version["resources"].as_array().into_iter().flatten() {
                let text = |field: &str| resource[field].as_str().unwrap_or_default().to_owned();
                let resource = DiscoveredResource {
                    name: text("resource"),
                    singular_name: text("singularResource"),
                    namespaced: resource["scope"] == "Namespaced",
                    kind: resource["responseKind"]["kind"].as_str().unwrap_or_default().to_owned(),
                    verbs: strings(&resource["verbs"]),
                    short_names: strings(&resource["shortNames"]),
                };
                found.push(served(name, version_name, resource));
            }
        }
    }
    found
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_new_document_is_read() {
        let document = json!({"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
            {"resource": "deployments", "responseKind": {"group": "", "version": "", "kind": "Deployment"}, "scope": "Namespaced",
             "singularResource": "deployment", "shortNames": ["deploy"], "verbs": ["list", "watch", "get"],
             "subresources": [{"subresource": "scale", "verbs": ["get"]}]}]}]}]});
        let found = of_aggregated(&document);
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!((&*one.group, &*one.version, &*one.plural, &*one.kind), ("apps", "v1", "deployments", "Deployment"));
        assert!(one.namespaced && one.is_listed && one.names == ["deploy", "deployments", "deployment", "deployment"]);
    }

    #[test]
    fn the_preferred_version_comes_first() {
        let document = json!({"groups": [{"name": "autoscaling", "preferredVersion": {"version": "v2"}, "versions": [{"version": "v1"}, {"version": "v2"}]}]});
        let expected = [("autoscaling".to_owned(), "v2".to_owned()), ("autoscaling".to_owned(), "v1".to_owned())];
        assert_eq!(group_versions(&document), expected);
    }
}
