//! The kubeconfig by which clients find the server: one context for the moment asked for, which is the current one, and one for the newest.

use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::access::{Address, is_token};

/// A kubeconfig on disk, readable by its owner alone.
pub(crate) enum Kubeconfig {
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
    pub(crate) fn write(path: Option<&Path>, address: &Address, token: &str, certificate: &str) -> std::io::Result<Self> {
        let server = format!("https://{}", address.told);
        let mut text = Vec::new();
        let document = document(&server, &STANDARD.encode(certificate), address.certified_name(), token);
        ketcd_render::yaml::write(&document, &mut text)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("ketcd-").suffix(".kubeconfig");
        let folder = path.map(|path| path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")));
        // A new file of these is for its owner only.
        let mut file = match folder {
            Some(folder) => builder.tempfile_in(folder)?,
            None => builder.tempfile()?,
        };
        file.write_all(&text)?;
        let Some(path) = path else { return Ok(Self::Private(file)) };
        if is_left(path)? {
            file.persist(path)?;
        } else {
            file.persist_noclobber(path)?;
        }
        Ok(Self::Kept(path.to_owned()))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Private(file) => file.path(),
        }
    }
}

/// A file of this many bytes is none of these.
const MAX_KUBECONFIG_BYTES: u64 = 1 << 16;

/// Whether what is at a path was left there by an earlier run, or is an empty file.
fn is_left(path: &Path) -> std::io::Result<bool> {
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    // A pipe would be waited for.
    if !found.is_file() {
        return Ok(false);
    }
    let mut text = Vec::new();
    File::open(path)?.take(MAX_KUBECONFIG_BYTES).read_to_end(&mut text)?;
    Ok(text.is_empty() || is_own(&text))
}

/// Whether a text is a kubeconfig as it is written here, and nothing of anybody else's is in it. That another of its contexts was made the current one,
/// and that kubectl wrote it again, does not count.
pub fn is_own(text: &[u8]) -> bool {
    // What is as long may go on, and comments are the user's.
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() < MAX_KUBECONFIG_BYTES as usize && !text.contains('#'));
    let Some(text) = text else { return false };
    let Ok(mut found) = serde_saphyr::from_str::<Value>(text) else { return false };
    let (cluster, user) = (&found["clusters"][0]["cluster"], &found["users"][0]["user"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (server, authority, token) = (text(&cluster["server"]), text(&cluster["certificate-authority-data"]), text(&user["token"]));
    let is_server = server.strip_prefix("https://").is_some_and(|address| address.parse::<SocketAddr>().is_ok());
    if !is_server || !is_token(&token) {
        return false;
    }
    let wanted = document(&server, &authority, cluster["tls-server-name"].as_str(), &token);
    if let Value::Object(members) = &mut found {
        members.entry("preferences").or_insert_with(|| json!({}));
        if members.get("current-context").is_some_and(|current| current == "newest") {
            members.insert("current-context".to_owned(), "ketcd".into());
        }
    }
    found == wanted
}

fn document(server: &str, authority: &str, certified_name: Option<&str>, token: &str) -> Value {
    let named = |name: &str, server: String| {
        let mut cluster = json!({"server": server, "certificate-authority-data": authority});
        if let Some(certified) = certified_name {
            cluster["tls-server-name"] = certified.into();
        }
        json!({"name": name, "cluster": cluster})
    };
    let context = |name: &str| json!({"name": name, "context": {"cluster": name, "user": "ketcd"}});
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "ketcd", "preferences": {},
        "clusters": [named("ketcd", server.to_owned()), named("newest", format!("{server}/newest"))],
        "contexts": [context("ketcd"), context("newest")],
        "users": [{"name": "ketcd", "user": {"token": token}}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut document = document("https://127.0.0.1:4321", "Y2VydA==", None, &"0a".repeat(32));
        change(&mut document);
        let mut text = Vec::new();
        ketcd_render::yaml::write(&document, &mut text).unwrap();
        text
    }

    #[test]
    fn what_was_written_here_is_known_again() {
        assert!(is_own(&text(|_| ())));
        assert!(is_own(&text(|found| found["current-context"] = "newest".into())));
        assert!(is_own(&text(|found| drop(found.as_object_mut().unwrap().remove("preferences")))));
        let named = |found: &mut Value| (0..2).for_each(|index| found["clusters"][index]["cluster"]["tls-server-name"] = "etcd-1".into());
        assert!(is_own(&text(named)));
    }

    #[test]
    fn whatever_else_is_in_it_is_somebodys() {
        let own = || text(|_| ());
        let push = |list: &'static str, value: Value| text(move |found| found[list].as_array_mut().unwrap().push(value));
        for (what, text) in [
            ("nothing", Vec::new()),
            ("one line", b"current-context: ketcd\n".to_vec()),
            ("a comment", [b"# keep this\n".to_vec(), own()].concat()),
            ("a second document", [own(), b"---\na: 1\n".to_vec()].concat()),
            ("another user", push("users", json!({"name": "prod", "user": {"token": "secret"}}))),
            ("another cluster", push("clusters", json!({"name": "prod", "cluster": {"server": "https://10.0.0.1:6443"}}))),
            ("another context", push("contexts", json!({"name": "prod", "context": {"cluster": "ketcd", "user": "ketcd"}}))),
            ("another member", text(|found| found["extensions"] = json!([]))),
            ("another context that is current", text(|found| found["current-context"] = "prod".into())),
            ("a credential of the user", text(|found| found["users"][0]["user"]["client-key-data"] = "c2VjcmV0".into())),
            ("another token", text(|found| found["users"][0]["user"]["token"] = "eyJhbGciOi".into())),
            ("a server by name", text(|found| found["clusters"][0]["cluster"]["server"] = "https://prod.example:6443".into())),
            ("another server", text(|found| found["clusters"][1]["cluster"]["server"] = "https://10.0.0.1:6443/newest".into())),
            ("a namespace", text(|found| found["contexts"][0]["context"]["namespace"] = "prod".into())),
        ] {
            assert!(!is_own(&text), "{what}");
        }
    }
}
