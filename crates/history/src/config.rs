//! Which ConfigMaps and Secrets a pod takes its configuration from, and how: as files that follow changes, or as variables that do not.

use std::collections::BTreeMap;

use serde_json::Value;

/// The kind of a source of configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum ConfigKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

impl ConfigKind {
    /// The kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

/// How a pod uses a source of configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Containers that take variables from it when they start; later changes do not reach them until they restart.
    pub variables: Vec<String>,
    /// Volumes that hold it as files; the kubelet brings them up to date, but for subPath mounts.
    pub volumes: Vec<String>,
}

/// Returns the ConfigMaps and Secrets that a pod names, with how it uses each. Service account tokens of old releases are Secrets too.
pub fn sources(pod: &Value) -> BTreeMap<(ConfigKind, String), Use> {
    let mut found: BTreeMap<(ConfigKind, String), Use> = BTreeMap::new();
    let mut volume = |kind, name: &Value, volume: &str| {
        if let Some(name) = name.as_str() {
            found.entry((kind, name.to_owned())).or_default().volumes.push(volume.to_owned());
        }
    };
    for item in list(&pod["spec"]["volumes"]) {
        let name = item["name"].as_str().unwrap_or_default();
        volume(ConfigKind::ConfigMap, &item["configMap"]["name"], name);
        volume(ConfigKind::Secret, &item["secret"]["secretName"], name);
        for source in list(&item["projected"]["sources"]) {
            volume(ConfigKind::ConfigMap, &source["configMap"]["name"], name);
            volume(ConfigKind::Secret, &source["secret"]["name"], name);
        }
    }
    let containers = ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|field| list(&pod["spec"][field]));
    for container in containers {
        let by = container["name"].as_str().unwrap_or_default();
        let mut variable = |kind, name: &Value| {
            let Some(name) = name.as_str() else { return };
            let used = found.entry((kind, name.to_owned())).or_default();
            if !used.variables.iter().any(|known| known == by) {
                used.variables.push(by.to_owned());
            }
        };
        for source in list(&container["envFrom"]) {
            variable(ConfigKind::ConfigMap, &source["configMapRef"]["name"]);
            variable(ConfigKind::Secret, &source["secretRef"]["name"]);
        }
        for item in list(&container["env"]) {
            variable(ConfigKind::ConfigMap, &item["valueFrom"]["configMapKeyRef"]["name"]);
            variable(ConfigKind::Secret, &item["valueFrom"]["secretKeyRef"]["name"]);
        }
    }
    found
}

/// Whether a version of a pod shows a container running, or having run, that the version before did not: it started in between.
pub fn started(before: Option<&Value>, after: &Value) -> bool {
    let ids = |pod: &Value| -> Vec<String> {
        let lists = ["containerStatuses", "initContainerStatuses"].into_iter().flat_map(|field| list(&pod["status"][field]));
        lists.filter_map(|status| status["containerID"].as_str()).map(str::to_owned).collect()
    };
    let known = before.map(ids).unwrap_or_default();
    ids(after).iter().any(|id| !id.is_empty() && !known.contains(id))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_way_to_take_configuration_is_found() {
        let pod = json!({"spec": {
            "volumes": [{"name": "v", "configMap": {"name": "files"}}, {"name": "s", "secret": {"secretName": "keys"}},
                        {"name": "p", "projected": {"sources": [{"configMap": {"name": "root"}}, {"serviceAccountToken": {}}]}}],
            "containers": [{"name": "main", "envFrom": [{"configMapRef": {"name": "env"}}],
                            "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a"}}}, {"name": "B", "value": "b"}]}]}});
        let found = sources(&pod);
        let names: Vec<_> = found.keys().map(|(kind, name)| format!("{}/{name}", kind.as_str())).collect();
        assert_eq!(names, ["ConfigMap/env", "ConfigMap/files", "ConfigMap/root", "Secret/keys"]);
        let keys = &found[&(ConfigKind::Secret, "keys".to_owned())];
        assert_eq!((&keys.variables[..], &keys.volumes[..]), (&["main".to_owned()][..], &["s".to_owned()][..]));
    }

    #[test]
    fn a_new_container_id_is_a_start() {
        let pod = |id: &str| json!({"status": {"containerStatuses": [{"name": "c", "containerID": id}]}});
        assert!(started(None, &pod("a")) && started(Some(&pod("a")), &pod("b")));
        assert!(!started(Some(&pod("a")), &pod("a")) && !started(None, &pod("")));
    }
}
