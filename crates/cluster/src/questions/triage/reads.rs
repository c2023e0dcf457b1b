//! Which keys of a ConfigMap or a Secret the containers of a pod take: as variables, as files that they mount, or to pull images.

use serde_json::Value;

/// What a pod, and of it these containers, takes from ConfigMaps and Secrets.
pub(super) struct ConfigReader<'p> {
    spec: &'p Value,
    /// The containers; all where none of the names is one.
    containers: Vec<&'p Value>,
}

impl<'p> ConfigReader<'p> {
    /// The containers of these names in the spec of a pod, or all of them where none has such a name.
    pub(super) fn of(spec: &'p Value, names: &[String]) -> Self {
        let all: Vec<&Value> =
            ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|list| items(&spec[list])).collect();
        let is_named = |container: &&Value| container["name"].as_str().is_some_and(|name| names.iter().any(|known| known == name));
        let named: Vec<&Value> = all.iter().copied().filter(is_named).collect();
        Self { spec, containers: if named.is_empty() { all } else { named } }
    }

    /// Whether they take a key of the ConfigMap or Secret of this name, or anything of it where no key is given.
    pub(super) fn takes(&self, kind: &str, name: &str, key: Option<&str>) -> bool {
        let (variables, one, volume, named) = match kind {
            "ConfigMap" => ("configMapRef", "configMapKeyRef", "configMap", "name"),
            "Secret" => ("secretRef", "secretKeyRef", "secret", "secretName"),
            _ => return true,
        };
        let has_key = |known: &Value| key.is_none_or(|key| known == key);
        let of_files =
            |source: &Value| items(&source["items"]).next().is_none() || items(&source["items"]).any(|item| has_key(&item["key"]));
        let in_variables = self.containers.iter().any(|container| {
            let of = |item: &Value| item["valueFrom"][one]["name"] == name && has_key(&item["valueFrom"][one]["key"]);
            items(&container["envFrom"]).any(|source| source[variables]["name"] == name) || items(&container["env"]).any(of)
        });
        let in_files = items(&self.spec["volumes"]).filter(|volume| self.mounts(&volume["name"])).any(|held| {
            let of_projected = |source: &Value| source[volume]["name"] == name && of_files(&source[volume]);
            held[volume][named] == name && of_files(&held[volume]) || items(&held["projected"]["sources"]).any(of_projected)
        });
        let for_images = kind == "Secret" && items(&self.spec["imagePullSecrets"]).any(|secret| secret["name"] == name);
        in_variables || in_files || for_images
    }

    fn mounts(&self, volume: &Value) -> bool {
        self.containers.iter().flat_map(|container| items(&container["volumeMounts"])).any(|mount| mount["name"] == *volume)
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn containers_take_what_they_name() {
        let spec = json!({"imagePullSecrets": [{"name": "pull"}], "volumes": [
                {"name": "v", "configMap": {"name": "files", "items": [{"key": "a", "path": "a"}]}},
                {"name": "p", "projected": {"sources": [{"secret": {"name": "tls"}}]}}, {"name": "unused", "configMap": {"name": "spare"}}],
            "containers": [
                {"name": "app", "envFrom": [{"configMapRef": {"name": "env"}}], "volumeMounts": [{"name": "v"}, {"name": "p"}]},
                {"name": "side", "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "x"}}}]}]});
        let takes = |containers: &[&str], kind, name, key| {
            let names: Vec<String> = containers.iter().map(|name| (*name).to_owned()).collect();
            ConfigReader::of(&spec, &names).takes(kind, name, key)
        };
        assert!(takes(&["app"], "ConfigMap", "env", Some("anything")) && takes(&["app"], "ConfigMap", "files", Some("a")));
        assert!(!takes(&["app"], "ConfigMap", "files", Some("b")) && !takes(&["app"], "ConfigMap", "spare", None));
        assert!(takes(&["app"], "Secret", "tls", Some("tls.crt")) && takes(&["side"], "Secret", "keys", Some("x")));
        assert!(!takes(&["side"], "Secret", "keys", Some("y")) && !takes(&["app"], "Secret", "keys", Some("x")));
        assert!(takes(&["node"], "Secret", "keys", None) && takes(&["side"], "Secret", "pull", None));
        assert!(!takes(&["side"], "ConfigMap", "env", None));
    }
}
