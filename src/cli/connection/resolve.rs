//! Settings of a connection out of flags, variables and defaults.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ketcd_store::etcd::{EtcdConfig, Password, ReadConsistency, refuse_credentials};

use super::well_known::{WellKnown, find};
use crate::cli::input::connection::{ConnectionArgs, Consistency};
use crate::cli::outcome::{Error, Result};

/// Returns how to reach etcd, and a note for the user, given the environment, the root of the file system and who is asked for a password.
///
/// # Errors
/// A value that cannot be read, a password without a user, a user without a password.
pub(super) fn resolve(
    args: &ConnectionArgs,
    environment: &dyn Fn(&str) -> Option<String>,
    root: &Path,
    ask: &dyn Fn() -> Result<Option<Password>>,
) -> Result<(EtcdConfig, Option<String>)> {
    // As etcdctl does, an empty variable counts as none.
    let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
    let text = |flag: &Option<String>, name: &str| flag.clone().or_else(|| variable(name));
    let path = |flag: &Option<PathBuf>, name: &str| flag.clone().or_else(|| variable(name).map(PathBuf::from));

    let mut config = EtcdConfig::default();
    let endpoints = if args.endpoints.is_empty() {
        variable("ETCDCTL_ENDPOINTS").map(|list| list.split(',').map(|one| one.trim().to_owned()).collect()).unwrap_or_default()
    } else {
        args.endpoints.clone()
    };
    refuse_credentials(&endpoints)?;
    config.cacert = path(&args.cacert, "ETCDCTL_CACERT");
    config.cert = path(&args.cert, "ETCDCTL_CERT");
    config.key = path(&args.key, "ETCDCTL_KEY");
    (config.user, config.password) = credentials(text(&args.user, "ETCDCTL_USER"), text(&args.password, "ETCDCTL_PASSWORD"), ask)?;
    if let Some(limit) = text(&args.dial_timeout, "ETCDCTL_DIAL_TIMEOUT") {
        config.dial_timeout = duration("--dial-timeout", &limit)?;
    }
    if let Some(limit) = text(&args.command_timeout, "ETCDCTL_COMMAND_TIMEOUT") {
        config.command_timeout = duration("--command-timeout", &limit)?;
    }
    let skip = text(&args.insecure_skip_tls_verify, "ETCDCTL_INSECURE_SKIP_TLS_VERIFY");
    let plain = text(&args.insecure_transport, "ETCDCTL_INSECURE_TRANSPORT");
    let nothing_given = endpoints.is_empty()
        && config.user.is_none()
        && skip.is_none()
        && plain.is_none()
        && [&config.cacert, &config.cert, &config.key].into_iter().all(Option::is_none);
    if let Some(skip) = skip {
        config.insecure_skip_tls_verify = boolean("--insecure-skip-tls-verify", &skip)?;
    }
    if let Some(plain) = plain {
        config.insecure_transport = boolean("--insecure-transport", &plain)?;
    }
    if !endpoints.is_empty() {
        config.endpoints = endpoints;
    }
    config.consistency = match args.consistency {
        None => ReadConsistency::Auto,
        Some(Consistency::L) => ReadConsistency::Linearizable,
        Some(Consistency::S) => ReadConsistency::Serializable,
    };
    config.page_bytes = usize::try_from(args.page_size).unwrap_or(usize::MAX);
    config.qps = args.qps;
    let note = nothing_given.then(|| use_well_known(&mut config, find(root)));
    Ok((config, note))
}

/// Applies the settings that were found; returns the note for the user.
fn use_well_known(config: &mut EtcdConfig, found: Option<WellKnown>) -> String {
    match found {
        None => {
            format!("no connection flag given and no well-known certificate found: trying {} in plain text", config.endpoints.join(","))
        }
        Some(found) => {
            config.endpoints = vec!["https://127.0.0.1:2379".to_owned()];
            let note = format!(
                "no connection flag given: taking {}'s certificates ({}, {}, {}) for {}",
                found.distribution,
                found.cacert.display(),
                found.cert.display(),
                found.key.display(),
                config.endpoints.join(",")
            );
            (config.cacert, config.cert, config.key) = (Some(found.cacert), Some(found.cert), Some(found.key));
            note
        }
    }
}

fn credentials(
    user: Option<String>,
    password: Option<String>,
    ask: &dyn Fn() -> Result<Option<Password>>,
) -> Result<(Option<String>, Option<Password>)> {
    match (user, password) {
        (None, None) => Ok((None, None)),
        (Some(user), Some(password)) => Ok((Some(user), Some(Password::new(password)))),
        (Some(user), None) => {
            match user.split_once(':') {
                Some((name, password)) => Ok((Some(name.to_owned()), Some(Password::new(password.to_owned())))),
                None => match ask()? {
                    Some(password) => Ok((Some(user), Some(password))),
                    None => Err(Error::new(format!("user {user:?} has no password"))
                        .hint("give --user NAME:PASSWORD or --password (ETCDCTL_PASSWORD)")),
                },
            }
        }
        (None, Some(_)) => Err(Error::new("a password was given without a user").hint("give --user NAME (ETCDCTL_USER)")),
    }
}

/// A duration as Go writes it: `2s`, `1m30s`, `500ms`.
fn duration(flag: &str, text: &str) -> Result<Duration> {
    let nanos = ketcd_kube::go_duration::parse_go_duration(text).ok().and_then(|nanos| u64::try_from(nanos).ok());
    nanos
        .filter(|nanos| *nanos > 0)
        .map(Duration::from_nanos)
        .ok_or_else(|| Error::new(format!("invalid {flag} {text:?}: expected a duration such as 2s, 500ms or 1m30s")))
}

