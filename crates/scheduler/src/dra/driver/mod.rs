//! Claims of 1.26 to 1.31 ("classic DRA"): allocated by their drivers, which report where they can, or by the scheduler (named resources in 1.30,
//! devices in 1.31).
//! Upstream: `plugins/dynamicresources/dynamicresources.go` of these releases.

mod named;
mod parameters;
mod post_filter;
mod reserve;

use std::sync::Arc;

use crate::api::core::NodeSelector;
use crate::cluster::Claim as ResourceClaim;
use crate::cluster::NodeInfo;
use crate::cluster::device::classic::{ClaimSchedulingStatus, DriverClaim, PodSchedulingContext};
use crate::framework::{DeviceCheck, Fact};
use crate::volumes::is_controlled_by;
use crate::{Cycle, PreFilter, Refusal, Verdict};

use super::{Allocator, Fault, claim_name, pod_claims, requests, selects, written};
use named::Controller;
pub(crate) use post_filter::post_filter;
pub(crate) use reserve::{message, waits};

const NOT_AVAILABLE: &str = "resourceclaim not available on the node";
const UNSUITABLE: &str = "resourceclaim cannot be allocated for the node (unsuitable)";
const CANNOT_ALLOCATE: &str = "cannot allocate all claims";

/// The claims of a pod, prepared.
pub(crate) struct ClaimsOfDrivers<'a> {
    cycle: &'a Cycle<'a>,
    claims: Vec<PodClaim>,
    context: Negotiation,
    allocator: Allocator<'a>,
}

/// One of the pod's claims.
struct PodClaim {
    claim: Arc<ResourceClaim>,
    driver: Arc<DriverClaim>,
    way: Way,
}

/// How a claim is allocated.
enum Way {
    /// It is allocated already.
    Allocated,
    /// Its driver allocates them.
    Driver {
        /// The nodes its classes are for; `None`: a class does not exist.
        suitable: Option<Vec<NodeSelector>>,
        /// What the driver reported.
        status: Option<ClaimSchedulingStatus>,
    },
    /// The scheduler allocates named resources; with the nodes its class is for.
    Named(Option<NodeSelector>, Controller),
    /// The scheduler allocates devices for requests.
    Devices,
    /// The evidence is not in the data.
    Unknown(&'static str),
}

/// The PodSchedulingContext in which scheduler and drivers negotiate.
enum Negotiation {
    None,
    Of(Arc<PodSchedulingContext>),
    /// It belongs to another pod: upstream's error.
    Foreign(String),
}

/// Why a pod is not evaluated node by node.
pub enum Stop {
    /// It is rejected as a whole.
    Refused(String),
    /// The attempt ends with an error.
    Failed(String),
}

impl From<Stop> for PreFilter<'_> {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refused(reason) => PreFilter::Refuse(Refusal::unresolvable(reason)),
            Stop::Failed(error) => PreFilter::Error(error),
        }
    }
}

impl<'a> ClaimsOfDrivers<'a> {
    /// `PreFilter`: the pod's claims, if it has any.
    ///
    /// # Errors
    /// Why they cannot be allocated on any node.
    pub(crate) fn of(cycle: &'a Cycle<'a>) -> Result<Option<Self>, Stop> {
        let claims = pod_claims(cycle.pod, cycle.state, cycle.profile).map_err(Stop::Refused)?;
        if claims.is_empty() {
            return Ok(None);
        }
        let mut wanted = Self { cycle, claims: Vec::new(), context: context(cycle), allocator: Allocator::new(cycle) };
        if let (Negotiation::Foreign(error), true) = (&wanted.context, cycle.profile.rules.foreign_context_ends_prefilter()) {
            return Err(Stop::Failed(error.clone()));
        }
        for claim in claims {
            wanted.add(claim)?;
        }
        Ok(Some(wanted))
    }

