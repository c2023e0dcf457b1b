//! What differs in validation (`apis/config/validation/validation.go`).

use super::ConfigRules;

impl ConfigRules {
    /// Whether parallelism is checked (since 1.20).
    pub(crate) fn validates_parallelism(self) -> bool {
        self.minor >= 20
    }

    /// Whether plugins and their arguments are validated with the file (validatePluginConfig, since 1.22); before, each plugin checks its arguments
    /// when it is created.
    pub(crate) fn validates_plugins(self) -> bool {
        self.minor >= 22
    }

    /// How the error calls a plugin that a version of the API removed.
    pub(crate) fn removed_plugin(self) -> &'static str {
        if self.minor >= 25 { "invalid" } else { "removed" }
    }

    /// Whether queueSort is compared after defaults are merged into it, must enable one plugin, and its arguments are compared as well
    /// (validateCommonQueueSort, since 1.22).
    pub(crate) fn compares_merged_queue_sort(self) -> bool {
        self.minor >= 22
    }

    /// Whether queueSort is a pointer, so that none is not an empty one (`apis/config/types.go` Plugins, up to 1.20).
    pub(crate) fn queue_sort_may_be_nil(self) -> bool {
        self.minor <= 20
    }

    /// The error for a queueSort that differs from the first profile's (validateCommonQueueSort).
    pub(crate) fn other_queue_sort(self) -> &'static str {
        match self.minor {
            ..=29 => "has to match for all profiles",
            30..=33 => "queueSort must be the same for all profiles",
            _ => "must be the same for all profiles",
        }
    }

    /// The same for the arguments of the QueueSort plugin.
    pub(crate) fn other_queue_sort_arguments(self) -> &'static str {
        if self.minor <= 29 { "has to match for all profiles" } else { "queueSort must be the same for all profiles" }
    }

    /// Whether the invalid name of an extender's resource is quoted (validateExtenders, not from 1.22 to 1.33).
    pub(crate) fn quotes_extender_resource(self) -> bool {
        !(22..=33).contains(&self.minor)
    }

    /// Whether the error for a resource that is not extended repeats its name (validateExtenders, up to 1.21).
    pub(crate) fn repeats_extender_resource(self) -> bool {
        self.minor <= 21
    }
}
