//! `--out DIR`: a file a manifest, with a kustomization.yaml that lists them in their order.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use ketcd_restore::ObjectId;
use serde_json::{Value, json};

use crate::cli::outcome::{Error, Result};
use crate::cli::system::files;
use ketcd_render::yaml;

/// A folder that is written whole or not at all.
pub(in crate::cli) struct Folder {
    place: PathBuf,
    parent: PathBuf,
}

impl Folder {
    /// Checks that the folder can be made: it must not be there, or be empty.
    ///
    /// # Errors
    /// There is something in it, or its parent is missing.
    pub(in crate::cli) fn open(place: &Path) -> Result<Self> {
        let parent = match place.parent() {
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_owned(),
            None => return Err(Error::new(format!("--out {} cannot be replaced", place.display())).hint("name a new folder")),
        };
        if !parent.is_dir() {
            return Err(
                Error::new(format!("cannot write {}: there is no directory {}", place.display(), parent.display())).hint("create it first")
            );
        }
        match fs::read_dir(place).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {}
            Ok(false) => return Err(Error::new(format!("{} is not empty", place.display())).hint("name a new folder")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot_write(place, &error)),
        }
        Ok(Self { place: place.to_owned(), parent })
    }

    /// Writes the manifests, and below them which is applied when. What has secrets in it is readable by its owner alone.
    ///
    /// # Errors
    /// The file system's; nothing is left then.
    pub(in crate::cli) fn write(&self, manifests: &[Value], has_secrets: bool) -> Result<()> {
        let failed = |error: io::Error| cannot_write(&self.place, &error);
        let folder = tempfile::Builder::new().prefix(".ketcd-").suffix(".tmp").tempdir_in(&self.parent).map_err(failed)?;
        let mut resources = BTreeSet::new();
        let mut listed = Vec::new();
        for manifest in manifests {
            let name = file_name(&ObjectId::of(manifest), &resources);
            write_file(&folder.path().join(&name), manifest, has_secrets).map_err(failed)?;
            listed.push(name.clone());
            resources.insert(name);
        }
        // Without an order of its own kustomize sorts by kind, LimitRanges and ResourceQuotas before pods.
        let kustomization = json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": listed,
            "sortOptions": {"order": "fifo"}});
        write_file(&folder.path().join("kustomization.yaml"), &kustomization, false).map_err(failed)?;
        let mode = if has_secrets { 0o700 } else { 0o755 };
        files::set_mode(folder.path(), mode).map_err(failed)?;
        fs::rename(folder.path(), &self.place).map_err(failed)?;
        // What was renamed is not there any more to be removed.
        let _ = folder.keep();
        Ok(())
    }
}

/// Where an object's manifest lies: `web/deployment.apps-tomcat.yaml`, `cluster/namespace-web.yaml`. Names of objects are data: what is no plain letter
/// of a file's name is written by its number.
fn file_name(id: &ObjectId, taken: &BTreeSet<String>) -> String {
    let folder = id.namespace.as_ref().map_or("cluster".to_owned(), |namespace| plain(namespace));
    let base = format!("{folder}/{}-{}", plain(&id.resource()), plain(&id.name));
    let numbered = (2..).map(|number| format!("{base}-{number}.yaml"));
    std::iter::once(format!("{base}.yaml")).chain(numbered).find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Text as a part of a file's name, never longer than what file systems take.
fn plain(text: &str) -> String {
    const MAX_NAME_BYTES: usize = 120;
    let mut name = String::new();
    for (place, c) in text.chars().enumerate() {
        let is_plain = c.is_ascii_alphanumeric() || "-_".contains(c) || (c == '.' && place > 0);
        if is_plain {
            name.push(c)
        } else {
            name.push_str(&format!("%{:02X}", u32::from(c)))
        }
        if name.len() > MAX_NAME_BYTES {
            break;
        }
    }
    name
}

fn write_file(path: &Path, document: &Value, has_secrets: bool) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mode = if has_secrets { 0o600 } else { 0o666 };
    let file = files::create_new(path, mode)?;
    let mut out = BufWriter::new(file);
    yaml::write(document, &mut out)?;
    out.flush()
}

fn cannot_write(place: &Path, error: &io::Error) -> Error {
    Error::new(format!("cannot write {}: {error}", place.display())).hint("check the path, or choose another folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: ObjectId, wanted: &str) {
        assert_eq!(file_name(&id, &BTreeSet::new()), wanted);
    }

    #[test]
    fn names_of_objects_lead_nowhere_else() {
        check(ObjectId::new("apps", "Deployment", Some("web"), "tomcat"), "web/deployment.apps-tomcat.yaml");
        check(
            ObjectId::new("rbac.authorization.k8s.io", "ClusterRole", None, "system:x"),
            "cluster/clusterrole.rbac.authorization.k8s.io-system%3Ax.yaml",
        );
        check(ObjectId::new("", "ConfigMap", Some(".."), "../../etc/passwd\n"), "%2E./configmap-%2E.%2F..%2Fetc%2Fpasswd%0A.yaml");
        let id = ObjectId::new("", "ConfigMap", Some("a"), "b");
        let taken = BTreeSet::from(["a/configmap-b.yaml".to_owned()]);
        assert_eq!(file_name(&id, &taken), "a/configmap-b-2.yaml");
    }
}
