//! In-place resizes: what the status reports as allocated and actuated counts besides the spec.

use super::request_rules::{RequestRules, ResizeStatus};
use super::request_sums::{Defaults, is_pod_level, with_defaults};
use super::requests::ContainerRequests;
use crate::cluster::resource::list::{ResourceList, raise_all};
use crate::cluster::{Amount, PodInfo};

impl RequestRules {
    /// A container's request after an in-place resize.
    /// Up to 1.32 init containers cannot be resized, since then sidecars can.
    pub(in crate::cluster) fn effective(
        &self,
        pod: &PodInfo,
        container: &ContainerRequests,
        defaults: Defaults,
        status: bool,
        init: bool,
    ) -> ResourceList {
        let mut list = container.requests.clone();
        let allocation = pod.allocations.iter().find(|allocation| allocation.container == container.name);
        let resizable = !init || (self.resize.sidecars && container.restartable);
        if let Some(allocation) = allocation.filter(|_| status && resizable) {
            match (self.resize.status, &allocation.actual) {
                (ResizeStatus::Allocated, _) if pod.resize_infeasible => list.clone_from(&allocation.allocated),
                (ResizeStatus::Allocated, _) => raise_all(&mut list, &allocation.allocated),
                (ResizeStatus::Actual, Some(actual)) if pod.resize_infeasible => list.clone_from(actual),
                (ResizeStatus::Actual, Some(actual)) => raise_all(&mut list, actual),
                (ResizeStatus::Both, Some(actual)) => {
                    if pod.resize_pending_infeasible {
                        list.clear();
                    }
                    raise_all(&mut list, actual);
                    raise_all(&mut list, &allocation.allocated);
                }
                (ResizeStatus::Actual | ResizeStatus::Both, None) => {}
            }
        }
        with_defaults(list, defaults)
    }

    pub(in crate::cluster) fn pod_level_requests(&self, pod: &PodInfo, status: bool) -> ResourceList {
        let mut list = pod.spec.requests.pod_level.clone();
        let allocation = pod.allocations.iter().find(|allocation| allocation.container.is_empty());
        let Some(allocation) = allocation.filter(|_| status && self.pod_level_in_place) else { return list };
        let Some(actual) = &allocation.actual else { return list };
        if self.resize.largest_sum {
            if !list.iter().any(|(name, _)| is_pod_level(name)) {
                return ResourceList::new();
            }
            if pod.resize_pending_infeasible {
                list.clear();
            }
            raise_all(&mut list, actual);
            raise_all(&mut list, &allocation.allocated);
            return list;
        }
        // Only resources of the pod-level request count; for an infeasible resize only the kubelet's report.
        for (name, amount) in &mut list {
            let of = |list: &ResourceList| list.iter().find(|(known, _)| known == name).map(|(_, amount)| *amount).unwrap_or_default();
            let kept = if pod.resize_pending_infeasible { Amount::default() } else { *amount };
            *amount = kept.max(of(actual)).max(of(&allocation.allocated));
        }
        list
    }

    /// `AggregateContainerRequests` of 1.37: spec, allocated and actual resources are each summed, and the largest sum counts. For an infeasible
    /// resize the spec does not; the pod-level status, where it is complete, replaces that of the containers.
    pub(in crate::cluster) fn largest_sum(&self, pod: &PodInfo, defaults: Defaults) -> ResourceList {
        let status_of = |name: &str| pod.allocations.iter().find(|allocation| &*allocation.container == name);
        let set = |list: Option<&ResourceList>| list.filter(|list| !list.is_empty()).cloned();
        let allocated = |name: &str| set(status_of(name).map(|status| &status.allocated));
        let actual = |name: &str| set(status_of(name).and_then(|status| status.actual.as_ref()));
        let feasible = |container: &ContainerRequests| {
            if pod.resize_pending_infeasible { ResourceList::new() } else { container.requests.clone() }
        };
        let of_pod = self.pod_level_in_place.then(|| allocated("").zip(actual(""))).flatten();
        let (allocated_sum, actual_sum) = of_pod.unwrap_or_else(|| {
            let allocated_to = |container: &ContainerRequests| allocated(&container.name).unwrap_or_else(|| feasible(container));
            let actual_of = |container: &ContainerRequests| actual(&container.name).unwrap_or_else(|| allocated_to(container));
            let mut allocated_sum = self.sum(pod, |container, _| with_defaults(allocated_to(container), defaults));
            // The allocated resources of containers exclude what devices consume, the actual ones include it.
            self.add_devices(pod, &mut allocated_sum);
            (allocated_sum, self.sum(pod, |container, _| with_defaults(actual_of(container), defaults)))
        });
        let mut largest = actual_sum;
        raise_all(&mut largest, &allocated_sum);
        if !pod.resize_pending_infeasible {
            let mut asked = self.sum(pod, |container, _| with_defaults(container.requests.clone(), defaults));
            self.add_devices(pod, &mut asked);
            raise_all(&mut largest, &asked);
        }
        largest
    }
}
