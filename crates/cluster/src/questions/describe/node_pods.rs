//! The pods of nodes: etcd has no index for them, so all pods are read, and decoded only where they may be of a node asked for.

use std::collections::{BTreeMap, HashMap};

use aho_corasick::AhoCorasick;
use futures_util::TryStreamExt;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::related::owners::StoredObject;
use ketcd_kube::{Body, FieldSet, Kinds, Quantity};
use ketcd_store::{At, KeyRange, Want};

/// Up to this many nodes, values are searched for their names before they are decoded.
const MAX_SEARCHED_NODES: usize = 16;

/// The pods that run on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePods {
    /// How many.
    pub count: usize,
    /// The sum of what their containers request, by resource.
    pub requests: BTreeMap<String, String>,
}

/// How many pods a node runs, and what they request.
#[derive(Default)]
struct Count {
    pods: usize,
    requests: BTreeMap<String, Quantity>,
}

impl Cluster {
    /// The pods of those subjects that are nodes, by the nodes' names; nothing is read where none is.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn node_pods(&self, subjects: &[StoredObject], at: At) -> Result<HashMap<String, NodePods>> {
        let nodes = subjects.iter().filter(|subject| subject.is_node());
        let mut counts: HashMap<String, Count> =
            nodes.filter_map(|node| node.object["metadata"]["name"].as_str()).map(|name| (name.to_owned(), Count::default())).collect();
        if counts.is_empty() {
            return Ok(HashMap::new());
        }
        // With most nodes, nearly every pod names one.
        let named = (counts.len() <= MAX_SEARCHED_NODES).then(|| AhoCorasick::new(counts.keys())).transpose();
        let named = named.map_err(|error| Error::invalid(error.to_string()))?;
        let kinds = Kinds::builtin();
        let pods = kinds.find("pods").map_err(Error::from)?;
        let range = KeyRange::prefix(pods.key_prefix(self.prefix().await?, None));
        let Some(listing) = self.range_or_miss(range, at, Want::Values).await? else { return Ok(HashMap::new()) };
        let counted = FieldSet::of(["spec.nodeName", "spec.containers.resources.requests", "status.phase"]);
        let mut entries = listing.entries;
        while let Some(entry) = entries.try_next().await? {
            // Sealed values may name any node.
            if !entry.value.starts_with(b"k8s:enc:") && named.as_ref().is_some_and(|named| !named.is_match(&entry.value)) {
                continue;
            }
            let decoder = &self.reporting_decoder;
            let Body::Object(pod) = decoder.only(&counted).decode(&entry.key, &entry.value, entry.mod_revision.0).body else { continue };
            let node = pod["spec"]["nodeName"].as_str().and_then(|node| counts.get_mut(node));
            if let Some(count) = node.filter(|_| !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))) {
                count.add(&pod);
            }
        }
        Ok(counts.into_iter().map(|(name, count)| (name, count.finish())).collect())
    }
}

impl Count {
    fn add(&mut self, pod: &Value) {
        self.pods += 1;
        for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
            for (resource, request) in container["resources"]["requests"].as_object().into_iter().flatten() {
                let Some(request) = request.as_str().and_then(|text| text.parse::<Quantity>().ok()) else { continue };
                let sum = match self.requests.get(resource) {
                    Some(sum) => sum.checked_add(&request),
                    None => Some(request),
                };
                if let Some(sum) = sum {
                    self.requests.insert(resource.clone(), sum);
                }
            }
        }
    }

    fn finish(self) -> NodePods {
        let requests = self.requests.into_iter().map(|(resource, sum)| (resource, sum.to_string())).collect();
        NodePods { count: self.pods, requests }
    }
}
