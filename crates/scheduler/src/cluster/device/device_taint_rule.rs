//! The parts of DeviceTaintRules that schedulers read, in every stored version.
//! Sources: `api/resource/v1alpha3/types.go` and `v1beta2/types.go` (DeviceTaintRule).

use serde::Deserialize;

use crate::api::resource::{DeviceSelector, DeviceTaint};
use crate::cluster::raw_object::{FromRaw, RawObject};

/// A taint on all devices that a selector matches.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceTaintRule {
    pub(crate) spec: DeviceTaintRuleSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceTaintRuleSpec {
    /// The devices; `None`: all of them.
    pub(crate) device_selector: Option<DeviceTaintSelector>,
    pub(crate) taint: DeviceTaint,
}

/// Selects devices; all fields given must match.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceTaintSelector {
    pub(crate) driver: Option<String>,
    pub(crate) pool: Option<String>,
    pub(crate) device: Option<String>,
    /// The class whose selectors match them (up to 1.34).
    pub(crate) device_class_name: Option<String>,
    /// Selectors that match them (up to 1.34).
    pub(crate) selectors: Vec<DeviceSelector>,
}

impl FromRaw for DeviceTaintRule {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.fields()
    }
}
