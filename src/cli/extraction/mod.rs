//! Stored objects made into manifests: which are read, which are left out, what is stripped.

mod against;
mod folder;

use std::collections::{BTreeMap, BTreeSet};

use ketcd_kube::api::Versions;
use ketcd_kube::{MASK, Object, Release};
use ketcd_restore::cautions::{self, Caution};
use ketcd_restore::{ObjectId, Switches, order, strip};
use serde_json::Value;

pub(super) use against::Target;
pub(super) use folder::Folder;

use ketcd_cluster::extract::Gathered;

use ketcd_render::extraction::{ExtractionSummary, LeftOut};

/// Manifests in the order in which they are to be applied.
pub(super) struct Extraction {
    /// The manifests.
    pub manifests: Vec<Value>,
    /// What became of everything that was read.
    pub summary: ExtractionSummary,
}

/// Makes manifests of what was gathered, in the versions that a release prefers where it is given.
pub(super) fn manifests(gathered: Gathered, switches: &Switches, preferred: Option<Release>) -> Extraction {
    let versions = preferred.map(|release| Versions::new(release, &gathered.definitions));
    let (mut manifests, mut stripped, mut unconverted) = (Vec::new(), BTreeMap::new(), Vec::new());
    let mut left_out = gathered.left_out;
    let mut cautions = BTreeSet::new();
    for (id, found) in gathered.objects {
        let mut manifest = found.object.clone().into_value();
        if let Some(versions) = &versions
            && let Err(reason) = prefer(&mut manifest, &id, versions)
        {
            unconverted.push((id.clone(), reason));
        }
        let rules = strip(&mut manifest, switches, found.has_status);
        if is_masked(&found.object, &manifest) {
            left_out.push((id, LeftOut::Masked));
            continue;
        }
        cautions.extend(cautions::of_object(&found.object, &rules));
        rules.iter().for_each(|rule| *stripped.entry(rule.name).or_default() += 1);
        manifests.push(manifest);
    }
    order::sort(&mut manifests);
    cautions.extend(cautions::of_all(&manifests));
    let ids = manifests.iter().map(ObjectId::of).collect();
    let cautions: Vec<Caution> = cautions.into_iter().collect();
    Extraction {
        summary: ExtractionSummary { manifests: ids, left_out, stripped, cautions, unconverted, missing: gathered.missing },
        manifests,
    }
}

/// Makes an object one of the version that is preferred; one that cannot be converted stays as it is.
fn prefer(object: &mut Value, id: &ObjectId, versions: &Versions) -> Result<(), String> {
    let preferred = versions.preferred(&id.group, &id.kind).ok_or("no version of its kind is served")?;
    if object["apiVersion"] == preferred.as_str() { Ok(()) } else { versions.convert(object, &preferred) }
}

/// Whether a value that is masked is still in the manifest.
fn is_masked(object: &Object, manifest: &Value) -> bool {
    object.masked_places().any(|place| place.resolve(manifest).is_ok_and(|value| value.as_str().is_some_and(|text| text.contains(MASK))))
}
