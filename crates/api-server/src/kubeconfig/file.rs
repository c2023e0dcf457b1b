//! Kubeconfig files as kubectl finds, merges and reads them (client-go v0.36 `tools/clientcmd/loader.go`, `tools/clientcmd/api/v1/types.go`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ketcd_store::Result;
use ketcd_store::tls::read_credentials;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::settings;

/// One or several kubeconfig files, merged: of entries with the same name the first counts.
#[derive(Default)]
pub struct Kubeconfig {
    pub(super) current_context: Option<String>,
    pub(super) clusters: Vec<(String, Cluster)>,
    pub(super) users: Vec<(String, User)>,
    pub(super) contexts: Vec<(String, Context)>,
    names: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
struct Document {
    current_context: Option<String>,
    clusters: Option<Vec<NamedCluster>>,
    users: Option<Vec<NamedUser>>,
    contexts: Option<Vec<NamedContext>>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Option<Cluster>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: Option<User>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Option<Context>,
}

/// A cluster; its paths do not depend on the folder of its file any more, as those of a [`User`].
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Cluster {
    pub server: String,
    pub tls_server_name: Option<String>,
    pub insecure_skip_tls_verify: bool,
    pub certificate_authority: Option<PathBuf>,
    pub certificate_authority_data: Option<String>,
    pub proxy_url: Option<String>,
    pub extensions: Option<Vec<Extension>>,
}

/// What others than kubectl say of a cluster.
#[derive(Deserialize)]
pub(super) struct Extension {
    pub name: String,
    pub extension: Value,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct User {
    pub client_certificate: Option<PathBuf>,
    pub client_certificate_data: Option<String>,
    pub client_key: Option<PathBuf>,
    pub client_key_data: Option<String>,
    pub token: Option<String>,
    #[serde(rename = "tokenFile")]
    pub token_file: Option<PathBuf>,
    pub username: Option<String>,
    pub password: Option<String>,
    #[serde(rename = "as")]
    pub impersonate: Option<String>,
    pub as_uid: Option<String>,
    pub as_groups: Option<Vec<String>>,
    pub as_user_extra: Option<BTreeMap<String, Vec<String>>>,
    pub exec: Option<Exec>,
    pub auth_provider: Option<Value>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Exec {
    pub api_version: String,
    pub command: PathBuf,
    pub args: Option<Vec<String>>,
    pub env: Option<Vec<Variable>>,
    pub provide_cluster_info: bool,
    pub interactive_mode: Option<String>,
    pub install_hint: Option<String>,
}

#[derive(Deserialize, Clone)]
pub(super) struct Variable {
    pub name: String,
    pub value: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Context {
    pub cluster: String,
    pub user: String,
}

impl Kubeconfig {
    /// Reads what kubectl reads: the file given, else those that `KUBECONFIG` names, else `~/.kube/config`. `None` if none of them exists.
    ///
    /// # Errors
    ///
    /// A given file does not exist, or a file cannot be read.
    pub fn load(given: Option<&Path>, environment: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        if let Some(path) = given {
            return Self::read(&[path.to_owned()], true).map(Some);
        }
        let paths: Vec<PathBuf> = match environment("KUBECONFIG").filter(|value| !value.is_empty()) {
            Some(value) => std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect(),
            None => environment("HOME").map(|home| Path::new(&home).join(".kube/config")).into_iter().collect(),
        };
        let merged = Self::read(&paths, false)?;
        Ok((!merged.names.is_empty()).then_some(merged))
    }

    /// Reads and merges files; of those that need not be there the missing ones are passed over, as kubectl does.
    fn read(paths: &[PathBuf], must_exist: bool) -> Result<Self> {
        let mut merged = Self::default();
        for path in paths {
            let failed = |error: &dyn std::fmt::Display| {
                settings(format!("cannot read the kubeconfig {}: {error}", path.display()), "check the path and its permissions")
            };
            let text = match read_credentials(path) {
                Err(error) if !must_exist && error.kind() == std::io::ErrorKind::NotFound => continue,
                read => read.map_err(|error| failed(&error))?,
            };
            let text = std::str::from_utf8(&text).map_err(|_| failed(&"it is not text"))?;
            let directory = path.parent().unwrap_or(Path::new("."));
            let file = Self::parse(text, directory)
                .map_err(|error| settings(format!("{}: {error}", path.display()), "kubectl config view shows what kubectl makes of it"))?;
            merged.add(file);
            merged.names.push(path.display().to_string());
        }
        Ok(merged)
    }

