//! Why a pod may, may not, or should run on a node.
