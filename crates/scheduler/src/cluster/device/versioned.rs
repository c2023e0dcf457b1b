//! DRA objects with the fields of all versions: those of `resource.k8s.io/v1`, those a later release added, those only older versions had.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use ketcd_kube::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};

use crate::cluster::raw_object::{FromRaw, RawObject};

use super::additions::{ClaimAdditions, SliceAdditions};
use super::classic::{self, ClassNodes, DriverClaim};
use super::named_resources::{self, NamedResourceSlice};

/// An object with the fields of all versions.
#[derive(Clone, Debug, Default)]
pub struct Versioned<T, A, O> {
    /// The fields of v1; reached directly through `Deref`.
    pub(crate) known: T,
    /// The fields that a later release added.
    pub(crate) added: A,
    /// The fields that only older versions had, where the object is stored in one.
    pub(crate) older: Option<Arc<O>>,
}

/// A ResourceClaim.
pub(crate) type Claim = Versioned<ResourceClaim, ClaimAdditions, DriverClaim>;

/// A ResourceSlice.
pub(crate) type Slice = Versioned<ResourceSlice, SliceAdditions, NamedResourceSlice>;

/// A DeviceClass.
pub(crate) type Class = Versioned<DeviceClass, (), ClassNodes>;

impl<T, A, O> Deref for Versioned<T, A, O> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.known
    }
}

impl<T, A, O> DerefMut for Versioned<T, A, O> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.known
    }
}

impl FromRaw for Claim {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.versioned_with_additions(classic::of_claim)
    }
}

impl FromRaw for Slice {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.versioned_with_additions(named_resources::of_slice)
    }
}

impl FromRaw for Class {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.versioned(classic::of_class)
    }
}
