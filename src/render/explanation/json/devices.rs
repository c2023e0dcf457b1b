//! Devices in an explanation: those a node would give, and those the claims were seen to get.

use serde::Serialize;

use ketcd_scheduler::{ClaimDevices, Explanation};

/// One device and whom it would serve.
#[derive(Serialize)]
pub(super) struct Device<'a> {
    claim: &'a str,
    request: &'a str,
    driver: &'a str,
    pool: &'a str,
    device: &'a str,
}

/// Devices a claim was seen to get.
#[derive(Serialize)]
pub(super) struct Recorded<'a> {
    revision: i64,
    /// Whether the rules say the same of the node; null where they say nothing certain.
    agrees: Option<bool>,
    devices: Vec<Device<'a>>,
}

/// The devices of one claim.
pub(super) fn of_claim(of: &ClaimDevices) -> impl Iterator<Item = Device<'_>> {
    let devices = of.allocation.devices.iter();
    devices.map(|(request, driver, pool, device)| Device { claim: &of.claim, request, driver, pool, device })
}

/// The devices the attempt was seen to give.
pub(super) fn recorded(explanation: &Explanation) -> Vec<Recorded<'_>> {
    let seen = explanation.recorded_devices.iter();
    seen.map(|of| Recorded { revision: of.revision, agrees: of.agrees, devices: of_claim(&of.devices).collect() }).collect()
}
