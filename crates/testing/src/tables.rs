//! The tables that ketcd's own are made from, for tests that walk them in another way.

/// Each kind that Kubernetes stores or serves: its groups, its name and its plural.
pub const KINDS: &str = include_str!("../tables/kinds.tsv");

/// Each version of a resource, and the first and the last release that serve it.
pub const VERSIONS: &str = include_str!("../tables/versions.tsv");
