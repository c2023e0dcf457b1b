//! What a command line that clap refuses leads to: its error in ketcd's voice, with what was most likely meant.

use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;
use crate::cli::invocation::spelling;
use crate::cli::invocation::typed_line::Typed;
use crate::cli::output::note;
use ketcd_cluster::built_in;
use ketcd_render::command_line::CommandLine;

/// What else people type for a command, with the one that answers.
const COMMAND_LEADS: &[(&[&str], &str)] = &[
    (&["log"], "`ketcd history` shows what changed, `ketcd timeline` what happened; logs are on the pod's node, not in etcd"),
    (&["why"], "`ketcd explain` says why a pod runs where it runs, `ketcd triage` what is broken"),
    (&["show"], "`ketcd get` and `ketcd describe` show objects"),
    (&["version"], "`ketcd --version` prints the version"),
    (
        &["restore", "recover", "dry-run", "simulate-restore"],
        "`ketcd rehearse BACKUP --over NEWEST` says what restoring a backup would do; `ketcd extract` prints the manifests that bring objects back",
    ),
    (&["undelete", "rollback"], "`ketcd extract` prints the manifests that bring objects back"),
    (&["backup", "snapshot", "save"], "`etcdctl snapshot save FILE` makes a snapshot, `ketcd record` keeps every change"),
    (&["search", "find"], "`ketcd grep` says which objects hold or ever held a text; a part of a name: --in names -l"),
    (&["check", "validate", "fsck", "test", "integrity"], "`ketcd verify FILE` says whether a backup is good, and what was not checked"),
    (&["size", "du", "df", "space"], "`ketcd usage` shows what fills etcd"),
    (&["who", "audit"], "`ketcd history` and `ketcd blame` show who changed what; `-f` reads the audit log too"),
    (&["health", "problems", "issues", "doctor"], "`ketcd triage` shows what is broken, since when and why"),
    (
        &["simulate", "whatif"],
        "`ketcd what-if` plays a drain, a lost node or more replicas; `ketcd rehearse BACKUP --over NEWEST` says what restoring a backup would do",
    ),
];

/// Flags that people expect: of which commands, the flag, and what to type instead.
const FLAG_LEADS: &[(&[&str], &str, &str)] = &[
    (&["serve"], "--port", "the address to listen on: --listen 127.0.0.1:PORT"),
    (&[], "--audit", "-f reads the audit log too: -f snapshot.db -f audit.log"),
    (&[], "--audit-log", "-f reads the audit log too: -f snapshot.db -f audit.log"),
    (&[], "--context", "read an API server with -f kubeconfig:CONTEXT"),
    (&[], "--kubeconfig", "read an API server with -f kubeconfig:, by the file that KUBECONFIG names"),
    (&[], "--by", "`ketcd history --by USER` shows what one user changed"),
    (&[], "--revision", "name a revision with --rev N"),
    (&[], "--time", "name a time with --at TIME"),
    (&[], "--snapshot", "read a file with -f PATH"),
    (&[], "--db", "read a file with -f PATH"),
    (&["extract"], "--dry-run", "nothing is applied; `ketcd rehearse BACKUP --over NEWEST` says what restoring a backup would do"),
];

/// Prints an error of clap's, or the help that was asked for, and ends the process.
pub(in crate::cli) fn refuse(error: clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    let code = error.exit_code();
    let file = with_flag(&error, &Typed::now());
    let text = led(error).render().ansi().to_string().replacen("error:", "ketcd: error:", 1);
    // Nobody can be told that standard error is closed.
    let _ = anstream::AutoStream::auto(std::io::stderr()).write_all(text.as_bytes());
    if let Some(line) = file {
        note(&format!("read a file with -f: {line}"));
    }
    std::process::exit(code)
}

