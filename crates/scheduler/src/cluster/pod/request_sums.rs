//! A pod's requests, summed by the rules of each release.

use std::borrow::Cow;

use super::request_rules::{RequestRules, RequestSums};
use super::requests::{ContainerRequests, PodResource};
use crate::cluster::resource::list::{ResourceList, add_all, raise_all, set};
use crate::cluster::{Amount, PodInfo, Resources};

/// CPU counted by scores for a container without a cpu request, in thousandths (`priorities/util/non_zero.go`, every release).
pub(in crate::cluster) const DEFAULT_MILLI_CPU: i64 = 100;
/// Memory counted by scores for a container without a memory request, in bytes (the same file).
pub(in crate::cluster) const DEFAULT_MEMORY: i64 = 200 * 1024 * 1024;

#[derive(Clone, Copy, Default)]
pub(in crate::cluster) struct Defaults {
    cpu: bool,
    memory: bool,
}

pub(in crate::cluster) const NO_DEFAULTS: Defaults = Defaults { cpu: false, memory: false };
const BOTH_DEFAULTS: Defaults = Defaults { cpu: true, memory: true };

impl RequestRules {
    /// Returns a list's amounts in the scheduler's units, without those that do not count.
    pub(crate) fn units(&self, list: &ResourceList) -> Resources {
        let mut resources = Resources::from_list(list, self.native_scalars);
        if !self.ephemeral_storage {
            resources.ephemeral_storage = 0;
        }
        resources
    }

    /// The request of an incoming pod that filters compare with a node.
    pub(crate) fn incoming(&self, pod: &PodInfo) -> Resources {
        if self.sums != RequestSums::Pods {
            let mut total = self.containers(pod, NO_DEFAULTS);
            total.raise_to(&self.largest_init(pod, NO_DEFAULTS));
            self.add_overhead(pod, &mut total);
            return total;
        }
        let rules = Self { devices: false, ..*self };
        self.units(&rules.aggregate(pod, NO_DEFAULTS, false))
    }

