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

    /// Whether queueSort is compared after defaults are merged into it, must enable one plugin, and its arguments are compared as well
    /// (validateCommonQueueSort, since 1.22).
    pub(crate) fn compares_merged_queue_sort(self) -> bool {
        self.minor >= 22
    }

    /// Whether queueSort is a pointer, so that none is not an empty one (`apis/config/types.go` Plugins, up to 1.20).
    pub(crate) fn queue_sort_may_be_nil(self) -> bool {
        self.minor <= 20
    }
}
