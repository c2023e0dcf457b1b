//! Who follows a simulation while it is played, which may take long.

use std::fmt;

/// Receives how far a simulation has come.
pub trait Follow: fmt::Debug + Sync {
    /// A part of a simulation begins: the node, zone, group of nodes, future or step of so many.
    fn begins(&self, part: &str, number: usize, all: usize);

    /// Whether a node could be drained is decided: `obstacle` says what stands in the way.
    fn decided(&self, node: &str, obstacle: Option<&str>);
}

#[derive(Debug)]
pub(super) struct Nobody;

impl Follow for Nobody {
    fn begins(&self, _part: &str, _number: usize, _all: usize) {}

    fn decided(&self, _node: &str, _obstacle: Option<&str>) {}
}
