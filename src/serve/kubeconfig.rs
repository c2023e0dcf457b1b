//! The kubeconfig by which clients find the server: one context for the moment asked for, which is the current one, and one for the newest.

use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::address::Address;

/// A kubeconfig on disk, readable by its owner alone.
pub(super) enum Kubeconfig {
    /// Where the user wanted it: it stays.
    Kept(PathBuf),
    /// A private file, removed at the end.
    Private(NamedTempFile),
}

impl Kubeconfig {
    /// Writes it for a server at this address; it is there as a whole or not at all.
    ///
    /// # Errors
    /// The file system's; another file is there, such as the user's own kubeconfig.
    pub(super) fn write(path: Option<&Path>, address: &Address, token: &str, certificate: &str) -> std::io::Result<Self> {
        if path.is_some_and(|path| !is_free(path)) {
            let problem = "another file is there already, and no kubeconfig of ketcd";
            return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, problem));
        }
        let mut text = Vec::new();
        crate::render::yaml::write(&document(address, token, certificate), &mut text)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("ketcd-").suffix(".kubeconfig");
        let folder = path.map(|path| path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")));
        // A new file of these is for its owner only.
        let mut file = match folder {
            Some(folder) => builder.tempfile_in(folder)?,
            None => builder.tempfile()?,
        };
        file.write_all(&text)?;
        match path {
            Some(path) => {
                file.persist(path)?;
                Ok(Self::Kept(path.to_owned()))
            }
            None => Ok(Self::Private(file)),
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Private(file) => file.path(),
        }
    }
}

/// Whether nothing is lost when a path is written to: it does not exist, or is what an earlier run left.
fn is_free(path: &Path) -> bool {
    match std::fs::read_to_string(path) {
        Ok(text) => text.lines().any(|line| line == "current-context: ketcd"),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

fn document(address: &Address, token: &str, certificate: &str) -> Value {
    let server = format!("https://{}", address.told);
    let authority = STANDARD.encode(certificate);
    let named = |name: &str, server: String| {
        let mut cluster = json!({"server": server, "certificate-authority-data": authority});
        if let Some(certified) = address.certified_name() {
            cluster["tls-server-name"] = certified.into();
        }
        json!({"name": name, "cluster": cluster})
    };
    let context = |name: &str| json!({"name": name, "context": {"cluster": name, "user": "ketcd"}});
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "ketcd", "preferences": {},
        "clusters": [named("ketcd", server.clone()), named("newest", format!("{server}/newest"))],
        "contexts": [context("ketcd"), context("newest")],
        "users": [{"name": "ketcd", "user": {"token": token}}],
    })
}
