//! What filters check about devices and ResourceClaims. Claims are written `namespace/name`.

/// A check on the devices of the pod's claims.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum DeviceCheck {
    /// No claim is needed: device plugins serve all the pod requests.
    DevicePlugins,
    /// A claim that has its devices, reached from the node or not.
    Allocated {
        /// The claim.
        claim: String,
        /// Its devices.
        devices: Vec<AllocatedDevice>,
    },
    /// A claim whose devices the node would allocate.
    WouldAllocate {
        /// The claim.
        claim: String,
        /// The devices.
        devices: Vec<AllocatedDevice>,
        /// Whether it would be these: the release takes pools in random order otherwise (up to 1.35).
        certain: bool,
    },
    /// A claim without devices for which the node has none.
    Wants {
        /// The claim.
        claim: String,
        /// Its requests, each with its alternatives.
        requests: Vec<Vec<ClassRequest>>,
    },
    /// The devices the node reaches.
    Available {
        /// How many there are.
        devices: usize,
        /// How many of these are taken.
        taken: usize,
    },
    /// The devices a claim was recorded to get.
    Recorded {
        /// The claim.
        claim: String,
        /// The devices.
        devices: Vec<AllocatedDevice>,
        /// The revision that wrote them.
        revision: i64,
        /// Whether the rules say the same; `None`: they say nothing certain.
        agrees: Option<bool>,
    },
}

/// A device that a claim has or would get (`DeviceRequestAllocationResult`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocatedDevice {
    /// The request it serves (`request/alternative`).
    pub request: String,
    /// Its driver.
    pub driver: String,
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub device: String,
}

/// The devices of one class that a claim requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRequest {
    /// The DeviceClass.
    pub class: String,
    /// How many; `None`: all there are.
    pub count: Option<i64>,
}
