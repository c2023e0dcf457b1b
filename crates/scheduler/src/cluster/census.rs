//! Counts over a cluster's stored values: versions of its parts, and how many values are encrypted how.

use std::collections::BTreeMap;

use serde_json::Value;

use ketcd_kube::encryption::{Scheme, Seal};

/// Counts taken over every stored value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// How many keys there are.
    pub keys: u64,
    /// Nodes by their kubelet's version.
    pub kubelets: BTreeMap<String, u64>,
    /// The holders of scheduler leases.
    pub schedulers: Vec<String>,
    /// Values by resource, scheme and name of the key (empty in plain text).
    seals: BTreeMap<(String, Scheme, String), u64>,
}

impl Census {
    /// Counts one value. `resource` is its resource with its group, if it has one.
    pub fn count(&mut self, resource: Option<String>, seal: Seal<'_>) {
        self.keys += 1;
        if let Some(resource) = resource {
            *self.seals.entry((resource, seal.scheme, seal.name)).or_default() += 1;
        }
    }

    /// Counts a Node's kubelet version.
    pub fn add_node(&mut self, node: &Value) {
        if let Some(version) = node.pointer("/status/nodeInfo/kubeletVersion").and_then(Value::as_str) {
            *self.kubelets.entry(version.to_owned()).or_default() += 1;
        }
    }

    /// Records the Lease that schedulers elect their leader with.
    pub fn add_scheduler_lease(&mut self, lease: &Value) {
        let text = |path: &str| lease.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let (Some(name), Some(holder)) = (text("/metadata/name"), text("/spec/holderIdentity")) {
            self.schedulers.push(format!("{name} {holder}"));
        }
    }

    /// The resources that have an encrypted value: resource, scheme, name of the key, number of values; those in plain text too.
    pub fn encrypted(&self) -> impl Iterator<Item = (&str, Scheme, &str, u64)> {
        let is_sealed = |resource: &str| self.seals.keys().any(|(other, scheme, _)| other == resource && *scheme != Scheme::Identity);
        let rows = self.seals.iter().filter(move |((resource, ..), _)| is_sealed(resource));
        rows.map(|((resource, scheme, name), values)| (resource.as_str(), *scheme, name.as_str(), *values))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_resources_with_an_encrypted_value_are_listed() {
        let mut census = Census::default();
        let mut count = |resource: Option<&str>, value: &[u8]| census.count(resource.map(str::to_owned), Seal::read(value, []));
        count(Some("secrets"), b"k8s:enc:aescbc:v1:key1:x");
        count(Some("secrets"), b"{}");
        count(Some("configmaps"), b"{}");
        count(None, b"1787");
        let listed: Vec<_> = census.encrypted().collect();
        assert_eq!(listed, [("secrets", Scheme::Identity, "", 1), ("secrets", Scheme::AesCbc, "key1", 1)]);
        assert_eq!(census.keys, 4);
    }

    #[test]
    fn a_lease_without_a_holder_names_no_scheduler() {
        let mut census = Census::default();
        let lease = |holder: &str| json!({"metadata": {"name": "kube-scheduler"}, "spec": {"holderIdentity": holder}});
        census.add_scheduler_lease(&lease(""));
        census.add_scheduler_lease(&lease("n1_x"));
        assert_eq!(census.schedulers, ["kube-scheduler n1_x"]);
    }
}
