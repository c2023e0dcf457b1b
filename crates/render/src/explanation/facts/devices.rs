//! Checks on devices and their claims, in words.

use ketcd_scheduler::{AllocatedDevice, ClassRequest, DeviceCheck};

/// What was checked; `holds`: whether it lets the pod pass.
pub(super) fn text(check: &DeviceCheck, holds: bool) -> String {
    let not = if holds { "" } else { "not " };
    match check {
        DeviceCheck::DevicePlugins => "device plugins serve everything the pod requests".to_owned(),
        DeviceCheck::Allocated { claim, devices } => {
            format!("claim {claim} has {}, {not}reached from here", devices.iter().map(name).collect::<Vec<_>>().join(", "))
        }
        DeviceCheck::WouldAllocate { claim, devices, certain } => {
            let others = if *certain { "" } else { ", or others: this release takes pools in random order" };
            format!("claim {claim} would get {}{others}", by_request(devices))
        }
        DeviceCheck::Wants { claim, requests } => {
            let ways = |ways: &Vec<ClassRequest>| ways.iter().map(of_class).collect::<Vec<_>>().join(" or else ");
            format!("claim {claim} wants {}", requests.iter().map(ways).collect::<Vec<_>>().join(" and "))
        }
        DeviceCheck::Available { devices: 1, taken } => format!("1 device here, {taken} of them taken"),
        DeviceCheck::Available { devices, taken } => format!("{devices} devices here, {taken} of them taken"),
        DeviceCheck::Recorded { claim, devices, revision, agrees } => {
            let rules = match agrees {
                Some(true) => "as the rules allocate",
                Some(false) => "which is not what the rules allocate",
                None => "about which the rules are not certain",
            };
            format!("claim {claim} got {} (r{revision}), {rules}", by_request(devices))
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

fn of_class(ClassRequest { class, count }: &ClassRequest) -> String {
    match count {
        Some(count) => format!("{count} of class {class}"),
        None => format!("all of class {class}"),
    }
}

fn name(AllocatedDevice { driver, pool, device, .. }: &AllocatedDevice) -> String {
    format!("{driver}/{pool}/{device}")
}

/// Devices with the requests they serve: `gpu/pool/a, gpu/pool/b for r0; nic/pool/c for r1`.
fn by_request(devices: &[AllocatedDevice]) -> String {
    let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
    for device in devices {
        match parts.iter_mut().find(|(request, _)| *request == device.request) {
            Some((_, names)) => names.push(name(device)),
            None => parts.push((&device.request, vec![name(device)])),
        }
    }
    let parts: Vec<String> = parts.into_iter().map(|(request, names)| format!("{} for {request}", names.join(", "))).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}
