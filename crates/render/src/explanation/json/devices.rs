//! Devices in an explanation: those that would be allocated on a node, and those that the claims were seen to get.

use schemars::JsonSchema;
use serde::Serialize;

use crate::contract::common::ObjectName;
use ketcd_scheduler::{ClaimDevices, Explanation};

/// A device, and the request that it serves.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Device<'a> {
    /// The ResourceClaim.
    claim: ObjectName<'a>,
    /// The claim's request that it serves.
    request: &'a str,
    /// The DRA driver.
    driver: &'a str,
    /// The driver's pool.
    pool: &'a str,
    /// The device's name in the pool.
    device: &'a str,
}

/// Devices that claims were allocated.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RecordedDevices<'a> {
    /// The revision that allocated them.
    revision: i64,
    /// Whether the rules allocate the same devices on that node; null where they are not certain.
    agrees: Option<bool>,
    /// The devices.
    devices: Vec<Device<'a>>,
}

/// The devices of one claim.
pub(super) fn of_claim(of: &ClaimDevices) -> impl Iterator<Item = Device<'_>> {
    let devices = of.allocation.devices.iter();
    let (namespace, name) = of.claim.split_once('/').unwrap_or(("", &of.claim));
    let claim = move || ObjectName { kind: "ResourceClaim", name, namespace };
    devices.map(move |(request, driver, pool, device)| Device { claim: claim(), request, driver, pool, device })
}

/// The devices that the attempt was seen to allocate.
pub(super) fn recorded(explanation: &Explanation) -> Vec<RecordedDevices<'_>> {
    let seen = explanation.recorded_devices.iter();
    seen.map(|of| RecordedDevices { revision: of.revision, agrees: of.agrees, devices: of_claim(&of.devices).collect() }).collect()
}