    /// Reads the text of a kubeconfig that lies in `directory`, from which its relative paths count.
    ///
    /// # Errors
    ///
    /// It is not a kubeconfig.
    pub fn parse(text: &str, directory: &Path) -> Result<Self> {
        // What cannot be read is not quoted: it may hold credentials.
        let document: Document = serde_saphyr::from_str(text)
            .map_err(|_| settings("is not a kubeconfig", "a kubeconfig is YAML with clusters, users and contexts"))?;
        let clusters = document.clusters.into_iter().flatten().map(|named| (named.name, named.cluster.unwrap_or_default()));
        let users = document.users.into_iter().flatten().map(|named| (named.name, named.user.unwrap_or_default()));
        let contexts = document.contexts.into_iter().flatten().map(|named| (named.name, named.context.unwrap_or_default()));
        let mut read = Self {
            current_context: document.current_context.filter(|name| !name.is_empty()),
            clusters: clusters.collect(),
            users: users.collect(),
            contexts: contexts.collect(),
            names: Vec::new(),
        };
        read.resolve_paths(directory);
        Ok(read)
    }

    /// Makes relative paths count from the folder of the file; one that is empty is none.
    fn resolve_paths(&mut self, directory: &Path) {
        let resolve = |path: &mut Option<PathBuf>| {
            *path = path.take().filter(|path| !path.as_os_str().is_empty()).map(|path| directory.join(path));
        };
        self.clusters.iter_mut().for_each(|(_, cluster)| resolve(&mut cluster.certificate_authority));
        for (_, user) in &mut self.users {
            [&mut user.client_certificate, &mut user.client_key, &mut user.token_file].into_iter().for_each(resolve);
            // A command without a separator is looked for in PATH.
            if let Some(exec) = user.exec.as_mut().filter(|exec| exec.command.to_string_lossy().contains(std::path::is_separator)) {
                exec.command = directory.join(&exec.command);
            }
        }
    }

    fn add(&mut self, other: Self) {
        fn add_new<T>(all: &mut Vec<(String, T)>, more: Vec<(String, T)>) {
            for one in more {
                if all.iter().all(|known| known.0 != one.0) {
                    all.push(one);
                }
            }
        }
        self.current_context = self.current_context.take().or(other.current_context);
        add_new(&mut self.clusters, other.clusters);
        add_new(&mut self.users, other.users);
        add_new(&mut self.contexts, other.contexts);
    }

    /// The files that were read, for messages.
    pub(super) fn name(&self) -> String {
        if self.names.is_empty() { "the kubeconfig".to_owned() } else { self.names.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_merged_as_kubectl_merges_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let first = write("first", "clusters:\n- {name: a, cluster: {server: https://first}}\nusers: null\n");
        let second = write(
            "second",
            "current-context: c\nclusters:\n- {name: a, cluster: {server: https://second}}\n- {name: b, cluster: {server: https://b}}\n",
        );
        let list = std::env::join_paths([first, folder.path().join("missing"), second]).unwrap().into_string().unwrap();
        let merged = Kubeconfig::load(None, &|name| (name == "KUBECONFIG").then(|| list.clone())).unwrap().unwrap();
        let servers: Vec<&str> = merged.clusters.iter().map(|cluster| &*cluster.1.server).collect();
        assert_eq!((servers, merged.current_context.as_deref()), (vec!["https://first", "https://b"], Some("c")));
        assert!(Kubeconfig::load(None, &|_| None).unwrap().is_none());
        assert!(Kubeconfig::load(Some(&folder.path().join("missing")), &|_| None).is_err());
    }

    #[test]
    fn what_cannot_be_read_is_not_quoted() {
        let error = Kubeconfig::parse("users: secret-token", Path::new(".")).err().unwrap().to_string();
        assert!(error.contains("is not a kubeconfig") && !error.contains("secret-token"), "{error}");
    }
}
