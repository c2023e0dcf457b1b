//! ResourceClaims, ResourceSlices and DeviceClasses, with the fields of all versions.

use crate::api::resource::{DeviceClass, ResourceClaim, ResourceSlice};
use crate::cluster::raw_object::{FromRaw, RawObject};

use super::classic::{self, ClassNodes, DriverClaim};
use super::named_resources::{self, NamedResourceSlice};
use super::versioned::Versioned;

/// A ResourceClaim.
pub(crate) type Claim = Versioned<ResourceClaim, DriverClaim>;

/// A ResourceSlice.
pub(crate) type Slice = Versioned<ResourceSlice, NamedResourceSlice>;

/// A DeviceClass.
pub(crate) type Class = Versioned<DeviceClass, ClassNodes>;

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
