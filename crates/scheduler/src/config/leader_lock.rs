//! The lock by which one of several scheduler processes is elected, as a configuration names it.

use serde_json::Value;

/// The namespace and the name of the lock where a configuration has none (`pkg/scheduler/apis/config/v1/defaults.go` and its predecessors).
const DEFAULT_LOCK: (&str, &str) = ("kube-system", "kube-scheduler");

/// The object by which a leader is elected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderLock {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Default for LeaderLock {
    fn default() -> Self {
        Self { namespace: DEFAULT_LOCK.0.to_owned(), name: DEFAULT_LOCK.1.to_owned() }
    }
}

impl LeaderLock {
    /// Returns the lock that a configuration names; `None` where no leader is elected.
    pub(super) fn of(configuration: &Value) -> Option<Self> {
        let election = &configuration["leaderElection"];
        // Up to v1alpha1 the fields were called after the lock's object.
        let text = |names: [&str; 2]| names.iter().find_map(|name| election[name].as_str().filter(|text| !text.is_empty()));
        let or_default = |names: [&str; 2], default: &str| text(names).unwrap_or(default).to_owned();
        (election["leaderElect"].as_bool() != Some(false)).then(|| Self {
            namespace: or_default(["resourceNamespace", "lockObjectNamespace"], DEFAULT_LOCK.0),
            name: or_default(["resourceName", "lockObjectName"], DEFAULT_LOCK.1),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_configuration_names_the_lock_or_takes_the_default() {
        let lock =
            |election: Value| LeaderLock::of(&json!({"leaderElection": election})).map(|lock| format!("{}/{}", lock.namespace, lock.name));
        assert_eq!(lock(json!({})).as_deref(), Some("kube-system/kube-scheduler"));
        assert_eq!(lock(json!({"leaderElect": true, "resourceName": "mine"})).as_deref(), Some("kube-system/mine"));
        assert_eq!(lock(json!({"resourceNamespace": "ops", "resourceName": "mine"})).as_deref(), Some("ops/mine"));
        assert_eq!(lock(json!({"lockObjectNamespace": "ops", "lockObjectName": ""})).as_deref(), Some("ops/kube-scheduler"));
        assert_eq!(lock(json!({"leaderElect": false, "resourceName": "mine"})), None);
    }
}
