//! Nodes: what is read of them, what they are compiled to with the pods on them, and the images they hold.

pub(super) mod fields;
pub(super) mod images;
pub(super) mod info;
