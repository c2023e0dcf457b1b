//! What one object says of itself that is wrong.

use serde_json::Value;

use super::{Trouble, TroubleKind, asked_to_end, cluster, node, pod, text, time, workload};

/// Returns what is wrong with an object by what it says of itself, the gravest first, whether or not it has lasted long enough to count.
pub fn troubles_of(object: &Value) -> Vec<Trouble> {
    match object["kind"].as_str().unwrap_or_default() {
        "Pod" => pod::troubles(object),
        "Node" => node::troubles(object),
        "Namespace" => cluster::namespace(object).into_iter().collect(),
        kind => {
            let mut troubles = match kind {
                "Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController" | "DaemonSet" => workload::troubles(object),
                "Job" => workload::job(object).into_iter().collect(),
                "PersistentVolumeClaim" | "PersistentVolume" => cluster::volume(object).into_iter().collect(),
                "APIService" => cluster::api_service(object).into_iter().collect(),
                "CertificateSigningRequest" => cluster::signing_request(object).into_iter().collect(),
                "ResourceQuota" => cluster::quota(object),
                _ => Vec::new(),
            };
            troubles.extend(finalizers(object));
            troubles
        }
    }
}

/// A deletion that waits for somebody to take off a finalizer.
fn finalizers(object: &Value) -> Option<Trouble> {
    let metadata = &object["metadata"];
    let end = time(&metadata["deletionTimestamp"])?;
    let names: Vec<String> = metadata["finalizers"].as_array().into_iter().flatten().filter_map(text).collect();
    Some(Trouble { counts_from: Some(end), ..Trouble::new(TroubleKind::FinalizersStuck).since(asked_to_end(metadata)).about(names) })
}
