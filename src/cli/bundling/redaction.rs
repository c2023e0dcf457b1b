//! `--redact` and its flags: what is replaced, and by which pseudonyms.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use zeroize::Zeroizing;

use ketcd_redact::{Choice, Class, Redactor};
use ketcd_render::contract::bundle::Salt;

use crate::cli::input::flag_file;
use crate::cli::outcome::{Error, Result};

/// The bytes of a salt that is made.
const SALT_BYTES: usize = 32;

/// What is redacted.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct RedactionArgs {
    /// Replace these by pseudonyms: `names`, `namespaces`, `values`, `addresses`, `identities`, `tokens`, or `all`.
    ///
    /// `names` are those of objects, containers, volumes and images, and labels; `namespaces` is in it. `values` are environment values,
    /// data of ConfigMaps, arguments and annotations; `tokens`, text that looks like a credential wherever it stands, is in it. `addresses`
    /// are IP and MAC addresses, host names and e-mail addresses. `identities` are users, groups and field managers. Secrets always go.
    #[arg(long, value_name = "CLASSES", help_heading = "Redaction")]
    redact: Option<String>,
    /// Make pseudonyms with this salt, or with the content of the file of this name: the same salt gives the same pseudonyms. Default: a
    /// random one, which is not kept.
    #[arg(long, value_name = "FILE|TEXT", value_hint = ValueHint::FilePath, help_heading = "Redaction")]
    salt: Option<String>,
    /// Replace the words in this file as well, one a line; may be given more than once.
    #[arg(long, hide_short_help = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Redaction")]
    values_from: Vec<PathBuf>,
    /// The report of what was redacted. Default: FILE.ketcd.redacted.txt.
    #[arg(long, hide_short_help = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Redaction")]
    report: Option<PathBuf>,
}

/// A redaction on its way.
pub(super) struct Redacting {
    /// What replaces.
    pub redactor: Redactor,
    /// Where its salt is from.
    pub salt: Salt,
    choice: Choice,
}

impl Redacting {
    /// The names of the classes that go, as `--redact` takes them.
    pub(super) fn class_names(&self) -> Vec<String> {
        Class::CHOICES.iter().filter(|(_, class)| self.choice.has(*class)).map(|(name, _)| (*name).to_owned()).collect()
    }

    /// What to do where the bundle would hold what was to go.
    pub(super) fn hint_of_leak(&self) -> &'static str {
        match Class::CHOICES.iter().all(|(_, class)| self.choice.has(*class)) {
            true => "please report this; until then choose fewer objects",
            false => "please report this; until then choose fewer objects, or classes that cover it (--redact all)",
        }
    }
}

impl RedactionArgs {
    /// The flags of these classes and this salt.
    pub(in crate::cli) fn of(classes: String, salt: Option<String>) -> Self {
        Self { redact: Some(classes), salt, ..Self::default() }
    }

    /// Reads the flags; `None` where nothing is to be redacted but what is masked anyway.
    ///
    /// # Errors
    /// A class that is none, a file that cannot be read, or flags that contradict each other.
    pub(super) fn read(&self, shows_secrets: bool) -> Result<Option<Redacting>> {
        if self.redact.is_none() && self.values_from.is_empty() {
            return match (&self.salt, &self.report) {
                (Some(_), _) => {
                    Err(Error::new("--salt makes pseudonyms, and nothing is redacted").hint("add --redact names,values,addresses"))
                }
                (_, Some(_)) => {
                    Err(Error::new("--report says what was redacted, and nothing is").hint("add --redact names,values,addresses"))
                }
                (None, None) => Ok(None),
            };
        }
        if shows_secrets {
            return Err(Error::new("--redact takes Secrets out and --show-secrets leaves them in").hint("give one of them"));
        }
        let choice = Choice::parse(self.redact.as_deref().unwrap_or("none")).map_err(|error| Error::new(error.to_string()))?;
        let (salt, from) = self.salt()?;
        let redactor = Redactor::new(choice.clone(), &salt, &self.own_words()?);
        Ok(Some(Redacting { redactor, salt: from, choice }))
    }

    /// Where the report goes.
    pub(super) fn report_path(&self, bundle: &Path) -> PathBuf {
        self.report.clone().unwrap_or_else(|| {
            let mut name = bundle.as_os_str().to_owned();
            name.push(".redacted.txt");
            name.into()
        })
    }

    fn salt(&self) -> Result<(Zeroizing<Vec<u8>>, Salt)> {
        let Some(given) = &self.salt else {
            let mut salt = Zeroizing::new(vec![0; SALT_BYTES]);
            getrandom::fill(&mut salt)
                .map_err(|error| Error::new(format!("no random bytes for a salt: {error}")).hint("give one with --salt"))?;
            return Ok((salt, Salt::Random));
        };
        let path = Path::new(given);
        let salt = match path.is_file() {
            true => Zeroizing::new(flag_file::read("--salt", path)?.trim_end().as_bytes().to_vec()),
            false => Zeroizing::new(given.as_bytes().to_vec()),
        };
        if salt.is_empty() {
            return Err(
                Error::new(format!("--salt {given:?} is empty")).hint("give a text that nobody can guess, or the file that holds one")
            );
        }
        Ok((salt, Salt::Given))
    }

    fn own_words(&self) -> Result<Vec<String>> {
        let mut words = Vec::new();
        for path in &self.values_from {
            let text = flag_file::read("--values-from", path)?;
            words.extend(text.lines().map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned));
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(redact: Option<&str>, salt: Option<&str>) -> RedactionArgs {
        RedactionArgs { redact: redact.map(str::to_owned), salt: salt.map(str::to_owned), ..RedactionArgs::default() }
    }

    fn refused(args: &RedactionArgs, shows_secrets: bool) -> String {
        args.read(shows_secrets).err().unwrap().to_string()
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused() {
        assert!(args(None, None).read(true).unwrap().is_none());
        assert!(refused(&args(None, Some("x")), false).contains("nothing is redacted"));
        assert!(refused(&args(Some("all"), None), true).contains("--show-secrets"));
        assert!(refused(&args(Some("everything"), None), false).contains("everything"));
        assert!(refused(&args(Some("all"), Some("")), false).contains("is empty"));
    }

    #[test]
    fn a_salt_is_given_or_random() {
        let salt = |given: Option<&str>| args(Some("names"), given).read(false).unwrap().unwrap().salt;
        assert_eq!((salt(None), salt(Some("of ours"))), (Salt::Random, Salt::Given));
        assert_eq!(args(Some("names"), None).read(false).unwrap().unwrap().class_names(), ["names", "namespaces"]);
        let hint = |classes: &str| args(Some(classes), None).read(false).unwrap().unwrap().hint_of_leak();
        assert!(hint("names").ends_with("(--redact all)"));
        assert_eq!(hint("all"), hint("names,values,addresses,identities"));
        assert!(!hint("all").contains("--redact"));
        assert_eq!(args(None, None).report_path(Path::new("a/b.ketcd")), Path::new("a/b.ketcd.redacted.txt"));
    }
}
