//! The objects of one state by what they are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

use ketcd_kube::Object;
use ketcd_restore::exclusions::Surroundings;

use super::difference::SpecId;
use super::left_out::{self, Context, Reason};
use super::naming::{Naming, Namings};
use super::normal_form::{Names, normal_form};
use super::owners::{OwnerName, SpecOwners, group, text};
use crate::selection::Selection;

/// What stands for the name of the namespace that is compared with another one.
const COMPARED_NAMESPACE: &str = "(the namespace)";

/// An owner as differences name it: kind, namespace and name.
pub(super) type OwnerNaming = (String, String, Naming);

/// The objects of one state.
#[derive(Default)]
pub(super) struct Groups {
    /// Those that are compared, by what they are.
    pub groups: BTreeMap<SpecId, ShapeGroup>,
    /// How many are left out, by the reason.
    pub left_out: Vec<(&'static Reason, usize)>,
    /// What autoscalers scale.
    pub autoscaled: BTreeSet<OwnerNaming>,
}

/// Objects that cannot be told apart by their names; mostly one.
#[derive(Default)]
pub(super) struct ShapeGroup {
    /// What they are meant to be, each form once, by its hash.
    pub shapes: BTreeMap<[u8; 32], Shape>,
    /// What made them.
    pub owner: Option<OwnerNaming>,
    /// Whether one of them is selected.
    pub is_selected: bool,
}

/// A form, and the objects that have it.
pub(super) struct Shape {
    pub value: Value,
    pub names: Vec<String>,
}

impl ShapeGroup {
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.shapes.values().flat_map(|shape| shape.names.iter().cloned()).collect();
        names.sort();
        names
    }
}

/// How the objects of a state are put in order.
pub(super) struct SpecQuestion<'a> {
    /// Whether both states are of API servers of one release.
    pub is_one_release: bool,
    /// The namespace that is compared with another one.
    pub namespace: Option<&'a str>,
    /// Which objects count.
    pub selection: &'a Selection,
}

impl Groups {
    /// Puts objects in order. `values` holds each of them in the version that is compared.
    pub(super) fn of(objects: &[(Object, Value)], asked: &SpecQuestion<'_>) -> Self {
        let values = || objects.iter().map(|(_, value)| value);
        let owners = SpecOwners::of(values());
        let mut around = Surroundings::default();
        values().for_each(|value| around.note(value));
        let namings = Namings::of(values(), &owners);
        let context = Context { owners: &owners, around: &around, is_one_release: asked.is_one_release };
        let names = Names { namings: &namings, namespace: asked.namespace };
        let mut found = Self::default();
        for (object, value) in objects {
            match left_out::reason(value, &context) {
                Some(reason) => found.leave_out(reason, 1),
                None => found.add(object, value, &owners, &names, asked),
            }
        }
        found
    }

    /// Counts objects that are left out.
    pub(super) fn leave_out(&mut self, reason: &'static Reason, count: usize) {
        match self.left_out.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sum)) => *sum += count,
            None => self.left_out.push((reason, count)),
        }
    }

    fn add(&mut self, object: &Object, value: &Value, owners: &SpecOwners, names: &Names<'_>, asked: &SpecQuestion<'_>) {
        let named = OwnerName::of(value);
        let place = |namespace: &str| if asked.namespace == Some(namespace) { String::new() } else { namespace.to_owned() };
        let naming = match &*named.kind {
            "Namespace" if asked.namespace == Some(&*named.name) => Naming::Name(COMPARED_NAMESPACE.to_owned()),
            _ => names.namings.naming(&named),
        };
        let owner_named = |kind: String, name: String| {
            let naming = names.namings.naming(&OwnerName { kind: kind.clone(), namespace: named.namespace.clone(), name });
            (kind, place(&named.namespace), naming)
        };
        if named.kind == "HorizontalPodAutoscaler" {
            let target = &value["spec"]["scaleTargetRef"];
            self.autoscaled.insert(owner_named(text(&target["kind"]).to_owned(), text(&target["name"]).to_owned()));
        }
        let owner = owners.root(value).map(|(kind, name)| owner_named(kind, name));
        let id = SpecId { kind: named.kind.clone(), group: group(value).to_owned(), namespace: place(&named.namespace), naming };
        let value = normal_form(value.clone(), names);
        let entry = self.groups.entry(id).or_default();
        entry.owner = owner;
        entry.is_selected |= asked.selection.takes_all() || asked.selection.fits(object);
        // Members of objects are sorted, so that equal values have equal texts.
        let hash = Sha256::digest(value.to_string().as_bytes()).into();
        entry.shapes.entry(hash).or_insert_with(|| Shape { value, names: Vec::new() }).names.push(named.name);
    }
}