    fn add(&mut self, claim: Arc<ResourceClaim>) -> Result<(), Stop> {
        let (rules, gates) = (&self.cycle.profile.rules, &self.cycle.profile.gates);
        let listers = self.cycle.state.listers();
        let (namespace, name) =
            (claim.metadata.namespace.as_deref().unwrap_or_default(), claim.metadata.name.as_deref().unwrap_or_default());
        let driver = listers.resource_claims.get(namespace, name).and_then(|claim| claim.older.clone()).unwrap_or_default();
        let status = claim.status.as_ref();
        let allocated = status.is_some_and(|status| status.allocation.is_some());
        let refuse = |reason: &str| Err(Stop::Refused(reason.to_owned()));
        let immediate = driver.spec.allocation_mode == "Immediate" && !allocated;
        if immediate && rules.refuses_every_immediate_claim() {
            return refuse("unallocated immediate resourceclaim");
        }
        if !driver.spec.controller.is_empty() && rules.refuses_controllers(gates) {
            return refuse("resourceclaim depends on disabled DRAControlPlaneController feature");
        }
        if driver.status.deallocation_requested {
            return refuse("resourceclaim must be reallocated");
        }
        let users = status.and_then(|status| status.reserved_for.as_deref()).unwrap_or_default();
        let shareable =
            rules.every_claim_is_shareable() || driver.status.allocation.as_ref().is_some_and(|allocation| allocation.shareable);
        if allocated && !shareable && !users.is_empty() && !users.iter().any(|user| *user.uid == *self.cycle.pod.uid) {
            return refuse("resourceclaim in use");
        }
        let way = match rules.claims_request_devices() {
            _ if allocated => Way::Allocated,
            true => self.by_devices(&claim, &driver)?,
            false => self.by_class(namespace, &driver)?,
        };
        self.claims.push(PodClaim { claim, driver, way });
        Ok(())
    }

    /// How a claim of a ResourceClass is allocated.
    fn by_class(&self, namespace: &str, driver: &DriverClaim) -> Result<Way, Stop> {
        let (rules, listers) = (&self.cycle.profile.rules, self.cycle.state.listers());
        let class = listers.resource_classes.get("", &driver.spec.resource_class_name);
        if class.is_none() && rules.missing_class_refuses_pod() {
            return Err(Stop::Refused(format!("resource class {} does not exist", driver.spec.resource_class_name)));
        }
        if let Some(class) = class.filter(|class| rules.allocates_named_resources() && class.structured_parameters) {
            let Some(parameters) = parameters::of(class, driver, namespace, listers)? else {
                return Ok(Way::Unknown("several parameters are generated for one reference, and which the scheduler takes is chance"));
            };
            return Ok(Way::Named(class.suitable_nodes.clone(), Controller::new(&parameters)?));
        }
        if driver.spec.allocation_mode == "Immediate" {
            return Err(Stop::Refused("unallocated immediate resourceclaim".to_owned()));
        }
        let suitable = class.map(|class| class.suitable_nodes.iter().cloned().collect());
        Ok(Way::Driver { suitable, status: self.status() })
    }

    /// How a claim with device requests is allocated.
    fn by_devices(&self, claim: &ResourceClaim, driver: &DriverClaim) -> Result<Way, Stop> {
        let listers = self.cycle.state.listers();
        let mut suitable = Vec::new();
        for request in requests(claim) {
            let class = written(request).first().map(|written| written.class).unwrap_or_default();
            if class.is_empty() {
                return Err(Stop::Failed(format!("request {}: unsupported request type", request.name)));
            }
            if listers.device_classes.get("", class).is_none() {
                return Err(Stop::Refused(format!("request {}: device class {class} does not exist", request.name)));
            }
            suitable.extend(
                listers.device_classes.get("", class).and_then(|class| class.older.as_ref()).map(|older| older.suitable_nodes.clone()),
            );
        }
        if driver.spec.controller.is_empty() {
            return Ok(Way::Devices);
        }
        Ok(Way::Driver { suitable: Some(suitable), status: self.status() })
    }

    /// The driver's report for the claim that is added next. Upstream takes the pod's entry with the index of the claim among the pod's claims.
    fn status(&self) -> Option<ClaimSchedulingStatus> {
        let (name, ..) = self.cycle.pod.spec.resource_claims.get(self.claims.len())?;
        let Negotiation::Of(context) = &self.context else { return None };
        context.status.resource_claims.iter().find(|status| *status.name == **name).cloned()
    }

    /// `Filter`.
    pub(crate) fn filter(&self, node: &NodeInfo) -> Verdict {
        for claim in &self.claims {
            if let Some(verdict) = self.refuses(claim, node) {
                return verdict;
            }
        }
        let open = self.open();
        if !open.is_empty() {
            match self.allocator.allocate(node, &open) {
                Ok(Some(_)) => {}
                Ok(None) => return Verdict::unresolvable(CANNOT_ALLOCATE),
                Err(Fault::Node(reason)) => return Verdict::unresolvable(reason),
                Err(Fault::Error(error)) => return Verdict::Error(error),
                Err(Fault::Unknown(missing)) => return Verdict::Unknown { missing: missing.into() },
            }
        }
        if self.unavailable(node).is_empty() { Verdict::Pass } else { Verdict::unresolvable(NOT_AVAILABLE) }
    }

