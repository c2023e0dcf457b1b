//! What a user should know of the way secrets are handled, one line each and once for a command: keys that everybody can read,
//! servers that nobody vouches for.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::cli::output;
use crate::cli::system::files;
use ketcd_store::etcd::EtcdConfig;

/// Prints the cautions about a live connection.
pub(in crate::cli) fn of_connection(config: &EtcdConfig) {
    if let Some(key) = &config.key {
        of_key("--key", key);
    }
    if config.insecure_skip_tls_verify && config.endpoints.iter().any(|endpoint| !endpoint.starts_with("http://")) {
        let sent = if config.user.is_some() { " and receive the password" } else { "" };
        once(format!(
            "the server's certificate is not verified (--insecure-skip-tls-verify): another server may answer in etcd's place{sent}"
        ));
    }
}

/// Says that everybody can read a file of keys, where it is so.
pub(in crate::cli) fn of_key(flag: &str, path: &Path) {
    if let Some(mode) = files::mode_if_public(path) {
        let path = path.display();
        once(format!("{flag} {path}: every user can read the keys in it (mode {mode:04o}); chmod 600 {path}"));
    }
}

/// A command may open several sources with the same flags.
fn once(line: String) {
    static PRINTED_CAUTIONS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if !PRINTED_CAUTIONS.lock().unwrap_or_else(PoisonError::into_inner).contains(&line) {
        output::note(&line);
        PRINTED_CAUTIONS.lock().unwrap_or_else(PoisonError::into_inner).insert(line);
    }
}
