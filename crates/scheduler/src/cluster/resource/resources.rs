//! Vectors of resources in the scheduler's units: what a node offers and what pods request.

use std::sync::Arc;

use crate::cluster::{Amount, ResourceList};

/// Amounts per resource: cpu in thousandths, the rest in whole units (bytes, pieces), rounded up.
/// Upstream: `framework.Resource`, `schedulercache.Resource`. Sums wrap as in Go, so that subtracting restores the value from before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources {
    /// CPU in thousandths of a core.
    pub(crate) milli_cpu: i64,
    pub(crate) memory: i64,
    pub(crate) ephemeral_storage: i64,
    /// Everything else the scheduler tracks, ascending by name; a key stays once it was added, even at 0.
    pub(crate) scalars: Vec<(Arc<str>, i64)>,
}

impl Resources {
    /// Sums a list, each amount rounded up. `pods` is not a resource here (see `Node::allowed_pods`).
    pub(crate) fn from_list(list: &ResourceList, native_scalars: bool) -> Self {
        let mut resources = Self::default();
        for (name, amount) in list {
            resources.add_amount(name, *amount, native_scalars);
        }
        resources
    }

    /// Adds one amount, rounded up; names the scheduler does not track are ignored (see `RequestRules::native_scalars`).
    pub(crate) fn add_amount(&mut self, name: &Arc<str>, amount: Amount, native_scalars: bool) {
        match &**name {
            "cpu" => self.milli_cpu = self.milli_cpu.wrapping_add(amount.milli_value()),
            "memory" => self.memory = self.memory.wrapping_add(amount.value()),
            "ephemeral-storage" => self.ephemeral_storage = self.ephemeral_storage.wrapping_add(amount.value()),
            "pods" => {}
            scalar if is_scalar(scalar, native_scalars) => self.add_scalar(name, amount.value()),
            _ => {}
        }
    }

    /// The amount of `name`, in the scheduler's unit; 0 if there is none.
    pub(crate) fn get(&self, name: &str) -> i64 {
        match name {
            "cpu" => self.milli_cpu,
            "memory" => self.memory,
            "ephemeral-storage" => self.ephemeral_storage,
            _ => self.scalars.iter().find(|(scalar, _)| &**scalar == name).map_or(0, |(_, amount)| *amount),
        }
    }

    /// Adds `other`, every resource of it.
    pub(crate) fn add(&mut self, other: &Self) {
        self.milli_cpu = self.milli_cpu.wrapping_add(other.milli_cpu);
        self.memory = self.memory.wrapping_add(other.memory);
        self.ephemeral_storage = self.ephemeral_storage.wrapping_add(other.ephemeral_storage);
        for (name, amount) in &other.scalars {
            self.add_scalar(name, *amount);
        }
    }

    /// Subtracts `other`.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.milli_cpu = self.milli_cpu.wrapping_sub(other.milli_cpu);
        self.memory = self.memory.wrapping_sub(other.memory);
        self.ephemeral_storage = self.ephemeral_storage.wrapping_sub(other.ephemeral_storage);
        for (name, amount) in &other.scalars {
            self.add_scalar(name, amount.wrapping_neg());
        }
    }

    /// Raises each resource to at least `other`'s.
    pub(crate) fn raise_to(&mut self, other: &Self) {
        self.milli_cpu = self.milli_cpu.max(other.milli_cpu);
        self.memory = self.memory.max(other.memory);
        self.ephemeral_storage = self.ephemeral_storage.max(other.ephemeral_storage);
        for (name, amount) in &other.scalars {
            match self.scalars.binary_search_by(|(known, _)| known.cmp(name)) {
                Ok(at) => self.scalars[at].1 = self.scalars[at].1.max(*amount),
                Err(at) => self.scalars.insert(at, (name.clone(), *amount)),
            }
        }
    }

    fn add_scalar(&mut self, name: &Arc<str>, amount: i64) {
        match self.scalars.binary_search_by(|(known, _)| known.cmp(name)) {
            Ok(at) => self.scalars[at].1 = self.scalars[at].1.wrapping_add(amount),
            Err(at) => self.scalars.insert(at, (name.clone(), amount)),
        }
    }
}

/// Whether `name` is an extended resource: of a domain other than Kubernetes' own (`pkg/apis/core/v1/helper`, every release).
pub(crate) fn is_extended(name: &str) -> bool {
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    !native && !name.starts_with("requests.")
}

/// Whether the scheduler tracks `name` besides cpu, memory and ephemeral storage.
pub(in crate::cluster) fn is_scalar(name: &str, native_scalars: bool) -> bool {
    if name.starts_with("hugepages-") || is_extended(name) {
        return true;
    }
    if !native_scalars {
        return name == "alpha.kubernetes.io/nvidia-gpu";
    }
    name.starts_with("attachable-volumes-") || name.contains("kubernetes.io/")
}

#[cfg(test)]
mod tests {
    use super::Resources;

    #[test]
    fn subtracting_restores_the_previous_amounts() {
        let there = Resources { memory: 5, scalars: vec![("example.com/gpu".into(), 2)], ..Resources::default() };
        let huge = Resources { memory: i64::MAX, scalars: vec![("example.com/gpu".into(), i64::MAX)], ..Resources::default() };
        let mut sum = there.clone();
        sum.add(&huge);
        assert_eq!(sum.memory, i64::MIN + 4);
        sum.subtract(&huge);
        assert_eq!(sum, there);
    }
}