    /// Returns the verdict of an unallocated claim on a node, where it does not pass.
    fn refuses(&self, claim: &PodClaim, node: &NodeInfo) -> Option<Verdict> {
        let class = self.cycle.profile.rules.claim_class_kind();
        let excluded = || Some(Verdict::unresolvable(format!("excluded by {class} class node filter")));
        match &claim.way {
            Way::Allocated | Way::Devices => None,
            Way::Unknown(missing) => Some(Verdict::Unknown { missing: (*missing).into() }),
            Way::Named(suitable, _) if suitable.as_ref().is_some_and(|suitable| !selects(suitable, node)) => excluded(),
            Way::Named(_, controller) => match controller.suits(node, self.cycle.state) {
                Ok(true) => None,
                Ok(false) => Some(Verdict::unresolvable(UNSUITABLE)),
                Err(Fault::Error(error) | Fault::Node(error)) => {
                    Some(Verdict::unresolvable(format!("checking structured parameters failed: {error}")))
                }
                Err(Fault::Unknown(missing)) => Some(Verdict::Unknown { missing: missing.into() }),
            },
            Way::Driver { suitable: None, .. } => {
                let class = &claim.driver.spec.resource_class_name;
                Some(Verdict::Error(format!("look up resource class: resourceclass.resource.k8s.io \"{class}\" not found")))
            }
            Way::Driver { suitable: Some(suitable), .. } if !suitable.iter().all(|suitable| selects(suitable, node)) => excluded(),
            Way::Driver { status, .. } => match (&self.context, status) {
                (Negotiation::Foreign(error), _) => Some(Verdict::Error(error.clone())),
                (_, Some(status)) if status.unsuitable_nodes.iter().any(|name| **name == *node.name) => {
                    Some(Verdict::unresolvable(UNSUITABLE))
                }
                _ => None,
            },
        }
    }

    /// The claims that the scheduler itself allocates by device requests.
    fn open(&self) -> Vec<&ResourceClaim> {
        self.claims.iter().filter(|claim| matches!(claim.way, Way::Devices)).map(|claim| &*claim.claim).collect()
    }

    /// The indices of the claims whose devices are not available on a node.
    fn unavailable(&self, node: &NodeInfo) -> Vec<usize> {
        let reaches = |claim: &PodClaim| {
            let allocation = claim.claim.status.as_ref().and_then(|status| status.allocation.as_ref());
            allocation.and_then(|allocation| allocation.node_selector.as_ref()).is_none_or(|selector| selects(selector, node))
        };
        let away = self.claims.iter().enumerate().filter(|(_, claim)| matches!(claim.way, Way::Allocated) && !reaches(claim));
        away.map(|(at, _)| at).collect()
    }

    /// What was compared on a node.
    pub(crate) fn facts(&self, node: &NodeInfo) -> Vec<Fact> {
        let away = self.unavailable(node);
        let fact = |(at, claim): (usize, &PodClaim)| {
            let (name, refused) = (claim_name(&claim.claim), self.refuses(claim, node).is_some());
            match &claim.way {
                Way::Allocated => Fact::new(!away.contains(&at), DeviceCheck::AllocatedClassic { claim: name }),
                Way::Driver { status, .. } => Fact::new(!refused, DeviceCheck::ByDriver { claim: name, answered: status.is_some() }),
                _ => Fact::new(!refused, DeviceCheck::ByScheduler { claim: name }),
            }
        };
        self.claims.iter().enumerate().map(fact).collect()
    }
}

fn context(cycle: &Cycle<'_>) -> Negotiation {
    let (profile, pod) = (cycle.profile, cycle.pod);
    let known = cycle.state.listers().scheduling_context(&pod.namespace, &pod.name);
    let listed = profile.rules.reads_scheduling_contexts(&profile.gates);
    match known.filter(|_| listed) {
        None => Negotiation::None,
        Some(context) if is_controlled_by(&context.metadata, pod) => Negotiation::Of(context.clone()),
        Some(context) => {
            let kind = profile.rules.scheduling_context_kind();
            let uid = context.metadata.uid.as_deref().unwrap_or_default();
            Negotiation::Foreign(format!("{kind} object with UID {uid} is not owned by Pod {}", pod.full_name()))
        }
    }
}
