//! What the nodes carry.

use super::answer::{Loads, NodeLoad};
use super::world::World;

/// The load of every node.
pub(super) fn loads(world: &World<'_>) -> Loads {
    let of = |name: &String| {
        let node = world.model.state.node(name)?;
        let load = NodeLoad {
            cpu: node.requests_of("cpu"),
            cpu_of: node.offers_of("cpu"),
            memory: node.requests_of("memory"),
            memory_of: node.offers_of("memory"),
            pods: i64::try_from(node.pods.len()).unwrap_or(i64::MAX),
            pods_of: node.allowed_pods,
        };
        Some((name.clone(), load))
    };
    world.nodes().iter().filter_map(of).collect()
}
