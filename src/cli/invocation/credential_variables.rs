//! The variables of the environment that hold credentials of ketcd's own sources, or lead to them: programs that it runs on what it serves get none of them.

use std::ffi::OsStr;

/// How their names begin: those of etcdctl, and those by which the clients of S3, GCS and Azure are set up.
const VARIABLE_PREFIXES: &[&str] = &["ETCDCTL_", "AWS_", "GOOGLE_", "AZURE_"];

/// The sources themselves, and others that the clients of GCS and Azure read (object_store 0.14, `gcp/builder.rs`, `azure/builder.rs` and
/// `azure/credential.rs`).
const VARIABLE_NAMES: &[&str] = &["KETCD_FILE", "SERVICE_ACCOUNT", "IDENTITY_ENDPOINT", "IDENTITY_HEADER"];

pub(in crate::cli) fn is_variable(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    VARIABLE_PREFIXES.iter().any(|prefix| bytes.starts_with(prefix.as_bytes())) || VARIABLE_NAMES.iter().any(|own| bytes == own.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every variable that the help of a flag names.
    #[test]
    fn variables_of_flags_are_credentials() {
        let command = crate::cli::command();
        let helps = command.get_arguments().filter_map(|flag| flag.get_long_help().or(flag.get_help())).map(ToString::to_string);
        let all: String = helps.collect();
        let names: Vec<&str> = all.split("[env: ").skip(1).filter_map(|rest| rest.split([']', '=']).next()).collect();
        assert!(names.len() >= 8, "{names:?}");
        for name in names {
            assert!(is_variable(name.as_ref()), "{name}");
        }
    }

    #[test]
    fn others_are_left() {
        assert!(["PATH", "HOME", "KUBECONFIG", "LC_ALL", "MY_AWS_KEY", "HTTPS_PROXY"].iter().all(|name| !is_variable(name.as_ref())));
        let credentials =
            ["ETCDCTL_PASSWORD", "AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_SECRET", "IDENTITY_HEADER"];
        assert!(credentials.iter().all(|name| is_variable(name.as_ref())));
    }
}
