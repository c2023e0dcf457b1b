//! Requests of a claim, each with its alternatives.

use crate::api::resource::{
    CapacityRequirements, DeviceClass, DeviceDerivedAttribute, DeviceRequest, DeviceSelector, DeviceToleration, ExactDeviceRequest,
};
use crate::cluster::Claim;

use super::Fault;
use super::pool::{Pool, PoolDevice};

/// One request; a plain one has one alternative.
pub(super) struct Request<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it lists alternatives (`firstAvailable`).
    pub prioritized: bool,
    /// Its alternatives, best first.
    pub alternatives: Vec<Alternative<'a>>,
}

/// One way to serve a request.
#[derive(Clone)]
pub(super) struct Alternative<'a> {
    /// The subrequest's name; the request's own for a plain one.
    pub name: &'a str,
    /// Its device class.
    pub class: &'a DeviceClass,
    /// Its own selectors.
    pub selectors: &'a [DeviceSelector],
    /// The device taints it tolerates.
    pub tolerations: &'a [DeviceToleration],
    /// How many devices it requests; for `All`, those that exist.
    pub count: usize,
    /// The devices of `All`.
    pub all: Option<Vec<(&'a Pool<'a>, PoolDevice<'a>)>>,
    /// Whether it may get devices that are in use.
    pub admin_access: bool,
    /// The requested capacity.
    pub capacity: Option<&'a CapacityRequirements>,
    /// Its derived attributes.
    pub derived: &'a [DeviceDerivedAttribute],
}

/// A request as stored, plain or alternative.
pub(crate) struct StoredRequest<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its class's name.
    pub class: &'a str,
    /// Its selectors.
    pub selectors: &'a [DeviceSelector],
    /// Its tolerations.
    pub tolerations: &'a [DeviceToleration],
    /// `ExactCount` or `All`.
    pub mode: &'a str,
    /// Its count.
    pub count: i64,
    /// Its admin access, if set.
    pub admin_access: Option<bool>,
    /// Its capacity.
    pub capacity: Option<&'a CapacityRequirements>,
}

/// The alternatives of a request, as stored.
pub(crate) fn written<'a>(request: &'a DeviceRequest) -> Vec<StoredRequest<'a>> {
    if let Some(exactly) = &request.exactly {
        return vec![exact(&request.name, exactly)];
    }
    let subrequests = request.first_available.iter().flatten();
    subrequests
        .map(|sub| StoredRequest {
            name: &sub.name,
            class: &sub.device_class_name,
            selectors: sub.selectors.as_deref().unwrap_or_default(),
            tolerations: sub.tolerations.as_deref().unwrap_or_default(),
            mode: sub.allocation_mode.as_deref().unwrap_or("ExactCount"),
            count: sub.count.unwrap_or(1),
            admin_access: None,
            capacity: sub.capacity.as_ref(),
        })
        .collect()
}

fn exact<'a>(name: &'a str, exactly: &'a ExactDeviceRequest) -> StoredRequest<'a> {
    StoredRequest {
        name,
        class: &exactly.device_class_name,
        selectors: exactly.selectors.as_deref().unwrap_or_default(),
        tolerations: exactly.tolerations.as_deref().unwrap_or_default(),
        mode: exactly.allocation_mode.as_deref().unwrap_or("ExactCount"),
        count: exactly.count.unwrap_or(1),
        admin_access: exactly.admin_access,
        capacity: exactly.capacity.as_ref(),
    }
}

pub(crate) fn requests(claim: &Claim) -> &[DeviceRequest] {
    claim.spec.devices.as_ref().and_then(|devices| devices.requests.as_deref()).unwrap_or_default()
}

/// `namespace/name`, as upstream writes claims.
pub(crate) fn claim_name(claim: &Claim) -> String {
    format!("{}/{}", claim.metadata.namespace.as_deref().unwrap_or_default(), claim.metadata.name.as_deref().unwrap_or_default())
}

/// Words upstream's error about a request.
pub(super) fn problem(claim: &Claim, request: &str, what: &str) -> Fault {
    Fault::Error(format!("claim {}, request {request}: {what}", claim_name(claim)))
}
