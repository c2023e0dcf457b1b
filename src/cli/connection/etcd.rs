//! How a live etcd is reached: what the flags and the environment say, and a password that is asked for.

use std::path::{Path, PathBuf};

use ketcd_store::etcd::{EtcdConfig, Password};

use super::cautions;
use super::resolve::resolve;
use crate::cli::input::connection::ConnectionArgs;
use crate::cli::outcome::Result;
use crate::cli::output::notices::Attendance;
use crate::cli::system;

/// Returns how to reach etcd; says on standard error which well-known certificates were taken, if any, and what is unsafe. The password
/// of a user given without one is asked for, unless nobody attends.
///
/// # Errors
/// A value that cannot be read, a password without a user, a user without a password.
pub(in crate::cli) fn config(args: &ConnectionArgs, attendance: Attendance) -> Result<EtcdConfig> {
    let ask = || if attendance == Attendance::Nobody { Ok(None) } else { system::password::ask() };
    let (config, note) = resolve(args, &environment, Path::new("/"), &ask)?;
    if let Some(note) = note {
        attendance.note(&note);
    }
    if attendance != Attendance::Nobody {
        cautions::of_connection(&config);
    }
    Ok(config)
}

/// Whether the environment or a flag names a live etcd, so that none has to be looked for. `by_any_flag`: one that says how it is reached does, too.
pub(in crate::cli) fn is_named(args: &ConnectionArgs, by_any_flag: bool) -> bool {
    let by_flag = args.given().is_some_and(|given| given.names_endpoints || by_any_flag);
    by_flag || environment("ETCDCTL_ENDPOINTS").is_some_and(|endpoints| !endpoints.is_empty())
}

/// The files that are read to reach etcd, each with its flag.
pub(in crate::cli) fn files(args: &ConnectionArgs) -> Vec<(&'static str, PathBuf)> {
    files_with(args, &environment)
}

fn files_with(args: &ConnectionArgs, environment: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, PathBuf)> {
    // What cannot be resolved stops the command before it reads anything.
    let found = resolve(args, environment, Path::new("/"), &|| Ok(Some(Password::new(String::new())))).ok();
    let files = found.map(|(config, _)| [("--cacert", config.cacert), ("--cert", config.cert), ("--key", config.key)]);
    files.into_iter().flatten().filter_map(|(flag, path)| Some((flag, path?))).collect()
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_connection_are_known() {
        let args = ConnectionArgs {
            endpoints: vec!["a:1".to_owned()],
            cacert: Some("ca.crt".into()),
            key: Some("client.key".into()),
            user: Some("root".to_owned()),
            ..Default::default()
        };
        assert_eq!(files_with(&args, &|_| None), [("--cacert", "ca.crt".into()), ("--key", "client.key".into())]);
        assert_eq!(format!("{args:?}"), "ConnectionArgs { .. }");
    }
}
