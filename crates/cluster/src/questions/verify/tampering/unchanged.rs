//! Writes that change nothing, and sealed values that were stored before.
//!
//! Source: `GuaranteedUpdate` leaves a write out whose bytes are those already stored (apiserver v0.37, `pkg/storage/etcd3/store.go`), unless what is stored
//! is stale: sealed with another than the first provider or key (`pkg/storage/value/transformer.go`), or under another key of a plugin
//! (`…/envelope/kmsv2/envelope.go`). A stale value is sealed anew, so its bytes differ even where its content does not: storage migration writes whole
//! resources so (kubernetes v1.37, `pkg/controller/storageversionmigrator`). Exempt are therefore values whose provider, key name or data key changed, and
//! what is not an object: programs of other kinds write what they like, and API servers renew `masterleases` and `peerserverleases`.
//!
//! Each seal has a random vector or nonce (`…/value/encrypt/{aes,secretbox,envelope}`), so that no two sealed values are the same bytes: one that is was
//! taken from another key, or from the key's past.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;

use ketcd_kube::RegistryKey;
use ketcd_store::Revision;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};
use super::stored::{Encoding, Stored};

/// Looks at writes of what was there.
#[derive(Default)]
pub(super) struct Unchanged {
    /// Where each sealed value was seen first, by hash and length of its bytes.
    sealed: HashMap<(u64, usize), (Bytes, Revision)>,
}

impl Rule for Unchanged {
    fn see(&mut self, change: &Change<'_>, facts: &TamperingFacts<'_>, found: &mut Found) {
        let is_kept = match change.place {
            RegistryKey::Object(_) => true,
            RegistryKey::Special(name) => name.starts_with("ranges/"),
            _ => false,
        };
        if !is_kept {
            return;
        }
        if let Some(fact) = is_same(change, facts) {
            let says = "what was stored was written again; API servers leave such a write out";
            found.add(Evidence::new(change.revision(), change.key(), Weight::High, says).because(fact).of_copies());
        } else if let Some((key, revision)) = change.stored.filter(|stored| stored.is_sealed()).and_then(|stored| self.seen(change, stored))
        {
            let says = "the sealed value was stored before; API servers seal each anew";
            let fact = format!("{} has it since revision {revision}", String::from_utf8_lossy(&key));
            found.add(Evidence::new(change.revision(), change.key(), Weight::High, says).because(fact).of_copies());
        }
    }
}

impl Unchanged {
    /// Where a sealed value was before, if it was; else notes it.
    fn seen(&mut self, change: &Change<'_>, stored: &Stored) -> Option<(Bytes, Revision)> {
        match self.sealed.entry((stored.digest, stored.length)) {
            Entry::Occupied(entry) => Some(entry.get().clone()),
            Entry::Vacant(entry) => {
                entry.insert((change.key().clone(), change.revision()));
                None
            }
        }
    }
}

/// What is the same, in words; `None` where the write changed something or sealed anew.
fn is_same(change: &Change<'_>, facts: &TamperingFacts<'_>) -> Option<String> {
    let (before, now) = (change.predecessor()?, change.stored?);
    if before.stored.digest == now.digest && before.stored.length == now.length {
        let is_same = change.value_before()? == change.version.value;
        return is_same.then(|| format!("its {} bytes are those of revision {}", now.length, before.version.mod_revision));
    }
    match (&before.stored.encoding, &now.encoding) {
        // A plugin seals with a data key, which changes with each start.
        (Encoding::Sealed { scheme, .. }, _) if scheme.is_kms() => None,
        (Encoding::Sealed { .. }, Encoding::Sealed { .. }) if before.stored.encoding == now.encoding => {
            let open = |value: &[u8]| facts.reader.opened(change.key(), value);
            let is_same = open(&change.value_before()?)? == open(&change.version.value)?;
            is_same
                .then(|| format!("opened, it is what revision {} holds, and it is sealed with the same key", before.version.mod_revision))
        }
        _ => None,
    }
}