/// A truth value as Go reads it.
fn boolean(flag: &str, text: &str) -> Result<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(Error::new(format!("invalid {flag} {text:?}: expected true or false"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(args: &ConnectionArgs, variables: &[(&str, &str)]) -> Result<(EtcdConfig, Option<String>)> {
        let environment = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        resolve(args, &environment, Path::new("/nowhere"), &|| Ok(None))
    }

    fn config(args: &ConnectionArgs, variables: &[(&str, &str)]) -> EtcdConfig {
        resolved(args, variables).unwrap().0
    }

    #[test]
    fn with_nothing_given_etcdctls_defaults_hold_and_the_user_is_notified() {
        let (config, note) = resolved(&ConnectionArgs::default(), &[]).unwrap();
        assert_eq!(config.endpoints, ["127.0.0.1:2379"]);
        assert_eq!((config.dial_timeout, config.command_timeout), (Duration::from_secs(2), Duration::from_secs(5)));
        assert!(config.insecure_transport && !config.insecure_skip_tls_verify);
        assert!(note.unwrap().contains("127.0.0.1:2379"));
    }

    #[test]
    fn a_flag_wins_over_its_variable() {
        let variables = [
            ("ETCDCTL_ENDPOINTS", "https://a:1,https://b:2"),
            ("ETCDCTL_CACERT", "variable.crt"),
            ("ETCDCTL_DIAL_TIMEOUT", "7s"),
            ("ETCDCTL_COMMAND_TIMEOUT", "1m30s"),
            ("ETCDCTL_INSECURE_TRANSPORT", "false"),
            ("ETCDCTL_INSECURE_SKIP_TLS_VERIFY", "1"),
        ];
        let from_variables = config(&ConnectionArgs::default(), &variables);
        assert_eq!(from_variables.endpoints, ["https://a:1", "https://b:2"]);
        assert_eq!(from_variables.cacert, Some("variable.crt".into()));
        assert_eq!((from_variables.dial_timeout, from_variables.command_timeout), (Duration::from_secs(7), Duration::from_secs(90)));
        assert!(!from_variables.insecure_transport && from_variables.insecure_skip_tls_verify);

        let args = ConnectionArgs {
            endpoints: vec!["c:3".to_owned()],
            cacert: Some("flag.crt".into()),
            dial_timeout: Some("500ms".to_owned()),
            insecure_transport: Some("true".to_owned()),
            insecure_skip_tls_verify: Some("false".to_owned()),
            ..ConnectionArgs::default()
        };
        let from_flags = config(&args, &variables);
        assert_eq!(from_flags.endpoints, ["c:3"]);
        assert_eq!(from_flags.cacert, Some("flag.crt".into()));
        assert_eq!((from_flags.dial_timeout, from_flags.command_timeout), (Duration::from_millis(500), Duration::from_secs(90)));
        assert!(from_flags.insecure_transport && !from_flags.insecure_skip_tls_verify);
    }

    #[test]
    fn a_user_has_a_password() {
        let with = |user: Option<&str>, password: Option<&str>| {
            credentials(user.map(str::to_owned), password.map(str::to_owned), &|| Ok(None)).map_err(|error| error.to_string())
        };
        assert_eq!(with(Some("root:a:b"), None), Ok((Some("root".to_owned()), Some(Password::new("a:b".to_owned())))));
        assert_eq!(with(Some("ro:ot"), Some("a")), Ok((Some("ro:ot".to_owned()), Some(Password::new("a".to_owned())))));
        assert!(with(Some("root"), None).unwrap_err().contains("no password"));
        assert!(with(None, Some("a")).unwrap_err().contains("without a user"));
    }

    #[test]
    fn the_terminal_is_asked_only_for_what_is_missing() {
        let asked = std::cell::Cell::new(0);
        let ask = || {
            asked.set(asked.get() + 1);
            Ok(Some(Password::new("typed".to_owned())))
        };
        let with =
            |user: Option<&str>, password: Option<&str>| credentials(user.map(str::to_owned), password.map(str::to_owned), &ask).ok();
        assert_eq!(with(Some("root"), None), Some((Some("root".to_owned()), Some(Password::new("typed".to_owned())))));
        assert_eq!(asked.get(), 1);
        for (user, password) in [(Some("root:a"), None), (Some("root"), Some("a")), (None, Some("a")), (None, None)] {
            with(user, password);
        }
        assert_eq!(asked.get(), 1);
        let args =
            ConnectionArgs { endpoints: vec!["https://root:hunter2@a".to_owned()], user: Some("root".to_owned()), ..Default::default() };
        assert!(resolve(&args, &|_| None, Path::new("/nowhere"), &ask).is_err());
        assert_eq!(asked.get(), 1, "an endpoint is refused before anything is asked");
    }

    #[test]
    fn values_that_cannot_be_read_are_named() {
        for variable in [("ETCDCTL_DIAL_TIMEOUT", "soon"), ("ETCDCTL_COMMAND_TIMEOUT", "-1s"), ("ETCDCTL_INSECURE_TRANSPORT", "maybe")] {
            let error = resolved(&ConnectionArgs::default(), &[variable]).unwrap_err().to_string();
            assert!(error.contains(variable.1), "{error}");
        }
    }
}
