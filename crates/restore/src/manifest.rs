//! A stored object made into a manifest.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::exclusions::ALL_EXCLUSIONS;
use crate::rules::{ALL_RULES, CLAIM_REF, Rule, STATUS_RULE, VOLUME_NAME};

/// Which rules and exclusions are switched off.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    kept: BTreeSet<&'static str>,
}

impl Switches {
    /// Switches a rule or an exclusion off. Returns false where none has the name.
    pub fn keep(&mut self, name: &str) -> bool {
        let known = ALL_RULES
            .iter()
            .map(|rule| rule.name)
            .chain(ALL_EXCLUSIONS.iter().map(|exclusion| exclusion.name))
            .find(|known| *known == name);
        self.kept.extend(known);
        known.is_some()
    }

    /// Lets claims keep their volumes, and volumes their claims.
    pub fn keep_volumes_bound(&mut self) {
        self.kept.extend([VOLUME_NAME, CLAIM_REF]);
    }

    /// Whether a rule or an exclusion is switched off.
    pub fn is_off(&self, name: &str) -> bool {
        self.kept.contains(name)
    }
}

/// Strips all that the rules strip from a stored object, and returns those that found something. `has_status` says whether its kind has a status
/// subresource; a custom kind may hold a status that is its user's.
pub fn strip(object: &mut Value, switches: &Switches, has_status: bool) -> Vec<&'static Rule> {
    let applies = |rule: &&Rule| !switches.is_off(rule.name) && (has_status || rule.name != STATUS_RULE);
    ALL_RULES.iter().filter(applies).filter(|rule| rule.strip(object)).collect()
}

/// Whether a CustomResourceDefinition (v1 or v1beta1) gives this version of its kind a status subresource.
pub fn has_status_subresource(definition: &Value, version: &str) -> bool {
    let spec = &definition["spec"];
    let own = spec["versions"].as_array().into_iter().flatten().find(|own| own["name"] == version);
    let subresources = own.map(|own| &own["subresources"]).filter(|own| own.is_object()).unwrap_or(&spec["subresources"]);
    subresources["status"].is_object()
}
