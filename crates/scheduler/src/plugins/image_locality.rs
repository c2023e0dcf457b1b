//! ImageLocality: nodes that have a pod's images already are preferred.

use crate::cluster::{ImageState, NodeInfo, PodSpec, VolumeSource};
use crate::release::{ImageFormula, Rules};
use crate::{Cycle, Feasible, Plugin, PreScore};

/// Upstream: `plugins/imagelocality/image_locality.go`; up to 1.16 ImageLocalityPriority.
pub(crate) struct ImageLocality;

const MIB_BYTES: i64 = 1024 * 1024;
const MIN_THRESHOLD_BYTES: i64 = 23 * MIB_BYTES;
const MAX_PER_CONTAINER: i64 = 1000 * MIB_BYTES;

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        "ImageLocality"
    }

    fn doc(&self) -> &'static str {
        "Nodes that already have a pod's images get points, the larger the images the more.

Checks
  Score: the sizes of the images present, each times the share of nodes that have it; up to 23 MiB nothing, from 1000 MiB
  (a container) on everything. The number of nodes is as it was when this node was last written.
Reads
  node status.images; pod images; the history of the nodes
History
  1.12–1.18 one maximum for the whole pod
  1.19–     the maximum grows with the number of containers
  1.30–     init containers count; 1.36– image volumes too, and since 1.37 each of them raises the maximum
Differs from upstream
  Where the history of the nodes is not readable, the number of nodes having an image is counted in the order of their last writes."
    }

    fn looks_at_pods(&self) -> bool {
        false
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a Feasible<'a>) -> PreScore<'a> {
        let rules = &cycle.profile.rules;
        let containers = containers(&cycle.pod.spec, rules);
        let max = rules.max_score;
        if rules.image_formula == ImageFormula::Buckets {
            let named = |image: &String| if rules.images_as_written() { image.clone() } else { normalized(image) };
            let images: Vec<String> = containers.iter().map(named).collect();
            return PreScore::plain(move |node| {
                bucket(images.iter().filter_map(|image| find(node, image)).map(|image| image.size).sum(), max)
            });
        }
        if cycle.scope.is_some_and(|scope| scope.on_copies) {
            return PreScore::plain(|_| 0);
        }
        let images = images(&cycle.pod.spec, rules);
        let count = if rules.image_volumes_raise_maximum { count(&cycle.pod.spec) } else { containers.len() };
        let count = i64::try_from(count).unwrap_or(1);
        let highest = if rules.image_formula == ImageFormula::Spread { MAX_PER_CONTAINER } else { MAX_PER_CONTAINER * count };
        let gone = if rules.images_count_absent_nodes() { cycle.state.absent_nodes().count() } else { 0 };
        let nodes = cycle.state.node_count() + gone;
        PreScore::plain(move |node| {
            let sum: i64 = images.iter().filter_map(|image| find(node, image)).map(|image| spread(image, nodes)).sum();
            let clamped = sum.clamp(MIN_THRESHOLD_BYTES, highest.max(MIN_THRESHOLD_BYTES));
            if highest <= MIN_THRESHOLD_BYTES { 0 } else { max * (clamped - MIN_THRESHOLD_BYTES) / (highest - MIN_THRESHOLD_BYTES) }
        })
    }
}

/// The images of a pod's containers, as the pod names them.
fn containers(spec: &PodSpec, rules: &Rules) -> Vec<String> {
    let inits = spec.init_images.iter().filter(|_| rules.image_init_containers);
    spec.images.iter().chain(inits).map(|image| image.to_string()).collect()
}

/// Containers and volumes with an image, named or not.
fn count(spec: &PodSpec) -> usize {
    let volumes = spec.volumes.iter().filter(|volume| matches!(volume.source, VolumeSource::Image(_)));
    spec.images.len() + spec.init_images.len() + volumes.count()
}

/// The images that count for a pod, by the names nodes list them under (1.11 and later).
pub(crate) fn images(spec: &PodSpec, rules: &Rules) -> Vec<String> {
    let volumes = spec.volumes.iter().filter_map(|volume| match &volume.source {
        VolumeSource::Image(reference) if rules.image_volumes && !reference.is_empty() => Some(reference.to_string()),
        _ => None,
    });
    containers(spec, rules).into_iter().chain(volumes).map(|image| normalized(&image)).collect()
}

fn find<'n>(node: &'n NodeInfo, image: &str) -> Option<&'n ImageState> {
    node.image_states.binary_search_by(|state| (*state.name).cmp(image)).ok().map(|at| &node.image_states[at])
}

fn spread(image: &ImageState, nodes: usize) -> i64 {
    let share = image.nodes as f64 / nodes as f64;
    (image.size as f64 * share) as i64
}

fn bucket(sum: i64, max: i64) -> i64 {
    match sum {
        ..MIN_THRESHOLD_BYTES => 0,
        MAX_PER_CONTAINER.. => max,
        _ => max * (sum - MIN_THRESHOLD_BYTES) / (MAX_PER_CONTAINER - MIN_THRESHOLD_BYTES) + 1,
    }
}

/// An image without a tag means `latest`.
fn normalized(image: &str) -> String {
    if image.rfind(':').is_none_or(|colon| image.rfind('/').is_some_and(|slash| colon < slash)) {
        format!("{image}:latest")
    } else {
        image.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::normalized;

    #[test]
    fn a_tag_is_latest_unless_given() {
        for (image, want) in [
            ("nginx", "nginx:latest"),
            ("host:5000/nginx", "host:5000/nginx:latest"),
            ("nginx:1", "nginx:1"),
            ("a/b@sha256:00", "a/b@sha256:00"),
        ] {
            assert_eq!(normalized(image), want);
        }
    }
}
