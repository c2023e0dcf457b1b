//! Which flags of every command a command takes: one that would change nothing is refused, so that nobody believes it did.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// What is read of files, and how.
const FILE_FLAGS: &[&str] = &["files", "max_unpacked_size", "no_cache"];
/// What a source holds, and how it is read.
const DATA_FLAGS: &[&str] = &["prefix", "encryption_config"];
/// How a live etcd is reached.
const LIVE_FLAGS: &[&str] = &[
    "endpoints",
    "cacert",
    "cert",
    "key",
    "user",
    "password",
    "dial_timeout",
    "command_timeout",
    "insecure_skip_tls_verify",
    "insecure_transport",
    "consistency",
    "page_size",
    "qps",
];
const MOMENT_FLAGS: &[&str] = &["rev", "at"];
const NAMESPACE_FLAGS: &[&str] = &["namespace", "all_namespaces"];
const OBJECT_FLAGS: &[&str] = &["release", "unknown", "show_managed_fields", "show_secrets"];

/// The flags that each command does not take. What says how a terminal shows the output holds for all; of an API server `--show-secrets` has Secrets
/// read, so every command that reads data takes it.
pub(in crate::cli) const NOT_TAKEN: &[(&str, &[&[&str]])] = &[
    ("bundle", &[&["release", "unknown", "show_managed_fields"]]),
    ("completion", &[FILE_FLAGS, DATA_FLAGS, LIVE_FLAGS, MOMENT_FLAGS, NAMESPACE_FLAGS, OBJECT_FLAGS, &["output"]]),
    // It says itself how its file is given.
    (
        "decode",
        &[&["max_unpacked_size", "no_cache"], DATA_FLAGS, LIVE_FLAGS, MOMENT_FLAGS, NAMESPACE_FLAGS, &["show_managed_fields", "output"]],
    ),
    ("encryption", &[NAMESPACE_FLAGS, &["release", "show_managed_fields"]]),
    ("explain", &[&["show_managed_fields"]]),
    ("grep", &[&["show_managed_fields"]]),
    ("plugins", &[FILE_FLAGS, DATA_FLAGS, LIVE_FLAGS, MOMENT_FLAGS, NAMESPACE_FLAGS, OBJECT_FLAGS]),
    (
        "record",
        &[
            &["max_unpacked_size", "no_cache"],
            DATA_FLAGS,
            MOMENT_FLAGS,
            NAMESPACE_FLAGS,
            &["release", "unknown", "show_managed_fields", "output"],
        ],
    ),
    ("rehearse", &[MOMENT_FLAGS, NAMESPACE_FLAGS, &["release", "unknown", "show_managed_fields"]]),
    ("report", &[&["output"]]),
    ("schema", &[FILE_FLAGS, DATA_FLAGS, LIVE_FLAGS, MOMENT_FLAGS, NAMESPACE_FLAGS, OBJECT_FLAGS, &["output"]]),
    ("serve", &[NAMESPACE_FLAGS, &["output"]]),
    ("status", &[NAMESPACE_FLAGS, &["show_managed_fields"]]),
    ("tree", &[&["show_managed_fields"]]),
    ("triage", &[&["show_managed_fields"]]),
    ("ui", &[&["output", "show_managed_fields"]]),
    ("usage", &[&["show_managed_fields"]]),
    ("verify", &[MOMENT_FLAGS, NAMESPACE_FLAGS, &["release", "unknown", "show_managed_fields"]]),
    ("what-if", &[&["show_managed_fields"]]),
];

/// Whether a command takes a flag of every command, which its identifier names.
pub(in crate::cli) fn takes(command: &str, flag: &str) -> bool {
    let not_taken = NOT_TAKEN.iter().filter(|(name, _)| *name == command).flat_map(|(_, groups)| groups.iter());
    !not_taken.flat_map(|group| group.iter()).any(|name| *name == flag)
}

/// Refuses a flag that was typed and that the command does not take. `shown` makes the command line that refuses it, which takes longer than to parse one.
pub(in crate::cli) fn check(shown: impl FnOnce() -> Command, matches: ArgMatches) -> clap::error::Result<ArgMatches> {
    let Some((name, given)) = matches.subcommand() else { return Ok(matches) };
    let is_typed =
        |id: &str| given.try_contains_id(id).is_ok_and(|is_known| is_known && given.value_source(id) == Some(ValueSource::CommandLine));
    let is_untaken = |id: &str| !takes(name, id) && is_typed(id);
    if !given.ids().any(|id| is_untaken(id.as_str())) {
        return Ok(matches);
    }
    let shown = shown();
    let untaken = shown.get_arguments().find(|arg| arg.is_global_set() && is_untaken(arg.get_id().as_str()));
    let Some(flag) = untaken.and_then(clap::Arg::get_long) else { return Ok(matches) };
    let problem = format!("'{name}' does not take '--{flag}': it would show the same without it");
    Err(shown.clone().error(ErrorKind::ArgumentConflict, problem))
}
