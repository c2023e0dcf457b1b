//! How much room the cluster's ResourceQuotas leave.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_kube::{Format, Quantity};
use serde_json::Value;

use super::{ApplyObstacle, TargetCluster};
use crate::identity::ObjectId;
use crate::pod_template::containers;

/// Returns the quotas that manifests of new objects would exceed, with those objects. Quotas with scopes are not evaluated: whether they count an object
/// is decided when it is admitted.
pub(super) fn exceeded(with: &BTreeMap<ObjectId, &Value>, cluster: &dyn TargetCluster) -> Vec<(ApplyObstacle, Vec<ObjectId>)> {
    let quotas = cluster.objects().filter(|(id, _)| id.is("", "ResourceQuota"));
    let evaluated = quotas.filter(|(_, quota)| quota["spec"]["scopes"].is_null() && quota["spec"]["scopeSelector"].is_null());
    let mut found = Vec::new();
    for (id, quota) in evaluated {
        let new: BTreeMap<&ObjectId, &Value> = with
            .iter()
            .filter(|(own, _)| own.namespace == id.namespace && cluster.object(own).is_none())
            .map(|(own, manifest)| (own, *manifest))
            .collect();
        for (resource, hard) in quota["spec"]["hard"].as_object().into_iter().flatten() {
            let Some((requested, users)) = usage(resource, &new, cluster) else { continue };
            let used = quota["status"]["used"][resource].as_str().and_then(|used| used.parse().ok());
            let used: Quantity = used.unwrap_or_else(|| Quantity::new(0, Format::DecimalSI));
            let limit: Option<Quantity> = hard.as_str().and_then(|hard| hard.parse().ok());
            if let (Some(total), Some(limit)) = (used.checked_add(&requested), limit)
                && total > limit
            {
                let problem = ApplyObstacle::QuotaExceeded {
                    quota: id.clone(),
                    resource: resource.clone(),
                    hard: limit.to_string(),
                    used: used.to_string(),
                    requested: requested.to_string(),
                };
                found.push((problem, users.into_iter().collect()));
            }
        }
    }
    found
}

/// How much of a resource new objects take, and which do; `None` where none does.
fn usage(resource: &str, new: &BTreeMap<&ObjectId, &Value>, cluster: &dyn TargetCluster) -> Option<(Quantity, BTreeSet<ObjectId>)> {
    let mut total: Option<Quantity> = None;
    let mut users = BTreeSet::new();
    for (id, manifest) in new {
        let amount = amount(resource, id, manifest, cluster);
        if let Some(amount) = amount {
            total = Some(match &total {
                Some(total) => total.checked_add(&amount)?,
                None => amount,
            });
            users.insert((*id).clone());
        }
    }
    Some((total?, users))
}

fn amount(resource: &str, id: &ObjectId, manifest: &Value, cluster: &dyn TargetCluster) -> Option<Quantity> {
    let one = || "1".parse().ok();
    let spec = &manifest["spec"];
    if let Some(counted) = resource.strip_prefix("count/") {
        let plural = cluster.plural(id)?;
        let own = if id.group.is_empty() { plural } else { format!("{plural}.{}", id.group) };
        return if own == counted { one() } else { None };
    }
    match (resource, id.group.as_str(), id.kind.as_str()) {
        ("pods", "", "Pod")
        | ("services", "", "Service")
        | ("configmaps", "", "ConfigMap")
        | ("secrets", "", "Secret")
        | ("persistentvolumeclaims", "", "PersistentVolumeClaim")
        | ("replicationcontrollers", "", "ReplicationController")
        | ("resourcequotas", "", "ResourceQuota") => one(),
        ("services.loadbalancers", "", "Service") if spec["type"] == "LoadBalancer" => one(),
        ("services.nodeports", "", "Service") if spec["type"] == "NodePort" || spec["type"] == "LoadBalancer" => {
            spec["ports"].as_array()?.len().to_string().parse().ok()
        }
        ("requests.storage", "", "PersistentVolumeClaim") => spec["resources"]["requests"]["storage"].as_str()?.parse().ok(),
        (resource, "", "Pod") => of_pod(resource, spec),
        _ => None,
    }
}

/// What the containers of a pod request together.
fn of_pod(resource: &str, spec: &Value) -> Option<Quantity> {
    let (list, name) = match resource.split_once('.') {
        Some(("requests", name)) => ("requests", name),
        Some(("limits", name)) => ("limits", name),
        _ => ("requests", resource),
    };
    let asked = containers(spec).filter_map(|container| container["resources"][list][name].as_str()?.parse::<Quantity>().ok());
    asked.reduce(|total, one| total.checked_add(&one).unwrap_or(total))
}