/// Leads from what is not known to what is meant.
fn led(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand).cloned() {
        return of_command(error, &word);
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg).cloned()
    {
        // A flag is never meant as a value, which clap offers where a command takes words.
        error.remove(ContextKind::Suggested);
        if let Some(lead) = lead_of_flag(&flag, Typed::now().command()) {
            error.remove(ContextKind::SuggestedArg);
            return with_tip(error, lead);
        }
    }
    if error.kind() == ErrorKind::MissingRequiredArgument && is_missing(&error, "<ADDRESS>...") {
        let command = Typed::now().command().unwrap_or("get").to_owned();
        let example = if command == "explain" || command == "watch" { "pod/shop/web-0" } else { "deploy/shop/web" };
        let lead = format!("an ADDRESS is kind/namespace/name, a kind and names, or a kind: ketcd {command} {example}");
        return with_tip(error, &lead);
    }
    error
}

/// Leads from a word that is no command to the one that is meant; commands that exist only to say why they do not are never suggested.
fn of_command(mut error: clap::Error, word: &str) -> clap::Error {
    let lead = COMMAND_LEADS.iter().find(|(names, _)| names.contains(&word)).map(|(_, lead)| (*lead).to_owned());
    let is_kind = || built_in().find_all(word.split('/').next().unwrap_or(word)).is_ok();
    let show = if word.contains('/') { "show it" } else { "list them" };
    let show = || Typed::now().replacing(word, &["get", word]).map(|line| format!("{show}: {line}"));
    if let Some(lead) = lead.or_else(|| is_kind().then(show).flatten()) {
        error.remove(ContextKind::SuggestedSubcommand);
        return with_tip(error, &lead);
    }
    let is_shown = |name: &String| Cli::command().find_subcommand(name).is_some_and(|command| !command.is_hide_set());
    let shown: Vec<String> = match error.remove(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::String(name)) => vec![name],
        Some(ContextValue::Strings(names)) => names,
        _ => Vec::new(),
    }
    .into_iter()
    .filter(is_shown)
    .collect();
    if !shown.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(shown));
    }
    error
}

/// What to type instead of a flag that a command does not have.
fn lead_of_flag(flag: &str, command: Option<&str>) -> Option<&'static str> {
    let name = flag.split('=').next().unwrap_or(flag);
    let is_meant = |commands: &[&str]| commands.is_empty() || command.is_some_and(|command| commands.contains(&command));
    FLAG_LEADS.iter().find(|(commands, known, _)| *known == name && is_meant(commands)).map(|(.., lead)| *lead)
}

fn with_tip(mut error: clap::Error, tip: &str) -> clap::Error {
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![spelling::spelled(tip).into_owned().into()]));
    error
}

fn is_missing(error: &clap::Error, argument: &str) -> bool {
    matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::Strings(missing)) if missing.iter().any(|name| name == argument))
}

/// The command line with `-f` in front of a word that is out of place and names a file.
fn with_flag(error: &clap::Error, typed: &Typed) -> Option<CommandLine> {
    let place = error.get(ContextKind::InvalidSubcommand).or_else(|| error.get(ContextKind::InvalidArg))?;
    let ContextValue::String(file) = place else { return None };
    if file.starts_with('-') || !Path::new(file).exists() {
        return None;
    }
    Some(typed.with_file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_lead_to_what_is_meant() {
        assert!(lead_of_flag("--port", Some("serve")).is_some_and(|lead| lead.contains("--listen")));
        assert_eq!(lead_of_flag("--port", Some("get")), None);
        assert!(lead_of_flag("--audit=a.log", Some("history")).is_some_and(|lead| lead.contains("-f audit.log") || lead.contains("-f")));
        assert_eq!(lead_of_flag("--limit", Some("history")), None);
    }

    #[test]
    fn what_is_led_to_exists() {
        let command = Cli::command();
        let code = |text: &'static str| text.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("ketcd "));
        let leads = COMMAND_LEADS.iter().map(|(_, lead)| *lead).chain(FLAG_LEADS.iter().map(|(.., lead)| *lead));
        for words in leads.flat_map(code) {
            let name = words.split(' ').next().unwrap();
            assert!(name.starts_with('-') || command.find_subcommand(name).is_some(), "{words}");
        }
        // None of them is a command of its own by now.
        for name in COMMAND_LEADS.iter().flat_map(|(names, _)| names.iter()) {
            assert!(command.find_subcommand(name).is_none(), "{name}");
        }
    }
}
