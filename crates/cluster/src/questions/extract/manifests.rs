//! Stored objects made into manifests: what is stripped, in which version, in which order.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_kube::api::Versions;
use ketcd_kube::{Object, Release, VALUE_MASK};
use ketcd_restore::cautions::{self, Caution};
use ketcd_restore::{ObjectId, Switches, order, strip};
use serde_json::Value;

use super::gathering::{Gathered, ManifestLeftOut};

/// Manifests in the order in which they are to be applied.
pub struct Extraction {
    /// The manifests.
    pub manifests: Vec<Value>,
    /// What became of everything that was read.
    pub summary: ExtractionSummary,
}

/// What became of the objects read.
#[derive(Clone, Debug, Default)]
pub struct ExtractionSummary {
    /// The manifests, in their order.
    pub manifests: Vec<ObjectId>,
    /// Objects left out.
    pub left_out: Vec<(ObjectId, ManifestLeftOut)>,
    /// How many objects each rule stripped something from.
    pub stripped: BTreeMap<&'static str, usize>,
    /// What to know before they are applied.
    pub cautions: Vec<Caution>,
    /// Objects that stay in their stored version, and why.
    pub unconverted: Vec<(ObjectId, String)>,
    /// Manifests of objects that those asked for may have written only before the revision asked about: what they were then cannot be read.
    pub maybe_older: Vec<ObjectId>,
    /// What the objects refer to and is not stored.
    pub missing: BTreeSet<ObjectId>,
}

impl Gathered {
    /// Makes manifests of what was gathered, in the versions that a release prefers where it is given.
    pub fn into_manifests(self, switches: &Switches, preferred: Option<Release>) -> Extraction {
        let versions = preferred.map(|release| Versions::new(release, &self.definitions));
        let (mut manifests, mut stripped, mut unconverted) = (Vec::new(), BTreeMap::new(), Vec::new());
        let (mut left_out, mut maybe_older) = (self.left_out, Vec::new());
        let mut cautions = BTreeSet::new();
        for (id, found) in self.objects {
            let mut manifest = found.object.clone().into_value();
            if let Some(versions) = &versions
                && let Err(reason) = prefer(&mut manifest, &id, versions)
            {
                unconverted.push((id.clone(), reason));
            }
            let rules = strip(&mut manifest, switches, found.has_status);
            if is_masked(&found.object, &manifest) {
                left_out.push((id, ManifestLeftOut::Masked));
                continue;
            }
            cautions.extend(cautions::of_object(&found.object, &rules));
            maybe_older.extend(self.maybe_older.contains(&id).then(|| ObjectId::of(&manifest)));
            rules.iter().for_each(|rule| *stripped.entry(rule.name).or_default() += 1);
            manifests.push(manifest);
        }
        order::sort(&mut manifests);
        cautions.extend(cautions::of_all(&manifests));
        let ids = manifests.iter().map(ObjectId::of).collect();
        let cautions: Vec<Caution> = cautions.into_iter().collect();
        Extraction {
            summary: ExtractionSummary { manifests: ids, left_out, stripped, cautions, unconverted, maybe_older, missing: self.missing },
            manifests,
        }
    }
}

/// Makes an object one of the version that is preferred; one that cannot be converted stays as it is.
fn prefer(object: &mut Value, id: &ObjectId, versions: &Versions) -> Result<(), String> {
    let preferred = versions.preferred(&id.group, &id.kind).ok_or("no version of its kind is served")?;
    if object["apiVersion"] == preferred.as_str() { Ok(()) } else { versions.convert(object, &preferred) }
}

fn is_masked(object: &Object, manifest: &Value) -> bool {
    object
        .masked_places()
        .any(|place| place.resolve(manifest).is_ok_and(|value| value.as_str().is_some_and(|text| text.contains(VALUE_MASK))))
}
