//! What the user may not read and a question does without.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use ketcd_store::KeyRange;

use crate::error::{DeniedKeys, Result};

/// What the user may not read and a question does without.
#[derive(Default)]
pub(crate) struct Refused {
    pub(crate) definitions: OnceLock<DeniedKeys>,
    pub(super) definitions_noted: AtomicBool,
    pub(super) prefix: AtomicBool,
    missed: Mutex<Vec<KeyRange>>,
}

impl Refused {
    /// Notes why the definitions of custom kinds cannot be read.
    pub(crate) fn definitions(&self, refusal: DeniedKeys) {
        let _ = self.definitions.set(refusal);
    }

    /// Notes that the prefix is taken for the usual one because no key that shows it may be read.
    pub(crate) fn assume_prefix(&self) {
        self.prefix.store(true, Ordering::Relaxed);
    }

    /// Notes keys that would have added something.
    pub(crate) fn miss(&self, keys: &KeyRange) {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).push(keys.clone());
    }

    /// Whether anything was noted that the user may not read.
    pub(crate) fn has_missed(&self) -> bool {
        !self.missed.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn take_missed(&self) -> Vec<KeyRange> {
        std::mem::take(&mut *self.missed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns what was read, or `None` where the user may not read it.
///
/// # Errors
/// The source cannot be read for another reason.
pub fn unless_denied<T>(read: ketcd_store::Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.is_denied() => Ok(None),
        other => Ok(Some(other?)),
    }
}
