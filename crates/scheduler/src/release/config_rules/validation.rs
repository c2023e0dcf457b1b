//! What differs in validation (`apis/config/validation/validation.go`).

use super::ConfigRules;

rules_of! {
    ConfigRules, self, minor = self.minor;

    /// Whether parallelism is checked (since 1.20).
    validates_parallelism: bool = minor >= 20;
    /// Whether plugins and their arguments are validated with the file (validatePluginConfig, since 1.22); before, each plugin checks its arguments
    /// when it is created.
    validates_plugins: bool = minor >= 22;
    /// Whether queueSort is compared after defaults are merged into it, must enable one plugin, and its arguments are compared as well
    /// (validateCommonQueueSort, since 1.22).
    compares_merged_queue_sort: bool = minor >= 22;
    /// Whether queueSort is a pointer, so that none is not an empty one (`apis/config/types.go` Plugins, up to 1.20).
    queue_sort_may_be_nil: bool = minor <= 20;
}
