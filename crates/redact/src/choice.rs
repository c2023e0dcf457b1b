//! Which classes of values go.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

/// A class of values that may be redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// Values of Secrets and other stored credentials. They always go.
    Secrets,
    /// Words that the caller listed. They always go.
    OwnWords,
    /// Names of namespaces.
    Namespaces,
    /// Names of objects, containers, volumes and images, and labels.
    Names,
    /// Environment values, data of ConfigMaps, arguments and annotations.
    Values,
    /// IP and MAC addresses, host names and e-mail addresses.
    Addresses,
    /// Users, groups and field managers that are not Kubernetes' own.
    Identities,
    /// Text shaped like a credential, wherever it stands.
    Tokens,
}

impl Class {
    /// The classes that a choice may name, and their words.
    pub const CHOICES: [(&'static str, Self); 6] = [
        ("names", Self::Names),
        ("namespaces", Self::Namespaces),
        ("values", Self::Values),
        ("addresses", Self::Addresses),
        ("identities", Self::Identities),
        ("tokens", Self::Tokens),
    ];

    /// Every class, in the order of reports.
    pub const ALL: [Self; 8] =
        [Self::Secrets, Self::OwnWords, Self::Namespaces, Self::Names, Self::Values, Self::Addresses, Self::Identities, Self::Tokens];
}

/// A set of classes. Secrets and the caller's own words are in every one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    classes: BTreeSet<Class>,
}

/// Why a text is not a choice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid class {word:?} in --redact: expected \"all\", \"none\", or some of names, namespaces, values, addresses, identities, tokens, separated by commas"
)]
pub struct Error {
    /// The word that names no class.
    pub word: String,
}

impl Choice {
    /// Reads `names,values,addresses`, `all` or `none`. Names imply namespaces, which are names of objects too; values imply tokens.
    ///
    /// # Errors
    /// A word names no class.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut classes = BTreeSet::new();
        for word in text.split(',').map(str::trim) {
            match word {
                "all" => classes.extend(Class::CHOICES.map(|(_, class)| class)),
                "none" if text.trim() == "none" => {}
                _ => {
                    let found = Class::CHOICES.iter().find(|(name, _)| *name == word);
                    classes.insert(found.ok_or_else(|| Error { word: word.to_owned() })?.1);
                }
            }
        }
        if classes.contains(&Class::Names) {
            classes.insert(Class::Namespaces);
        }
        if classes.contains(&Class::Values) {
            classes.insert(Class::Tokens);
        }
        Ok(Self { classes })
    }

    /// Whether values of a class go.
    pub fn has(&self, class: Class) -> bool {
        matches!(class, Class::Secrets | Class::OwnWords) || self.classes.contains(&class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_read() {
        let choice = Choice::parse("names, addresses").unwrap();
        assert!(choice.has(Class::Names) && choice.has(Class::Namespaces) && choice.has(Class::Addresses) && choice.has(Class::Secrets));
        assert!(!choice.has(Class::Values) && !choice.has(Class::Identities));
        assert!(Class::ALL.iter().all(|class| Choice::parse("all").unwrap().has(*class)));
        let none = Choice::parse("none").unwrap();
        assert_eq!(Class::ALL.iter().filter(|class| none.has(**class)).count(), 2);
        assert_eq!(Choice::parse("names,nmaes").unwrap_err().word, "nmaes");
        assert_eq!(Choice::parse("names,none").unwrap_err().word, "none");
        assert_eq!(Choice::parse("").unwrap_err().word, "");
    }
}
