//! The shells that completion speaks to, and what may reach them: names come from clusters and directories that anybody may write to, and a
//! shell runs what stands on its line. Of what is found only plain words are offered.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::engine::{self, CompletionCandidate};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};

use super::words;

pub(in crate::cli) const KNOWN_SHELLS: Shells<'static> = Shells(&[
    &Shell { script: &Bash, form: Form::Words },
    &Shell { script: &Elvish, form: Form::Words },
    &Shell { script: &Fish, form: Form::Tabs },
    &Shell { script: &Powershell, form: Form::Tabs },
    &Shell { script: &Zsh, form: Form::Colons },
]);

/// A shell with clap's script for it, whose answers hold plain words only.
struct Shell {
    script: &'static (dyn EnvCompleter + Sync),
    form: Form,
}

/// How a script reads its candidates.
#[derive(Clone, Copy)]
enum Form {
    /// Words alone, between separators that the script names.
    Words,
    /// The same, each with its help behind a colon.
    Colons,
    /// One a line, each with its help behind a tab.
    Tabs,
}

impl EnvCompleter for Shell {
    fn name(&self) -> &'static str {
        self.script.name()
    }

    fn is(&self, name: &str) -> bool {
        self.script.is(name)
    }

    fn write_registration(&self, var: &str, name: &str, bin: &str, completer: &str, buf: &mut dyn Write) -> io::Result<()> {
        self.script.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        mut args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let cursor = words::cursor(&args);
        if args.len() == cursor {
            args.push(OsString::new());
        }
        let typed = args.get(cursor).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let separator = std::env::var("_CLAP_IFS").unwrap_or_else(|_| "\n".to_owned());
        let candidates = engine::complete(cmd, args, cursor, current_dir)?;
        let offered = candidates.iter().filter_map(|candidate| Some((offered(candidate, &typed)?, help(candidate))));
        for (place, (word, help)) in offered.enumerate() {
            match self.form {
                Form::Words | Form::Colons if place > 0 => buf.write_all(separator.as_bytes())?,
                _ => {}
            }
            match (self.form, help) {
                (Form::Words, _) => write!(buf, "{word}")?,
                (Form::Colons, None) => write!(buf, "{}", word.replace(':', "\\:"))?,
                (Form::Colons, Some(help)) => write!(buf, "{}:{}", word.replace(':', "\\:"), help.replace('\\', "\\\\"))?,
                (Form::Tabs, None) => writeln!(buf, "{word}")?,
                (Form::Tabs, Some(help)) => writeln!(buf, "{word}\t{help}")?,
            }
        }
        Ok(())
    }
}

/// The first line of what ketcd's own help says of a candidate.
fn help(candidate: &CompletionCandidate) -> Option<String> {
    candidate.get_help().map(|help| help.to_string().lines().next().unwrap_or_default().to_owned())
}

/// The candidate as it is offered after `typed`; `None` where a shell, or ketcd itself, would not take it for a plain word.
fn offered<'a>(candidate: &'a CompletionCandidate, typed: &str) -> Option<&'a str> {
    let word = candidate.get_value().to_str()?;
    let is_ours = candidate.get_id().is_some();
    // `--namespace=we` and `-nwe` are typed with their values.
    let flag = match typed.split_once('=') {
        Some((flag, _)) if flag.starts_with("--") => flag.len() + 1,
        _ if typed.starts_with('-') && !typed.starts_with("--") => typed.chars().take(2).map(char::len_utf8).sum(),
        _ => 0,
    };
    let value = match typed.get(..flag).filter(|flag| !flag.is_empty()).and_then(|flag| word.strip_prefix(flag)) {
        Some(value) if typed[flag..].starts_with('=') => value.strip_prefix('=').unwrap_or(value),
        Some(value) => value,
        None if is_ours => word.trim_start_matches('-'),
        None => word,
    };
    // What the shell makes of a `~` that was typed is what it makes of it now.
    let value = if typed[flag.min(typed.len())..].starts_with("~/") { value.strip_prefix("~/").unwrap_or(value) } else { value };
    (is_ours || is_plain(value)).then_some(word)
}

/// Whether every shell takes a word for itself: nothing in it is expanded, nothing ends it, and it is no flag.
fn is_plain(word: &str) -> bool {
    !word.starts_with(['-', '=', '+']) && word.chars().all(|c| c.is_alphanumeric() || "._:@/,=+-".contains(c))
}

/// Whether a name may be offered: what Kubernetes' own names are made of.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:@/-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, typed: &str, is_offered: bool) {
        let candidate = CompletionCandidate::new(word);
        assert_eq!(offered(&candidate, typed).is_some(), is_offered, "{word:?} after {typed:?}");
    }

    #[test]
    fn only_plain_words_are_offered() {
        for word in ["web-0", "pod/lab/web-0", "system:node", "po,svc", "jsonpath=", "a@b_c.d", "März.db", "./x/"] {
            check(word, "", true);
            check(&format!("--namespace={word}"), "--namespace=", true);
            check(&format!("-n{word}"), "-n", true);
        }
        let hostile = [
            "a$(touch x)",
            "a`x`",
            "a;x",
            "a|x",
            "a&x",
            "a b",
            "a\nb",
            "a\tb",
            "a\u{b}b",
            "a'b",
            "a\"b",
            "a\\b",
            "a!b",
            "~root",
            "a*",
            "a?",
            "a[b]",
            "{a,b}",
            "a>b",
            "a<b",
            "#a",
            "%1",
            "^a",
            "a\u{1b}[31m",
            "a\u{202e}b",
            "a\u{a0}b",
            "-rf",
            "--kubeconfig=x",
            "=ls",
            "a${IFS}b",
            "(a)",
        ];
        for word in hostile {
            check(word, "", false);
            check(&format!("pod/lab/{word}"), "pod/lab/", word.starts_with(['-', '=']));
            check(&format!("--namespace={word}"), "--namespace=", false);
            check(&format!("-n{word}"), "-n", false);
        }
        check("~/a.db", "~/", true);
        check("~/$(x)", "~/", false);
        check("--namespace=~/x", "--namespace=~/", true);
    }

    #[test]
    fn names_are_of_the_letters_of_kubernetes() {
        assert!(["web-0", "system:node", "a.b_c@d", "lab/web-0"].into_iter().all(is_plain_name));
        assert!(!["", "-x", "a,b", "ü", "a=b", "a b", "a\n", "$x"].into_iter().any(is_plain_name));
    }
}