    /// What a pod on a node requests there, with and without the defaults for scores; computed once for all pods of a template.
    pub(crate) fn pod_resource<'p>(&self, pod: &'p PodInfo) -> Cow<'p, PodResource> {
        let make = || {
            let (non_zero_cpu, non_zero_memory) = self.existing_non_zero(pod);
            PodResource { requests: self.existing(pod), non_zero_cpu, non_zero_memory }
        };
        if !pod.allocations.is_empty() || !pod.node_allocatable_claims.is_empty() {
            return Cow::Owned(make());
        }
        let (rules, resource) = pod.spec.requests.resource.0.get_or_init(|| (*self, make()));
        if rules == self { Cow::Borrowed(resource) } else { Cow::Owned(make()) }
    }

    pub(crate) fn existing(&self, pod: &PodInfo) -> Resources {
        match self.sums {
            RequestSums::RegularContainers => self.containers(pod, NO_DEFAULTS),
            RequestSums::Containers if !self.init_containers => {
                let mut total = self.containers(pod, NO_DEFAULTS);
                self.add_overhead(pod, &mut total);
                total
            }
            RequestSums::Containers => self.incoming(pod),
            RequestSums::Pods => self.units(&self.aggregate(pod, NO_DEFAULTS, self.in_place)),
        }
    }

    /// What a pod on a node requests there with the defaults for scores: thousandths of cpu, bytes of memory.
    pub(crate) fn existing_non_zero(&self, pod: &PodInfo) -> (i64, i64) {
        let total = match self.sums {
            RequestSums::RegularContainers => self.containers(pod, BOTH_DEFAULTS),
            RequestSums::Containers => {
                let mut total = self.containers(pod, BOTH_DEFAULTS);
                if self.init_containers {
                    total.raise_to(&self.largest_init(pod, BOTH_DEFAULTS));
                }
                self.add_overhead(pod, &mut total);
                total
            }
            RequestSums::Pods
                if self.sidecars_scored_apart && pod.spec.requests.init_containers.iter().any(|container| container.restartable) =>
            {
                self.non_zero_1_28(pod)
            }
            RequestSums::Pods => {
                let mut defaults = BOTH_DEFAULTS;
                if self.pod_level && !pod.spec.requests.pod_level.is_empty() {
                    let plain = self.aggregate(pod, NO_DEFAULTS, self.in_place);
                    let missing = |name: &str| !plain.iter().any(|(known, _)| &**known == name);
                    defaults = Defaults { cpu: missing("cpu"), memory: missing("memory") };
                }
                self.units(&self.aggregate(pod, defaults, self.in_place))
            }
        };
        (total.milli_cpu, total.memory)
    }

    /// The request of the incoming pod that scores add, per resource; `non_zero`: with the defaults for cpu and memory.
    /// 1.16 to 1.26 add a cpu overhead in whole cores as if it were thousandths; this is reproduced.
    pub(crate) fn scored(&self, pod: &PodInfo, non_zero: bool) -> Resources {
        let defaults = if non_zero { BOTH_DEFAULTS } else { NO_DEFAULTS };
        match self.sums {
            RequestSums::RegularContainers => self.containers(pod, defaults),
            RequestSums::Containers => {
                let mut total = self.containers(pod, defaults);
                if self.init_containers {
                    total.raise_to(&self.largest_init(pod, defaults));
                }
                if self.overhead {
                    for (name, amount) in &pod.spec.requests.overhead {
                        if &**name == "cpu" {
                            total.milli_cpu = total.milli_cpu.wrapping_add(amount.value());
                        } else {
                            total.add_amount(name, *amount, self.native_scalars);
                        }
                    }
                }
                total
            }
            RequestSums::Pods => {
                // Since 1.33 the scorers respect these gates, and NodeResourcesFit passes its own none (`fit.go`).
                let gated = !non_zero || self.gates_in_default_scores;
                let rules = Self { pod_level: self.pod_level && gated, devices: false, ..*self };
                self.units(&rules.aggregate(pod, defaults, self.in_place && gated))
            }
        }
    }

    fn containers(&self, pod: &PodInfo, defaults: Defaults) -> Resources {
        let mut total = Resources::default();
        for container in &pod.spec.requests.containers {
            total.add(&self.units(&with_defaults(container.requests.clone(), defaults)));
        }
        total
    }

    fn largest_init(&self, pod: &PodInfo, defaults: Defaults) -> Resources {
        let mut largest = Resources::default();
        for container in &pod.spec.requests.init_containers {
            largest.raise_to(&self.units(&with_defaults(container.requests.clone(), defaults)));
        }
        if !self.zero_scalars {
            largest.scalars.retain(|(_, amount)| *amount > 0);
        }
        largest
    }

    fn add_overhead(&self, pod: &PodInfo, total: &mut Resources) {
        if self.overhead {
            total.add(&self.units(&pod.spec.requests.overhead));
        }
    }

    /// `PodRequests` of 1.27 and later: amounts are added before they are rounded; sidecars from 1.28.
    pub(in crate::cluster) fn aggregate(&self, pod: &PodInfo, defaults: Defaults, status: bool) -> ResourceList {
        let mut total = if status && self.resize.largest_sum {
            self.largest_sum(pod, defaults)
        } else {
            let mut sum = self.sum(pod, |container, init| self.effective(pod, container, defaults, status, init));
            self.add_devices(pod, &mut sum);
            sum
        };
        if self.pod_level {
            for (name, amount) in self.pod_level_requests(pod, status) {
                if is_pod_level(&name) {
                    set(&mut total, &name, amount);
                }
            }
        }
        if self.overhead {
            add_all(&mut total, &pod.spec.requests.overhead);
        }
        total
    }

    /// Regular containers and sidecars together, or the most needed during start-up. `of` is called with each container and whether it is an init
    /// container.
    pub(in crate::cluster) fn sum(&self, pod: &PodInfo, of: impl Fn(&ContainerRequests, bool) -> ResourceList) -> ResourceList {
        let mut total = ResourceList::new();
        for container in &pod.spec.requests.containers {
            add_all(&mut total, &of(container, false));
        }
        let mut sidecars = ResourceList::new();
        let mut initial = ResourceList::new();
        for container in &pod.spec.requests.init_containers {
            let mut candidate = of(container, true);
            if container.restartable && self.sidecars {
                add_all(&mut total, &candidate);
                add_all(&mut sidecars, &candidate);
                candidate = sidecars.clone();
            } else {
                add_all(&mut candidate, &sidecars);
            }
            raise_all(&mut initial, &candidate);
        }
        raise_all(&mut total, &initial);
        total
    }

    /// Pods on nodes in 1.28 to 1.31: sidecars are not added to the regular containers, and a candidate with sidecars gets the defaults as a whole.
    fn non_zero_1_28(&self, pod: &PodInfo) -> Resources {
        let requests = &pod.spec.requests;
        let mut total = ResourceList::new();
        for container in &requests.containers {
            add_all(&mut total, &self.effective(pod, container, BOTH_DEFAULTS, self.in_place, false));
        }
        let mut sidecars = ResourceList::new();
        for container in &requests.init_containers {
            let mut candidate = self.effective(pod, container, NO_DEFAULTS, self.in_place, true);
            if container.restartable {
                add_all(&mut sidecars, &candidate);
                candidate = sidecars.clone();
            } else {
                add_all(&mut candidate, &sidecars);
            }
            raise_all(&mut total, &with_defaults(candidate, BOTH_DEFAULTS));
        }
        if self.overhead {
            add_all(&mut total, &requests.overhead);
        }
        self.units(&total)
    }

    /// Adds what the pod's devices consume, where that counts (`addDRANodeAllocatableClaimResources`).
    pub(in crate::cluster) fn add_devices(&self, pod: &PodInfo, total: &mut ResourceList) {
        for taking in pod.node_allocatable_claims.iter().filter(|_| self.devices) {
            add_all(total, &taking.total());
        }
    }

    /// The requests of a pod yet to be scheduled, together with what its devices would consume.
    pub(crate) fn with_devices(&self, pod: &PodInfo) -> ResourceList {
        self.aggregate(pod, NO_DEFAULTS, false)
    }

    /// The huge-page limits of the pod's containers together with what its devices consume; other resources are not part of them where no container
    /// has limits (`AggregateContainerLimits`).
    pub(crate) fn huge_page_limits(&self, pod: &PodInfo) -> ResourceList {
        let mut total = self.sum(pod, |container, _| container.limits.clone());
        self.add_devices(pod, &mut total);
        total.retain(|(name, _)| name.starts_with("hugepages-"));
        total
    }
}

/// Whether the resource may be requested at pod level (`component-helpers/resource/helpers.go` supportedPodLevelResources).
pub(crate) fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

pub(in crate::cluster) fn with_defaults(mut list: ResourceList, defaults: Defaults) -> ResourceList {
    let missing = |list: &ResourceList, name: &str| !list.iter().any(|(known, _)| &**known == name);
    if defaults.cpu && missing(&list, "cpu") {
        list.push(("cpu".into(), Amount::from_millis(DEFAULT_MILLI_CPU)));
    }
    if defaults.memory && missing(&list, "memory") {
        list.push(("memory".into(), Amount::from_units(DEFAULT_MEMORY)));
    }
    list
}
