//! What became of a pod after its last refusal: it was nominated, and waits for somebody to make its volume or to prepare its device.

use ketcd_cluster::explain;
use schemars::JsonSchema;
use serde::Serialize;

use crate::visible::visible;

/// What was written about a waiting pod after its last refusal.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SinceRefusal {
    /// What the pod waits for before it can be bound, as its claims say.
    pub awaited: Vec<Awaited>,
    /// The node the pod is nominated to: one that was made room on or, since 1.35, on which it is about to be bound; null if there is none.
    pub nominated_node: Option<String>,
    /// The revision of the refusal.
    pub refused_revision: i64,
    /// The newest revision that wrote the pod or a claim of it; not after the refusal where only other objects were written since.
    pub written_revision: i64,
}

/// Somebody who has to act before a pod can be bound.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Awaited {
    /// The claim to a volume or to devices.
    pub claim: String,
    /// The node for which it is; null where the claim names none.
    pub node: Option<String>,
    /// Who has to act: a storage provisioner or a device driver; null where the claim names none.
    pub waits_for: Option<String>,
}

impl From<&explain::SinceRefusal> for SinceRefusal {
    fn from(since: &explain::SinceRefusal) -> Self {
        let awaited = |awaited: &explain::Awaited| Awaited {
            claim: awaited.claim.clone(),
            node: awaited.node.clone(),
            waits_for: awaited.waits_for.clone(),
        };
        Self {
            awaited: since.awaited.iter().map(awaited).collect(),
            nominated_node: since.nominated_node.clone(),
            refused_revision: since.refused_revision,
            written_revision: since.written_revision,
        }
    }
}

impl SinceRefusal {
    pub(super) fn words(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.nominated_node.as_ref().map(|node| format!("nominated to {node}")));
        for Awaited { claim, node, waits_for } in &self.awaited {
            let on = node.as_ref().map_or(String::new(), |node| format!(" on {node}"));
            let who = waits_for.as_deref().unwrap_or("its provisioner");
            parts.push(format!("claim {claim} waits for {who}{on}"));
        }
        if parts.is_empty() {
            parts.push(match self.written_revision > self.refused_revision {
                true => format!("the pod or its claims were written, last at r{}", self.written_revision),
                false => "other objects changed, so that a node fits".to_owned(),
            });
        }
        visible(&format!("refused at r{}; since then: {}", self.refused_revision, parts.join(", "))).into_owned()
    }
}
