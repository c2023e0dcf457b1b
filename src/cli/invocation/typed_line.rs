//! The command line as it was typed, with one word changed: what an error suggests to type instead.

use super::{arguments, commands, invocation};
use ketcd_render::command_line::CommandLine;

/// Flags whose values name no object.
const OF_FLAGS: [&str; 8] = ["-f", "--file", "-n", "--namespace", "-o", "--output", "-l", "--selector"];

/// The words behind the program's name, without passwords.
pub(in crate::cli) struct Typed(Vec<String>);

impl Typed {
    pub(in crate::cli) fn now() -> Self {
        Self::of(arguments::all().iter().skip(1).map(|word| word.to_string_lossy().into_owned()))
    }

    fn of(words: impl Iterator<Item = String>) -> Self {
        let (mut kept, mut before) = (Vec::new(), String::new());
        for word in words {
            let name = |user: &str| user.split(':').next().unwrap_or_default().to_owned();
            match (before.as_str(), word.strip_prefix("--user=")) {
                ("--password", _) => {}
                ("--user", _) => kept.push(name(&word)),
                (_, Some(user)) => kept.push(format!("--user={}", name(user))),
                _ if word == "--password" || word.starts_with("--password=") => {}
                _ => kept.push(word.clone()),
            }
            before = word;
        }
        Self(kept)
    }

    pub(in crate::cli) fn command(&self) -> Option<&str> {
        self.0.iter().find(|word| commands::are_called(word)).map(String::as_str)
    }

    /// Whether a flag is among them, alone or with its value.
    pub(in crate::cli) fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|word| word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || flag.len() == 2))
    }

    /// The command line with other words in the place of one, which may be followed by `=` and a value; `None` where that was not typed.
    pub(in crate::cli) fn replacing(&self, word: &str, others: &[&str]) -> Option<CommandLine> {
        let value = |typed: &str| typed.strip_prefix(word).filter(|rest| rest.is_empty() || rest.starts_with('=')).map(str::to_owned);
        let begin = self.command().and_then(|command| self.0.iter().position(|typed| typed == command)).map_or(0, |at| at + 1);
        let is_value = |at: usize| at > 0 && OF_FLAGS.contains(&self.0[at - 1].as_str());
        let mut places = (begin..self.0.len()).filter(|at| !is_value(*at));
        let (at, rest) = places.find_map(|at| Some((at, value(&self.0[at])?)))?;
        let line = self.0[..at].iter().fold(invocation().bare(), |line, word| line.word(word));
        let line = match others {
            [first, more @ ..] => more.iter().fold(line.word(&format!("{first}{rest}")), |line, word| line.word(word)),
            [] => line,
        };
        Some(self.0[at + 1..].iter().fold(line, |line, word| line.word(word)))
    }

    /// The command line with `-f` in front of a word that names a file.
    pub(in crate::cli) fn with_file(&self, file: &str) -> CommandLine {
        let line = invocation().bare().and("-f").word(file);
        self.0.iter().filter(|word| *word != file).fold(line, |line, word| line.word(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Typed {
        commands::are_parsed_by(crate::cli::command);
        Typed::of(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn a_word_is_replaced_and_no_password_is_repeated() {
        let replaced = |line: &str, word, others: &[&str]| typed(line).replacing(word, others).map(|line| line.to_string());
        let line = "-f a.db explain tomcat -n web";
        assert_eq!(replaced(line, "tomcat", &["deploy/web/tomcat"]).unwrap(), "ketcd -f a.db explain deploy/web/tomcat -n web");
        assert_eq!(replaced(line, "other", &["x"]), None);
        assert_eq!(replaced("get -n web web", "web", &["ns/web"]).unwrap(), "ketcd get -n web ns/web");
        assert_eq!(replaced("timeline web", "web", &["-n", "web"]).unwrap(), "ketcd timeline -n web");
        assert_eq!(replaced("what-if --scale a=5", "a", &["deploy/s/a"]).unwrap(), "ketcd what-if --scale deploy/s/a=5");
        let line = "--user root:secret --password secret --password=secret --user=a:secret get b";
        assert_eq!(replaced(line, "b", &["pod/x/b"]).unwrap(), "ketcd --user root --user=a get pod/x/b");
    }

    #[test]
    fn the_command_is_found_between_flags() {
        assert_eq!(typed("-f a.db -n web explain x").command(), Some("explain"));
        assert_eq!(typed("-f a.db").command(), None);
        assert!(typed("get x -nweb").has("-n") && typed("get x --rev=3").has("--rev") && !typed("get x --revision").has("--rev"));
    }
}
