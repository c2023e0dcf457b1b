//! A cluster behind an API server, read by `kubectl get`: it knows every way of logging in that a kubeconfig may name (certificates, tokens, plugins,
//! proxies), and ketcd need know none. Nothing but `get` is ever run, and what data has to say in it are names in the form of DNS, behind `--`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use ketcd_cluster::extract::{Served, Target};
use ketcd_kube::{Body, Decoder, Kinds, Object, is_dns_label, is_dns_subdomain};
use ketcd_restore::ObjectId;
use ketcd_restore::obstacles::Needed;
use serde_json::Value;
use tokio::process::Command;

use crate::cli::outcome::{Error, Result};
use crate::cli::session::Session;
use ketcd_render::command_line::CommandLine;

pub(super) async fn read(session: &Session, kubeconfig: &str, manifests: &[Value]) -> Result<Target> {
    let kubectl =
        Kubectl { kubeconfig, decoder: ketcd_cluster::read::decoder(&session.cluster), kinds: session.cluster.kinds().await?.clone() };
    let mut target = Target {
        name: kubeconfig.to_owned(),
        objects: BTreeMap::new(),
        served: Served::Listed(BTreeSet::new()),
        kinds: kubectl.kinds.clone(),
        notes: Vec::new(),
    };
    let served = kubectl.served(manifests, &mut target.notes).await?;
    let needed = Needed::of(manifests);
    let api_versions: BTreeMap<ObjectId, &str> =
        manifests.iter().map(|manifest| (ObjectId::of(manifest), manifest["apiVersion"].as_str().unwrap_or_default())).collect();
    let mut lists: BTreeSet<(ResourceList, bool)> = BTreeSet::new();
    let mut refused = BTreeSet::new();
    let mut ask = |namespace: &Option<String>, resource: Option<String>, is_manifests: bool| {
        if let Some(resource) = resource {
            match ResourceList::new(namespace.as_deref(), &resource) {
                Some(list) => drop(lists.insert((list, is_manifests))),
                None => drop(refused.insert(not_asked(namespace.as_deref(), &resource))),
            }
        }
    };
    for id in &needed.objects {
        let api_version = api_versions.get(id);
        // A kind that is not served has no objects.
        if api_version.is_none_or(|version| served.contains(&((*version).to_owned(), id.kind.clone()))) {
            ask(&id.namespace, kubectl.resource(&id.group, &id.kind, api_version.copied()), api_version.is_some());
        }
    }
    for (group, kind, namespace) in &needed.lists {
        ask(namespace, kubectl.resource(group, kind, None), false);
    }
    target.notes.extend(refused);
    for (list, is_manifests) in lists {
        match kubectl.list(&list).await {
            Ok(found) => target.add(found),
            Err(error) if is_manifests => return Err(error),
            Err(error) => target.notes.push(format!("not checked: {error}")),
        }
    }
    let services = Needed::services_of_webhooks(target.objects.values().map(|object| &**object));
    let namespaces: BTreeSet<Option<String>> = services.into_iter().map(|id| id.namespace).collect();
    for list in namespaces.iter().filter_map(|namespace| ResourceList::new(namespace.as_deref(), "services")) {
        target.add(kubectl.list(&list).await?);
    }
    target.served = Served::Listed(served);
    Ok(target)
}

/// The objects of a resource, in a namespace or in all: names in the form of DNS, which kubectl can take for nothing else.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ResourceList {
    namespace: Option<String>,
    resource: String,
}

impl ResourceList {
    fn new(namespace: Option<&str>, resource: &str) -> Option<Self> {
        let is_plain = is_dns_subdomain(resource) && namespace.is_none_or(is_dns_label);
        is_plain.then(|| Self { namespace: namespace.map(str::to_owned), resource: resource.to_owned() })
    }
}

/// What is said of objects that kubectl is not asked for.
fn not_asked(namespace: Option<&str>, resource: &str) -> String {
    let place = namespace.map_or(String::new(), |namespace| format!(" in namespace {namespace:?}"));
    format!("not compared: {resource:?}{place}: Kubernetes does not allow this name, so kubectl is not called")
}

/// The path of an API version at an API server; `None` of a text that is none.
fn discovery(api_version: &str) -> Option<String> {
    match api_version.split_once('/') {
        None => is_dns_label(api_version).then(|| format!("/api/{api_version}")),
        Some((group, version)) => (is_dns_subdomain(group) && is_dns_label(version)).then(|| format!("/apis/{group}/{version}")),
    }
}

