//! ResourceClaims, ResourceSlices and DeviceClasses, in the shape of `resource.k8s.io/v1` whatever version they are stored in.

pub(crate) use crate::api::resource::{DeviceClass as Class, ResourceClaim as Claim, ResourceSlice as Slice};
use crate::cluster::raw_object::{FromRaw, RawObject};

impl FromRaw for Claim {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.in_shape_of_v1()
    }
}

impl FromRaw for Slice {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.in_shape_of_v1()
    }
}

impl FromRaw for Class {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.in_shape_of_v1()
    }
}
