//! DRA objects with the fields of all versions: those of `resource.k8s.io/v1`, and those only older versions had.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// An object with the fields of all versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versioned<T, O> {
    /// The fields of v1; reached directly through `Deref`.
    pub(crate) known: T,
    /// The fields that only older versions had, where the object is stored in one.
    pub(crate) older: Option<Arc<O>>,
}

impl<T, O> Deref for Versioned<T, O> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.known
    }
}

impl<T, O> DerefMut for Versioned<T, O> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.known
    }
}
