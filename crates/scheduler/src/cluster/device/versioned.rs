//! DRA objects with the fields of all versions: those of `resource.k8s.io/v1`, and those only older versions had.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::api::resource::{DeviceClass, ResourceClaim, ResourceSlice};
use crate::cluster::raw_object::{FromRaw, RawObject};

use super::classic::{self, ClassNodes, DriverClaim};
use super::named_resources::{self, NamedResourceSlice};

/// An object with the fields of all versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versioned<T, O> {
    /// The fields of v1; reached directly through `Deref`.
    pub(crate) known: T,
    /// The fields that only older versions had, where the object is stored in one.
    pub(crate) older: Option<Arc<O>>,
}

/// A ResourceClaim.
pub(crate) type Claim = Versioned<ResourceClaim, DriverClaim>;

/// A ResourceSlice.
pub(crate) type Slice = Versioned<ResourceSlice, NamedResourceSlice>;

/// A DeviceClass.
pub(crate) type Class = Versioned<DeviceClass, ClassNodes>;

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

impl FromRaw for Claim {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.versioned(classic::of_claim)
    }
}

impl FromRaw for Slice {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.versioned(named_resources::of_slice)
    }
}

impl FromRaw for Class {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.versioned(classic::of_class)
    }
}
