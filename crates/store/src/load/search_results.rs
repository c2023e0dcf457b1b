//! What was found in files that were looked into, so that it is there when they are opened: an archive is unpacked and searched once.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What was found, by the paths of the files and its type. Clones share it; it is gone with the last of them.
#[derive(Clone, Default)]
pub struct Finds {
    found: Arc<Mutex<BTreeMap<String, Vec<Box<dyn Any + Send>>>>>,
    keeps: bool,
}

impl Finds {
    /// The same, for who looks into files that are opened later: what is found is kept.
    pub(super) fn keeping(&self) -> Self {
        Self { keeps: true, ..self.clone() }
    }

    /// Keeps what was found at a path, where that is wanted.
    pub(super) fn keep<T: Any + Send>(&self, path: &str, found: impl FnOnce() -> T) {
        if self.keeps {
            self.found.lock().unwrap_or_else(PoisonError::into_inner).entry(path.to_owned()).or_default().push(Box::new(found()));
        }
    }

    /// Hands out what was found at a path.
    pub(super) fn take<T: Any>(&self, path: &str) -> Option<T> {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.get_mut(path)?;
        let place = found.iter().position(|one| one.is::<T>())?;
        found.swap_remove(place).downcast().ok().map(|found| *found)
    }
}

impl fmt::Debug for Finds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.found.lock().unwrap_or_else(PoisonError::into_inner).keys()).finish()
    }
}
