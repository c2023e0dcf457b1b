//! What a simulation does not know, found once it is over: where it matters.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_scheduler::Unverifiable;
use serde_json::Value;

use super::answer::{Happening, Unmodelled};
use super::json::{list, text};
use super::model::Id;
use super::simulated_cluster::SimulatedCluster;

/// Adds what matters of all that is not simulated.
pub(super) fn add(world: &mut SimulatedCluster<'_>) {
    let unreadable = std::mem::take(&mut world.model.unreadable);
    world.caveats.extend(unreadable.into_iter().map(|object| Unmodelled::Unreadable { object }));
    if world.waiting().iter().any(|(pod, _)| pod.is_new) {
        let by = world.node_autoscalers.clone();
        world.caveats.extend(by.into_iter().map(|by| Unmodelled::NodesAutoscaled { by }));
    }
    if let Some(owners) = made_at_once(world) {
        world.caveats.insert(Unmodelled::Order { owners });
    }
    let pods = without_images(world);
    if pods > 0 {
        world.caveats.insert(Unmodelled::ImagePulls { pods });
    }
    autoscaled(world);
    extensions(world);
}

/// The extenders and plugins that take part in choices and are not known here, where a pod was tried.
fn extensions(world: &mut SimulatedCluster<'_>) {
    if !world.events.iter().any(|event| matches!(event.what, Happening::Scheduled | Happening::Unschedulable)) {
        return;
    }
    let name = |part: &Unverifiable| match part {
        Unverifiable::Extender { url, filters, prioritizes } if *filters || *prioritizes => Some(format!("the extender {url}")),
        Unverifiable::OutOfTreePlugin(name) | Unverifiable::UnknownPlugin(name) => Some(format!("the plugin {name}")),
        _ => None,
    };
    let names: BTreeSet<String> = world.scheduler.profiles.iter().flat_map(|profile| &profile.unverifiable).filter_map(name).collect();
    world.caveats.extend(names.into_iter().map(|name| Unmodelled::Extension { name }));
}

/// The controllers whose pods were made at the same time as those of another one.
fn made_at_once(world: &SimulatedCluster<'_>) -> Option<Vec<String>> {
    let mut at: BTreeMap<i64, BTreeSet<String>> = BTreeMap::new();
    for event in world.events.iter().filter(|event| event.what == Happening::Created) {
        let owner = event.pod.owner.as_ref().unwrap_or(&event.pod.name);
        at.entry(event.after).or_default().insert(format!("{}/{owner}", event.pod.namespace));
    }
    let owners: BTreeSet<String> = at.into_values().filter(|owners| owners.len() > 1).flatten().collect();
    (!owners.is_empty()).then(|| owners.into_iter().collect())
}

/// How many new pods got nodes that lack one of their images. Nodes report at most 50 images by default, so those with fewer are looked at.
fn without_images(world: &mut SimulatedCluster<'_>) -> usize {
    const MOST_REPORTED: usize = 50;
    let scheduled = world.events.iter().filter(|event| event.what == Happening::Scheduled && event.pod.is_new);
    let placed: BTreeMap<Id, String> =
        scheduled.filter_map(|event| Some((Id::pod(&event.pod.namespace, &event.pod.name), event.node.clone()?))).collect();
    let lacks = |(id, node): &(Id, String)| {
        let (Some(pod), Some(node)) = (world.model.get(id), world.model.get(&Id::new("Node", "", node))) else { return false };
        let images = list(&node, "/status/images");
        let has =
            |image: &str| images.iter().flat_map(|image| list(image, "/names")).filter_map(Value::as_str).any(|name| is_same(name, image));
        let all = list(&pod, "/spec/containers").iter().chain(list(&pod, "/spec/initContainers"));
        (1..MOST_REPORTED).contains(&images.len()) && all.map(|container| text(container, "/image")).any(|image| !has(image))
    };
    placed.into_iter().filter(lacks).count()
}

/// Whether a node's name of an image is the one that a container gives; registries and tags may be left out.
fn is_same(known: &str, wanted: &str) -> bool {
    let wanted =
        if wanted.rsplit('/').next().unwrap_or_default().contains([':', '@']) { wanted.to_owned() } else { format!("{wanted}:latest") };
    known == wanted || known.ends_with(&format!("/{wanted}"))
}

/// The workloads whose pods came or went and whose number an autoscaler changes.
fn autoscaled(world: &mut SimulatedCluster<'_>) {
    let owners: BTreeSet<(String, String)> =
        world.events.iter().filter_map(|event| Some((event.pod.namespace.clone(), event.pod.owner.clone()?))).collect();
    for id in world.model.ids("HorizontalPodAutoscaler") {
        let Some(scaler) = world.model.get(&id) else { continue };
        let (kind, name) = (text(&scaler, "/spec/scaleTargetRef/kind"), text(&scaler, "/spec/scaleTargetRef/name"));
        if owners.contains(&(id.namespace.clone(), name.to_owned())) {
            world.caveats.insert(Unmodelled::Autoscaled { workload: format!("{kind}/{}/{name}", id.namespace) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_the_same_with_or_without_registry_and_tag() {
        assert!(is_same("docker.io/library/nginx:latest", "nginx"));
        assert!(is_same("registry:5000/a/b:1", "registry:5000/a/b:1"));
        assert!(!is_same("docker.io/library/nginx:1.2", "nginx:1.3"));
        assert!(!is_same("docker.io/library/my-nginx:latest", "nginx"));
    }
}
