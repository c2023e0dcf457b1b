//! What objects are called without the generated parts of their names.
//!
//! A part is generated only where the data prove it: an object says so by `generateName`, or its name holds the hash of its content.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::owners::{OwnerName, SpecOwners, controller, text};

/// Characters that a generated suffix has (apimachinery `pkg/util/rand`, `SafeEncodeString`).
const SUFFIX_BYTES: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Characters of a generated suffix (apiserver `pkg/storage/names/generate.go`, `randomLength`).
const SUFFIX_LENGTH: usize = 5;
/// Characters of the hash that kustomize and `kubectl create --append-hash` append (kustomize `api/hasher/hasher.go`, `encode`).
const HASH_BYTES: &[u8] = b"2456789bcdfghkmt";
const HASH_LENGTH: usize = 10;

/// What an object is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Naming {
    /// By its own name.
    Name(String),
    /// By a name whose generated part is `*`.
    Generated(String),
    /// By what made it, and its index where it has one: there may be several.
    Of {
        /// The kind of the owner, such as `Deployment`.
        kind: String,
        /// The owner's name.
        name: String,
        /// The completion index of an indexed Job's pod.
        index: Option<String>,
    },
}

impl Naming {
    /// Whether several objects of one state may be called so.
    pub fn is_shared(&self) -> bool {
        !matches!(self, Self::Name(_))
    }
}

impl fmt::Display for Naming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) | Self::Generated(name) => f.write_str(name),
            Self::Of { kind, name, index: None } => write!(f, "those of {}/{name}", kind.to_lowercase()),
            Self::Of { kind, name, index: Some(index) } => write!(f, "those of {}/{name} with index {index}", kind.to_lowercase()),
        }
    }
}

/// What the objects of one state are called, where that is not by their own names.
#[derive(Default)]
pub(super) struct Namings {
    namings: HashMap<OwnerName, Naming>,
}

