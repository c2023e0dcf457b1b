//! Objects that are not what their keys say, and identities that change or occur twice.
//!
//! Source: `NamespaceKeyFunc` and `NoNamespaceKeyFunc` make the key of namespace and name (apiserver v0.37, `pkg/registry/generic/registry/store.go`);
//! `BeforeCreate` gives each object a uid and its creation time (`pkg/registry/rest/create.go`, `FillObjectMetaSystemFields` of `meta.go`), and
//! `BeforeUpdate` and validation keep both (`pkg/registry/rest/update.go`; apimachinery v0.37, `pkg/api/validation/objectmeta.go`).
//!
//! Exempt are what API servers keep without name and uid (`ranges`, `masterleases`, `peerserverleases`: kubernetes v1.37,
//! `pkg/controlplane/reconcilers/lease.go`), resources that no table has, whose keys may be of another shape, and the stores of aggregated API servers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;

use ketcd_kube::KeyResource;
use ketcd_store::Revision;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};
use super::stored::Metadata;

/// Looks at names, uids and creation times.
#[derive(Default)]
pub(super) struct Identity {
    /// The key that each uid was seen at, and the revision that created it there.
    uids: HashMap<Box<str>, (Bytes, Revision)>,
}

impl Rule for Identity {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, found: &mut Found) {
        let Some(object) = change.object() else { return };
        if change.own_kind().is_none() && !change.resource().is_some_and(|kind| kind.is_custom()) {
            return;
        }
        if let Some(evidence) = misnamed(change, object) {
            found.add(evidence);
        }
        let (revision, key) = (change.revision(), change.key());
        if object.uid.is_empty() {
            found.add(Evidence::new(revision, key, Weight::Medium, "the object has no uid, which API servers give to each"));
        }
        if let Some(earlier) = change.earlier().and_then(|before| before.stored.object.as_ref()) {
            if object.uid != earlier.uid && !earlier.uid.is_empty() {
                let says = "the object's uid changed, though it was not created again";
                found.add(Evidence::new(revision, key, Weight::High, says).because(format!("{} became {}", earlier.uid, object.uid)));
            } else if object.created != earlier.created && earlier.created.is_some() {
                found.add(Evidence::new(
                    revision,
                    key,
                    Weight::High,
                    "the object's creation time changed, though it was not created again",
                ));
            }
        }
        if change.is_new() && !object.uid.is_empty() {
            self.is_first(change, object, found);
        }
    }

    fn needs_no_history(&self) -> bool {
        true
    }
}

impl Identity {
    /// Notes where a uid is, and says where it was before.
    fn is_first(&mut self, change: &Change<'_>, object: &Metadata, found: &mut Found) {
        let (revision, key, created) = (change.revision(), change.key(), change.version.create_revision);
        match self.uids.entry(object.uid.clone()) {
            Entry::Vacant(entry) => drop(entry.insert((key.clone(), created))),
            Entry::Occupied(mut entry) => {
                let (other, since) = entry.get().clone();
                if other != key {
                    let says = "the object has the uid of another one";
                    let fact = format!("{} has the uid {} since revision {since}", String::from_utf8_lossy(&other), object.uid);
                    found.add(Evidence::new(revision, key, Weight::High, says).because(fact));
                } else if since != created {
                    let says = "the object was deleted and created again with the uid that it had";
                    let fact = format!("created at revision {since} with the uid {}", object.uid);
                    found.add(Evidence::new(revision, key, Weight::High, says).because(fact).of_copies());
                    entry.insert((other, created));
                }
            }
        }
    }
}

/// What is wrong where key and object disagree about the name or the namespace.
fn misnamed(change: &Change<'_>, object: &Metadata) -> Option<Evidence> {
    let path = change.path().filter(|path| matches!(path.resource, KeyResource::Known(_)))?;
    let fact = if *object.name != *path.name {
        format!("the key says {}, the object {}", path.name, object.name)
    } else if !object.namespace.is_empty() && Some(&*object.namespace) != path.namespace {
        format!("the key says the namespace {}, the object {}", path.namespace.unwrap_or("(none)"), object.namespace)
    } else {
        return None;
    };
    let says = "the object is not the one that its key says";
    Some(Evidence::new(change.revision(), change.key(), Weight::High, says).because(fact))
}
