//! What a bundle says that it is of, and what it does not hold: in addition to what its source says of itself.

use ketcd_cluster::bundle::Bundle;
use ketcd_redact::Class;
use ketcd_store::Withheld;
use ketcd_store::recording::{BundleScope, RecordingScope};

use super::redaction::Redacting;
use crate::cli::outcome::{Error, Result};
use crate::cli::session::Session;

/// What is before the names of the classes that were redacted.
const REDACTED: &str = "what was redacted: ";

/// What a bundle says that it is of. Nothing in it names an object.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn of(session: &Session, slice: &Bundle<'_>, redacting: Option<&Redacting>) -> Result<RecordingScope> {
    let source = &session.cluster.source;
    let status = source.status().await.map_err(Error::from)?;
    let ours = Ours {
        redacted: redacting.map(Redacting::class_names).unwrap_or_default(),
        masks_secrets: !slice.holds_secrets(),
        has_decisions: slice.has_decisions,
    };
    let redacted = ours.redacted(source.facts().withheld);
    Ok(RecordingScope {
        cluster_id: status.cluster_id.filter(|_| redacting.is_none()),
        left_out: ours.left_out(status.not_recorded, &redacted),
        api_server: slice.is_of_api_server.then(String::new),
        bundle: Some(BundleScope { one_moment: slice.is_one_moment, redacted, masks_secrets: ours.masks_secrets }),
        ..RecordingScope::default()
    })
}

/// What this bundle leaves out of its source.
struct Ours {
    /// The classes that are redacted.
    redacted: Vec<String>,
    /// Whether the values of Secrets are not in it, be it that the source lacks them.
    masks_secrets: bool,
    /// Whether objects are in it as far as a scheduler reads them.
    has_decisions: bool,
}

impl Ours {
    /// The classes that are redacted in it or were in its source, in the order in which they are listed.
    fn redacted(&self, source: Withheld<'_>) -> Vec<String> {
        let all = || self.redacted.iter().chain(source.classes);
        let listed = Class::CHOICES.iter().map(|(name, _)| *name).filter(|name| all().any(|class| class == name));
        let mut classes: Vec<String> = listed.map(str::to_owned).collect();
        for class in all() {
            if !classes.contains(class) {
                classes.push(class.clone());
            }
        }
        classes
    }

    /// What it does not hold, each a phrase: what the source does not hold, and what this bundle leaves out.
    fn left_out(&self, mut phrases: Vec<String>, redacted: &[String]) -> Vec<String> {
        phrases.retain(|phrase| !phrase.starts_with(REDACTED));
        let ours = [
            Some("what the stories of the chosen objects do not need"),
            self.masks_secrets.then_some("values of Secrets (bundle --show-secrets holds them)"),
            self.has_decisions.then_some("of other pods and nodes all that no scheduler reads"),
        ];
        for phrase in ours.into_iter().flatten() {
            if !phrases.iter().any(|known| known == phrase) {
                phrases.push(phrase.to_owned());
            }
        }
        if !redacted.is_empty() {
            phrases.push(format!("{REDACTED}{}", redacted.join(", ")));
        }
        phrases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_the_source_does_not_hold_is_taken_over() {
        let ours = Ours { redacted: strings(&["addresses"]), masks_secrets: false, has_decisions: false };
        let of_source = strings(&["names", "namespaces", "of a later version"]);
        let redacted = ours.redacted(Withheld { secret_values: true, classes: &of_source });
        assert_eq!(redacted, ["names", "namespaces", "addresses", "of a later version"]);
        let said = strings(&["Secrets", "values of Secrets (bundle --show-secrets holds them)", "what was redacted: names, namespaces"]);
        assert_eq!(
            ours.left_out(said, &redacted),
            [
                "Secrets",
                "values of Secrets (bundle --show-secrets holds them)",
                "what the stories of the chosen objects do not need",
                "what was redacted: names, namespaces, addresses, of a later version",
            ]
        );
    }

    #[test]
    fn what_is_left_out_is_said_once() {
        let ours = Ours { redacted: Vec::new(), masks_secrets: true, has_decisions: true };
        let once = ours.left_out(Vec::new(), &[]);
        assert_eq!(once.len(), 3);
        assert_eq!(ours.left_out(once.clone(), &[]), once);
        assert_eq!(ours.redacted(Withheld::default()), [""; 0]);
    }
}
