//! `reflectors KUBECONFIG OUT list|stream`: fills a reflector of kube-rs for every version of every resource that discovery names with list and
//! watch, and writes what each store holds. It ends with an error where a store is not filled, or a list or watch failed.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::{join_all, try_join_all};
use kube::api::{Api, ApiResource, DynamicObject, TypeMeta};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::discovery::verbs::{LIST, WATCH};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Client, Config, Discovery};

/// How long the reflectors may take, and how long they go on watching.
const REFLECTOR_TIMEOUT: Duration = Duration::from_secs(120);
const HOLD_TIME: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kubeconfig, out, how] = &arguments[..] else { return Err("usage: reflectors KUBECONFIG OUT list|stream".into()) };
    let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(kubeconfig)?, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let resources = watchable(&client).await?;
    let begun = Instant::now();
    let mut stores = Vec::new();
    let mut failures = Vec::new();
    for resource in &resources {
        let config = if how == "stream" { watcher::Config::default().streaming_lists() } else { watcher::Config::default() };
        let writer = reflector::store::Writer::new(resource.clone());
        stores.push(writer.as_reader());
        let api = Api::<DynamicObject>::all_with(client.clone(), resource);
        let changes = watcher(api, config).reflect(writer);
        failures.push(async move {
            let mut changes = pin!(changes);
            while let Some(change) = changes.next().await {
                change.map_err(|error| format!("{}: {error:?}", name(resource)))?;
            }
            Err::<(), String>(format!("{}: the watch ended", name(resource)))
        });
    }
    let filled = async {
        join_all(stores.iter().map(|store| store.wait_until_ready())).await;
        let seconds = begun.elapsed().as_secs_f64();
        tokio::time::sleep(HOLD_TIME).await;
        seconds
    };
    let seconds = tokio::select! {
        failed = try_join_all(failures) => return Err(failed.err().unwrap_or_default().into()),
        seconds = filled => seconds,
        () = tokio::time::sleep(REFLECTOR_TIMEOUT) => return Err("stores are not filled in time".into()),
    };
    let mut objects = 0;
    for (resource, store) in resources.iter().zip(&stores) {
        let mut file = std::io::BufWriter::new(std::fs::File::create(Path::new(out).join(name(resource) + ".jsonl"))?);
        for object in store.state() {
            let mut object = DynamicObject::clone(&object);
            // Items of a list of Kubernetes' own kinds do not say what they are.
            object.types.get_or_insert_with(|| TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() });
            writeln!(file, "{}", serde_json::to_string(&object)?)?;
            objects += 1;
        }
        file.flush()?;
    }
    println!("{}", serde_json::json!({"resources": resources.len(), "objects": objects, "seconds": seconds}));
    Ok(())
}

/// `group_version_resource`, the core group's empty.
fn name(resource: &ApiResource) -> String {
    format!("{}_{}_{}", resource.group, resource.version, resource.plural)
}

/// Returns what can be listed and watched, in every version.
async fn watchable(client: &Client) -> kube::Result<Vec<ApiResource>> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let versions = discovery.groups().flat_map(|group| group.versions().map(move |version| group.versioned_resources(version)));
    let can_be_watched =
        |capabilities: &kube::discovery::ApiCapabilities| capabilities.supports_operation(LIST) && capabilities.supports_operation(WATCH);
    Ok(versions.flatten().filter(|(_, capabilities)| can_be_watched(capabilities)).map(|(resource, _)| resource).collect())
}
