//! Values in a form that API servers do not store: with what they strip, or in JSON that Go's encoder does not write.
//!
//! Source: every write passes `PrepareObjectForStorage`, which empties `resourceVersion` and `selfLink` (apiserver v0.37,
//! `pkg/storage/api_object_versioner.go`; called by `Create` and `updateState` of `pkg/storage/etcd3/store.go`). What `kubectl get -o json` prints has
//! both, or one, and is indented. It needs no history. Copies of whole stores (etcd-manager, vcluster, k3s) move the stored bytes, and stay as they were.

use bytes::Bytes;

use ketcd_kube::RegistryKey;
use ketcd_store::{EventKind, Revision};

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};
use super::stored::Encoding;

/// How many values in JSON show how the writers of a store end theirs.
const MIN_ENDED: usize = 10;

/// A value without its line feed counts where this number of others has it.
const ENDED_PER_UNENDED: usize = 10;

/// Looks at the form of each value.
#[derive(Default)]
pub(super) struct Form {
    /// How many values in JSON end with a line feed.
    ended: usize,
    /// Those that do not.
    unended: Vec<(Revision, Bytes)>,
}

impl Rule for Form {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, found: &mut Found) {
        let (EventKind::Put, Some(stored), RegistryKey::Object(_)) = (change.kind, change.stored, change.place) else { return };
        let (revision, key) = (change.revision(), change.key());
        if let Some(object) = &stored.object {
            let has = [("resourceVersion", &object.resource_version), ("selfLink", &object.self_link)];
            let has: Vec<String> = has.iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| format!("{name} {text}")).collect();
            if !has.is_empty() {
                let says = "the stored object has what API servers strip from every object before they store it";
                found.add(has.into_iter().fold(Evidence::new(revision, key, Weight::High, says), Evidence::because));
            }
        }
        let Encoding::Json(form) = stored.encoding else { return };
        if !form.is_compact {
            let says = "the stored JSON has space between its tokens, as printed objects have; API servers store it compact";
            found.add(Evidence::new(revision, key, Weight::High, says));
        } else if !form.is_escaped {
            let says = "the stored JSON has <, > or & as they are, which API servers escape";
            found.add(Evidence::new(revision, key, Weight::Medium, says));
        }
        match form.ends_line {
            true => self.ended += 1,
            false => self.unended.push((revision, key.clone())),
        }
    }

    fn finish(&mut self, _: &TamperingFacts<'_>, found: &mut Found) {
        if self.ended < MIN_ENDED.max(self.unended.len() * ENDED_PER_UNENDED) {
            return;
        }
        for (revision, key) in self.unended.drain(..) {
            let says = "the stored JSON does not end with a line feed, as all that API servers write does";
            found.add(Evidence::new(revision, &key, Weight::Medium, says).because(format!("{} other values in JSON do", self.ended)));
        }
    }

    fn needs_no_history(&self) -> bool {
        true
    }
}