impl Namings {
    /// Finds the generated names among these objects.
    pub(super) fn of<'o>(objects: impl Iterator<Item = &'o Value> + Clone, owners: &SpecOwners) -> Self {
        let mut namings = Self::default();
        for object in objects.clone() {
            if let Some(naming) = by_itself(object, owners) {
                namings.namings.insert(OwnerName::of(object), naming);
            }
        }
        let by_pods: Vec<(OwnerName, Naming)> =
            objects.filter_map(|object| Some((OwnerName::of(object), namings.by_pod(object)?))).collect();
        namings.namings.extend(by_pods);
        namings
    }

    /// Returns what an object is called.
    pub(super) fn naming(&self, named: &OwnerName) -> Naming {
        self.namings.get(named).cloned().unwrap_or_else(|| Naming::Name(named.name.clone()))
    }

    /// Returns the pattern of an object's name, where a part of it is generated.
    pub(super) fn pattern(&self, kind: &str, namespace: &str, name: &str) -> Option<&str> {
        let named = OwnerName { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() };
        match self.namings.get(&named)? {
            Naming::Generated(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// What an object is called that has the name of a pod with a generated name in its own: the claim of an ephemeral volume.
    fn by_pod(&self, object: &Value) -> Option<Naming> {
        let (named, owners) = (OwnerName::of(object), object["metadata"]["ownerReferences"].as_array()?);
        if self.namings.contains_key(&named) {
            return None;
        }
        let pod = owners.iter().find(|owner| owner["kind"] == "Pod")?["name"].as_str()?;
        let of_pod = self.namings.get(&OwnerName { kind: "Pod".to_owned(), namespace: named.namespace.clone(), name: pod.to_owned() })?;
        let rest = named.name.strip_prefix(pod)?;
        Some(Naming::Generated(match of_pod {
            Naming::Generated(pattern) => format!("{pattern}{rest}"),
            Naming::Of { name, .. } => format!("{name}-*{rest}"),
            Naming::Name(_) => return None,
        }))
    }
}

fn by_itself(object: &Value, owners: &SpecOwners) -> Option<Naming> {
    let generated = generated_name(object);
    match object["kind"].as_str()? {
        "Pod" if generated.is_some() => {
            let Some((kind, name)) = owners.root(object) else { return generated.map(Naming::Generated) };
            let metadata = &object["metadata"];
            let index =
                ["annotations", "labels"].iter().find_map(|marks| metadata[marks]["batch.kubernetes.io/job-completion-index"].as_str());
            Some(Naming::Of { kind, name, index: index.map(str::to_owned) })
        }
        "ReplicaSet" => {
            let owner = controller(object).filter(|owner| owner["kind"] == "Deployment")?;
            Some(Naming::Of { kind: "Deployment".to_owned(), name: text(&owner["name"]).to_owned(), index: None })
        }
        "ConfigMap" | "Secret" => generated.or_else(|| hashed_name(object)).map(Naming::Generated),
        _ => generated.map(Naming::Generated),
    }
}

/// The pattern of a name that the API server generated. A long prefix is cut so that the whole fits.
fn generated_name(object: &Value) -> Option<String> {
    let metadata = &object["metadata"];
    let (name, prefix) = (metadata["name"].as_str()?, metadata["generateName"].as_str().filter(|prefix| !prefix.is_empty())?);
    let (base, suffix) = name.split_at_checked(name.len().checked_sub(SUFFIX_LENGTH)?)?;
    (prefix.starts_with(base) && !base.is_empty() && is_suffix(suffix)).then(|| format!("{base}*"))
}

pub(super) fn is_suffix(text: &str) -> bool {
    text.len() == SUFFIX_LENGTH && text.bytes().all(|byte| SUFFIX_BYTES.contains(&byte))
}

/// The pattern of a name that ends with a hash of the object. The hash of a ConfigMap is computed again; the values of a Secret are masked, so that of a
/// Secret only the form shows: ten characters, a digit among them, that leave out most letters.
fn hashed_name(object: &Value) -> Option<String> {
    let (base, hash) = object["metadata"]["name"].as_str()?.rsplit_once('-')?;
    let has_form = hash.len() == HASH_LENGTH && hash.bytes().all(|byte| HASH_BYTES.contains(&byte));
    let is_proven = match object["kind"].as_str()? {
        "ConfigMap" => has_form && hash == config_map_hash(object, base),
        _ => has_form && hash.bytes().any(|byte| byte.is_ascii_digit()),
    };
    is_proven.then(|| format!("{base}-*"))
}

/// The hash that kustomize appends to the name of a ConfigMap: of its kind, name and data as Go writes JSON (kustomize `api/hasher/hasher.go`, 2024,
/// and `k8s.io/kubectl/pkg/util/hash`).
fn config_map_hash(object: &Value, name: &str) -> String {
    let mut hashed = Map::new();
    if object["binaryData"].as_object().is_some_and(|data| !data.is_empty()) {
        hashed.insert("binaryData".to_owned(), object["binaryData"].clone());
    }
    let data = if object["data"].is_null() { json!("") } else { object["data"].clone() };
    hashed.insert("data".to_owned(), data);
    hashed.insert("kind".to_owned(), json!("ConfigMap"));
    hashed.insert("name".to_owned(), json!(name));
    // Go escapes what could end a script in HTML, and the two separators that JavaScript takes for ends of lines.
    let text = Value::Object(hashed).to_string();
    let text = text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let text = text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    let digits = format!("{:x}", Sha256::digest(text.as_bytes()));
    let letter = |digit| match digit {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        other => other,
    };
    digits.chars().take(HASH_LENGTH).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(object: &Value, expected: &str) {
        let objects = [object.clone()];
        let namings = Namings::of(objects.iter(), &SpecOwners::of(objects.iter()));
        assert_eq!(namings.naming(&OwnerName::of(object)).to_string(), expected);
    }

    #[test]
    fn a_part_is_generated_where_that_is_proven() {
        let meta = |name: &str, prefix: &str| json!({"kind": "ResourceClaim", "metadata": {"name": name, "generateName": prefix}});
        check(&meta("train-1-g-4wf9z", "train-1-g-"), "train-1-g-*");
        check(&meta("train-1-g-house", "train-1-g-"), "train-1-g-house");
        let long = "a-name-that-is-so-long-that-a-part-of-it-is-left-out-to-fit-it";
        check(&meta(&format!("{}4wf9z", &long[..58]), long), &format!("{}*", &long[..58]));
    }

    #[test]
    fn the_hash_of_a_config_map_is_computed_again() {
        let config = |name: &str, value: &str| json!({"kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}});
        let hash = config_map_hash(&config("settings", "1 < 2"), "settings");
        check(&config(&format!("settings-{hash}"), "1 < 2"), "settings-*");
        // It was edited since, or somebody chose the name.
        check(&config(&format!("settings-{hash}"), "2"), &format!("settings-{hash}"));
    }

    #[test]
    fn pods_are_those_of_what_made_them() {
        let pod = json!({"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-647b88d788-7795s", "generateName": "web-647b88d788-",
            "labels": {"pod-template-hash": "647b88d788"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-647b88d788", "controller": true}]}});
        check(&pod, "those of deployment/web");
        let of_set = json!({"kind": "Pod", "metadata": {"namespace": "shop", "name": "db-0", "generateName": "db-",
            "ownerReferences": [{"kind": "StatefulSet", "name": "db", "controller": true}]}});
        check(&of_set, "db-0");
    }
}
