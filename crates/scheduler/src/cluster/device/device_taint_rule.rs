//! DeviceTaintRules as far as schedulers read them, whatever version they are stored in.
//! Sources: `api/resource/v1alpha3/types.go` and `v1beta2/types.go` (DeviceTaintRule).

use serde::Deserialize;

use ketcd_kube::api::resource::v1::{DeviceSelector, DeviceTaint};

use crate::cluster::raw_object::{FromRaw, RawObject};

/// A taint on all devices that a selector names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeviceTaintRule {
    /// What it says.
    pub spec: DeviceTaintRuleSpec,
}

/// What a device taint rule says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceTaintRuleSpec {
    /// The devices; `None`: all of them.
    pub device_selector: Option<DeviceTaintSelector>,
    /// The taint.
    pub taint: DeviceTaint,
}

/// Devices by what identifies them; all that is given must be so.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceTaintSelector {
    /// Their driver.
    pub driver: Option<String>,
    /// Their pool.
    pub pool: Option<String>,
    /// Their name.
    pub device: Option<String>,
    /// The class whose selectors match them (up to 1.34).
    pub device_class_name: Option<String>,
    /// Selectors that match them (up to 1.34).
    pub selectors: Vec<DeviceSelector>,
}

impl FromRaw for DeviceTaintRule {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.fields()
    }
}