struct Kubectl<'a> {
    kubeconfig: &'a str,
    decoder: Decoder,
    kinds: Kinds,
}

impl Kubectl<'_> {
    /// The kinds that are served in the versions of the manifests; `notes` say which versions are none.
    async fn served(&self, manifests: &[Value], notes: &mut Vec<String>) -> Result<BTreeSet<(String, String)>> {
        let versions: BTreeSet<&str> = manifests.iter().filter_map(|manifest| manifest["apiVersion"].as_str()).collect();
        let mut served = BTreeSet::new();
        for version in versions {
            let Some(path) = discovery(version) else {
                notes.push(format!(
                    "not compared: objects of apiVersion {version:?}: this is not a valid group and version, so kubectl is not called"
                ));
                continue;
            };
            let Some(text) = self.get(&[&format!("--raw={path}")]).await? else { continue };
            let list: Value = serde_json::from_slice(&text).map_err(|_| self.unreadable(&path, "it is no JSON"))?;
            let resources = list["resources"].as_array().into_iter().flatten();
            served.extend(resources.filter_map(|resource| Some((version.to_owned(), resource["kind"].as_str()?.to_owned()))));
        }
        Ok(served)
    }

    /// A resource as kubectl takes it, in a version: `deployments.v1.apps`.
    fn resource(&self, group: &str, kind: &str, api_version: Option<&str>) -> Option<String> {
        let any = if group.is_empty() { "v1".to_owned() } else { format!("{group}/") };
        let kind = self.kinds.of_object(&any, kind)?;
        Some(match api_version.and_then(|version| version.split_once('/')) {
            Some((group, version)) => format!("{}.{version}.{group}", kind.plural),
            None => kind.resource(),
        })
    }

    /// The objects of a list; none where the resource is not served.
    async fn list(&self, ResourceList { namespace, resource }: &ResourceList) -> Result<Vec<Object>> {
        let place = namespace.as_ref().map_or("--all-namespaces".to_owned(), |namespace| format!("--namespace={namespace}"));
        let arguments = [&place, "--output=json", "--chunk-size=500", "--", resource];
        let Some(text) = self.get(&arguments).await? else { return Ok(Vec::new()) };
        let list: Value = serde_json::from_slice(&text).map_err(|_| self.unreadable(resource, "it is no JSON"))?;
        let items = list["items"].as_array().into_iter().flatten();
        Ok(items.filter_map(|item| self.object(item)).collect())
    }

    /// An object as if it were stored so: values of Secrets are masked where they are elsewhere.
    fn object(&self, item: &Value) -> Option<Object> {
        let id = ObjectId::of(item);
        let revision = item["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
        let key = format!("/registry/{}s/{}/{}", id.kind.to_lowercase(), id.namespace.as_deref().unwrap_or_default(), id.name);
        match self.decoder.decode(key.as_bytes(), item.to_string().as_bytes(), revision).body {
            Body::Object(object) => Some(object),
            Body::Opaque(_) => None,
        }
    }

    /// What `kubectl get` prints; `None` where the server has no such resource.
    async fn get(&self, arguments: &[&str]) -> Result<Option<Vec<u8>>> {
        let mut command = Command::new("kubectl");
        command.arg(format!("--kubeconfig={}", self.kubeconfig)).arg("get").args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let output = command.output().await.map_err(|error| {
            Error::new(format!("--against {}: kubectl cannot be run: {error}", self.kubeconfig))
                .hint("install kubectl, which reads the cluster that a kubeconfig names, or give a snapshot of that cluster")
        })?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return Ok(Some(output.stdout));
        }
        let is_unknown =
            ["doesn't have a resource type", "(NotFound)", "could not find the requested resource"].iter().any(|text| said.contains(text));
        if is_unknown {
            return Ok(None);
        }
        let line = said.lines().last().unwrap_or("it printed nothing").to_owned();
        let get = CommandLine::of("kubectl --kubeconfig").word(self.kubeconfig).and("get");
        let get = arguments.iter().fold(get, |get, argument| get.word(argument));
        Err(Error::new(line).hint(format!("what was run: {get}")))
    }

    fn unreadable(&self, what: &str, problem: &str) -> Error {
        Error::new(format!("kubectl get {what} with {} printed no JSON: {problem}", self.kubeconfig)).hint("try the command yourself")
    }
}
